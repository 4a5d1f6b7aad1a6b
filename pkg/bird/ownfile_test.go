package bird

import (
	"os"
	"testing"

	"github.com/birdconfd/birdconfd/pkg/bird/birdtest"
)

func TestOwnFile(t *testing.T) {
	for name, binary := range map[string]string{"1.6": birdtest.Bird(t), "2": birdtest.Bird2(t)} {
		t.Run(name, func(t *testing.T) {
			d := birdtest.Start(t, binary, "router id 192.0.2.1;\nprotocol device {}\n")
			conn, err := Client{Socket: d.Socket}.Dial(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			for _, text := range []string{"", "nonsense"} { // wrong by now, or not
				if text != "" {
					if err := os.WriteFile(d.Config, []byte(text), 0o600); err != nil {
						t.Fatal(err)
					}
				}
				if got, err := conn.OwnFile(t.Context()); err != nil || got != d.Config {
					t.Errorf("got %q, %v, want %s", got, err, d.Config)
				}
			}
		})
	}
}
