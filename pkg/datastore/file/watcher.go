package file

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"time"

	"github.com/fsnotify/fsnotify"
)

// Defaults of a Source and a Watcher.
const (
	DefaultPoll  = 10 * time.Second
	DefaultQuiet = 100 * time.Millisecond
)

// Watcher tells when files have changed, without reading them.
type Watcher struct {
	paths       func() []string
	poll, quiet time.Duration
	log         *slog.Logger
	open        func() (*fsnotify.Watcher, error)
	// reported is what the files looked like when changed was called last.
	reported map[string]stamp
}

// NewWatcher watches files and the files in directories, but for hidden ones and those in
// directories below, wherever links lead. From now on, not from Run on, so that what is
// read in between is not missed. Paths are asked for each time anew, and need not exist.
// Without the kernel's help changes are found every poll (10 s when zero); they are
// reported when nothing has changed for quiet (100 ms when zero). A nil logger discards.
func NewWatcher(paths func() []string, poll, quiet time.Duration, logger *slog.Logger) *Watcher {
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	w := &Watcher{paths: paths, poll: cmp.Or(poll, DefaultPoll), quiet: cmp.Or(quiet, DefaultQuiet), log: logger,
		open: fsnotify.NewWatcher}
	w.reported = w.survey().stamps
	return w
}

func (w *Watcher) survey() *survey {
	s := newSurvey()
	for _, path := range w.paths() {
		s.look(path, anyFile)
	}
	return s
}

// Run calls changed, from its own goroutine, when files differ from what they were when it
// did so last, until the context ends, with whose cause it returns. Trouble with watching
// is logged and never ends it. It leaves no goroutine behind.
func (w *Watcher) Run(ctx context.Context, changed func()) error {
	n := newNotifier(w.open, w.log)
	defer n.close()
	seen, since := w.reported, time.Time{}
	return n.rounds(ctx, w.poll, w.quiet, func() time.Duration {
		now, stamps := time.Now(), n.survey(w.survey).stamps
		if !maps.Equal(stamps, seen) {
			seen, since = stamps, now
		}
		if maps.Equal(seen, w.reported) {
			return 0
		}
		if wait := since.Add(w.quiet).Sub(now); wait > 0 {
			return wait
		}
		w.reported = seen
		changed()
		return 0
	})
}
