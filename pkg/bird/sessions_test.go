package bird

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

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

const sessionTexts = `router id 10.0.0.1;
template bgp mesh { local as 64512; graceful restart; }
protocol bgp a from mesh { # first
	neighbor 10.0.0.2 as 64512; /* here */ import where net = 10.0.0.0/8 || defined ( bgp_path );
	graceful restart off;
}
protocol bgp b from 'me.sh' { neighbor 10.0.0.3 as 64512; description "graceful  restart off; }"; }
protocol bgp c { local as 1; neighbor 10.0.0.4 as 2; ipv4 { graceful restart off; }; }
`

func TestReadSessions(t *testing.T) {
	want := []ConfiguredSession{
		{Name: "a", Template: "mesh", GracefulRestartOff: true, Text: "protocol bgp a from mesh{neighbor 10.0.0.2 as 64512;import where net=10.0.0.0/8||defined(bgp_path);graceful restart off;}"},
		{Name: "b", Template: "me.sh", Text: `protocol bgp b from'me.sh'{neighbor 10.0.0.3 as 64512;description"graceful  restart off; }";}`},
		{Name: "c", Text: "protocol bgp c{local as 1;neighbor 10.0.0.4 as 2;ipv4{graceful restart off;};}"},
	}
	if diff := cmp.Diff(want, ReadSessions([]byte(sessionTexts))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// BIRD itself takes a configuration made of the texts, and the texts of that are the same.
func TestTextsOfSessionsAreWhatBirdReads(t *testing.T) {
	first := ReadSessions([]byte(bgpProtocols))
	texts := "router id 10.0.0.1;protocol device{}template bgp tmpl{local as 64512;disabled;}"
	names := BGPProtocols([]byte(bgpProtocols))
	for _, s := range first {
		texts += s.Text
	}
	if diff := cmp.Diff(first, ReadSessions([]byte(texts))); diff != "" || len(first) != 4 {
		t.Errorf("(-first +second):\n%s", diff)
	}
	details, err := dial(t, client(birdtest.Start(t, birdtest.Bird(t), texts))).Details(t.Context(), names...)
	if err != nil || len(details) != len(names) {
		t.Errorf("of %v, BIRD has %v, %v", names, details, err)
	}
}

func TestGracefulRestartOff(t *testing.T) {
	for block, want := range map[string]bool{
		"": false, "graceful restart;": false, "graceful restart on;": false, "graceful restart aware;": false,
		"graceful restart off;": true, "graceful restart no;": true, "graceful restart 0;": true,
		"graceful restart off; graceful restart on;": false, "graceful restart; graceful restart off;": true,
		"long lived graceful restart off;": false, "graceful restart time 0;": false,
		"graceful restart off; graceful restart time 60;": true,
		"graceful /* on */ restart # on\n off;":           true, "# graceful restart off;\n": false,
		"import filter { graceful restart off; };": false, `description "; graceful restart off;";`: false,
	} {
		sessions := ReadSessions([]byte("protocol bgp x { " + block + " }"))
		if len(sessions) != 1 || sessions[0].GracefulRestartOff != want {
			t.Errorf("%s: %+v, want %v", block, sessions, want)
		}
	}
}

func TestEqualTexts(t *testing.T) {
	for _, tt := range []struct {
		rule, a, b string
		equal      bool
	}{
		{"blanks and comments", "local as 1;", "\tlocal /* me */\n as 1 ; # x\n", true},
		{"blanks around operators", "if a=1||b<2 then x;", "if a = 1 || b < 2 then x ;", true},
		{"a number", "local as 1;", "local as 2;", false},
		{"words that grow together", "local as 1;", "localas 1;", false},
		{"a string", `description "a b";`, `description "a  b";`, false},
		{"a comment in a string", `description "a /* */ b";`, `description "a b";`, false},
		{"an operator that falls apart", "if a <= b then x;", "if a < = b then x;", false},
		{"an address that falls apart", "neighbor 10.0.0.1 as 1;", "neighbor 10.0.0 .1 as 1;", false},
		{"an address of IPv6 that falls apart", "neighbor fe80::1 as 1;", "neighbor fe80: :1 as 1;", false},
		{"the one branch and the other", "case x { else: y; }", "case x { else : y; }", false},
		{"division and a comment", "x = a / * b;", "x = a /* b; */;", false},
		{"a range", "x ~ [ 1 .. 2 ];", "x ~ [ 1 . . 2 ];", false},
	} {
		a, b := ReadSessions([]byte("protocol bgp x { "+tt.a+" }")), ReadSessions([]byte("protocol bgp x{"+tt.b+"}"))
		if len(a) != 1 || len(b) != 1 || (a[0].Text == b[0].Text) != tt.equal {
			t.Errorf("%s: %+v and %+v, equal should be %v", tt.rule, a, b, tt.equal)
		}
	}
}

func TestReadStartSettings(t *testing.T) {
	for config, want := range map[string]StartSettings{
		"": {},
		"graceful  restart wait /* s */ 10 ;\nrouter id 1.2.3.4;":                    {RecoveryWait: "graceful restart wait 10;"},
		"include \"x.cfg\";\ngraceful restart wait 10;graceful restart wait (2+3);":  {RecoveryWait: "graceful restart wait(2+3);"},
		"protocol device { }graceful restart wait 0;":                                {RecoveryWait: "graceful restart wait 0;"},
		"# graceful restart wait 10;\nprotocol bgp x { graceful restart wait 10; }":  {},
		"listen bgp address 10.0.0.1 port 180;\n":                                    {Listen: "listen bgp address 10.0.0.1 port 180;"},
		"listen bgp port 180; router id 1.2.3.4; listen  bgp\naddress 10.0.0.1;":     {Listen: "listen bgp port 180;listen bgp address 10.0.0.1;"},
		"} graceful restart wait 10;":                                                {RecoveryWait: "graceful restart wait 10;"},
		"function f() int a; { graceful restart wait 9; } graceful restart wait 10;": {RecoveryWait: "graceful restart wait 10;"},
	} {
		if got := ReadStartSettings([]byte(config)); got != want {
			t.Errorf("%s: %+v, want %+v", config, got, want)
		}
	}
}

// What is read is what a real BIRD goes by when it starts.
func TestStartSettingsAreThoseOfBird(t *testing.T) {
	text := "graceful restart wait 100;\n" + base + "graceful restart wait 50;\nprotocol bgp gone { local as 1; neighbor 10.0.0.2 as 1; multihop; passive; }"
	if got := ReadStartSettings([]byte(text)).RecoveryWait; got != "graceful restart wait 50;" {
		t.Error(got)
	}
	for _, binary := range []string{birdtest.Bird(t), birdtest.Bird2(t)} {
		if binary == birdtest.Bird2(t) {
			text = strings.Replace(text, "passive;", "passive; ipv4 { import all; };", 1)
		}
		s, err := dial(t, client(birdtest.Start(t, binary, text, "-R"))).Status(t.Context())
		if err != nil || !s.Recovery.InProgress || s.Recovery.Total.Seconds() != 50 || s.Recovery.Left > s.Recovery.Total {
			t.Errorf("%s: %+v, %v", binary, s.Recovery, err)
		}
	}
}

// tokensOfAll are drawn to make texts that are almost a configuration.
var tokensOfAll = []string{
	"protocol", "bgp", "template", "from", "graceful", "restart", "wait", "off", "listen", "name", "'na.me'", "'", "10", ".", ":", "{", "}",
	"(", ")", ";", "\"", "\"text\"", "/*", "*/", "# x\n", "\n", " ", "=", "<", "/", "\x00", "é",
}

func TestReadersTakeAnything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOf(rapid.SampledFrom(tokensOfAll)).Draw(t, "tokens"), rapid.SampledFrom([]string{"", " "}).Draw(t, "between"))
		var names []string
		for _, s := range ReadSessions([]byte(text)) {
			names = append(names, s.Name)
			if again := ReadSessions([]byte(s.Text)); len(again) != 1 || again[0] != s {
				t.Errorf("%+v read again is %+v", s, again)
			}
		}
		if diff := cmp.Diff(BGPProtocols([]byte(text)), names); diff != "" {
			t.Error(diff)
		}
		settings := ReadStartSettings([]byte(text))
		if again := ReadStartSettings([]byte(settings.RecoveryWait)); again.RecoveryWait != settings.RecoveryWait {
			t.Errorf("%+v read again is %+v", settings, again)
		}
	})
}

func BenchmarkReadSessions(b *testing.B) {
	var text strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&text, "# Why this peer is here.\nprotocol bgp Mesh_10_0_%d_%d from bgp_template {\n  neighbor 10.0.%[1]d.%[2]d as 64512;\n  source address 10.1.2.3;\n  import filter import_mesh;\n  export filter export_mesh;\n  graceful restart off;\n}\n", i>>8, i&0xff)
	}
	config := []byte(text.String())
	b.SetBytes(int64(len(config)))
	b.ReportAllocs()
	for b.Loop() {
		if n := len(ReadSessions(config)); n != 5000 {
			b.Fatal(n)
		}
	}
}
