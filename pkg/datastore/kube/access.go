package kube

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

// Access says how an API server is reached.
type Access struct {
	// Kubeconfig are paths of files that are merged, the first of which wins. KubeconfigInline
	// is the text of one in their place.
	Kubeconfig       []string
	KubeconfigInline string
	// What follows overrides a kubeconfig. Files are read again when they have changed.
	APIEndpoint, CertFile, KeyFile, CAFile, Context, Token string
	InsecureSkipTLSVerify                                  bool
	// QPS and Burst limit the requests per second; 20 and 30 when zero.
	QPS   float32
	Burst int
	// InCluster tells to use what Kubernetes gives to a pod.
	InCluster bool
	// UserAgent is for the server's log.
	UserAgent string
}

// RESTConfig makes a configuration for clients. Its errors hold no secret.
func RESTConfig(a Access) (*rest.Config, error) {
	c, err := a.config()
	if err != nil {
		return nil, err
	}
	c.QPS, c.Burst, c.UserAgent = a.QPS, a.Burst, a.UserAgent
	a.rotate(c)
	return c, nil
}

func (a Access) config() (*rest.Config, error) {
	if a.KubeconfigInline != "" {
		c, err := clientcmd.RESTConfigFromKubeConfig([]byte(a.KubeconfigInline))
		if err != nil {
			return nil, errors.New("the inline kubeconfig cannot be used: " + clean(err))
		}
		return c, nil
	}
	if a.InCluster && len(a.Kubeconfig) == 0 && a.APIEndpoint == "" {
		c, err := rest.InClusterConfig()
		if err != nil {
			return nil, fmt.Errorf("what Kubernetes gives to a pod cannot be used: %w", err)
		}
		a.override(c)
		return c, nil
	}
	overrides := &clientcmd.ConfigOverrides{CurrentContext: a.Context,
		ClusterInfo: api.Cluster{Server: a.APIEndpoint, CertificateAuthority: a.CAFile, InsecureSkipTLSVerify: a.InsecureSkipTLSVerify},
		AuthInfo:    api.AuthInfo{ClientCertificate: a.CertFile, ClientKey: a.KeyFile, Token: a.Token}}
	for _, path := range []string{a.CAFile, a.CertFile, a.KeyFile} {
		if path == "" {
			continue
		}
		if _, err := os.Stat(path); err != nil {
			return nil, err
		}
	}
	rules := &clientcmd.ClientConfigLoadingRules{Precedence: a.Kubeconfig}
	c, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, overrides).ClientConfig()
	if err != nil {
		return nil, errors.New("the kubeconfig cannot be used: " + clean(err))
	}
	return c, nil
}

// override changes what a pod is given, as the other settings do with a kubeconfig.
func (a Access) override(c *rest.Config) {
	if a.Token != "" {
		c.BearerToken, c.BearerTokenFile = a.Token, ""
	}
	if a.CertFile != "" {
		c.CertFile, c.KeyFile = a.CertFile, a.KeyFile
		c.BearerToken, c.BearerTokenFile = a.Token, ""
	}
	if a.CAFile != "" {
		c.CAFile, c.CAData = a.CAFile, nil
	}
	if a.InsecureSkipTLSVerify {
		c.Insecure, c.CAFile, c.CAData = true, "", nil
	}
}

// clean gives an error of the library without the values that it may quote.
func clean(err error) string {
	if clientcmd.IsEmptyConfig(err) {
		return "it names no server"
	}
	if clientcmd.IsConfigurationInvalid(err) || strings.HasSuffix(err.Error(), "does not exist") || os.IsNotExist(err) {
		return err.Error()
	}
	return "it is not valid YAML of kind Config"
}
