package render

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// blockOf returns a top-level block of a file without its last line, by its first line.
func blockOf(t *testing.T, text, first string) string {
	t.Helper()
	_, rest, ok := strings.Cut("\n"+text, "\n"+first+"\n")
	body, _, closed := strings.Cut(rest, "\n}")
	if !ok || !closed {
		t.Fatalf("no block %q in\n%s", first, text)
	}
	return body + "\n"
}

// topLevel returns the lines that a file has outside of blocks.
func topLevel(text string) []string {
	var out []string
	for line := range strings.Lines(regexp.MustCompile(`(?ms)^[^\n]*\{\n.*?^\}\n`).ReplaceAllString(text, "")) {
		if line != "\n" {
			out = append(out, strings.TrimSuffix(line, "\n"))
		}
	}
	return out
}

// Each hook, filled with a statement that BIRD takes in that place only.
func TestHooks(t *testing.T) {
	v := views(t)
	empty := text(t, load(t), v)
	for _, tt := range []struct {
		hook, fill string
		check      func(t *testing.T, name, got string)
	}{
		{"hook-10-top", "timeformat protocol iso long;", func(t *testing.T, name, got string) {
			lines := topLevel(got)
			wait := slices.Index(lines, "graceful restart wait 30;")
			if wait < 0 || lines[wait+1] != "timeformat protocol iso long;" {
				t.Errorf("not at the top level of %s:\n%s", name, strings.Join(lines, "\n"))
			}
			if strings.Index(got, "timeformat") > strings.Index(got, "protocol kernel") {
				t.Errorf("not before the first protocol of %s", name)
			}
		}},
		{"hook-30-bgp-template", "  hold time 30;", func(t *testing.T, name, got string) {
			if !strings.HasSuffix(blockOf(t, got, "template bgp bgp_template {"), "\n  hold time 30;\n") {
				t.Errorf("not at the end of the template in %s:\n%s", name, got)
			}
		}},
		{"hook-40-peer", `  {{if .Password.IsSet}}hold time 30;{{else}}hold time {{len .Name}};{{end}}`, func(t *testing.T, name, got string) {
			for peer, want := range map[string]string{"bird.cfg": "Mesh_192_0_2_12", "bird6.cfg": "Mesh_2001_db8__12"} {
				if name == peer && !strings.HasSuffix(blockOf(t, got, "protocol bgp "+want+" from bgp_template {"), fmt.Sprintf("\n  hold time %d;\n", len(want))) {
					t.Errorf("not at the end of %s:\n%s", want, got)
				}
			}
			if name == "bird.cfg" && !strings.HasSuffix(blockOf(t, got, "protocol bgp Node_192_0_2_1 from bgp_template {"), "\n  hold time 30;\n") {
				t.Errorf("not at the end of Node_192_0_2_1:\n%s", got)
			}
		}},
		{"hook-20-kernel", "  scan time 10;", func(t *testing.T, name, got string) {
			if !strings.HasSuffix(blockOf(t, got, "protocol kernel from kernel_template {"), "\n  scan time 10;\n") {
				t.Errorf("not at the end of the protocol in %s:\n%s", name, got)
			}
		}},
		{"hook-90-end", "protocol pipe to_lab {\n  peer table lab;\n}\n", func(t *testing.T, name, got string) {
			if !strings.HasSuffix(got, "}\n\nprotocol pipe to_lab {\n  peer table lab;\n}\n") {
				t.Errorf("not at the end of %s:\n%s", name, got)
			}
		}},
	} {
		t.Run(tt.hook, func(t *testing.T) {
			fill := fmt.Sprintf("{{define %q}}\n%s\n{{end}}\n", tt.hook, tt.fill)
			if tt.hook == "hook-90-end" {
				fill += "{{define \"hook-10-top\"}}table lab;{{end}}"
			}
			got := text(t, load(t, dir("local.tmpl", fill)), v)
			for name := range empty {
				changed := got[name] != empty[name]
				if isMain := name == "bird.cfg" || name == "bird6.cfg"; changed != isMain {
					t.Errorf("%s changed: %v", name, changed)
				} else if isMain {
					tt.check(t, name, got[name])
				}
			}
			mustPass(t, got)
		})
	}
}

// A hook may begin and end on the lines of its neighbours.
func TestHookOnOneLine(t *testing.T) {
	var fill strings.Builder
	for _, h := range []struct{ name, text string }{
		{"hook-10-top", "timeformat base iso long; # mine"},
		{"hook-30-bgp-template", "hold time 30; # mine"},
		{"hook-40-peer", "hold time 31; # mine"},
		{"hook-20-kernel", "scan time 10; # mine"},
		{"hook-90-end", "timeformat log iso long; # mine"},
	} {
		fmt.Fprintf(&fill, "{{define %q}}%s{{end}}\n", h.name, h.text)
	}
	got := text(t, load(t, dir("local.tmpl", fill.String())), views(t))
	if n := strings.Count(got["bird.cfg"], "# mine\n"); n != 6 {
		t.Errorf("%d of 6 are there:\n%s", n, got["bird.cfg"])
	}
	mustPass(t, got)
}

func TestHooksOnANodeWithoutBGP(t *testing.T) {
	fill := `{{define "hook-10-top"}}timeformat base iso long;{{end}}{{define "hook-30-bgp-template"}}hold time 30;{{end}}` +
		`{{define "hook-20-kernel"}}scan time 10;{{end}}{{define "hook-90-end"}}timeformat log iso long;{{end}}`
	got := text(t, load(t, dir("local.tmpl", fill)), views(t, `, ipv6Address: "2001:db8::11/64"`, ""))
	if strings.Contains(got["bird6.cfg"], "hold time") || !strings.HasSuffix(got["bird6.cfg"], "# No BGP: the node has no IPv6 address.\ntimeformat log iso long;\n") {
		t.Errorf("got\n%s", got["bird6.cfg"])
	}
	mustPass(t, got)
}
