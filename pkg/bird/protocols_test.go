package bird

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/birdconfd/birdconfd/pkg/bird/birdtest"
)

const bgpProtocols = `router id 10.0.0.1;
protocol device { }
template bgp tmpl { local as 64512; disabled; }
# protocol bgp commented { }
/* protocol bgp commented2 from tmpl { }
 */
protocol/**/bgp # here?
 'quo-ted.x' from tmpl { neighbor 10.0.0.2 as 1; description "protocol bgp in_string from tmpl { }"; }
protocol bgp _x9 from tmpl { neighbor 10.0.0.4 as 1; description "/* "; } protocol bgp y from tmpl{ neighbor 10.0.0.5 as 1; description "*/ # "; }
protocol static st { }
protocol bgp protocol9 from tmpl { neighbor 10.0.0.6 as 1; import filter { if net ~ 10.0.0.0/8 then accept; /* don't */ reject; }; }
`

func TestBGPProtocolsAreThoseOfBird(t *testing.T) {
	conn := dial(t, client(birdtest.Start(t, birdtest.Bird(t), bgpProtocols)))
	protocols, err := conn.Protocols(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, p := range protocols {
		if p.Proto == "BGP" {
			want = append(want, p.Name)
		}
	}
	if diff := cmp.Diff(want, BGPProtocols([]byte(bgpProtocols))); diff != "" || len(want) != 4 {
		t.Errorf("(-bird +got):\n%s", diff)
	}
}

func TestBGPProtocols(t *testing.T) {
	for _, tt := range []struct{ rule, config, want string }{
		{"none", "", ""},
		{"the order of the file", "protocol bgp b {} protocol bgp a {}", "b a"},
		{"a protocol without a name", "protocol bgp { } protocol bgp from t { } protocol bgp n { }", "n"},
		{"a template", "template bgp t { }", ""},
		{"parts of words", "xprotocol bgp a {} protocol bgpx b {} protocol-bgp c {}", ""},
		{"a comment that does not end", "protocol bgp a { } /* protocol bgp b { }", "a"},
		{"a string that does not end ends with the line", "x \"y\nprotocol bgp a { }", "a"},
		{"a quotation mark in a comment", "# \"\nprotocol bgp a { } /* \" */ protocol bgp b { }", "a b"},
		{"end in the middle", "protocol bgp a { } protocol bgp", "a"},
		{"no name at all", "protocol bgp } protocol bgp 7 {", ""},
		{"carriage returns", "protocol bgp a\r\n{\r\n}\r\n# x\r\nprotocol bgp b {}", "a b"},
	} {
		if got := strings.Join(BGPProtocols([]byte(tt.config)), " "); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.rule, got, tt.want)
		}
	}
}

func FuzzBGPProtocols(f *testing.F) {
	f.Add(bgpProtocols)
	f.Add("protocol bgp '")
	f.Fuzz(func(t *testing.T, config string) {
		for _, name := range BGPProtocols([]byte(config)) {
			if strings.ContainsAny(name, " \t\n'\"{}#") {
				t.Errorf("%q is no name", name)
			}
		}
	})
}
