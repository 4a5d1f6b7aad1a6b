package confd

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestErrors(t *testing.T) {
	d := dataOf(t, cluster)
	for _, tt := range []struct{ rule, template, want, hint string }{
		{"a key that is not there", "x\n  {{getv \"/bgp/v1/global/nothing\"}}", `t.tmpl:2:4: executing "t.tmpl" at <getv "/bgp/v1/global/nothing">: error calling getv: there is no key "/bgp/v1/global/nothing"`, ""},
		{"a slip", `{{getv "/bgp/v1/global/as_nun"}}`, `there is no key "/bgp/v1/global/as_nun"`, `did you mean "as_num"?`},
		{"a setting that is not set", `{{get "/bgp/v1/global/svc_cluster_ips"}}`, `there is no key`,
			`a key of Calico's confd up to 3.32, which birdconfd has too: it is there only while serviceClusterIPs is set; ask with exists first, or hand getv a default, as in getv KEY ""`},
		{"an optional one of a node", `{{getv "/bgp/v1/host/a/as_num"}}`, "there is no key", `it is there only while the node's asNumber is set; without it global/as_num counts; ask with exists first, or hand getv a default, as in getv KEY ""`},
		{"one that nobody ever wrote", `{{getv "/bgp/v1/host/a/bind_mode"}}`, "there is no key", `no Calico has ever written this key for a node, only below global; ask with exists first, or hand getv a default, as in getv KEY ""`},
		{"with its prefix", `{{getv "/calico/bgp/v1/global/as_num"}}`, "there is no key", `the template sees keys without their prefix /calico: write "/bgp/v1/global/as_num"`},
		{"written in another way", `{{getv "/bgp//v1/global/as_num"}}`, "there is no key", `keys are written in their shortest form: "/bgp/v1/global/as_num"`},
		{"no node's name", `{{getv (printf "/bgp/v1/host/%s/ip_addr_v4" "")}}`, "there is no key", `keys are written in their shortest form: "/bgp/v1/host/ip_addr_v4"`},
		{"a bad pattern", `{{gets "/bgp/[/x"}}`, `"/bgp/[/x" is not a pattern: syntax error in pattern`, ""},
		{"a missing field", "\n{{$x := json \"{}\"}}a{{$x.gone}}", "t.tmpl:2:22: {{$x.gone}} has no value", ""},
		{"a null", "{{$x := json \"{\\\"a\\\": null}\"}}{{$x.a}}", "{{$x.a}} has no value", ""},
		{"a field of nothing", `{{$x := json "{}"}}{{$x.a.b}}`, "t.tmpl:1:21: {{$x.a.b}} has no value", ""},
		{"a list for an object", `{{json "[1]"}}`, "the text is JSON of another kind: array", ""},
		{"an object for a list", `{{jsonArray "{}"}}`, "the text is JSON of another kind: object", ""},
		{"no JSON", `{{json "{"}}`, "the text is not JSON: unexpected end of JSON input", ""},
		{"a division by zero", `{{div 1 0}}`, "error calling div: division by zero", ""},
		{"a remainder by zero", `{{mod 1 0}}`, "error calling mod: division by zero", ""},
		{"no number", `{{add 1 (atoi "x")}}`, `error calling atoi: strconv.Atoi: parsing "x": invalid syntax`, ""},
		{"half a pair", `{{map "a"}}`, "a key has no value", ""},
		{"no name", `{{map 1 2}}`, "key 1 is not a text", ""},
		{"bad base64", `{{base64Decode "?"}}`, "not base64 with padding", ""},
		{"a list of the wrong kind", `{{join (jsonArray "[\"a\"]") ","}}`, "wrong type for value; expected []string; got []interface", ""},
		{"no direction", `{{bgpFilterFunctionName "f" "in" "4"}}`, `the direction is import or export, not "in"`, ""},
		{"no version", `{{getBGPConfig 5 .}}`, "the version is 4 or 6, not 5", ""},
		{"another dot", `{{range getvs "/bgp/v1/global/as_num"}}{{getBGPConfig 4 .}}{{end}}`, "the last argument must be the dot of the template, which is $ inside range and with", ""},
		{"an index too large", `{{index (split "a" ",") 5}}`, "index out of range: 5", ""},
		{"nothing to call", `{{call (json "null")}}`, "non-function", ""},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			out, err := execute(t, d, tt.template)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("got %q, %v, want an error with %q", out, err, tt.want)
			}
			hint := ""
			if e, ok := errors.AsType[*KeyError](err); ok {
				hint = e.Hint
			}
			if hint != tt.hint {
				t.Errorf("the hint is %q, want %q", hint, tt.hint)
			}
		})
	}
}

// A key that exists, but not for this template.
func TestKeysThatAreNotAskedFor(t *testing.T) {
	spec := Spec{Label: "t.tmpl", Resource: "conf.d/t.toml", Prefix: "/calico/", Keys: []string{"/bgp/v1/global"}}
	tmpl, err := Parse(spec, []byte(`{{ls "/bgp/v1"}}{{getv "/bgp/v1/host/a/ip_addr_v4"}}`))
	if err != nil {
		t.Fatal(err)
	}
	_, err = tmpl.Execute(dataOf(t, cluster))
	e, ok := errors.AsType[*KeyError](err)
	if want := `the keys of conf.d/t.toml do not cover it: add "/bgp/v1/host/a" to them`; !ok || e.Hint != want {
		t.Errorf("got %v, hint %+v, want %q", err, e, want)
	}
}

// Nothing that a template does may take the time or the memory of others.
func TestTemplatesThatDoNotEnd(t *testing.T) {
	const quick = 200 * time.Millisecond
	for _, tt := range []struct{ rule, template, want string }{
		{"a loop without an end", "\n{{range 1000000000000}}{{end}}", "t.tmpl:2:8: the templates have run for 200ms and were stopped in this loop"},
		{"loops in loops", "{{range seq 1 100000}}{{range seq 1 100000}}{{$x := 1}}{{end}}{{end}}", "were stopped in this loop"},
		{"a template that calls itself twice", `{{define "t"}}{{template "t" .}}{{template "t" .}}{{end}}{{template "t" .}}`, "t.tmpl:1:25: templates call each other more than 1000 deep"},
		{"two branches for each of many levels", `{{define "t"}}{{if gt . 0}}{{template "t" (sub . 1)}}{{template "t" (sub . 1)}}{{end}}{{end}}{{template "t" 60}}`, "were stopped in this loop"},
		{"a text that doubles", `{{$x := "12345678"}}{{range 1000}}{{$x = printf "%s%s" $x $x}}{{end}}`, "the text would be larger than 4194304 bytes"},
		{"with print", `{{$x := "12345678"}}{{range 1000}}{{$x = print $x $x}}{{end}}`, "the text would be larger"},
		{"with println", `{{$x := "12345678"}}{{range 1000}}{{$x = println $x $x}}{{end}}`, "the text would be larger"},
		{"with join", `{{$x := "1,2"}}{{range 1000}}{{$x = join (split $x ",") $x}}{{end}}`, "the text would be larger"},
		{"with replace", `{{$x := "1"}}{{range 1000}}{{$x = replace $x "1" "11" -1}}{{end}}`, "the text would be larger"},
		{"with js", `{{$x := "\\"}}{{range 1000}}{{$x = js $x}}{{end}}`, "the text would be larger"},
		{"with base64Encode", `{{$x := "1"}}{{range 1000}}{{$x = base64Encode $x}}{{end}}`, "the text would be larger"},
		{"with a long sequence", `{{seq 1 1000000000}}`, "the sequence is longer than 1048576"},
		{"with a sequence that overflows", `{{seq -1 9223372036854775807}}`, "the sequence is longer than 1048576"},
		{"with a format of many verbs", `{{$x := "12345678"}}{{range 18}}{{$x = print $x $x}}{{end}}{{printf "%[1]s%[1]s%[1]s%[1]s%[1]s%[1]s%[1]s%[1]s%[1]s" $x}}`, "the text would be larger"},
		{"names that take their time", `{{range seq 1 100000}}{{lookupIPV4 "127.0.0.1"}}{{lookupIP "none.invalid"}}{{end}}`, "were stopped in this loop|looking up names has taken 200ms"},
		{"an output without an end", `{{range 1000000000000}}{{printf "%1000d" 1}}{{end}}`, "its output is larger than 1000000 bytes"},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			d := dataOf(t, cluster)
			d.Limits = Limits{Time: quick, Size: 1_000_000}
			_, err := execute(t, d, tt.template)
			if err == nil || !slices.ContainsFunc(strings.Split(tt.want, "|"), func(want string) bool { return strings.Contains(err.Error(), want) }) {
				t.Fatalf("got %v, want an error with %q", err, tt.want)
			}
		})
	}
}
