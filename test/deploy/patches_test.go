package deploy

import (
	"path"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/birdconfd/birdconfd/test/backend"
)

// TestPatches applies both ways of installing birdconfd to calico-node, and takes them back.
func TestPatches(t *testing.T) {
	// calico-node is privileged, which an API server must be told to take.
	kube := backend.StartKube(t, backend.KubeOptions{Flags: []string{"--allow-privileged=true"}})
	for _, tt := range []struct {
		rule, name string
		node       map[string]string // calico-node's new mounts
		sidecar    map[string]string // those of the container birdconfd, if there is one
	}{
		{"in place of confd", "replace-confd", map[string]string{
			"/usr/local/bin/birdconfd":         "birdconfd-program/birdconfd",
			"/etc/service/available/confd/run": "birdconfd-service/run",
		}, nil},
		{"a sidecar", "sidecar", map[string]string{
			"/etc/calico/confd/config":         "birdconfd-files",
			"/etc/calico/confd/conf.d":         "birdconfd-no-confd",
			"/etc/service/available/confd/run": "birdconfd-idle/run",
		}, map[string]string{
			"/etc/calico/confd/config": "birdconfd-files",
			"/etc/birdconfd/conf.d":    "birdconfd-conf",
			"/usr/local/bin/birdconfd": "birdconfd-program/birdconfd",
		}},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			kube.Apply(t, read(t, "kubernetes/"+tt.name+".yaml"))
			maps := map[string]corev1.ConfigMap{}
			for _, o := range objects(t, "kubernetes/"+tt.name+".yaml") {
				maps[o.Name] = o
			}
			c, before := newCluster(t, kube)
			got := c.patch("kubernetes/" + tt.name + ".patch.yaml")
			same(t, "what the patch has nothing to do with", before, without(got))
			if first := got.Spec.Containers[0].Name; first != "calico-node" {
				t.Errorf("the first container, which kubectl logs shows, is %s", first)
			}
			if diff := cmp.Diff(tt.node, added(container(t, got.Spec.Containers, "calico-node"))); diff != "" {
				t.Errorf("calico-node's new mounts (-want +got):\n%s", diff)
			}
			if tt.sidecar != nil {
				sidecar := container(t, got.Spec.Containers, "birdconfd")
				if diff := cmp.Diff(tt.sidecar, added(sidecar)); diff != "" {
					t.Errorf("the sidecar's mounts (-want +got):\n%s", diff)
				}
				checkSidecar(t, sidecar, container(t, got.Spec.Containers, "calico-node"))
			}
			checkMounts(t, got.Spec, maps)
			checkProgram(t, got.Spec)

			same(t, "the patch for the second time", got, c.patch("kubernetes/"+tt.name+".patch.yaml"))
			same(t, "the patch taken back", before, c.patch("kubernetes/"+tt.name+".undo.patch.yaml"))
			same(t, "the patch taken back twice", before, c.patch("kubernetes/"+tt.name+".undo.patch.yaml"))
		})
	}
}

// checkMounts wants all that is mounted to be there, and scripts to be executable.
func checkMounts(t *testing.T, spec corev1.PodSpec, maps map[string]corev1.ConfigMap) {
	t.Helper()
	volumes, used := map[string]corev1.Volume{}, map[string]bool{}
	for _, v := range spec.Volumes {
		volumes[v.Name] = v
	}
	for _, c := range slices.Concat(spec.InitContainers, spec.Containers) {
		seen := map[string]bool{}
		for _, m := range c.VolumeMounts {
			used[m.Name] = true
			if seen[m.MountPath] {
				t.Errorf("%s mounts two volumes at %s", c.Name, m.MountPath)
			}
			seen[m.MountPath] = true
			v, ok := volumes[m.Name]
			if !ok {
				t.Errorf("%s mounts volume %s, which is not there", c.Name, m.Name)
			}
			if !strings.HasPrefix(m.Name, ours) || v.ConfigMap == nil {
				continue
			}
			object, ok := maps[v.ConfigMap.Name]
			if !ok {
				t.Errorf("volume %s is of ConfigMap %s, which is not there", v.Name, v.ConfigMap.Name)
			}
			if m.SubPath == "" {
				continue
			}
			if _, ok := object.Data[m.SubPath]; !ok {
				t.Errorf("%s mounts %s of ConfigMap %s, which has no such key", c.Name, m.SubPath, object.Name)
			}
			if path.Base(m.MountPath) == "run" && *v.ConfigMap.DefaultMode != 0o755 {
				t.Errorf("%s cannot execute %s: its mode is %#o", c.Name, m.MountPath, *v.ConfigMap.DefaultMode)
			}
		}
	}
	for name := range volumes {
		if strings.HasPrefix(name, ours) && !used[name] {
			t.Errorf("nobody mounts volume %s", name)
		}
	}
}

// checkProgram wants the program to be copied to where it is mounted from.
func checkProgram(t *testing.T, spec corev1.PodSpec) {
	t.Helper()
	command := container(t, spec.InitContainers, "birdconfd-program").Command
	to := command[len(command)-1]
	var have string
	for _, m := range container(t, spec.InitContainers, "birdconfd-program").VolumeMounts {
		if rest, ok := strings.CutPrefix(to, m.MountPath+"/"); ok {
			have = path.Join(m.Name, rest)
		}
	}
	for _, c := range spec.Containers {
		for _, m := range c.VolumeMounts {
			if m.Name == "birdconfd-program" && path.Join(m.Name, m.SubPath) != have {
				t.Errorf("%s mounts %s/%s, the program is %s", c.Name, m.Name, m.SubPath, have)
			}
		}
	}
}

// checkSidecar wants it to have what calico-node's confd has.
func checkSidecar(t *testing.T, sidecar, node corev1.Container) {
	t.Helper()
	for _, e := range sidecar.Env {
		if !slices.ContainsFunc(node.Env, func(o corev1.EnvVar) bool { return cmp.Equal(e, o) }) {
			t.Errorf("calico-node has no such variable: %+v", e)
		}
	}
	for _, name := range []string{"NODENAME", "DATASTORE_TYPE"} {
		if !slices.ContainsFunc(sidecar.Env, func(e corev1.EnvVar) bool { return e.Name == name }) {
			t.Errorf("it has no %s", name)
		}
	}
	if diff := cmp.Diff(node.EnvFrom, sidecar.EnvFrom); diff != "" {
		t.Errorf("more variables (-calico-node +sidecar):\n%s", diff)
	}
	var mounted bool
	for _, m := range sidecar.VolumeMounts {
		mounted = mounted || (m.Name == "var-run-calico" && m.MountPath == "/var/run/calico")
	}
	if !mounted {
		t.Error("it cannot reach BIRD's control sockets")
	}
	program := sidecar.Command[0]
	if _, ok := added(sidecar)[program]; !ok {
		t.Errorf("%s is not mounted", program)
	}
	i := slices.Index(sidecar.Command, "--listen")
	if i < 0 {
		t.Fatal("it does not listen")
	}
	for what, p := range map[string]*corev1.Probe{"/healthz": sidecar.LivenessProbe, "/readyz": sidecar.ReadinessProbe} {
		if at := p.HTTPGet.Host + ":" + p.HTTPGet.Port.String(); at != sidecar.Command[i+1] || p.HTTPGet.Path != what {
			t.Errorf("the probe asks %s for %s", at, p.HTTPGet.Path)
		}
	}
	accepts(t, sidecar.Command[1:])
}

// built is birdconfd, made once.
var built struct {
	once sync.Once
	dir  string
	out  []byte
	err  error
}
