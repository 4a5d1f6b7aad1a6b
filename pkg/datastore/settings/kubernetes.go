package settings

import (
	"net/url"
	"path/filepath"
	"strings"
)

// kubernetes reads how the Kubernetes API is reached.
func (r *reading) kubernetes() {
	k := &r.out.Kubernetes
	k.QPS, k.Burst = float32(r.number("k8sClientQPS", 32)), r.integer("k8sClientBurst")
	if inline := r.get("kubeconfigInline"); inline != "" {
		k.KubeconfigInline, k.Available = NewSecret(inline), true
		r.inlineOverrides()
		return
	}
	r.besideFile()
	k.Kubeconfig = r.kubeconfigs()
	k.APIEndpoint, k.Context = r.get("k8sAPIEndpoint"), r.get("k8sCurrentContext")
	r.pair("k8sCertFile", "k8sKeyFile")
	k.CAFile, k.CertFile, k.KeyFile = r.present("k8sCAFile"), r.present("k8sCertFile"), r.present("k8sKeyFile")
	k.Token, k.InsecureSkipTLSVerify = NewSecret(r.get("k8sAPIToken")), r.boolean("k8sInsecureSkipTLSVerify")
	if k.InsecureSkipTLSVerify && k.CAFile != "" {
		r.fail("%s and %s exclude each other: the CA would not be looked at", r.name("k8sInsecureSkipTLSVerify"), r.name("k8sCAFile"))
	}
	if k.InsecureSkipTLSVerify {
		r.note("%s: the API server's certificate is not verified, so anybody may stand in for it", r.name("k8sInsecureSkipTLSVerify"))
	}
	r.endpointOfKubernetes()
	switch {
	case len(k.Kubeconfig) > 0 || k.APIEndpoint != "":
		k.Available = true
	case r.homeConfig():
		k.Available = true
	case r.inCluster():
		k.Available, k.InCluster = true, true
	case r.out.Type == TypeKubernetes:
		r.fail("nothing says how to reach the Kubernetes API: set %s or %s, or run in a pod", r.name("kubeconfig"), r.name("k8sAPIEndpoint"))
	}
}

// besideFile takes the kubeconfig for Services and Secrets from the environment where the file
// says only how to reach etcd, as Calico does.
func (r *reading) besideFile() {
	if r.out.Type != TypeEtcd || r.in.ConfigFile == "" || r.get("kubeconfig") != "" || r.get("k8sAPIEndpoint") != "" {
		return
	}
	if paths, _ := r.in.Lookup("KUBECONFIG"); paths != "" {
		r.raw["kubeconfig"], r.from["kubeconfig"] = paths, "KUBECONFIG"
		r.note("Services and Secrets are read as KUBECONFIG says, since %s does not", r.in.ConfigFile)
	}
}

// inlineOverrides notes what counts for nothing beside an inline kubeconfig.
func (r *reading) inlineOverrides() {
	for _, key := range []string{"kubeconfig", "k8sAPIEndpoint", "k8sKeyFile", "k8sCertFile", "k8sCAFile", "k8sAPIToken", "k8sInsecureSkipTLSVerify", "k8sCurrentContext"} {
		if r.get(key) != "" {
			r.note("%s counts for nothing beside an inline kubeconfig", r.name(key))
		}
	}
}

// kubeconfigs are the files of a list that are there. One at least must be.
func (r *reading) kubeconfigs() []string {
	list := r.get("kubeconfig")
	var there []string
	for _, path := range filepath.SplitList(list) {
		if path == "" {
			continue
		}
		switch _, err := r.in.ReadFile(path); {
		case err == nil:
			there = append(there, path)
		case isAbsent(err):
			r.note("%s: there is no file %s", r.name("kubeconfig"), path)
		default:
			r.fail("%s: %w", r.name("kubeconfig"), err)
		}
	}
	if list != "" && len(there) == 0 {
		r.fail("%s: none of the files is there: %s", r.name("kubeconfig"), list)
	}
	return there
}

func (r *reading) endpointOfKubernetes() {
	text := r.get("k8sAPIEndpoint")
	if text == "" {
		return
	}
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		r.fail("%s is not a URL such as https://192.0.2.1:6443", r.name("k8sAPIEndpoint"))
	case u.User != nil:
		r.fail("%s has a user in it: use a token or a client certificate", r.name("k8sAPIEndpoint"))
	case u.Scheme == "http" && !r.out.Kubernetes.Token.IsZero():
		r.note("%s is http, so that the token goes over the network in the clear", r.name("k8sAPIEndpoint"))
	}
}

// homeConfig uses the kubeconfig in the home directory, where Calico's resources are in
// Kubernetes. Beside etcd it would be a surprise.
func (r *reading) homeConfig() bool {
	home, _ := r.in.Lookup("HOME")
	if home == "" || r.out.Type != TypeKubernetes {
		return false
	}
	path := filepath.Join(home, ".kube", "config")
	if _, err := r.in.ReadFile(path); err != nil {
		return false
	}
	r.out.Kubernetes.Kubeconfig = []string{path}
	return true
}

func (r *reading) inCluster() bool {
	host, _ := r.in.Lookup("KUBERNETES_SERVICE_HOST")
	port, _ := r.in.Lookup("KUBERNETES_SERVICE_PORT")
	return strings.TrimSpace(host) != "" && strings.TrimSpace(port) != ""
}
