// Package deploy tests what operators install in a cluster: run scripts, and patches of
// calico-node, which a real API server must take.
package deploy

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"github.com/birdconfd/birdconfd/test/backend"
	"github.com/birdconfd/birdconfd/test/shared"
)

func TestMain(m *testing.M) { os.Exit(backend.Main(m)) }

const (
	namespace = "kube-system"
	patience  = 30 * time.Second
)

func read(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(shared.Root(t), name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// calicoNode is what of Calico's manifest the patches have to do with.
const calicoNode = `
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: calico-node, namespace: kube-system}
spec:
  selector: {matchLabels: {k8s-app: calico-node}}
  template:
    metadata: {labels: {k8s-app: calico-node}}
    spec:
      hostNetwork: true
      serviceAccountName: calico-node
      initContainers:
      - {name: install-cni, image: "calico/cni:x", command: [/opt/cni/bin/install], volumeMounts: [{name: cni-bin-dir, mountPath: /host/opt/cni/bin}]}
      containers:
      - name: calico-node
        image: calico/node:x
        env:
        - {name: DATASTORE_TYPE, value: kubernetes}
        - {name: NODENAME, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}
        livenessProbe: {exec: {command: [/bin/calico-node, -felix-live, -bird-live]}}
        volumeMounts:
        - {name: var-run-calico, mountPath: /var/run/calico}
        - {name: templates, mountPath: /etc/calico/confd/templates}
      volumes:
      - {name: var-run-calico, hostPath: {path: /var/run/calico, type: DirectoryOrCreate}}
      - {name: cni-bin-dir, hostPath: {path: /opt/cni/bin}}
      - {name: templates, configMap: {name: bird-templates}}
`

// cluster is a client of an API server with calico-node.
type cluster struct {
	t      *testing.T
	client dynamic.Interface
}

var (
	daemonSets = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "daemonsets"}
	configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
)

func newCluster(t *testing.T) *cluster {
	t.Helper()
	client, err := dynamic.NewForConfig(backend.SharedKube(t).Admin())
	if err != nil {
		t.Fatal(err)
	}
	c := &cluster{t, client}
	c.create(daemonSets, calicoNode)
	return c
}

func (c *cluster) context() (context.Context, context.CancelFunc) {
	return context.WithTimeout(c.t.Context(), patience)
}

// create makes an object, anew if there is one.
func (c *cluster) create(of schema.GroupVersionResource, text string) string {
	c.t.Helper()
	ctx, cancel := c.context()
	defer cancel()
	var o unstructured.Unstructured
	if err := yaml.UnmarshalStrict([]byte(text), &o.Object); err != nil {
		c.t.Fatal(err)
	}
	in := c.client.Resource(of).Namespace(namespace)
	_ = in.Delete(ctx, o.GetName(), metav1.DeleteOptions{}) // there may be none
	if _, err := in.Create(ctx, &o, metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict}); err != nil {
		c.t.Fatal(err)
	}
	return o.GetName()
}

// patch patches calico-node as kubectl does, and returns what becomes of it.
func (c *cluster) patch(file string) *appsv1.DaemonSet {
	c.t.Helper()
	ctx, cancel := c.context()
	defer cancel()
	patch, err := yaml.YAMLToJSONStrict([]byte(read(c.t, file)))
	if err != nil {
		c.t.Fatal(err)
	}
	got, err := c.client.Resource(daemonSets).Namespace(namespace).Patch(ctx, "calico-node", types.StrategicMergePatchType, patch,
		metav1.PatchOptions{FieldValidation: metav1.FieldValidationStrict})
	if err != nil {
		c.t.Fatal(err)
	}
	var out appsv1.DaemonSet
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(got.Object, &out); err != nil {
		c.t.Fatal(err)
	}
	return &out
}

func container(t *testing.T, list []corev1.Container, name string) corev1.Container {
	t.Helper()
	i := slices.IndexFunc(list, func(c corev1.Container) bool { return c.Name == name })
	if i < 0 {
		t.Fatalf("there is no container %s", name)
	}
	return list[i]
}

func mounts(c corev1.Container) map[string]string {
	out := map[string]string{}
	for _, m := range c.VolumeMounts {
		out[m.MountPath] = strings.Trim(m.Name+"/"+m.SubPath, "/")
	}
	return out
}

// TestPatches applies both ways of installing birdconfd to calico-node.
func TestPatches(t *testing.T) {
	for _, tt := range []struct {
		rule, objects, patch string
		// mounts are calico-node's, more those of the sidecar, if there is one.
		mounts, more map[string]string
	}{
		{"in place of confd", "etc/kubernetes/replace-confd.yaml", "etc/kubernetes/replace-confd.patch.yaml", map[string]string{
			"/var/run/calico": "var-run-calico", "/etc/calico/confd/templates": "templates", "/usr/local/birdconfd": "birdconfd-program",
			"/etc/service/available/confd/run": "birdconfd-service/run"}, nil},
		{"a sidecar", "etc/kubernetes/sidecar.yaml", "etc/kubernetes/sidecar.patch.yaml", map[string]string{
			"/var/run/calico": "var-run-calico", "/etc/calico/confd/templates": "templates", "/etc/calico/confd/config": "birdconfd-files",
			"/etc/service/available/confd/run": "birdconfd-idle/run"}, map[string]string{
			"/var/run/calico": "var-run-calico", "/etc/calico/confd/config": "birdconfd-files", "/etc/birdconfd/conf.d": "birdconfd-conf",
			"/usr/local/birdconfd": "birdconfd-program", "/tmp": "birdconfd-tmp"}},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			c := newCluster(t)
			there := map[string]bool{"bird-templates": true}
			for doc := range strings.SplitSeq(read(t, tt.objects), "\n---\n") {
				there[c.create(configMaps, doc)] = true
			}
			spec := c.patch(tt.patch).Spec.Template.Spec
			node := container(t, spec.Containers, "calico-node")
			if diff := cmp.Diff(tt.mounts, mounts(node)); diff != "" {
				t.Errorf("calico-node's mounts (-want +got):\n%s", diff)
			}
			if node.Image != "calico/node:x" || node.LivenessProbe == nil || len(node.Env) != 2 || !spec.HostNetwork {
				t.Errorf("calico-node has become %+v", node)
			}
			container(t, spec.InitContainers, "install-cni")
			if tt.more != nil {
				sidecar := container(t, spec.Containers, "birdconfd")
				if diff := cmp.Diff(tt.more, mounts(sidecar)); diff != "" {
					t.Errorf("the sidecar's mounts (-want +got):\n%s", diff)
				}
				accepts(t, sidecar.Command[1:])
			}
			volumes := map[string]corev1.Volume{}
			for _, v := range spec.Volumes {
				volumes[v.Name] = v
				if v.ConfigMap != nil && !there[v.ConfigMap.Name] {
					t.Errorf("volume %s is of ConfigMap %s, which is not there", v.Name, v.ConfigMap.Name)
				}
			}
			for _, of := range append(spec.Containers, spec.InitContainers...) {
				for _, m := range of.VolumeMounts {
					v, ok := volumes[m.Name]
					if !ok {
						t.Errorf("%s mounts volume %s, which is not there", of.Name, m.Name)
					}
					if m.SubPath != "" && (v.ConfigMap == nil || *v.ConfigMap.DefaultMode != 0o755) {
						t.Errorf("%s mounts a script that cannot be executed: %+v", of.Name, v)
					}
				}
			}
		})
	}
}

// program is birdconfd, built once.
func program(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "birdconfd")
	if out, err := exec.Command("go", "build", "-o", path, "github.com/birdconfd/birdconfd/cmd/birdconfd").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return path
}

// accepts wants the program to know all the flags.
func accepts(t *testing.T, args []string) {
	t.Helper()
	if out, err := exec.Command(program(t), append(slices.Clone(args), "--help")...).CombinedOutput(); err != nil {
		t.Errorf("%q: %v\n%s", args, err, out)
	}
	if out, err := exec.Command(program(t), append(slices.Clone(args), "--no-such-flag", "--help")...).CombinedOutput(); err == nil {
		t.Errorf("nothing is refused, so that this proves nothing: %s", out)
	}
}

// TestRunScript runs the script of the service with a program that only tells its arguments,
// which the real one must accept; the ConfigMap must have the same script.
func TestRunScript(t *testing.T) {
	script := filepath.Join(shared.Root(t), "etc", "runit", "confd", "run")
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "birdconfd"), []byte("#!/bin/sh\nprintf '%s\\n' \"$@\"\necho to standard error >&2\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(script)
	cmd.Env = []string{"PATH=" + dir + ":" + os.Getenv("PATH")}
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	args := strings.Split(strings.TrimSpace(string(out)), "\n")
	if args[len(args)-1] != "to standard error" {
		t.Errorf("the log of the service is not all there: %q", args)
	}
	args = args[:len(args)-1]
	if want := []string{"run", "--confdir", "/etc/calico/confd"}; !slices.Equal(args[:3], want) {
		t.Errorf("arguments are %q, want %q in front", args, want)
	}
	accepts(t, args)
	var object corev1.ConfigMap
	text, err := yaml.YAMLToJSON([]byte(read(t, "etc/kubernetes/replace-confd.yaml")))
	if err != nil || json.Unmarshal(text, &object) != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(read(t, "etc/runit/confd/run"), object.Data["run"]); diff != "" {
		t.Errorf("the ConfigMap has another script (-file +ConfigMap):\n%s", diff)
	}
}
