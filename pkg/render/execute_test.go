package render

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/birdconfd/birdconfd/pkg/bgp"
	"github.com/birdconfd/birdconfd/pkg/calico"
)

// failure renders bird with a hook filled, which must fail, and gives the problems.
func failure(t *testing.T, v bgp.Views, hook, body string) []string {
	t.Helper()
	set := load(t, dir("local.tmpl", "{{define \""+hook+"\"}}\n"+body+"\n{{end}}"))
	files, problems := set.Render(set.Targets[0], Input{Views: v})
	if files != nil {
		t.Error("there are files all the same")
	}
	for _, p := range problems {
		if strings.Contains(p.String(), canary) {
			t.Errorf("a problem shows the password: %v", p)
		}
		if p.Severity != calico.Error || p.Rule != calico.RuleTemplate {
			t.Errorf("got %v, want an error of the template", p)
		}
	}
	return texts(problems)
}

func TestExecutionProblems(t *testing.T) {
	const quoteRefuses = "error calling quote: the text contains a double quote, a line break or a NUL, which a BIRD string cannot hold [template]"
	for _, tt := range []struct{ rule, hook, body, want string }{
		{"an unknown field of the view", "hook-10-top", "{{.RouterId}}",
			"custom/local.tmpl:2:3: error: executing \"hook-10-top\" at <.RouterId>: can't evaluate field RouterId in type *bgp.View [template]\n    hint: did you mean \"RouterID\"?"},
		{"an unknown field of a peer", "hook-40-peer", "  hold time {{.HoldTime}};",
			"custom/local.tmpl:2:15: error: executing \"hook-40-peer\" at <.HoldTime>: can't evaluate field HoldTime in type bgp.Peer [template]"},
		{"an unknown field inside another", "hook-10-top", "{{.Node.AsNumber}}",
			"custom/local.tmpl:2:8: error: executing \"hook-10-top\" at <.Node.AsNumber>: can't evaluate field AsNumber in type bgp.NodeInfo [template]\n    hint: did you mean \"ASNumber\"?"},
		{"a method with a slip", "hook-10-top", "{{.MaxMetrics}}",
			"custom/local.tmpl:2:3: error: executing \"hook-10-top\" at <.MaxMetrics>: can't evaluate field MaxMetrics in type *bgp.View [template]\n    hint: did you mean \"MaxMetric\"?"},
		{"an unknown field of a type of Go", "hook-10-top", "{{.RouterID.Foo}}",
			"custom/local.tmpl:2:12: error: executing \"hook-10-top\" at <.RouterID.Foo>: can't evaluate field Foo in type netip.Addr [template]"},
		{"quote of something else", "hook-10-top", "{{quote .Family}}",
			"custom/local.tmpl:2:3: error: executing \"hook-10-top\" at <quote .Family>: error calling quote: quote takes a string or a secret, not bgp.Family [template]"},
		{"quote of what BIRD cannot hold", "hook-10-top", `{{quote (print .Node.Name "\"")}}`,
			"custom/local.tmpl:2:3: error: executing \"hook-10-top\" at <quote (print .Node.Name \"\\\"\")>: " + quoteRefuses},
		{"a symbol that shows a password", "hook-40-peer", `{{if .Password.IsSet}}{{symbol (print .Password.Reveal "!")}}{{end}}`,
			"custom/local.tmpl:2:25: error: executing \"hook-40-peer\" at <symbol (print .Password.Reveal \"!\")>: error calling symbol: the name \"********!\" cannot be written as a BIRD symbol [template]"},
		{"seconds of a time that is not set", "hook-40-peer", `{{seconds .KeepaliveTime}}`,
			"custom/local.tmpl:2:3: error: executing \"hook-40-peer\" at <seconds .KeepaliveTime>: error calling seconds: seconds of a duration that is not set [template]"},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			if diff := cmp.Diff([]string{tt.want}, failure(t, views(t), tt.hook, tt.body)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// No View holds a map, but a template can come by one through a function some day.
func TestMissingMapKey(t *testing.T) {
	set := load(t, dir("local.tmpl", "{{define \"hook-10-top\"}}\n{{.colour}}{{end}}"))
	err := set.tmpl.ExecuteTemplate(&strings.Builder{}, "hook-10-top", map[string]int{"shape": 1})
	want := "custom/local.tmpl:2:3: error: executing \"hook-10-top\" at <.colour>: map has no entry for key \"colour\" [template]"
	if err == nil || templateProblem(err).String() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestProblemsOfAllFiles(t *testing.T) {
	set := load(t, dir("local.tmpl", `{{define "pools"}}{{.A}}{{end}}{{define "aggregation"}}{{.B}}{{end}}`))
	files, problems := set.Render(set.Targets[1], Input{Views: views(t)})
	if files != nil || len(problems) != 2 {
		t.Errorf("got %d files, problems %v", len(files), problems)
	}
}

func TestUnprintedValues(t *testing.T) {
	const set, test = ": a template prints a value that is not set, or in a wrong way [template]\n    hint: ", "test it first, as in {{if .SourceAddress.IsValid}}"
	for _, tt := range []struct{ rule, hook, body, want string }{
		{"an unset address", "hook-10-top", "# {{.Node.ClusterID}}", "\"invalid IP\"" + set + test},
		{"an unset prefix", "hook-10-top", "{{range .Kernel}}# {{.Subnet}}{{end}}", "\"invalid Prefix\"" + set + test},
		{"an unset pointer", "hook-40-peer", "{{if not .Password.IsSet}}# {{.KeepaliveTime}}{{end}}", "\"<nil>\"" + set + test},
		{"a number printed as a text", "hook-10-top", `{{printf "# %s" .Family.Bits}}`, "\"%!\"" + set + test},
		{"an argument that is not there", "hook-10-top", `{{printf "# %d"}}`, "\"%!\"" + set + test},
		{"a password without quote", "hook-40-peer", `{{if .Password.IsSet}}password "{{.Password}}";{{end}}`,
			"\"(secret)\"" + set + "only quote writes a password, as in {{quote .Password}}"},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			got := failure(t, views(t), tt.hook, tt.body)
			if len(got) != 1 || !strings.HasPrefix(got[0], "bird.cfg:") || !strings.HasSuffix(got[0], ": error: the rendered line contains "+tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestUnprintedLine(t *testing.T) {
	got := unprinted("bird.cfg", []byte("a\nb <nil>\nc invalid IP\n"), nil)
	if len(got) != 1 || got[0].Position != (calico.Position{File: "bird.cfg", Line: 2}) {
		t.Errorf("got %v", got)
	}
	if got := unprinted("bird.cfg", []byte("a\nb\n"), nil); got != nil {
		t.Errorf("got %v", got)
	}
}

// A password may look like what Go prints for nothing, or be a part of it.
func TestPasswordsThatLookLikeNothing(t *testing.T) {
	for _, password := range []string{"<nil>", "%!s(", "a%!d(b", "invalid IP", "invalid Prefix", "<no value>", "(secret)", "I", "%", `\`, "********"} {
		v := views(t)
		for i := range v.IPv4.Peers {
			if v.IPv4.Peers[i].Password.IsSet() {
				v.IPv4.Peers[i].Password = bgp.NewSecret(password)
			}
		}
		if got := text(t, load(t), v)["bird.cfg"]; !strings.Contains(got, `  password "`+password+`";`) {
			t.Errorf("%s is not there", password)
		}
		// It must not hide a value that really is missing.
		set := load(t, dir("local.tmpl", "{{define \"hook-10-top\"}}# {{.Node.ClusterID}}{{end}}"))
		if _, problems := set.Render(set.Targets[0], Input{Views: v}); len(problems) != 1 {
			t.Errorf("with the password %s: %v", password, problems)
		}
	}
}

func TestQuoteErrorInAPeerNeverShowsThePassword(t *testing.T) {
	v := views(t)
	for i := range v.IPv4.Peers {
		v.IPv4.Peers[i].Password = bgp.NewSecret(canary + "\"")
	}
	set := load(t)
	_, problems := set.Render(set.Targets[0], Input{Views: v})
	if len(problems) != 1 || strings.Contains(problems[0].String(), "canary") || !strings.HasPrefix(problems[0].Position.String(), "templates/bird1/bgp.tmpl:") {
		t.Errorf("got %v", problems)
	}
}
