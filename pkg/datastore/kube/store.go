package kube

import (
	"maps"
	"slices"

	"k8s.io/client-go/tools/cache"

	"github.com/birdconfd/birdconfd/pkg/datastore/internal/live"
)

// A watcher is the store of its reflector: what comes in goes on into a part of the store of
// package live.

// Transformer implements cache.TransformingStore: what is collected before a list is complete
// is slim already.
func (w *watcher) Transformer() cache.TransformFunc {
	return func(o any) (any, error) { return cut(o) }
}

// Add implements cache.ReflectorStore.
func (w *watcher) Add(o any) error { return w.Update(o) }

// Update implements cache.ReflectorStore.
func (w *watcher) Update(o any) error {
	s, err := cut(o)
	if err != nil {
		return err
	}
	w.mu.Lock()
	delete(w.doomed, s.key())
	w.notice(s)
	w.mu.Unlock()
	w.part.Put(live.Item{Key: s.key(), Data: s.data}, s.ResourceVersion)
	w.changed()
	return nil
}

// notice notes what has become of fields of ours in an object.
func (w *watcher) notice(s *slim) {
	if delete(w.dropped, s.key()); s.dropped {
		w.dropped[s.key()] = true
	}
	if delete(w.kept, s.key()); s.kept {
		w.kept[s.key()] = true
	}
}

// keeps tells whether the server has kept a field of ours in any object.
func (w *watcher) keeps() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.kept) > 0
}

// lacking are the names of objects that lack what was asked for.
func (w *watcher) lacking() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Sorted(maps.Keys(w.dropped))
}

// Delete implements cache.ReflectorStore.
func (w *watcher) Delete(o any) error {
	s, err := cut(o)
	if err != nil {
		return err
	}
	if !w.custom {
		w.part.Remove(s.key(), s.ResourceVersion)
		return nil
	}
	w.doom(s.key())
	return nil
}

// Replace implements cache.ReflectorStore.
func (w *watcher) Replace(list []any, revision string) error {
	items := make([]live.Item, 0, len(list))
	w.mu.Lock()
	clear(w.dropped)
	clear(w.kept)
	for _, o := range list {
		s, err := cut(o)
		if err != nil {
			w.mu.Unlock()
			return err
		}
		w.notice(s)
		items = append(items, live.Item{Key: s.key(), Data: s.data})
	}
	w.mu.Unlock()
	if err := w.believable(items); err != nil {
		if w.initial != nil {
			w.initial.Stop() // the reflector forgets about it
		}
		return err
	}
	w.mu.Lock()
	clear(w.doomed) // the list says what there is
	w.mu.Unlock()
	w.doubted.Store(false)
	w.leaving.Store(false)
	if w.absent.Swap(false) {
		w.part.Note() // it is there now
	}
	w.part.Replace(items, revision)
	if c := w.initial; c != nil {
		w.initial = nil
		c.begin()
		w.current.Store(c)
	}
	w.feed.found(w)
	w.changed()
	return nil
}

// Bookmark implements cache.ReflectorBookmarkStore.
func (w *watcher) Bookmark(revision string) error {
	w.part.Seen(revision)
	return nil
}

// Resync implements cache.ReflectorStore. There is nothing to do.
func (w *watcher) Resync() error { return nil }

// changed has it looked up again whether fields are dropped.
func (w *watcher) changed() {
	if w.plural == "bgpconfigurations" {
		w.feed.checkPruning()
	}
}
