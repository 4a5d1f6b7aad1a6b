package file

import (
	"os"
	"testing"
	"time"

	"github.com/birdconfd/birdconfd/test/shared"
)

// F4: whoever writes a file slowly has it open, and what it holds meanwhile may be valid and
// wrong, or nothing at all.
func TestF4FileThatIsOpenForWriting(t *testing.T) {
	inBubble(t, map[string]string{"a.yaml": version("a", 1)}, func(t *testing.T, s *timed) {
		s.advance(t, time.Second, poolAt("a", 1))
		f, err := os.OpenFile(s.path("a.yaml"), os.O_WRONLY|os.O_TRUNC, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if !beingWritten(opened(t, s.path("a.yaml"))) {
			shared.Skip(t, "this file system has no leases")
		}
		s.advance(t, 3*time.Second) // longer than an empty file must stay so
		if _, err := f.WriteString(version("b", 1)); err != nil {
			t.Fatal(err)
		}
		s.advance(t, 3*time.Second)
		if _, err := f.WriteString("---\n" + version("a", 2)); err != nil {
			t.Fatal(err)
		}
		s.advance(t, 3*time.Second)
		f.Close()
		s.advance(t, time.Second, poolAt("a", 2)+" "+poolAt("b", 1))
	})
}

// opened opens a file for reading.
func opened(t *testing.T, path string) *os.File {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// Somebody keeps a file open for writing and never writes.
func TestFileThatStaysOpenForWriting(t *testing.T) {
	inBubble(t, map[string]string{"a.yaml": version("a", 1)}, func(t *testing.T, s *timed) {
		f, err := os.OpenFile(s.path("a.yaml"), os.O_WRONLY|os.O_APPEND, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		s.advance(t, time.Second)
		s.advance(t, 15*time.Second, poolAt("a", 1))
	})
}

// R9: a file that is replaced all the time is read all the same, since what takes its place
// is complete.
func TestR9FileThatIsReplacedAllTheTime(t *testing.T) {
	inBubble(t, map[string]string{"a.yaml": version("a", 1)}, func(t *testing.T, s *timed) {
		s.advance(t, time.Second, poolAt("a", 1))
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		for n := 2; n < 100; n++ {
			replace(t, s.path("a.yaml"), version("a", n))
			<-tick.C
		}
		if n := len(s.delivered); n < 2 || n > 10 {
			t.Errorf("%d snapshots in 5 s", n)
		}
	})
}
