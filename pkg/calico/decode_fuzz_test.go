package calico

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// FuzzDecode checks that no input makes Decode panic or take for ever, and that whatever
// it reports can be shown.
func FuzzDecode(f *testing.F) {
	every, err := os.ReadFile(everyKind)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(every)
	for _, s := range []string{
		"&a [*a]", "&a {<<: *a, kind: *a}", "- - - -", "{\"a\": [1e5, \"\\ud83d\"]}", "%YAML 1.1\n---\n", "? a\n: b\n", "a: |\n  x\n---\n...\n", "\xff\xfe", "--- >\n",
		"apiVersion: v1\nkind: List\nitems: &i [{kind: List, apiVersion: v1, items: *i}]\n",
		"apiVersion: projectcalico.org/v3\nkind: BGPFilter\nmetadata: {name: a}\nspec: {importV4: [{action: Accept, operations: [{}]}, null, {<<: [x]}]}\n",
		"apiVersion: projectcalico.org/v3\nkind: BGPConfiguration\nmetadata: {name: default}\nspec: {communities: [null], prefixAdvertisements: [{communities: [[]]}], nodeMeshPassword: []}\n",
		"apiVersion: crd.projectcalico.org/v1\nkind: BGPPeer\nmetadata: {name: a, annotations: {projectcalico.org/metadata: 'null'}}\nspec: {peerIP: '[::1]:1', filters: {}}\n",
		"apiVersion: v1\nkind: Secret\nmetadata: {name: a}\ndata: {? [x] : y}\nstringData: [a]\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 1<<16 {
			return // larger inputs only take longer
		}
		start := time.Now()
		objects, problems := Decode("in.yaml", data)
		if took := time.Since(start); took > 20*time.Second {
			t.Errorf("took %s", took)
		}
		for _, o := range objects {
			if m := o.Common(); checkName(m.Name) != nil || m.Kind == "" || m.Origin.Line == 0 {
				t.Errorf("object %+v", m)
			}
		}
		for _, p := range problems {
			s := p.String()
			if p.Rule == "" || p.Message == "" || p.Position.Line < 1 || p.Position.Line > 1+bytes.Count(data, []byte("\n"))+bytes.Count(data, []byte("\r"))+utf8.RuneCount(data) {
				t.Errorf("problem %#v", p)
			}
			if lines := strings.Count(s, "\n"); lines > 1 || lines == 1 && p.Hint == "" || !utf8.ValidString(s) {
				t.Errorf("problem does not fit on a line: %q", s)
			}
		}
		c, _ := NewCluster(objects, nil)
		_ = c.FilterNames()
		DecodeEndpointStatus("in.json", data)
	})
}
