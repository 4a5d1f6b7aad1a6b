package calico

import (
	"strings"
	"testing"
)

func TestDecodeObject(t *testing.T) {
	for name, c := range map[string]struct {
		data    string
		want    string // the object's ID, "" for none
		problem string // part of the first problem, "" for none
	}{
		"a peer":               {`{"apiVersion":"projectcalico.org/v3","kind":"BGPPeer","metadata":{"name":"a"},"spec":{"peerIP":"192.0.2.1","asNumber":64512}}`, "BGPPeer/a", ""},
		"a field out of range": {`{"apiVersion":"projectcalico.org/v3","kind":"BGPPeer","metadata":{"name":"a"},"spec":{"peerIP":"192.0.2.1","asNumber":64512,"ttlSecurity":300}}`, "", "BGPPeer/a spec.ttlSecurity"},
		"half a value":         {`{"apiVersion":"projectcalico.org/v3"`, "", "not one object in JSON"},
		"YAML":                 {"apiVersion: projectcalico.org/v3\nkind: BGPPeer", "", "not one object in JSON"},
		"nothing":              {"", "", "not one object in JSON"},
		"two values":           {`{} {}`, "", "not one object in JSON"},
		"a list":               {`{"apiVersion":"v1","kind":"List","items":[{"apiVersion":"v1","kind":"Node","metadata":{"name":"a"}},{"apiVersion":"v1","kind":"Node","metadata":{"name":"b"}}]}`, "", "a list"},
		"a pending affinity":   {`{"apiVersion":"projectcalico.org/v3","kind":"BlockAffinity","metadata":{"name":"a"},"spec":{"node":"a","cidr":"192.0.2.0/26","state":"pending"}}`, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			o, problems := DecodeObject("/calico/x", []byte(c.data))
			got := ""
			if o != nil {
				got = o.Common().ID.String()
			}
			if got != c.want {
				t.Errorf("object %q, want %q", got, c.want)
			}
			switch {
			case c.problem == "" && len(problems) > 0:
				t.Errorf("problems %v", problems)
			case c.problem != "" && (len(problems) == 0 || !strings.Contains(problems[0].String(), c.problem)):
				t.Errorf("problems %v, want %q", problems, c.problem)
			case c.problem != "" && problems[0].Position != (Position{File: "/calico/x"}):
				t.Errorf("place %v", problems[0].Position)
			}
		})
	}
}
