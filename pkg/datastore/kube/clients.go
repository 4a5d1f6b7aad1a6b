package kube

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/flowcontrol"
)

// The scheme holds the few kinds of Kubernetes' own that are read. All that client-go has for
// all kinds would be several times this program.
var (
	scheme    = runtime.NewScheme()
	codecs    = serializer.NewCodecFactory(scheme)
	parameter = runtime.NewParameterCodec(scheme)
)

func init() {
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, discoveryv1.AddToScheme} {
		if err := add(scheme); err != nil {
			panic(err) // it fails only for kinds that contradict each other
		}
	}
}

// clients talk to one server, over the same connections and with one limit for all.
type clients struct {
	dynamic   dynamic.Interface
	core      rest.Interface
	discovery rest.Interface
	// plain is for paths.
	plain rest.Interface
}

// Limits of requests per second of a client, unless the configuration has others.
const (
	defaultQPS   = 20
	defaultBurst = 30
)

func newClients(config *rest.Config) (*clients, error) {
	config = rest.CopyConfig(config)
	if config.QPS == 0 {
		config.QPS = defaultQPS
	}
	if config.Burst == 0 {
		config.Burst = defaultBurst
	}
	if config.RateLimiter == nil && config.QPS > 0 {
		config.RateLimiter = flowcontrol.NewTokenBucketRateLimiter(config.QPS, config.Burst)
	}
	config.WarningHandler = rest.NoWarnings{}
	rereadToken(config)
	http, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	var c clients
	if c.dynamic, err = dynamic.NewForConfigAndClient(config, http); err != nil {
		return nil, err
	}
	if c.core, err = typed(config, http, corev1.SchemeGroupVersion, "/api"); err != nil {
		return nil, err
	}
	if c.discovery, err = typed(config, http, discoveryv1.SchemeGroupVersion, "/apis"); err != nil {
		return nil, err
	}
	bare := rest.CopyConfig(config)
	bare.NegotiatedSerializer = codecs.WithoutConversion()
	if c.plain, err = rest.UnversionedRESTClientForConfigAndClient(bare, http); err != nil {
		return nil, err
	}
	return &c, nil
}

// typed makes a client for kinds of the scheme, which come as protobuf.
func typed(config *rest.Config, http *http.Client, gv schema.GroupVersion, path string) (rest.Interface, error) {
	config = rest.CopyConfig(config)
	config.GroupVersion, config.APIPath, config.NegotiatedSerializer = &gv, path, codecs.WithoutConversion()
	config.AcceptContentTypes, config.ContentType = "application/vnd.kubernetes.protobuf,application/json", "application/vnd.kubernetes.protobuf"
	return rest.RESTClientForConfigAndClient(config, http)
}

// requestLimit bounds requests for what a server has.
const requestLimit = 10 * time.Second

// errStatus is an answer that is not the one that was asked for.
type errStatus struct {
	path string
	code int
	error
}

func (e *errStatus) Unwrap() error { return e.error }

// get reads a path of the server into something.
func (c *clients) get(ctx context.Context, path string, into any) error {
	ctx, cancel := context.WithTimeout(ctx, requestLimit)
	defer cancel()
	var code int
	r := c.plain.Get().AbsPath(path).SetHeader("Accept", "application/json").Do(ctx).StatusCode(&code)
	data, err := r.Raw()
	if err != nil {
		return &errStatus{path, code, fmt.Errorf("get %s: %w", path, err)}
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("get %s: the answer is not what was expected", path)
	}
	return nil
}

// lister lists and watches one resource.
type lister struct {
	list  func(context.Context, metav1.ListOptions) (runtime.Object, error)
	watch func(context.Context, metav1.ListOptions) (watch.Interface, error)
}

// custom lists a resource that the scheme does not know.
func (c *clients) custom(gvr schema.GroupVersionResource) lister {
	r := c.dynamic.Resource(gvr)
	return lister{
		func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return r.List(ctx, o) },
		r.Watch,
	}
}

// known lists a resource of the scheme, in one namespace or, if that is "", in all.
func known(c rest.Interface, resource, namespace string, one func() message) lister {
	return lister{
		func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			return listSlim(ctx, c.Get().NamespaceIfScoped(namespace, namespace != "").Resource(resource).VersionedParams(&o, parameter), one)
		},
		func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			o.Watch = true
			return c.Get().NamespaceIfScoped(namespace, namespace != "").Resource(resource).VersionedParams(&o, parameter).Watch(ctx)
		},
	}
}
