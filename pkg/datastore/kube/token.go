package kube

import (
	"errors"
	"time"

	"golang.org/x/oauth2"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/transport"
)

// tokenLife is how long a token out of a kubeconfig is used before the file is read again. A
// token that is refused is given up at once.
const tokenLife = time.Minute

// kubeconfigToken reads the token of a kubeconfig again and again: who rotates a token there
// writes the file anew. client-go does that only for tokens in files of their own.
type kubeconfigToken struct{ access Access }

// Token implements oauth2.TokenSource.
func (k kubeconfigToken) Token() (*oauth2.Token, error) {
	c, err := k.access.config()
	if err != nil {
		return nil, err
	}
	if c.BearerToken == "" {
		return nil, errors.New("the kubeconfig has no token any more")
	}
	return &oauth2.Token{AccessToken: c.BearerToken, Expiry: time.Now().Add(tokenLife)}, nil
}

// rotate has the token of a kubeconfig read again for as long as it is used.
func (a Access) rotate(c *rest.Config) {
	if len(a.Kubeconfig) == 0 || a.KubeconfigInline != "" || a.Token != "" || c.BearerToken == "" || c.BearerTokenFile != "" {
		return
	}
	c.BearerToken = ""
	c.Wrap(transport.ResettableTokenSourceWrapTransport(transport.NewCachedTokenSource(kubeconfigToken{a})))
}

// rereadToken has a token in a file of its own read again at once when it is refused. The library
// alone would go on with it for up to a minute.
func rereadToken(c *rest.Config) {
	if c.BearerTokenFile == "" {
		return
	}
	file := transport.NewCachedFileTokenSource(c.BearerTokenFile)
	c.BearerToken, c.BearerTokenFile = "", ""
	c.Wrap(transport.ResettableTokenSourceWrapTransport(file))
}
