package bgp_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/birdconfd/birdconfd/pkg/bgp"
)

func TestSecretNeverPrintsItself(t *testing.T) {
	const value = "hunter2"
	s := bgp.NewSecret(value)
	view := &bgp.View{Peers: []bgp.Peer{{Name: "x", Password: s}}}
	marshal := func(b []byte, err error) string { return fmt.Sprint(string(b), err) }
	var logged bytes.Buffer
	for _, h := range []slog.Handler{slog.NewTextHandler(&logged, nil), slog.NewJSONHandler(&logged, nil)} {
		l := slog.New(h)
		l.Info("alone", "password", s)
		l.Info("peer", "password", s, "pointer", &s, "peer", view.Peers[0], "peers", view.Peers, "view", view)
		l.Info("peer", slog.Group("group", "password", s))
	}
	outputs := map[string]string{
		"slog":         logged.String(),
		"json":         marshal(json.Marshal(s)),
		"json pointer": marshal(json.Marshal(&s)),
		"json in view": marshal(json.Marshal(view)),
		"json key":     marshal(json.Marshal(map[bgp.Secret]int{s: 1})),
		"yaml":         marshal(yaml.Marshal(view.Peers[0].Password)),
		"error":        fmt.Errorf("wrapped %w: %v", fmt.Errorf("in %s", s), s).Error(),
		"Println":      fmt.Sprintln(s, &s, []bgp.Secret{s}, map[string]bgp.Secret{"k": s}),
	}
	// All verbs, those that make no sense for a text too.
	for _, verb := range strings.Split("%v %+v %#v %s %q %x %X %d %t %e %c %U %b %o %T %20s %-5v", " ") {
		outputs[verb] = fmt.Sprintf(verb, s)
		outputs[verb+" of a peer"] = fmt.Sprintf(verb, view.Peers[0])
		outputs[verb+" of peers"] = fmt.Sprintf(verb, view.Peers)
		outputs[verb+" of a pointer"] = fmt.Sprintf(verb, &s)
	}
	hex := fmt.Sprintf("%x", value)
	for how, text := range outputs {
		if strings.Contains(text, value) || strings.Contains(strings.ToLower(text), hex) {
			t.Errorf("%s shows the value: %s", how, text)
		}
	}
	// A reader sees that there is one.
	for _, how := range []string{"slog", "json", "json pointer", "json in view", "json key", "yaml", "error", "%d", "%+v of a peer"} {
		if !strings.Contains(outputs[how], "(secret)") {
			t.Errorf("%s does not show that there is a secret: %s", how, outputs[how])
		}
	}
	if got := fmt.Sprint(s); got != "(secret)" {
		t.Errorf("a secret prints as %q", got)
	}
	if got := fmt.Sprint(bgp.Secret{}); got != "" {
		t.Errorf("no secret prints as %q", got)
	}
	if s.Reveal() != value || !s.IsSet() || bgp.NewSecret("").IsSet() {
		t.Error("the value is lost")
	}
}
