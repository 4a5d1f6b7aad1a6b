package file

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"
)

// notifier tells when the kernel reports an event that matters. Without the kernel's help
// it stays silent: whoever uses it looks for himself from time to time.
type notifier struct {
	log  *slog.Logger
	open func() (*fsnotify.Watcher, error)
	news chan struct{} // holds one piece of news at most

	watcher *fsnotify.Watcher // nil when there is none
	watched map[string]stamp  // directories as they were when their watch began
	ended   chan struct{}
	failed  bool // and it was logged

	mu    sync.Mutex
	spots spots
}

func newNotifier(open func() (*fsnotify.Watcher, error), log *slog.Logger) *notifier {
	return &notifier{log: log, open: open, news: make(chan struct{}, 1), watched: map[string]stamp{}}
}

// survey has a survey taken, and watches what it found. It is taken again when a directory
// has not been watched meanwhile.
func (n *notifier) survey(take func() *survey) *survey {
	const rounds = 5 // a tree that changes all the time is left to its events
	s := take()
	for range rounds {
		if !n.watch(s.spots) {
			break
		}
		s = take()
	}
	return s
}

// watch watches these directories and no others, and tells whether any is new. A directory
// that was replaced by another one of its name is watched anew.
func (n *notifier) watch(want spots) (added bool) {
	now := want.stamps()
	n.mu.Lock()
	n.spots = want
	n.mu.Unlock()
	if !n.start() {
		return false
	}
	alive := map[string]bool{}
	for _, dir := range n.watcher.WatchList() {
		alive[dir] = true
	}
	// What has to go goes first, since a directory may have moved to where another one was.
	for dir, was := range n.watched {
		if is, wanted := now[dir]; !wanted || !alive[dir] || is.inode != was.inode || is.device != was.device {
			_ = n.watcher.Remove(dir) // which fails when the directory is gone
			delete(n.watched, dir)
		}
	}
	for dir, stamp := range now {
		if _, done := n.watched[dir]; done {
			continue
		}
		switch err := n.watcher.Add(dir); {
		case err == nil:
			n.watched[dir] = stamp
			added = true
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission): // who reads it says so
		default:
			n.fail(err)
		}
	}
	return added
}

// start makes sure that there is a watcher, if there can be one.
func (n *notifier) start() bool {
	if n.watcher != nil {
		return true
	}
	w, err := n.open()
	if err != nil {
		n.fail(err)
		return false
	}
	n.watcher, n.ended = w, make(chan struct{})
	go n.listen(w)
	return true
}

// listen takes what the watcher has to say until it is closed. It must never wait for the
// goroutine that calls watch: fsnotify holds its lock while it hands over some errors.
func (n *notifier) listen(w *fsnotify.Watcher) {
	defer close(n.ended)
	events, errs := w.Events, w.Errors
	overflowed := false
	for events != nil || errs != nil {
		select {
		case e, ok := <-events:
			if !ok {
				events = nil
			} else if n.matters(e.Name) {
				n.tell()
			}
		case err, ok := <-errs:
			switch {
			case !ok:
				errs = nil
			case errors.Is(err, fsnotify.ErrEventOverflow) && !overflowed:
				overflowed = true
				n.log.Warn("the kernel has dropped events of watched directories, so they are looked at anew", "error", err)
				n.tell()
			default:
				n.log.Debug("trouble with watching directories", "error", err)
				n.tell()
			}
		}
	}
}

func (n *notifier) matters(path string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.spots.matters(path)
}

func (n *notifier) tell() {
	select {
	case n.news <- struct{}{}:
	default:
	}
}

func (n *notifier) fail(err error) {
	if !n.failed {
		n.failed = true
		n.log.Warn("directories cannot be watched, so changes are only seen by looking from time to time", "error", err,
			"hint", "raise fs.inotify.max_user_instances and max_user_watches, or shorten --poll")
	}
}

// close ends watching, and returns when nothing of it is left.
func (n *notifier) close() {
	if n.watcher != nil {
		_ = n.watcher.Close() // reports nothing that could be acted on
		<-n.ended
	}
}

// rounds calls look until the context ends, with whose cause it returns: at once, after
// each piece of news, when the time has passed that look returns, if any, and after poll at
// the latest.
func (n *notifier) rounds(ctx context.Context, poll, quiet time.Duration, look func() time.Duration) error {
	for ctx.Err() == nil {
		next, began := poll, time.Now()
		if wait := look(); wait > 0 {
			next = min(next, wait)
		}
		ended := time.Now()
		// Not more than half of the time is spent with looking.
		rested := ended.Add(ended.Sub(began))
		select {
		case <-ctx.Done():
		case <-time.After(next):
		case <-n.news:
			// Events come in swarms, and nothing is read before they have ceased anyway.
			select {
			case <-ctx.Done():
			case <-time.After(max(quiet/8, time.Until(rested))):
			}
			select {
			case <-n.news:
			default:
			}
		}
	}
	return context.Cause(ctx)
}
