package settings

import (
	"slices"
	"strconv"
)

// key is one setting.
type key struct {
	file     string // its name in Calico's file
	variable string // its variable, which may have the prefix CALICO_; "" for none
	number   bool   // a number or truth value, which Calico does not take empty
}

// keys are all settings of Calico's file.
var keys = []key{
	{"datastoreType", "DATASTORE_TYPE", false},
	{"etcdEndpoints", "ETCD_ENDPOINTS", false},
	{"etcdDiscoverySrv", "ETCD_DISCOVERY_SRV", false},
	{"etcdUsername", "ETCD_USERNAME", false},
	{"etcdPassword", "ETCD_PASSWORD", false},
	{"etcdKeyFile", "ETCD_KEY_FILE", false},
	{"etcdCertFile", "ETCD_CERT_FILE", false},
	{"etcdCACertFile", "ETCD_CA_CERT_FILE", false},
	{"etcdKey", "", false},
	{"etcdCert", "", false},
	{"etcdCACert", "", false},
	{"kubeconfig", "KUBECONFIG", false},
	{"kubeconfigInline", "", false},
	{"k8sAPIEndpoint", "K8S_API_ENDPOINT", false},
	{"k8sKeyFile", "K8S_KEY_FILE", false},
	{"k8sCertFile", "K8S_CERT_FILE", false},
	{"k8sCAFile", "K8S_CA_FILE", false},
	{"k8sAPIToken", "", false}, // see apiToken
	{"k8sInsecureSkipTLSVerify", "K8S_INSECURE_SKIP_TLS_VERIFY", true},
	{"k8sCurrentContext", "K8S_CURRENT_CONTEXT", false},
	{"k8sClientQPS", "K8S_CLIENT_QPS", true},
	{"k8sClientBurst", "K8S_CLIENT_BURST", true},
	{"k8sDisableNodePoll", "K8S_DISABLE_NODE_POLL", true},
	{"usePodCIDR", "USE_POD_CIDR", true},
	{"calicoAPIGroup", "CALICO_API_GROUP", false},
}

// apiToken is the only variable for a token. The one that looks like it is not read.
const (
	apiToken     = "CALICO_K8SAPITOKEN"
	apiTokenSlip = "K8S_API_TOKEN"
)

func variableOf(file string) string {
	if i := slices.IndexFunc(keys, func(k key) bool { return k.file == file }); i >= 0 {
		return keys[i].variable
	}
	return ""
}

const prefix = "CALICO_"

// fromEnvironment takes the settings from variables.
func (r *reading) fromEnvironment() {
	for _, k := range keys {
		if k.variable == "" {
			continue
		}
		value, ok := r.in.Lookup(k.variable)
		name := k.variable
		// CALICO_API_GROUP has its prefix already.
		if prefixed, there := r.in.Lookup(prefix + k.variable); there {
			if prefixed == "" && value != "" {
				r.note("%s is hidden by the empty %s", k.variable, prefix+k.variable)
			} else if value != "" && prefixed != value {
				r.note("%s is hidden by %s", k.variable, prefix+k.variable)
			}
			value, ok, name = prefixed, true, prefix+k.variable
		}
		if ok && value == "" && k.number {
			r.note("%s is empty and counts as not set; Calico would not start", name)
		}
		if value != "" {
			r.raw[k.file], r.from[k.file] = value, name
		}
	}
	if token, _ := r.in.Lookup(apiToken); token != "" {
		r.raw["k8sAPIToken"], r.from["k8sAPIToken"] = token, apiToken
	}
	for _, name := range []string{apiTokenSlip, prefix + apiTokenSlip} {
		if token, _ := r.in.Lookup(name); token != "" {
			r.note("%s is not read, neither here nor by Calico; the variable is %s", name, apiToken)
		}
	}
}

// ignored lists the variables that count for nothing because there is a file.
func (r *reading) ignored() []string {
	var out []string
	for _, k := range keys {
		for _, name := range []string{k.variable, prefix + k.variable} {
			if k.variable == "" {
				continue
			}
			if value, _ := r.in.Lookup(name); value != "" {
				out = append(out, name)
			}
		}
	}
	if value, _ := r.in.Lookup(apiToken); value != "" {
		out = append(out, apiToken)
	}
	return out
}

func (r *reading) boolean(key string) bool {
	text := r.get(key)
	if text == "" {
		return false
	}
	v, err := strconv.ParseBool(text)
	if err != nil {
		r.fail("%s is %.40q: it is true or false", r.name(key), text)
	}
	return v
}

func (r *reading) number(key string, bits int) float64 {
	text := r.get(key)
	if text == "" {
		return 0
	}
	v, err := strconv.ParseFloat(text, bits)
	if err != nil || !(v >= 0) || v > 1e9 {
		r.fail("%s is %.40q: it is a number, not less than 0", r.name(key), text)
	}
	return v
}

func (r *reading) integer(key string) int {
	text := r.get(key)
	if text == "" {
		return 0
	}
	v, err := strconv.Atoi(text)
	if err != nil || v < 0 {
		r.fail("%s is %.40q: it is a whole number, not less than 0", r.name(key), text)
	}
	return v
}
