package calico

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

var (
	ignoreOrigin  = cmpopts.IgnoreTypes(Origin{})
	netipComparer = cmp.Options{
		cmp.Comparer(func(a, b netip.Addr) bool { return a == b }),
		cmp.Comparer(func(a, b netip.Prefix) bool { return a == b }),
	}
)

// decodeTest decodes a text and compares what is reported, rendered as a person reads it.
func decodeTest(t *testing.T, text string, want ...string) []Object {
	t.Helper()
	objects, problems := Decode("in.yaml", []byte(text))
	var got []string
	for _, p := range problems {
		got = append(got, p.String())
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
	return objects
}

// one returns the only object there must be.
func one[T Object](t *testing.T, objects []Object) T {
	t.Helper()
	if len(objects) != 1 {
		t.Fatalf("%d objects instead of one", len(objects))
	}
	o, ok := objects[0].(T)
	if !ok {
		t.Fatalf("object of type %T", objects[0])
	}
	return o
}

// ids names objects in order.
func ids(objects []Object) string {
	var out []string
	for _, o := range objects {
		out = append(out, o.Common().ID.String())
	}
	return strings.Join(out, " ")
}

// pool is a small document that is all right.
func pool(name string) string {
	return "apiVersion: projectcalico.org/v3\nkind: IPPool\nmetadata: {name: " + name + "}\nspec: {cidr: 198.51.100.0/24}\n"
}

func TestDecodeKinds(t *testing.T) {
	doc := func(version, kind string) string {
		return "apiVersion: " + version + "\nkind: " + kind + "\nmetadata: {name: x}\n"
	}
	for _, tt := range []struct{ name, text, problem string }{
		{"no kind", "apiVersion: v1\nmetadata: {name: x}\n", "in.yaml:1:1: error: kind: the field is required; the document is left out [missing-field]"},
		{"no version", "kind: BGPPeer\n", "in.yaml:1:1: error: apiVersion: the field is required; the document is left out [missing-field]"},
		{"empty kind", "apiVersion: v1\nkind: \"\"\n", "in.yaml:2:7: error: kind: kind is empty; the document is left out [missing-field]"},
		{"kind is no text", "apiVersion: v1\nkind: [x]\n", "in.yaml:2:7: error: kind: a list stands where text belongs; the document is left out [wrong-type]"},
		{"a kind of Calico that is not read", doc("projectcalico.org/v3", "FelixConfiguration"), "in.yaml:1:1: info: FelixConfiguration/x: FelixConfiguration of projectcalico.org/v3 is not read [unknown-kind]"},
		{"a kind of Kubernetes that is not read", doc("apps/v1", "Deployment"), "in.yaml:1:1: info: Deployment/x: Deployment of apps/v1 is not read [unknown-kind]"},
		{"short names are no slips", doc("v1", "Pod"), "in.yaml:1:1: info: Pod/x: Pod of v1 is not read [unknown-kind]"},
		{"a list of them", doc("v1", "PodList"), "in.yaml:1:1: info: PodList/x: PodList of v1 is not read [unknown-kind]"},
		{"somebody else's kind of the same name", doc("metallb.io/v1beta2", "BGPPeer"), "in.yaml:1:1: info: BGPPeer/x: BGPPeer of metallb.io/v1beta2 is not read [unknown-kind]"},
		{"a slip", doc("projectcalico.org/v3", "BGPPer"), "in.yaml:2:7: error: BGPPer/x kind: there is no such kind; the object is left out [unknown-kind]\n    hint: did you mean \"BGPPeer\"?"},
		{"letter case", doc("projectcalico.org/v3", "bgppeer"), "in.yaml:2:7: error: bgppeer/x kind: there is no such kind; the object is left out [unknown-kind]\n    hint: did you mean \"BGPPeer\"?"},
		{"a slip in a list", doc("projectcalico.org/v3", "BGPPerList"), "in.yaml:2:7: error: BGPPerList/x kind: there is no such kind; the object is left out [unknown-kind]\n    hint: did you mean \"BGPPeerList\"?"},
		{"a version that is not ours", doc("projectcalico.org/v1", "BGPPeer"), "in.yaml:1:13: error: BGPPeer/x apiVersion: \"projectcalico.org/v1\" is not a version of BGPPeer that is read here; the object is left out [unknown-version]\n    hint: write apiVersion: projectcalico.org/v3 or crd.projectcalico.org/v1"},
		{"a version without group", doc("v3", "BGPPeer"), "in.yaml:1:13: error: BGPPeer/x apiVersion: \"v3\" is not a version of BGPPeer that is read here; the object is left out [unknown-version]\n    hint: write apiVersion: projectcalico.org/v3 or crd.projectcalico.org/v1"},
		{"an old version", doc("discovery.k8s.io/v1beta1", "EndpointSlice"), "in.yaml:1:13: error: EndpointSlice/x apiVersion: \"discovery.k8s.io/v1beta1\" is not a version of EndpointSlice that is read here; the object is left out [unknown-version]\n    hint: write apiVersion: discovery.k8s.io/v1"},
		{"a slip in the group", doc("projecalico.org/v3", "IPPool"), "in.yaml:1:13: error: IPPool/x apiVersion: \"projecalico.org/v3\" is not a version of IPPool that is read here; the object is left out [unknown-version]\n    hint: write apiVersion: projectcalico.org/v3 or crd.projectcalico.org/v1"},
		{"a kind that does not fit on a line", "apiVersion: v1\nkind: \"a\\nb\"\n", "in.yaml:1:1: info: \"a\\nb\": \"a\\nb\" of v1 is not read [unknown-kind]"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if objects := decodeTest(t, tt.text, tt.problem); len(objects) > 0 {
				t.Errorf("objects: %s", ids(objects))
			}
		})
	}
}

func TestDecodeNames(t *testing.T) {
	const rule = "is not a name: small letters, digits, - and ., at most 253 of them; the pool is left out [name]"
	for _, tt := range []struct{ name, metadata, problem string }{
		{"no metadata", "null", "in.yaml:1:1: error: IPPool metadata.name: the field is required; the pool is left out [missing-field]"},
		{"metadata of the wrong type", "[a]", "in.yaml:3:11: error: IPPool metadata: a list stands where a mapping belongs; the pool is left out [wrong-type]"},
		{"no name", "{generateName: x-}", "in.yaml:3:11: error: IPPool metadata.name: the field is required; the pool is left out [missing-field]"},
		{"a number", "{name: 7}", "in.yaml:3:18: error: IPPool metadata.name: a number stands where text belongs; the pool is left out [wrong-type]\n    hint: put it in quotes: \"7\""},
		{"empty", `{name: ""}`, `in.yaml:3:18: error: IPPool metadata.name: "" ` + rule},
		{"capital letters", "{name: Tor}", `in.yaml:3:18: error: IPPool metadata.name: "Tor" ` + rule},
		{"two lines", `{name: "a\nb"}`, `in.yaml:3:18: error: IPPool metadata.name: "a\nb" ` + rule},
		{"a hyphen at the end", "{name: a-.b}", `in.yaml:3:18: error: IPPool metadata.name: "a-.b" ` + rule},
		{"too long, and shortened", "{name: " + strings.Repeat("a", 254) + "}", `in.yaml:3:18: error: IPPool metadata.name: "` + strings.Repeat("a", 60) + `…" ` + rule},
	} {
		t.Run(tt.name, func(t *testing.T) {
			text := strings.Replace(pool("x"), "{name: x}", tt.metadata, 1)
			if objects := decodeTest(t, text, tt.problem); len(objects) > 0 {
				t.Errorf("objects: %s", ids(objects))
			}
		})
	}
	one[*IPPool](t, decodeTest(t, pool(strings.Repeat("a", 253))))
}

func TestDecodeMetadata(t *testing.T) {
	t.Run("usual keys are known, others are not", func(t *testing.T) {
		decodeTest(t, strings.Replace(pool("x"), "{name: x}", "{name: x, uid: u, resourceVersion: '1', generation: 1, selfLink: s, managedFields: [], ownerReferences: [], finalizers: [], creationTimestamp: 2026-05-02T08:11:09Z, deletionTimestamp: null, deletionGracePeriodSeconds: 1, anotations: {}}", 1),
			"in.yaml:3:232: error: IPPool/x metadata.anotations: there is no such field; it is ignored [unknown-field]\n    hint: did you mean \"annotations\"?")
	})
	t.Run("labels are text", func(t *testing.T) {
		p := one[*IPPool](t, decodeTest(t, strings.Replace(pool("x"), "{name: x}", "{name: x, labels: {a: 1, b: yes, c: , d: d}}", 1),
			"in.yaml:3:33: error: IPPool/x metadata.labels[a]: a number stands where text belongs; the entry is left out [wrong-type]\n    hint: put it in quotes: \"1\"",
			"in.yaml:3:39: warning: IPPool/x metadata.labels[b]: \"yes\" without quotes is a boolean to kubectl; it is taken for text here [wrong-type]\n    hint: put it in quotes"))
		if diff := cmp.Diff(map[string]string{"b": "yes", "c": "", "d": "d"}, p.Labels); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("kubectl's copy of the object is dropped", func(t *testing.T) {
		p := one[*IPPool](t, decodeTest(t, strings.Replace(pool("x"), "{name: x}", "{name: x, annotations: {kubectl.kubernetes.io/last-applied-configuration: '{}', a: b}}", 1)))
		if diff := cmp.Diff(map[string]string{"a": "b"}, p.Annotations); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("annotations of ours on a kind that has none", func(t *testing.T) {
		decodeTest(t, strings.Replace(pool("x"), "{name: x}", "{name: x, annotations: {birdconfd/graceful-restart-wait: 45s}}", 1),
			"in.yaml:3:68: warning: IPPool/x metadata.annotations[birdconfd/graceful-restart-wait]: the annotation means nothing here; it is ignored [annotation]")
	})
}

// The two documents of the specification that must read as one resource.
func TestDecodeV1AndV3(t *testing.T) {
	const v1 = `apiVersion: crd.projectcalico.org/v1
kind: BGPConfiguration
metadata:
  name: default
  resourceVersion: "48113"
  uid: 0f6f3a0e-9c1d-4e0b-8a55-3d3f1f2a9b11
  labels: {team: kubernetes, tier: a}
  annotations:
    projectcalico.org/metadata: '{"creationTimestamp":"2026-05-02T08:10:58Z","labels":{"team":"net"},"annotations":{"owner":"sre"}}'
spec:
  logSeverityScreen: Info
  nodeToNodeMeshEnabled: false
  asNumber: 64512
  serviceClusterIPs: [{cidr: 10.96.0.0/12}]
`
	const v3 = `apiVersion: projectcalico.org/v3
kind: BGPConfiguration
metadata: {name: default, labels: {team: net, tier: a}, annotations: {owner: sre}}
spec: {logSeverityScreen: Info, nodeToNodeMeshEnabled: false, asNumber: 64512, serviceClusterIPs: [{cidr: 10.96.0.0/12}]}
`
	a, b := one[*BGPConfiguration](t, decodeTest(t, v1)), one[*BGPConfiguration](t, decodeTest(t, v3))
	if diff := cmp.Diff(a, b, ignoreOrigin, netipComparer); diff != "" {
		t.Errorf("v1 and v3 differ:\n%s", diff)
	}
	t.Run("metadata that cannot be read", func(t *testing.T) {
		objects := decodeTest(t, strings.Replace(v1, `"net"}`, `["net"]}`, 1),
			"in.yaml:9:33: error: BGPConfiguration/default metadata.annotations[projectcalico.org/metadata]: the annotation does not hold metadata in JSON, so the object's own labels and annotations are unknown; the configuration is left out [metadata]\n    hint: write the object again with calicoctl")
		if len(objects) > 0 {
			t.Error("the object is there")
		}
	})
}

func TestDecodeUnknownFields(t *testing.T) {
	// c#5941, c#5063, c#3337: a typo, and a field of a newer Calico.
	c := one[*BGPConfiguration](t, decodeTest(t, `apiVersion: projectcalico.org/v3
kind: BGPConfiguration
metadata: {name: default}
spec:
  asNumber: 64500
  serviceClusterIPs: [{cird: 203.0.113.0/28}]
  gracefullRestartWait: 30s
  quantumRouting: true
  "odd \n key": 1
`,
		"in.yaml:6:24: error: BGPConfiguration/default spec.serviceClusterIPs[0].cird: there is no such field; it is ignored [unknown-field]\n    hint: did you mean \"cidr\"?",
		"in.yaml:7:3: error: BGPConfiguration/default spec.gracefullRestartWait: there is no such field; it is ignored [unknown-field]\n    hint: did you mean \"gracefulRestartWait\"?",
		"in.yaml:8:3: error: BGPConfiguration/default spec.quantumRouting: there is no such field; it is ignored [unknown-field]\n    hint: this version does not know it; a newer Calico may",
		"in.yaml:9:3: error: BGPConfiguration/default spec.\"odd \\n key\": there is no such field; it is ignored [unknown-field]\n    hint: this version does not know it; a newer Calico may"))
	if c.ASNumber != 64500 || c.ServiceClusterIPs != nil || c.GracefulRestartWait != nil {
		t.Errorf("%+v", c)
	}
	t.Run("spec of the wrong type", func(t *testing.T) {
		if objects := decodeTest(t, "apiVersion: projectcalico.org/v3\nkind: BGPConfiguration\nmetadata: {name: default}\nspec: nothing\nspce: {}\n",
			"in.yaml:4:7: error: BGPConfiguration/default spec: text stands where a mapping belongs; the configuration is left out [wrong-type]",
			"in.yaml:5:1: error: BGPConfiguration/default spce: there is no such field; it is ignored [unknown-field]\n    hint: did you mean \"spec\"?"); len(objects) > 0 {
			t.Error("the object is there")
		}
	})
}

func TestOriginRemembersFields(t *testing.T) {
	p := one[*BGPPeer](t, decodeTest(t, "apiVersion: projectcalico.org/v3\nkind: BGPPeer\nmetadata: {name: tor}\nspec:\n  peerIP: 192.0.2.1\n  filters:\n  - a\n  - b\n  password:\n    secretKeyRef: {name: a, key: b}\n"))
	for path, want := range map[string]string{
		"":                                "in.yaml:1:1",
		"spec.filters[1]":                 "in.yaml:8:5",
		"spec.filters[2]":                 "in.yaml:7:3",
		"spec.password.secretKeyRef.name": "in.yaml:10:26",
		"spec.asNumber":                   "in.yaml:5:3",
	} {
		if got := p.Origin.At(path).String(); got != want {
			t.Errorf("%s is at %s, want %s", path, got, want)
		}
	}
}

// Nothing of a Secret, and nothing near a password, ever shows.
func TestSecretsStayOut(t *testing.T) {
	const canary = "hunter2"
	for _, text := range []string{
		"apiVersion: v1\nkind: Secret\nmetadata: {name: hunter2!}\ndata: {k: hunter2}\n",
		"apiVersion: v1\nkind: Secret\nmetadata: {name: x, labels: {a: 7}, annotations: {b: [hunter2]}}\ndata: {k: 'hunter2!', l: [hunter2], m: {hunter2: x}}\nstringData: hunter2\n",
		"apiVersion: v1\nkind: Secret\nmetadata: {name: x}\nstringData: {k: *hunter2}\n",
		"apiVersion: v1\nkind: Secret\nmetadata: {name: x}\nstringData: {k: hunter2: x}\n",
		"apiVersion: v2\nkind: Secret\nmetadata: {name: x}\nstringData: {k: hunter2}\n",
		"apiVersion: v1\nkind: Secert\nmetadata: {name: x}\nstringData: {k: hunter2}\n",
		"{\"apiVersion\": \"v1\", \"kind\": \"Secret\", \"metadata\": {\"name\": \"x\"}, \"stringData\": {\"k\": \"hunter2}}",
		"apiVersion: projectcalico.org/v3\nkind: BGPPeer\nmetadata: {name: x}\nspec: {peerIP: 192.0.2.1, password: hunter2}\n",
		"apiVersion: projectcalico.org/v3\nkind: BGPPeer\nmetadata: {name: x}\nspec: {peerIP: 192.0.2.1, password: {hunter2}}\n",
		"apiVersion: projectcalico.org/v3\nkind: BGPPeer\nmetadata: {name: x}\nspec: {peerIP: 192.0.2.1, password: {secretKeyRef: {name: hunter2!, key: 'hunter2 x', optional: hunter2}}}\n",
		"apiVersion: projectcalico.org/v3\nkind: BGPConfiguration\nmetadata: {name: default}\nspec: {nodeMeshPassword: {secretKeyRef: hunter2}}\n",
	} {
		_, problems := Decode("in.yaml", []byte(text))
		if len(problems) == 0 {
			t.Errorf("no problem in:\n%s", text)
		}
		for _, p := range problems {
			if strings.Contains(p.String(), canary) {
				t.Errorf("the secret is in: %s", p)
			}
		}
	}
}
