package main

import (
	"encoding/base64"
	"path/filepath"
	"strings"
	"testing"
)

// However a Secret is broken, and wherever an error comes from, the value is not shown.
// Every run of these tests is searched for it; this one asks for trouble.
func TestPasswordIsNeverShown(t *testing.T) {
	good := readFile(t, edge)
	const data = "stringData: {tor: canary-5ecret}"
	encoded := base64.StdEncoding.EncodeToString([]byte(canary))
	for rule, broken := range map[string]string{
		"with a quote":              `stringData: {tor: 'canary-5ecret"'}`,
		"with a line break":         `stringData: {tor: "canary-5ecret\n5"}`,
		"with a line break at end":  `stringData: {tor: "canary-5ecret\n"}`,
		"with a NUL":                `data: {tor: ` + base64.StdEncoding.EncodeToString([]byte(canary+"\x00")) + `}`,
		"too long":                  `stringData: {tor: ` + strings.Repeat(canary, 7) + `}`,
		"clear text in data":        `data: {tor: canary-5ecret}`,
		"a list in data":            `data: {tor: [canary-5ecret]}`,
		"a mapping in stringData":   `stringData: {tor: {canary-5ecret: canary-5ecret}}`,
		"a text for all data":       `data: canary-5ecret`,
		"a list for all stringData": `stringData: [canary-5ecret]`,
		"twice":                     "stringData: {tor: canary-5ecret, tor: canary-5ecret}",
		"broken YAML":               "stringData: {tor: canary-5ecret",
		"broken YAML in the value":  "stringData:\n  tor: \"canary-5ecret\n",
		"an unknown tag":            "stringData: {tor: !canary-5ecret canary-5ecret}",
		"an anchor that is missing": "stringData: {tor: *canary-5ecret}",
		"in a field we do not know": data + "\nimmutable: canary-5ecret\nsomething: canary-5ecret",
		"as a key":                  "stringData: {canary-5ecret: x}",
		"in an annotation":          data + "\n# canary-5ecret",
	} {
		for _, format := range []string{"text", "json"} {
			t.Run(rule+"/"+format, func(t *testing.T) {
				input := strings.Replace(good, data, broken, 1)
				if input == good {
					t.Fatal("the password is not where this test looks for it")
				}
				call{args: []string{"render", "--check=off", "--node=edge-1", "--format=" + format, "-"}, stdin: input}.run(t)
			})
		}
	}
	call{args: []string{"render", "--check=off", "--node=edge-1", "-"}, stdin: strings.Replace(good, data, "data: {tor: "+encoded+"}", 1)}.run(t).want(t, 0)
}

func TestPasswordInTemplates(t *testing.T) {
	for rule, hook := range map[string]string{
		"a symbol that is refused":     `{{if .Password.IsSet}}{{symbol (print .Password.Reveal "!")}}{{end}}`,
		"a quote that is refused":      `{{if .Password.IsSet}}{{quote (print .Password.Reveal "\n")}}{{end}}`,
		"an index that is out of it":   `{{if .Password.IsSet}}{{index .Password.Reveal 99}}{{end}}`,
		"a number made of it":          `{{if .Password.IsSet}}{{printf "%d" .Password.Reveal}}{{end}}`,
		"a comparison":                 `{{if .Password.IsSet}}{{if lt .Password.Reveal 5}}{{end}}{{end}}`,
		"a comment":                    `{{if .Password.IsSet}}{{comment .Password.Reveal}}{{end}}`,
		"the password itself, printed": `# {{.Password}}`,
	} {
		t.Run(rule, func(t *testing.T) {
			r := birdconfd(t, "render", "--check=off", "--node=edge-1", "--templates="+hooks(t, `{{define "hook-40-peer"}}`+hook+`{{end}}`), edge)
			if rule == "a comment" {
				r.want(t, 0)
			} else {
				r.want(t, 1)
			}
		})
	}
	// One that an operator wrote into a template has no View to come from.
	r := birdconfd(t, "render", "--check=off", "--node=edge-2", "--templates="+hooks(t, `{{define "hook-40-peer"}}password "canary-5ecret";{{end}}`), edge)
	r.want(t, 0)
	if !strings.Contains(r.stdout, `password "********";`) {
		t.Errorf("got\n%s", r.stdout)
	}
}

func TestShowSecrets(t *testing.T) {
	const line = `  password "` + canary + `";` + "\n"
	r := birdconfd(t, "render", "--check=off", "--node=edge-1", "--show-secrets", edge)
	r.want(t, 0)
	if strings.Count(r.stdout, line) != 1 {
		t.Errorf("got\n%s", r.stdout)
	}
	concealed := birdconfd(t, "render", "--check=off", "--node=edge-1", edge)
	if got := strings.ReplaceAll(r.stdout, canary, "********"); got != concealed.stdout {
		t.Error("something else is different too")
	}
	// Files have it in any case.
	out := t.TempDir()
	birdconfd(t, "render", "--check=off", "--node=edge-1", "--output="+out, edge).want(t, 0)
	if got := readFile(t, filepath.Join(out, "bird.cfg")); strings.Count(got, line) != 1 {
		t.Errorf("got\n%s", got)
	}
}
