package settings

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// Types of datastores.
const (
	TypeEtcd       = "etcd"
	TypeKubernetes = "kubernetes"
)

// Input is where settings come from.
type Input struct {
	// Datastore is TypeEtcd or TypeKubernetes, or "" to let the settings say which.
	Datastore string
	// ConfigFile is Calico's configuration file. If there is one, nothing is taken from the
	// environment that can stand in it.
	ConfigFile string
	Lookup     func(string) (string, bool)
	// ReadFile is os.ReadFile when nil.
	ReadFile func(string) ([]byte, error)
}

// Settings say how the datastore is reached.
type Settings struct {
	// Type is TypeEtcd or TypeKubernetes.
	Type string
	Etcd Etcd
	// Kubernetes is where everything is, or beside etcd where Services and Secrets are.
	Kubernetes Kubernetes
	UsePodCIDR bool
	// APIGroup is "v1" or "v3", or "" to use the one that there is.
	APIGroup string
	// Notes are sentences about settings that have another effect than one might think, or none.
	Notes []string
}

// Etcd says how etcd is reached.
type Etcd struct {
	Endpoints    []string // URLs
	DiscoverySRV string   // a DNS domain, in place of endpoints
	Username     string
	Password     Secret
	// Files and their texts in place of them, all of them PEM. All certificates of a CA text
	// count, where Calico takes the first only.
	CAFile, CertFile, KeyFile string
	CA, Cert, Key             Secret
	// TLSMinVersion and CipherSuites are those of crypto/tls.
	TLSMinVersion uint16
	CipherSuites  []uint16
}

// Kubernetes says how the Kubernetes API is reached.
type Kubernetes struct {
	// Available is false when nothing says how. That is an error unless the datastore is etcd.
	Available  bool
	Kubeconfig []string // paths that are merged, the first wins
	// KubeconfigInline is the text of one; nothing else but QPS and Burst counts beside it.
	KubeconfigInline                                Secret
	APIEndpoint, CertFile, KeyFile, CAFile, Context string
	Token                                           Secret
	InsecureSkipTLSVerify                           bool
	QPS                                             float32 // 0: not set
	Burst                                           int     // 0: not set
	// InCluster tells to use what Kubernetes gives to a pod.
	InCluster bool
}

// Secret is a text that does not show itself.
type Secret struct{ text string }

// NewSecret hides a text.
func NewSecret(text string) Secret { return Secret{text} }

// Reveal returns the text.
func (s Secret) Reveal() string { return s.text }

// IsZero tells whether there is no text.
func (s Secret) IsZero() bool { return s.text == "" }

// Format writes the same for each verb: nothing of the text.
func (s Secret) Format(f fmt.State, _ rune) {
	if s.text != "" {
		_, _ = f.Write([]byte("(secret)"))
	}
}

// MarshalText is for JSON and logs.
func (s Secret) MarshalText() ([]byte, error) { return fmt.Append(nil, s), nil }

// reading is the state of a Read.
type reading struct {
	in  Input
	raw map[string]string // by file key
	// from tells where a setting was found, for messages.
	from map[string]string
	errs []error
	out  Settings
}

func (r *reading) fail(format string, args ...any) {
	r.errs = append(r.errs, fmt.Errorf(format, args...))
}
func (r *reading) note(format string, args ...any) {
	r.out.Notes = append(r.out.Notes, fmt.Sprintf(format, args...))
}

// get returns a setting by its file key, "" when it is not set.
func (r *reading) get(key string) string { return r.raw[key] }

// name is what the user calls a setting: its variable, or its key in the file.
func (r *reading) name(key string) string {
	if from := r.from[key]; from != "" {
		return from
	}
	if r.in.ConfigFile != "" {
		return "spec." + key
	}
	return cmp.Or(variableOf(key), key)
}

// Read reads the settings. The error lists everything that is wrong, a line each.
func Read(in Input) (*Settings, error) {
	if in.ReadFile == nil {
		in.ReadFile = os.ReadFile
	}
	r := &reading{in: in, raw: map[string]string{}, from: map[string]string{}}
	if in.ConfigFile != "" {
		r.fromFile()
	} else {
		r.fromEnvironment()
	}
	if len(r.errs) == 0 {
		r.chooseType()
	}
	if len(r.errs) == 0 {
		r.common()
		if r.out.Type == TypeEtcd {
			r.etcd()
		}
		r.kubernetes()
	}
	if len(r.errs) > 0 {
		return nil, errors.Join(r.errs...)
	}
	return &r.out, nil
}

// chooseType finds out which datastore it is.
func (r *reading) chooseType() {
	said, ok := map[string]string{"": "", "etcdv3": TypeEtcd, "kubernetes": TypeKubernetes}[r.get("datastoreType")]
	switch name := r.name("datastoreType"); {
	case !ok:
		r.fail("%s is %.40q: it is etcdv3 or kubernetes", name, r.get("datastoreType"))
	case said != "" && r.in.Datastore != "" && said != r.in.Datastore:
		r.fail("%s is %s, but --datastore is %s: say the same in both, or leave one out", name, r.get("datastoreType"), r.in.Datastore)
	case r.in.Datastore+said == "" && r.get("etcdEndpoints") != "":
		r.out.Type = TypeEtcd
	case r.in.Datastore+said == "" && r.get("etcdDiscoverySrv") != "":
		r.fail("%s alone does not choose etcd: set %s to etcdv3, or use --datastore etcd", r.name("etcdDiscoverySrv"), name)
	default:
		r.out.Type = cmp.Or(r.in.Datastore, said, TypeKubernetes)
	}
}

// common reads what both datastores have.
func (r *reading) common() {
	r.out.UsePodCIDR = r.boolean("usePodCIDR")
	if r.boolean("k8sDisableNodePoll") {
		r.note("%s has no effect any more", r.name("k8sDisableNodePoll"))
	}
	switch group := r.get("calicoAPIGroup"); {
	case group == "":
	case strings.EqualFold(group, "projectcalico.org/v3"):
		r.out.APIGroup = "v3"
	default:
		r.out.APIGroup = "v1"
		if group != "crd.projectcalico.org/v1" {
			r.note("%s is %.60q and stands for crd.projectcalico.org/v1, as everything but projectcalico.org/v3 does", r.name("calicoAPIGroup"), group)
		}
	}
}

// present makes sure that a file can be read.
func (r *reading) present(key string) string {
	path := r.get(key)
	if path == "" {
		return ""
	}
	if _, err := r.in.ReadFile(path); err != nil {
		r.fail("%s: %w", r.name(key), err)
	}
	return path
}

// pair makes sure that a certificate comes with its key.
func (r *reading) pair(cert, key string) {
	switch {
	case r.get(cert) != "" && r.get(key) == "":
		r.fail("%s is set, but not %s: a client certificate needs its key", r.name(cert), r.name(key))
	case r.get(cert) == "" && r.get(key) != "":
		r.fail("%s is set, but not %s: a key needs its certificate", r.name(key), r.name(cert))
	}
}

// SecretNamespace is where Secrets with passwords are: what NAMESPACE says, else the namespace
// of the pod, else kube-system.
func SecretNamespace(lookup func(string) (string, bool), readFile func(string) ([]byte, error)) string {
	if readFile == nil {
		readFile = os.ReadFile
	}
	if name, _ := lookup("NAMESPACE"); name != "" {
		return name
	}
	if data, err := readFile(serviceAccount + "namespace"); err == nil && len(data) > 0 {
		return strings.TrimSpace(string(data))
	}
	return "kube-system"
}

// serviceAccount is where Kubernetes puts what a pod needs to reach the API server.
const serviceAccount = "/var/run/secrets/kubernetes.io/serviceaccount/"

func isAbsent(err error) bool { return errors.Is(err, fs.ErrNotExist) }
