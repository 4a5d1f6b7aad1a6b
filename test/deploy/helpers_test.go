// Package deploy tests what operators install in a cluster: run scripts, and patches of
// calico-node, which a real API server must take.
package deploy

import (
	"context"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
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

func TestMain(m *testing.M) {
	code := backend.Main(m)
	if built.dir != "" {
		os.RemoveAll(built.dir)
	}
	os.Exit(code)
}

const (
	namespace = "kube-system"
	patience  = 30 * time.Second
	// ours is how the names of all volumes begin that the patches add.
	ours = "birdconfd-"
)

func file(t *testing.T, name string) string {
	t.Helper()
	return filepath.Join(shared.Root(t), "etc", name)
}

func read(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(file(t, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// into decodes YAML, and knows no other fields than those of the type.
func into(t *testing.T, text string, out any) {
	t.Helper()
	if err := yaml.UnmarshalStrict([]byte(text), out); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
}

// objects are the ConfigMaps of a file.
func objects(t *testing.T, name string) []corev1.ConfigMap {
	t.Helper()
	var out []corev1.ConfigMap
	for doc := range strings.SplitSeq(read(t, name), "\n---\n") {
		var object corev1.ConfigMap
		into(t, doc, &object)
		out = append(out, object)
	}
	return out
}

// calicoNode is what of Calico's manifest the patches have to do with, and some of what they
// must leave alone. The templates are an operator's own.
const calicoNode = `
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: calico-node, namespace: kube-system, labels: {k8s-app: calico-node}}
spec:
  selector: {matchLabels: {k8s-app: calico-node}}
  updateStrategy: {type: RollingUpdate, rollingUpdate: {maxUnavailable: 1}}
  template:
    metadata: {labels: {k8s-app: calico-node}}
    spec:
      nodeSelector: {kubernetes.io/os: linux}
      hostNetwork: true
      tolerations: [{effect: NoSchedule, operator: Exists}, {effect: NoExecute, operator: Exists}]
      serviceAccountName: calico-node
      terminationGracePeriodSeconds: 0
      priorityClassName: system-node-critical
      initContainers:
      - name: install-cni
        image: calico/cni:x
        command: [/opt/cni/bin/install]
        envFrom: [{configMapRef: {name: kubernetes-services-endpoint, optional: true}}]
        securityContext: {privileged: true}
        volumeMounts: [{name: cni-bin-dir, mountPath: /host/opt/cni/bin}]
      containers:
      - name: calico-node
        image: calico/node:x
        envFrom: [{configMapRef: {name: kubernetes-services-endpoint, optional: true}}]
        env:
        - {name: DATASTORE_TYPE, value: kubernetes}
        - {name: NODENAME, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}
        - {name: IP, value: autodetect}
        securityContext: {privileged: true}
        resources: {requests: {cpu: 250m}}
        lifecycle: {preStop: {exec: {command: [/bin/calico-node, -shutdown]}}}
        livenessProbe: {exec: {command: [/bin/calico-node, -felix-live, -bird-live]}, periodSeconds: 10}
        readinessProbe: {exec: {command: [/bin/calico-node, -felix-ready, -bird-ready]}, periodSeconds: 10}
        volumeMounts:
        - {name: lib-modules, mountPath: /lib/modules, readOnly: true}
        - {name: var-run-calico, mountPath: /var/run/calico}
        - {name: var-lib-calico, mountPath: /var/lib/calico}
        - {name: templates, mountPath: /etc/calico/confd/templates}
      volumes:
      - {name: lib-modules, hostPath: {path: /lib/modules}}
      - {name: var-run-calico, hostPath: {path: /var/run/calico, type: DirectoryOrCreate}}
      - {name: var-lib-calico, hostPath: {path: /var/lib/calico, type: DirectoryOrCreate}}
      - {name: cni-bin-dir, hostPath: {path: /opt/cni/bin, type: DirectoryOrCreate}}
      - {name: templates, configMap: {name: bird-templates}}
`

// cluster is a client of an API server with calico-node.
type cluster struct {
	t      *testing.T
	client dynamic.Interface
}

var daemonSets = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "daemonsets"}

// newCluster returns it with what has become of calico-node, with all the defaults.
func newCluster(t *testing.T, kube *backend.Kube) (*cluster, corev1.PodTemplateSpec) {
	t.Helper()
	c := &cluster{t, kube.Dynamic(t)}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var o unstructured.Unstructured
	into(t, calicoNode, &o.Object)
	in := c.client.Resource(daemonSets).Namespace(namespace)
	if err := in.Delete(ctx, o.GetName(), metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
	made, err := in.Create(ctx, &o, metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict})
	if err != nil {
		t.Fatal(err)
	}
	return c, c.template(made)
}

// patch patches calico-node as kubectl does, and returns what becomes of it.
func (c *cluster) patch(name string) corev1.PodTemplateSpec {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), patience)
	defer cancel()
	patch, err := yaml.YAMLToJSONStrict([]byte(read(c.t, name)))
	if err != nil {
		c.t.Fatal(err)
	}
	got, err := c.client.Resource(daemonSets).Namespace(namespace).Patch(ctx, "calico-node", types.StrategicMergePatchType, patch,
		metav1.PatchOptions{FieldValidation: metav1.FieldValidationStrict})
	if err != nil {
		c.t.Fatalf("%s: %v", name, err)
	}
	return c.template(got)
}

func (c *cluster) template(o *unstructured.Unstructured) corev1.PodTemplateSpec {
	c.t.Helper()
	var out appsv1.DaemonSet
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &out); err != nil {
		c.t.Fatal(err)
	}
	return out.Spec.Template
}

// without takes away what the patches may add: containers, volumes and mounts of ours.
func without(t corev1.PodTemplateSpec) corev1.PodTemplateSpec {
	out := *t.DeepCopy()
	isOurs := func(c corev1.Container) bool { return strings.HasPrefix(c.Name, "birdconfd") }
	out.Spec.InitContainers = slices.DeleteFunc(out.Spec.InitContainers, isOurs)
	out.Spec.Containers = slices.DeleteFunc(out.Spec.Containers, isOurs)
	out.Spec.Volumes = slices.DeleteFunc(out.Spec.Volumes, func(v corev1.Volume) bool { return strings.HasPrefix(v.Name, ours) })
	for _, list := range [][]corev1.Container{out.Spec.InitContainers, out.Spec.Containers} {
		for i := range list {
			list[i].VolumeMounts = slices.DeleteFunc(list[i].VolumeMounts, func(m corev1.VolumeMount) bool { return strings.HasPrefix(m.Name, ours) })
		}
	}
	return out
}

// same compares, but for the order of volumes and mounts, which means nothing.
func same(t *testing.T, what string, want, got corev1.PodTemplateSpec) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty(),
		cmpopts.SortSlices(func(a, b corev1.Volume) bool { return a.Name < b.Name }),
		cmpopts.SortSlices(func(a, b corev1.VolumeMount) bool { return a.MountPath < b.MountPath })); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// container returns one by its name.
func container(t *testing.T, list []corev1.Container, name string) corev1.Container {
	t.Helper()
	i := slices.IndexFunc(list, func(c corev1.Container) bool { return c.Name == name })
	if i < 0 {
		t.Fatalf("there is no container %s", name)
	}
	return list[i]
}

// added are the mounts of ours, as volume or volume/subPath.
func added(c corev1.Container) map[string]string {
	out := map[string]string{}
	for _, m := range c.VolumeMounts {
		if strings.HasPrefix(m.Name, ours) {
			out[m.MountPath] = path.Join(m.Name, m.SubPath)
		}
	}
	return out
}
