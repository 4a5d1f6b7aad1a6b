package confd

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"text/template"

	"github.com/kelseyhightower/memkv"

	"github.com/birdconfd/birdconfd/pkg/calico"
	"github.com/birdconfd/birdconfd/pkg/render/keys"
)

// KeyError is a key that a template asks for and that has no value.
type KeyError struct {
	Key string
	// Hint says what to do.
	Hint string
}

func (e *KeyError) Error() string { return fmt.Sprintf("there is no key %q", e.Key) }

// keys is the template's store, made when it is asked for first.
func (r *run) keys() *keys.Store {
	if r.store == nil {
		r.store = r.data.store(r.template)
	}
	return r.store
}

// keyFunctions are those of memkv.
func (r *run) keyFunctions() template.FuncMap {
	return template.FuncMap{
		"exists": func(key string) bool { return r.keys().Exists(key) },
		"get": func(key string) (memkv.KVPair, error) {
			kv, err := r.keys().Get(key)
			r.sees(kv)
			return kv, r.missing(err)
		},
		"getv": func(key string, otherwise ...string) (string, error) {
			v, err := r.keys().GetValue(key, otherwise...)
			r.sees(memkv.KVPair{Key: key, Value: v})
			return v, r.missing(err)
		},
		"gets": func(pattern string) (memkv.KVPairs, error) {
			out, err := r.keys().GetAll(pattern)
			r.sees(out...)
			return out, badPattern(pattern, err)
		},
		"getvs": func(pattern string) ([]string, error) {
			all, _ := r.keys().GetAll(pattern) // the error comes once more
			r.sees(all...)
			out, err := r.keys().GetAllValues(pattern)
			return out, badPattern(pattern, err)
		},
		"ls":    func(path string) []string { return r.keys().List(path) },
		"lsdir": func(path string) []string { return r.keys().ListDir(path) },
	}
}

// sees notes whether a value that the template gets holds a password.
func (r *run) sees(pairs ...memkv.KVPair) {
	for _, kv := range pairs {
		r.secret = r.secret || path.Base(kv.Key) == keys.MeshPassword || strings.Contains(kv.Value, keys.HasPassword)
	}
}

func badPattern(pattern string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%q is not a pattern: %w", pattern, err)
}

// missing adds to a missing key why it is missing.
func (r *run) missing(err error) error {
	e, ok := errors.AsType[*memkv.KeyError](err)
	if !ok {
		return err
	}
	return &KeyError{Key: e.Key, Hint: r.hint(e.Key)}
}

// covers tells that a path begins with one of others, as characters.
func covers(beginnings []string, path string) bool {
	return slices.ContainsFunc(beginnings, func(b string) bool { return strings.HasPrefix(path, b) })
}

func (r *run) hint(key string) string {
	t := r.template
	prefix, cover := keys.Expand(t.Prefix, t.Keys, r.data.Node)
	base := path.Clean(prefix)
	clean := path.Clean("/" + key)
	if rest, ok := strings.CutPrefix(clean, base+"/"); ok && base != "/" {
		return fmt.Sprintf("the template sees keys without their prefix %s: write %q", t.Prefix, "/"+rest)
	}
	if clean != key {
		return fmt.Sprintf("keys are written in their shortest form: %q", clean)
	}
	absolute := path.Join(base, clean)
	if r.keys().IsEmpty() {
		return fmt.Sprintf("the prefix and the keys of %s match nothing in Calico's tree, which begins with %s", t.Resource, keys.Root)
	}
	if !covers(cover, absolute) {
		add := path.Dir(clean)
		if add == "/" {
			add = clean
		}
		return fmt.Sprintf("the keys of %s do not cover it: add %q to them", t.Resource, add)
	}
	if why := optional(absolute); why != "" {
		return why + `; ask with exists first, or hand getv a default, as in getv KEY ""`
	}
	if near := calico.DidYouMean(path.Base(clean), r.keys().List(path.Dir(clean))); near != "" {
		return near
	}
	return ""
}

// former are the settings of the keys that only Calico up to 3.32 has, by their last element.
var former = map[string]string{
	"svc_external_ips":       "serviceExternalIPs",
	"svc_loadbalancer_ips":   "serviceLoadBalancerIPs",
	"svc_cluster_ips":        "serviceClusterIPs",
	"bind_mode":              "bindMode: NodeIP",
	"ignored_interfaces":     "ignoredInterfaces",
	"node_mesh_restart_time": "nodeMeshMaxRestartTime",
	"node_mesh_password":     "nodeMeshPassword",
	"program_cluster_routes": "programClusterRoutes",
}

// optional tells when a key is there.
func optional(absolute string) string {
	const settings = keys.Root + "/bgp/v1/"
	rest, ok := strings.CutPrefix(absolute, settings)
	if !ok {
		return ""
	}
	field := func(name string) string { return "it is there only while " + name + " is set" }
	last := path.Base(rest)
	global := strings.HasPrefix(rest, "global/")
	switch last {
	case "listen_port":
		return field("listenPort of the BGPConfiguration")
	case "ip_v4", "ip_v6":
		return field("prefixAdvertisements of the BGPConfiguration")
	case "graceful_restart_wait":
		return "a key of birdconfd's own: " + field("gracefulRestartWait")
	case "graceful_restart_wait_for":
		return "a key of birdconfd's own: " + field("gracefulRestartWaitFor")
	}
	if !global {
		switch last {
		case "as_num":
			return field("the node's asNumber") + "; without it global/as_num counts"
		case "network_v4", "network_v6":
			return "it is there only for a node with an address of that family"
		case "loglevel":
			return field("logSeverityScreen of the node's own BGPConfiguration")
		case "bind_mode", "ignored_interfaces":
			return "no Calico has ever written this key for a node, only below global"
		}
		return ""
	}
	if name, ok := former[last]; ok {
		return "a key of Calico's confd up to 3.32, which birdconfd has too: " + field(name)
	}
	return ""
}
