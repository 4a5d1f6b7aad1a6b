package etcd

import (
	"cmp"
	"log/slog"
	"time"
)

// Options are those of a Feed.
type Options struct {
	// Connection says how etcd is reached.
	Connection Connection
	// Node is the name of the node whose block affinities are read.
	Node string
	// UsePodCIDR tells that blocks come from the nodes, so that affinities are not read.
	UsePodCIDR bool
	// HoldEmpty is how long a list is not believed to be empty that was not; 30 s when zero.
	HoldEmpty time.Duration
	// Heartbeat is how often etcd is asked for a sign of life, give or take a fifth; 30 s when zero.
	Heartbeat time.Duration
	// Timeout is how long a single request may take; 10 s when zero.
	Timeout time.Duration
	// Page is how many keys are read at a time; 500 when zero.
	Page int64
	// Retry is how long to wait after a first failure; twice as long after each more, up to
	// 30 s, give or take a half; 500 ms when zero.
	Retry  time.Duration
	Logger *slog.Logger
}

const longestRetry = 30 * time.Second

func (o Options) complete() Options {
	o.HoldEmpty = cmp.Or(o.HoldEmpty, 30*time.Second)
	o.Heartbeat = cmp.Or(o.Heartbeat, 30*time.Second)
	o.Timeout = cmp.Or(o.Timeout, 10*time.Second)
	o.Page = cmp.Or(o.Page, 500)
	o.Retry = cmp.Or(o.Retry, 500*time.Millisecond)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}
