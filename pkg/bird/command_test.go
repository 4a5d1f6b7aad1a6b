package bird

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/birdconfd/birdconfd/pkg/bird/birdtest"
)

func TestParseOptions(t *testing.T) {
	for line, want := range map[string]Options{
		"":                              {},
		"-d -s /run/bird.ctl -c a.conf": {"a.conf", false},
		"-R -d -ca.conf":                {"a.conf", true},
		"-dRfca.conf":                   {"a.conf", true},
		"-dfc a.conf -R":                {"a.conf", true},
		"-c a.conf -c b.conf":           {"b.conf", false},
		"-s -R -c a.conf":               {"a.conf", false},
		"-cR":                           {"R", false},
		"-c -R":                         {"-R", false},
		"-P/run/R.pid -uR -g R":         {},
		"-c":                            {},
		"-D -c -d":                      {},
		"a -R b -c c":                   {"c", true},
		"-d -- -R -c a.conf":            {},
		"--Rc a.conf":                   {},
		"-":                             {},
		"-zRc a.conf":                   {"a.conf", true},
	} {
		if diff := cmp.Diff(want, ParseOptions(strings.Fields(line))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", line, diff)
		}
	}
}

// BIRD itself takes the same file from each form, and knows the option for a restart.
func TestParseOptionsAsBirdDoes(t *testing.T) {
	for name, binary := range map[string]string{"bird 1.6": birdtest.Bird(t), "bird 2": birdtest.Bird2(t)} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for _, form := range []string{"-p -c FILE", "-pcFILE", "-dpRcFILE", "-p -s -c -c FILE", "-c none -p -cFILE", "-R -cFILE -p"} {
				file := filepath.Join(dir, "the.conf")
				if err := os.WriteFile(file, []byte("nonsense"), 0o600); err != nil {
					t.Fatal(err)
				}
				args := strings.Fields(strings.ReplaceAll(form, "FILE", file))
				if o := ParseOptions(args); o.Config != file || o.Restart != strings.Contains(form, "R") {
					t.Errorf("%s: got %+v", form, o)
				}
				out, err := exec.CommandContext(t.Context(), binary, args...).CombinedOutput()
				if err == nil || !strings.Contains(string(out), file+":1:") {
					t.Errorf("%s: %v: %s", form, err, out)
				}
			}
		})
	}
}

func TestWithRestart(t *testing.T) {
	command := []string{"/usr/sbin/bird", "-c", "a.conf"}
	if diff := cmp.Diff([]string{"/usr/sbin/bird", "-R", "-c", "a.conf"}, WithRestart(command)); diff != "" {
		t.Error(diff)
	}
	if !ParseOptions(WithRestart(command)[1:]).Restart || command[1] != "-c" {
		t.Errorf("got %q", command)
	}
}

func TestFamilies(t *testing.T) {
	for _, tt := range []struct {
		version Version
		program string
		v4, v6  bool
	}{
		{Version{1, 6, 8}, "bird", true, false},
		{Version{1, 6, 8}, "bird6", false, true},
		{Version{2, 0, 12}, "bird", true, true},
		{Version{3, 1, 0}, "bird6", true, true},
	} {
		if v4, v6 := tt.version.Families(tt.program); v4 != tt.v4 || v6 != tt.v6 {
			t.Errorf("%s %s: %t, %t", tt.program, tt.version, v4, v6)
		}
	}
}
