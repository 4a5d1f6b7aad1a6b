package calico

import (
	"slices"
	"strings"
	"testing"
)

func TestDecodeStream(t *testing.T) {
	for _, tt := range []struct {
		name, text, objects string
		problems            []string
	}{
		{name: "nothing"},
		{name: "comments, markers and empty documents say nothing", text: "# hello\n---\n---\n# bye\n...\n---\nnull\n"},
		{name: "several documents", text: pool("a") + "---\n" + pool("b") + "--- # third\n" + pool("c") + "...\n" + pool("d"), objects: "IPPool/a IPPool/b IPPool/c IPPool/d"},
		{name: "carriage returns", text: strings.ReplaceAll(pool("a")+"---\n"+pool("b"), "\n", "\r\n"), objects: "IPPool/a IPPool/b"},
		{name: "a document on the line of its marker", text: "--- {apiVersion: projectcalico.org/v3, kind: IPPool, metadata: {name: a}, spec: {cidr: 198.51.100.0/24}}\n", objects: "IPPool/a"},
		{name: "directives belong to the document after them", text: "%YAML 1.1\n# x\n---\n" + pool("a"), objects: "IPPool/a"},
		{name: "byte order mark", text: "\ufeff" + pool("a"), objects: "IPPool/a"},
		{
			name:    "a syntax error spoils its own document only",
			text:    pool("a") + "---\nkind: [\n---\n" + pool("b"),
			objects: "IPPool/a IPPool/b",
			problems: []string{
				"in.yaml:7: error: not valid YAML: did not find expected node content; the document is left out [syntax]\n" +
					"    hint: look at this line and those below it for indentation or brackets that do not match",
			},
		},
		{
			name:    "lines are counted through the whole file",
			text:    pool("a") + "---\n" + pool("b") + "---\nkind: BGPPeer\nspec:\n  a: b: c\n---\n" + strings.Replace(pool("c"), "24", "33", 1),
			objects: "IPPool/a IPPool/b",
			problems: []string{
				"in.yaml:13: error: not valid YAML: mapping values are not allowed in this context; the document is left out [syntax]",
				`in.yaml:18:14: error: IPPool/c spec.cidr: "198.51.100.0/33" is not a CIDR; the pool is left out [prefix]`,
			},
		},
		{
			name: "tabs",
			text: "kind: IPPool\nspec:\n\tcidr: 10.0.0.0/8\n",
			problems: []string{"in.yaml:3: error: not valid YAML: found character that cannot start any token; the document is left out [syntax]\n" +
				"    hint: indent with spaces, YAML does not take tabs"},
		},
		{
			name: "an unknown anchor is not named, it may be a secret",
			text: pool("a") + "---\nkind: Secret\nstringData:\n  key: *hunter2\n",
			problems: []string{"in.yaml:8: error: not valid YAML: an alias (*) names an anchor (&) that is not there; the document is left out [syntax]\n" +
				"    hint: quote a text that starts with an asterisk"},
			objects: "IPPool/a",
		},
		{
			name:     "binary",
			text:     "\x1f\x8b\x08\x00",
			problems: []string{"in.yaml:1: error: not valid YAML: control characters are not allowed; the document is left out [syntax]"},
		},
		{
			name: "not a resource",
			text: "- a\n- b\n---\nhello\n",
			problems: []string{
				"in.yaml:1:1: error: a list stands where a resource belongs; the document is left out [wrong-type]\n    hint: a resource is a mapping with apiVersion, kind, metadata and spec",
				"in.yaml:4:1: error: text stands where a resource belongs; the document is left out [wrong-type]\n    hint: a resource is a mapping with apiVersion, kind, metadata and spec",
			},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := ids(decodeTest(t, tt.text, tt.problems...)); got != tt.objects {
				t.Errorf("objects %q, want %q", got, tt.objects)
			}
		})
	}
}

func TestDecodeJSON(t *testing.T) {
	const doc = `{"apiVersion": "projectcalico.org\/v3", "kind": "IPPool",
	"metadata": {"name": "a", "annotations": {"smile": "\ud83d\ude00"}},
	"spec": {"cidr": "198.51.100.0/24", "blockSize": 28, "natOutgoing": true, "disabled": null}}`
	t.Run("escapes that YAML does not have", func(t *testing.T) {
		p := one[*IPPool](t, decodeTest(t, doc))
		if got := p.Annotations["smile"]; got != "😀" {
			t.Errorf("annotation %q", got)
		}
	})
	t.Run("values one after the other", func(t *testing.T) {
		if got := len(decodeTest(t, doc+"\n"+doc+doc)); got != 3 {
			t.Errorf("%d objects", got)
		}
	})
	t.Run("positions", func(t *testing.T) {
		decodeTest(t, "---\n"+strings.Replace(doc, `198.51.100.0/24", "blockSize": 28`, `ü", "blockSize": 2.5`, 1),
			`in.yaml:4:19: error: IPPool/a spec.cidr: "ü" is not a CIDR; the pool is left out [prefix]`,
			`in.yaml:4:37: error: IPPool/a spec.blockSize: 2.5 is not a whole decimal number; the field counts as unset [wrong-type]`)
	})
	t.Run("YAML in braces is no JSON and read all the same", func(t *testing.T) {
		one[*IPPool](t, decodeTest(t, "{apiVersion: projectcalico.org/v3, kind: IPPool, metadata: {name: a}, spec: {cidr: 198.51.100.0/24}}"))
	})
	for _, broken := range []string{`{"a": 1`, `{"a" 1}`, `{"a": 01}`, `{"a": "x`, `{"a": tru}`, `{"a": 1} x`, `{"a": "\ud8"}`, `[1 2]`, `{1: 2}`, strings.Repeat("[", 2000)} {
		if _, ok := readJSON([]byte(broken)); ok {
			t.Errorf("%s passes for JSON", broken)
		}
	}
}

func TestDecodeLists(t *testing.T) {
	item := func(name string) string { return "- metadata: {name: " + name + "}\n  spec: {cidr: 198.51.100.0/24}\n" }
	for _, tt := range []struct {
		name, text, objects string
		problems            []string
	}{
		{name: "List", text: "apiVersion: v1\nkind: List\nmetadata: {resourceVersion: \"\"}\nitems:\n- " + strings.ReplaceAll(pool("a"), "\n", "\n  ") + "\n- \n", objects: "IPPool/a"},
		{name: "items of a typed list need no kind", text: "apiVersion: projectcalico.org/v3\nkind: IPPoolList\nitems:\n" + item("a") + item("b"), objects: "IPPool/a IPPool/b"},
		{name: "an empty list", text: "apiVersion: v1\nkind: List\nitems: []\n---\napiVersion: v1\nkind: NodeList\nitems: null\n"},
		{
			name: "a list in a list",
			text: "apiVersion: v1\nkind: List\nitems:\n- apiVersion: projectcalico.org/v3\n  kind: IPPoolList\n  items:\n  " + strings.ReplaceAll(item("a"), "\n", "\n  "), objects: "IPPool/a",
		},
		{
			name: "a bad item spoils only itself",
			text: "apiVersion: projectcalico.org/v3\nkind: IPPoolList\nitems:\n" + item("a") + "- 5\n- metadata: {}\n" + item("b"), objects: "IPPool/a IPPool/b",
			problems: []string{
				"in.yaml:6:3: error: a number stands where a resource belongs; this item of the list is left out [wrong-type]\n    hint: a resource is a mapping with apiVersion, kind, metadata and spec",
				"in.yaml:7:13: error: IPPool metadata.name: the field is required; the pool is left out [missing-field]",
			},
		},
		{
			name: "items misspelt",
			text: "apiVersion: v1\nkind: List\nitem:\n" + item("a"),
			problems: []string{
				"in.yaml:1:1: error: List items: the field is required; the document is left out [missing-field]",
				"in.yaml:3:1: error: List item: there is no such field; it is ignored [unknown-field]\n    hint: did you mean \"items\"?",
			},
		},
		{
			name:     "lists without end",
			text:     "&l\napiVersion: v1\nkind: List\nitems: [*l]\n",
			problems: []string{"in.yaml:4:9: error: List: lists are nested more than 4 deep; this item of the list is left out [syntax]"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := ids(decodeTest(t, tt.text, tt.problems...)); got != tt.objects {
				t.Errorf("objects %q, want %q", got, tt.objects)
			}
		})
	}
}

func TestDecodeDuplicatesAndAliases(t *testing.T) {
	const head = "apiVersion: projectcalico.org/v3\nkind: BGPPeer\nmetadata: {name: tor}\n"
	t.Run("the first of two equal keys counts", func(t *testing.T) {
		p := one[*BGPPeer](t, decodeTest(t, head+"spec:\n  peerIP: 192.0.2.1\n  asNumber: 64501\n  peerIP: 192.0.2.2\n",
			"in.yaml:7:3: error: BGPPeer/tor spec.peerIP: the key stands here a second time; the first one counts [duplicate-field]"))
		if got := p.PeerIP.String(); got != "192.0.2.1" {
			t.Errorf("peerIP %s", got)
		}
	})
	t.Run("also among many", func(t *testing.T) {
		labels := ""
		for _, c := range "abcdefghijklmnopqrstuvwxyzc" {
			labels += string(c) + ": x, "
		}
		decodeTest(t, strings.Replace(head, "name: tor", "name: tor, labels: {"+labels+"}", 1)+"spec: {peerIP: 192.0.2.1}\n",
			"in.yaml:3:188: error: BGPPeer/tor metadata.labels.c: the key stands here a second time; the first one counts [duplicate-field]")
	})
	t.Run("aliases and merge keys", func(t *testing.T) {
		p := one[*BGPPeer](t, decodeTest(t, "apiVersion: projectcalico.org/v3\nkind: BGPPeer\nmetadata: {name: tor, labels: &l {a: b}, annotations: *l}\nspec:\n"+
			"  <<: [{asNumber: 64502}, {asNumber: 64503, peerIP: 192.0.2.1, nextHopMode: Self}]\n  nextHopMode: Keep\n  filters: [&f one, *f]\n"))
		if p.ASNumber != 64502 || p.NextHopMode != NextHopKeep || p.PeerIP.String() != "192.0.2.1" || strings.Join(p.Filters, " ") != "one one" || p.Annotations["a"] != "b" {
			t.Errorf("%+v", p)
		}
	})
	t.Run("a problem behind an alias is reported where the alias stands", func(t *testing.T) {
		decodeTest(t, head+"spec:\n  nodeSelector: &s foo bar\n---\n"+head+"spec: {peerIP: &ip 192.0.2.300, reachableBy: *ip}\n",
			"in.yaml:5:17: error: BGPPeer/tor spec.nodeSelector: not a selector: \"bar\" is not an operator at character 5, near \"bar\"; the peer is left out [selector]",
			`in.yaml:10:16: error: BGPPeer/tor spec.peerIP: "192.0.2.300" is not an IP address; the peer is left out [address]`,
			`in.yaml:10:46: error: BGPPeer/tor spec.reachableBy: "192.0.2.300" is not an IP address; the peer is left out [address]`)
	})
	t.Run("an alias does not reach into another document", func(t *testing.T) {
		decodeTest(t, head+"spec: &s {peerIP: 192.0.2.1}\n---\n"+strings.Replace(head, "tor", "two", 1)+"spec: *s\n",
			"in.yaml:9: error: not valid YAML: an alias (*) names an anchor (&) that is not there; the document is left out [syntax]\n    hint: quote a text that starts with an asterisk")
	})
	t.Run("a merge of what is no mapping", func(t *testing.T) {
		one[*BGPPeer](t, decodeTest(t, head+"spec: {<<: 5, peerIP: 192.0.2.1}\n",
			"in.yaml:4:12: error: BGPPeer/tor spec: a merge key (<<) wants a mapping, or a list of them; it is ignored [syntax]"))
	})
	t.Run("keys that are no text", func(t *testing.T) {
		one[*BGPPeer](t, decodeTest(t, head+"spec: {[a]: 5, peerIP: 192.0.2.1}\n",
			"in.yaml:4:8: error: BGPPeer/tor spec: a key is not text; it is ignored [wrong-type]"))
	})
	const tooMany = "the aliases (*) lead to too many values, or into themselves; the resource is left out [syntax]"
	t.Run("an anchor inside itself", func(t *testing.T) {
		objects := decodeTest(t, head+"spec: &s {peerIP: 192.0.2.1, <<: *s}\n", "in.yaml:4:34: error: BGPPeer/tor spec: "+tooMany)
		if len(objects) > 0 {
			t.Error("the object is there")
		}
	})
	t.Run("a bomb", func(t *testing.T) {
		bomb := "metadata: {name: tor}\nspec:\n  a0: &a0 {peerIP: 192.0.2.1}\n"
		for i := range 9 {
			bomb += "  aN: &aM {<<: [*aN,*aN,*aN,*aN,*aN,*aN,*aN,*aN,*aN,*aN]}\n"
			bomb = strings.ReplaceAll(strings.ReplaceAll(bomb, "aN", "a"+string(rune('0'+i))), "aM", "a"+string(rune('1'+i)))
		}
		objects, problems := Decode("in.yaml", []byte("apiVersion: projectcalico.org/v3\nkind: BGPPeer\n"+bomb+"  <<: *a9\n"))
		exploded := func(p Problem) bool { return strings.Contains(p.String(), tooMany) }
		if !slices.ContainsFunc(problems, exploded) || len(objects) > 0 {
			t.Errorf("%d objects, %v", len(objects), problems)
		}
	})
}
