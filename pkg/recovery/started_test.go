package recovery

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/birdconfd/birdconfd/pkg/bgp"
)

const startFiles = `router id 192.0.2.1;
graceful restart wait 20;
listen bgp address 192.0.2.1;
protocol bgp a { graceful restart off; neighbor 192.0.2.2 as 64512; }
protocol bgp b { neighbor 192.0.2.3 as 64512; }
protocol bgp c { graceful restart off; neighbor 192.0.2.4 as 64512; }
`

func TestStartedIsKept(t *testing.T) {
	v := view("!a", "b", "c")
	v.Peers[0].GracefulRestartOff = true
	in := Place([][]byte{[]byte(startFiles)}, bgp.Views{IPv4: v})
	s := StartedWith(in, noon)
	want := []Skipped{
		{Name: "a", Node: "node-a", Why: "its node node-a was not ready when BIRD started"},
		{Name: "c", Node: "node-c", Why: "it had no graceful restart when BIRD started"}, // a template says so
	}
	if diff := cmp.Diff(want, s.Skipped); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	dir := t.TempDir()
	if got, err := LoadStarted(dir); err != nil || !got.Booted.IsZero() {
		t.Errorf("before: %+v, %v", got, err)
	}
	for range 2 { // the second time it is replaced
		if err := s.Save(dir); err != nil {
			t.Fatal(err)
		}
	}
	got, err := LoadStarted(dir)
	if diff := cmp.Diff(s, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("beside it there is something left: %v, %v", entries, err)
	}
	if c := got.Settings.Changes(in.Start); c != nil {
		t.Errorf("changes without any: %v", c)
	}
	if c := got.Settings.Changes(Place(nil, bgp.Views{}).Start); len(c) != 2 || c[0].Running != "20" {
		t.Errorf("changes: %+v", c)
	}
}

// Without Views, as when the files are from another process, only files tell.
func TestStartedWithFilesAlone(t *testing.T) {
	s := StartedWith(Place([][]byte{[]byte(startFiles)}, bgp.Views{}), noon)
	want := []Skipped{{Name: "a", Why: "it had no graceful restart when BIRD started"}, {Name: "c", Why: "it had no graceful restart when BIRD started"}}
	if diff := cmp.Diff(want, s.Skipped); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestStartedFits(t *testing.T) {
	s := Started{Booted: noon}
	for at, want := range map[time.Time]bool{noon: true, noon.Add(time.Second): true, noon.Add(-time.Second): true,
		noon.Add(2 * time.Second): false, noon.Add(-time.Hour): false, {}: false} {
		if s.Fits(at) != want {
			t.Errorf("a daemon of noon is that of %s: %v", at, !want)
		}
	}
	if (Started{}).Fits(noon) || (Started{}).Fits(time.Time{}) {
		t.Error("what is not known is not that of any daemon")
	}
}

func TestStartedThatIsDamaged(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, startedName)
	for rule, text := range map[string]string{"empty": "", "half": `{"booted":"2026-12-01T12:00:00Z","skip`, "something else": "[1]", "no time": `{"booted":"noon"}`} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if s, err := LoadStarted(dir); err == nil || !cmp.Equal(s, Started{}) {
			t.Errorf("%s: %+v, %v", rule, s, err)
		}
		if err := (Started{Booted: noon}).Save(dir); err != nil {
			t.Errorf("%s, written anew: %v", rule, err)
		}
		if s, err := LoadStarted(dir); err != nil || !s.Fits(noon) {
			t.Errorf("%s, written anew: %+v, %v", rule, s, err)
		}
	}
	if err := (Started{}).Save(filepath.Join(dir, "none")); err == nil {
		t.Error("it was saved nowhere")
	}
}
