package render

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/birdconfd/birdconfd/pkg/bgp"
)

func TestRenderedFilesPass(t *testing.T) {
	got := text(t, load(t), views(t))
	mustPass(t, got)
	for name, data := range got {
		if strings.HasPrefix(data, "\n") || !strings.HasSuffix(data, "\n") || strings.Contains(data, "\n\n\n") ||
			strings.Contains(data, " \n") || strings.Contains(data, "\n\n}") {
			t.Errorf("%s is not tidy:\n%s", name, data)
		}
	}
}

func TestRenderIsDeterministic(t *testing.T) {
	first := text(t, load(t), views(t))
	for range 5 {
		if diff := cmp.Diff(first, text(t, load(t), views(t))); diff != "" {
			t.Fatalf("the second time (-first +second):\n%s", diff)
		}
	}
}

func TestHasSecret(t *testing.T) {
	for _, tt := range []struct {
		rule, password, hook string
		want                 map[string]bool
	}{
		{"the file with the peer", canary, "", map[string]bool{"bird.cfg": true}},
		{"no password", "", "", map[string]bool{}},
		{"a password that an operator wrote into a template", "", `password "literal";`, map[string]bool{"bird.cfg": true, "bird6.cfg": true}},
		{"the same on two lines", "", "password\n    \"literal\";", map[string]bool{"bird.cfg": true, "bird6.cfg": true}},
		{"the word alone is none", "", `description "password";`, map[string]bool{}},
		{"a short password is found everywhere, on the safe side", "a", "", map[string]bool{"bird.cfg": true, "bird_aggr.cfg": true, "bird_ipam.cfg": true}},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			v := views(t)
			for i := range v.IPv4.Peers {
				if v.IPv4.Peers[i].Password.IsSet() {
					v.IPv4.Peers[i].Password = bgp.NewSecret(tt.password)
				}
			}
			set := load(t, dir("x.tmpl", fmt.Sprintf("{{define \"hook-30-bgp-template\"}}\n  %s{{end}}", tt.hook)))
			got := map[string]bool{}
			for _, target := range set.Targets {
				files, problems := set.Render(target, Input{Views: v})
				if len(problems) > 0 {
					t.Fatal(problems)
				}
				for _, f := range files {
					if f.HasSecret {
						got[f.Name] = true
					}
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestTidy(t *testing.T) {
	for _, tt := range []struct{ rule, in, want string }{
		{"nothing", "", ""},
		{"only empty lines", "\n \n\t\n", ""},
		{"a last line without its end", "a", "a\n"},
		{"blanks at the ends of lines", "a \t\r\n  b  \n", "a\n  b\n"},
		{"empty lines at the start", "\n\n a\n", " a\n"},
		{"an empty line at the end", "a\n\n", "a\n"},
		{"empty lines at the end", "a\n\n \n\n", "a\n"},
		{"several empty lines", "a\n\n \n\nb\n", "a\n\nb\n"},
		{"one empty line stays", "a\n\nb\n", "a\n\nb\n"},
		{"an empty line before a closing brace", "a {\n  b;\n\n  }\n\n}\n\nc\n", "a {\n  b;\n  }\n}\n\nc\n"},
		{"a brace at the start", "\n}\n", "}\n"},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			got := string(tidy([]byte(tt.in)))
			if got != tt.want {
				t.Errorf("tidy(%q) = %q, want %q", tt.in, got, tt.want)
			}
			if again := string(tidy([]byte(got))); again != got {
				t.Errorf("a second time gives %q", again)
			}
		})
	}
}

// lineWith is the number of the first line that contains a text.
func lineWith(t *testing.T, data, part string) int {
	t.Helper()
	before, _, ok := strings.Cut(data, part)
	if !ok {
		t.Fatalf("no %q in\n%s", part, data)
	}
	return 1 + strings.Count(before, "\n")
}

func TestResourceAt(t *testing.T) {
	overlay := dir("local.tmpl", "{{define \"hook-40-peer\"}}\n  hold time 30;\n  # mine\n  hold time 31;{{end}}"+
		"{{define \"hook-10-top\"}}timeformat base iso long;{{end}}{{define \"hook-20-kernel\"}}scan time 10;{{end}}"+
		"{{define \"hook-90-end\"}}# the end{{end}}")
	files := text(t, load(t, overlay), views(t))
	for _, tt := range []struct{ file, line, want string }{
		{"bird.cfg", "neighbor 192.0.2.1 ", "BGPPeer/tor"},
		{"bird.cfg", "# BGPPeer/tor via node", "BGPPeer/tor"},
		{"bird.cfg", "protocol bgp Node_192_0_2_1 ", "BGPPeer/tor"},
		{"bird.cfg", "password", "BGPPeer/tor"},
		{"bird.cfg", "neighbor 192.0.2.12 ", "Node/edge-2"},
		{"bird6.cfg", "hold time 31", "Node/edge-2"},
		{"bird.cfg", "64500:0", ""},
		{"bird.cfg", "bgp_path.prepend(64501)", "BGPFilter/tor-only"},
		{"bird.cfg", "(net = 0.0.0.0/0)", "BGPFilter/tor-only"},
		{"bird.cfg", "bgp_large_community.add", "BGPConfiguration/default"},
		{"bird.cfg", "  local as 64500;", ""},
		{"bird.cfg", "timeformat", ""},
		{"bird.cfg", "scan time 10", ""},
		{"bird.cfg", "# the end", ""},
		{"bird.cfg", "# BIRD 1.6", ""},
		{"bird_aggr.cfg", "route 198.51.100.16/28 blackhole", "BlockAffinity/edge-1-block"},
		{"bird_aggr.cfg", "if ( net ~ 198.51.100.16/28 ) then { reject", "BlockAffinity/edge-1-block"},
		{"bird_aggr.cfg", "via 192.0.2.254", "BGPPeer/tor"},
		{"bird_aggr.cfg", "route 203.0.113.0/26", "BGPConfiguration/default"},
		{"bird_ipam.cfg", "198.51.100.128/25 ) then { reject", "IPPool/hidden"},
		{"bird_ipam.cfg", "198.51.100.0/24 ) then { reject", "IPPool/pods"},
		{"bird_ipam.cfg", "bpf*.cali", ""},
	} {
		data := files[tt.file]
		if tt.line == "64500:0" { // no such line
			if got := ResourceAt([]byte(data), 0) + ResourceAt([]byte(data), 1+strings.Count(data, "\n")+1); got != "" {
				t.Errorf("lines that are not there: %q", got)
			}
			continue
		}
		if got := ResourceAt([]byte(data), lineWith(t, data, tt.line)); got != tt.want {
			t.Errorf("%s, %q: got %q, want %q", tt.file, tt.line, got, tt.want)
		}
	}
}

func TestFindFile(t *testing.T) {
	files := []File{{Name: "bird.cfg"}, {Name: "bird_aggr.cfg"}}
	if f := FindFile(files, "/tmp/x/bird_aggr.cfg"); f != &files[1] {
		t.Errorf("got %v", f)
	}
	if f := FindFile(files, "bird6.cfg"); f != nil {
		t.Errorf("got %v", f)
	}
}

func TestMasked(t *testing.T) {
	v := views(t)
	set := load(t)
	masked := Masked(Input{Views: v})
	files, problems := set.Render(set.Targets[0], masked)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	shown := string(files[0].Data)
	if strings.Contains(shown, canary) || strings.Count(shown, `password "********";`) != 1 {
		t.Errorf("got\n%s", shown)
	}
	real := text(t, set, v)["bird.cfg"]
	if strings.ReplaceAll(real, canary, "********") != shown {
		t.Error("something else is different too")
	}
	for _, p := range v.IPv4.Peers {
		if p.Type == bgp.Mesh && p.Password.IsSet() {
			t.Errorf("%s has a password now", p.Name)
		}
	}
}

func TestConceal(t *testing.T) {
	v := bgp.Views{IPv4: &bgp.View{Peers: []bgp.Peer{
		{Password: bgp.NewSecret("open")}, {}, {Password: bgp.NewSecret("open")},
	}}, IPv6: &bgp.View{Peers: []bgp.Peer{{Password: bgp.NewSecret("open sesame")}}}}
	for in, want := range map[string]string{
		"nothing here":                      "nothing here",
		"open, open sesame":                 "********, ********",
		`password "another";`:               `password "********";`,
		"passwords { password\n \"other\" ": "passwords { password\n \"********\" ",
	} {
		if got := Conceal(Input{Views: v}, in); got != want {
			t.Errorf("Conceal(%q) = %q, want %q", in, got, want)
		}
	}
}

// TestPasswordOnlyThere makes sure that the password is where it belongs and nowhere else.
func TestPasswordOnlyThere(t *testing.T) {
	for name, data := range text(t, load(t), views(t)) {
		at := regexp.MustCompile(`.*`+canary+`.*`).FindAll([]byte(data), -1)
		if want := name == "bird.cfg"; (len(at) == 1) != want || (want && !bytes.Equal(at[0], []byte(`  password "`+canary+`";`))) {
			t.Errorf("%s: %s", name, at)
		}
	}
}
