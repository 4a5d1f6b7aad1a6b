package daemon

import "sync"

// mailbox holds the newest of what was put into it; what nobody has taken is replaced.
type mailbox[T any] struct {
	mu   sync.Mutex
	last *T
	// C has an element while there is something to take.
	C chan struct{}
}

func newMailbox[T any]() *mailbox[T] { return &mailbox[T]{C: make(chan struct{}, 1)} }

// put makes v what is taken next. merge, if not nil, is told what v replaces.
func (m *mailbox[T]) put(v T, merge func(old T, v *T)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.last != nil && merge != nil {
		merge(*m.last, &v)
	}
	m.last = &v
	select {
	case m.C <- struct{}{}:
	default:
	}
}

// take returns the newest and empties the mailbox; false when it was empty.
func (m *mailbox[T]) take() (v T, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	select {
	case <-m.C:
	default:
	}
	if m.last == nil {
		return v, false
	}
	v, m.last = *m.last, nil
	return v, true
}
