package file

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/birdconfd/birdconfd/pkg/datastore"
)

// timed is a Source under a clock that stands still but for advance. Files keep the real
// time, which for that clock is the future, unless a test sets it.
type timed struct {
	*Source
	dir       string
	delivered chan string
}

// inBubble runs a test with a Source that watches a directory, looks each 10 ms and waits for
// 100 ms of quiet.
func inBubble(t *testing.T, files map[string]string, test func(t *testing.T, s *timed)) {
	dir := tree(t, files)
	synctest.Test(t, func(t *testing.T) {
		m := onlyPoll
		m.o.Quiet = 100 * time.Millisecond
		s := &timed{Source: m.source(t, dir), dir: dir, delivered: make(chan string, 100)}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_ = s.Run(ctx, func(n datastore.Snapshot) { s.delivered <- describe(n) })
		}()
		test(t, s)
		cancel()
		<-ended
	})
}

func (s *timed) path(name string) string { return filepath.Join(s.dir, name) }

// advance wants just this to be delivered before a deadline, on the clock of the bubble.
func (s *timed) advance(t *testing.T, d time.Duration, want ...string) {
	t.Helper()
	var got []string
	for deadline := time.After(d); deadline != nil; {
		select {
		case text := <-s.delivered:
			got = append(got, text)
		case <-deadline:
			deadline = nil
		}
	}
	synctest.Wait() // what is due at that very moment counts
	for len(s.delivered) > 0 {
		got = append(got, <-s.delivered)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatal(diff)
	}
}

// F4: a file that is being written is not read, however long that takes.
func TestF4ChunkedWrite(t *testing.T) {
	inBubble(t, map[string]string{"a.yaml": version("a", 0), "b.yaml": version("b", 0)}, func(t *testing.T, s *timed) {
		s.advance(t, 150*time.Millisecond, poolAt("a", 0)+" "+poolAt("b", 0))
		var text strings.Builder
		for n := range 150 {
			text.WriteString(version("b", n) + "---\n") // each state of the file is valid, and wrong
		}
		chunks := text.String()
		f, err := os.OpenFile(s.path("b.yaml"), os.O_WRONLY|os.O_TRUNC, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		size := len(chunks) / 150
		for i := range 150 {
			if _, err := f.WriteString(chunks[i*size : (i+1)*size]); err != nil {
				t.Fatal(err)
			}
			switch i {
			case 5: // another file does not get in between at first
				write(t, s.path("a.yaml"), version("a", 1)+"\n")
				s.advance(t, 90*time.Millisecond)
			case 11:
				s.advance(t, 90*time.Millisecond, poolAt("a", 1)+" "+poolAt("b", 0))
			case 111:
				s.advance(t, 90*time.Millisecond, poolAt("a", 1)+" "+poolAt("b", 0)+" | unreadable")
				if got := s.Status(); got.Connected || !strings.Contains(got.LastError, "cannot be read: it is being changed all the time; the content read at ") {
					t.Errorf("status %+v", got)
				}
			default:
				s.advance(t, 90*time.Millisecond)
			}
		}
		replace(t, s.path("b.yaml"), version("b", 7))
		s.advance(t, 150*time.Millisecond, poolAt("a", 1)+" "+poolAt("b", 7))
		s.advance(t, time.Minute)
	})
}

func TestEmptiedFileIsBelievedLate(t *testing.T) {
	inBubble(t, map[string]string{"a.yaml": version("a", 0), "b.yaml": version("b", 0)}, func(t *testing.T, s *timed) {
		s.advance(t, 150*time.Millisecond, poolAt("a", 0)+" "+poolAt("b", 0))
		write(t, s.path("b.yaml"), "")
		s.advance(t, 950*time.Millisecond)
		write(t, s.path("b.yaml"), version("b", 1))
		s.advance(t, 150*time.Millisecond, poolAt("a", 0)+" "+poolAt("b", 1))
		write(t, s.path("b.yaml"), "")
		s.advance(t, 950*time.Millisecond)
		s.advance(t, 100*time.Millisecond, poolAt("a", 0))
	})
}

func TestShortAbsenceIsNotSeen(t *testing.T) {
	inBubble(t, map[string]string{"a.yaml": version("a", 0), "b.yaml": version("b", 0)}, func(t *testing.T, s *timed) {
		s.advance(t, 150*time.Millisecond, poolAt("a", 0)+" "+poolAt("b", 0))
		remove(t, s.path("b.yaml"))
		s.advance(t, 80*time.Millisecond)
		write(t, s.path("b.yaml"), version("b", 1))
		s.advance(t, 150*time.Millisecond, poolAt("a", 0)+" "+poolAt("b", 1))
		// Under another name a resource is still the same.
		move(t, s.path("b.yaml"), s.path("c.yaml"))
		s.advance(t, time.Second)
		// The directory is renamed and back.
		move(t, s.dir, s.dir+"-old")
		s.advance(t, 80*time.Millisecond)
		move(t, s.dir+"-old", s.dir)
		s.advance(t, time.Second)
	})
}

// Files that are written one after another are one change.
func TestFilesThatChangeTogether(t *testing.T) {
	inBubble(t, map[string]string{"a.yaml": version("a", 0), "b.yaml": version("b", 0)}, func(t *testing.T, s *timed) {
		s.advance(t, 150*time.Millisecond, poolAt("a", 0)+" "+poolAt("b", 0))
		remove(t, s.path("a.yaml"))
		s.advance(t, 90*time.Millisecond)
		replace(t, s.path("b.yaml"), version("b", 1))
		s.advance(t, 90*time.Millisecond)
		write(t, s.path("c.yaml"), version("a", 1))
		s.advance(t, 150*time.Millisecond, poolAt("a", 1)+" "+poolAt("b", 1))
	})
}

// When the source starts, a file that was changed long ago is read at once.
func TestFirstLookGoesByTheTimeOfTheFiles(t *testing.T) {
	for _, tt := range []struct {
		name string
		age  time.Duration
		wait time.Duration
	}{
		{"old", time.Hour, 0},
		{"just written", 40 * time.Millisecond, 60 * time.Millisecond},
		{"of the future", -time.Hour, 100 * time.Millisecond},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(tree(t, map[string]string{"a.yaml": version("a", 0)}), "a.yaml")
			synctest.Test(t, func(t *testing.T) {
				modified := time.Now().Add(-tt.age)
				if err := os.Chtimes(path, modified, modified); err != nil {
					t.Fatal(err)
				}
				start, ctx := time.Now(), t.Context()
				ctx, cancel := context.WithCancel(ctx)
				_ = onlyPoll.quiet(100*time.Millisecond).source(t, path).Run(ctx, func(datastore.Snapshot) { cancel() })
				if got := time.Since(start); got != tt.wait {
					t.Errorf("read after %s, want %s", got, tt.wait)
				}
			})
		})
	}
}

func (m mode) quiet(d time.Duration) mode {
	m.o.Quiet = d
	return m
}
