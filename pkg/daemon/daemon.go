package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/birdconfd/birdconfd/pkg/bgp"
	"github.com/birdconfd/birdconfd/pkg/calico"
	"github.com/birdconfd/birdconfd/pkg/datastore"
	"github.com/birdconfd/birdconfd/pkg/internal/process"
	"github.com/birdconfd/birdconfd/pkg/render"
)

// Options are what a daemon is made of. Durations that are zero take the defaults of the
// constants below, but for those that turn something off.
type Options struct {
	Node    string
	Version string
	Source  datastore.Source
	Compute bgp.Options
	// Load loads conf.d and the templates; the Config is nil when that fails.
	Load func() (*render.Config, []calico.Problem)
	// Watch calls changed each time that what Load reads has changed, until the context
	// ends; nil watches nothing.
	Watch func(ctx context.Context, changed func()) error
	// StateDir is where sets are staged; empty for a directory beside the files.
	StateDir string
	// Settle is how long changes must have ceased before they are applied, and Longest how
	// long the first of them waits at most. A change in a quiet time does not wait.
	Settle, Longest time.Duration
	Guard           Guard
	// Confirm is how long a new configuration is on trial; zero for no trial.
	Confirm time.Duration
	// SocketTimeout bounds each answer over a control socket.
	SocketTimeout time.Duration
	// LookEvery is how often it is made sure that what was applied still is: that nobody has
	// changed the files or had BIRD load others.
	LookEvery time.Duration
	// ReadinessAge is for how long nodes count as not ready after the source was last certain
	// of it; DefaultMaxAge of package recovery when zero.
	ReadinessAge time.Duration
	// ReleaseUnreachable is how long a session may not come up after a start of BIRD 1.6 until
	// the recovery waits for it no longer, if all others have recovered; zero for ever.
	ReleaseUnreachable time.Duration
	// Shutdown is how long Run may take to return after its context has ended.
	Shutdown time.Duration
	// Reload makes the loop load conf.d and templates anew, Override makes it apply what the
	// guard holds back.
	Reload, Override <-chan struct{}
	// Once makes Run return when everything is applied, or an error when something is not.
	Once bool
	// Listener is where the daemon can be asked how it is; nil for nowhere.
	Listener net.Listener
	Logger   *slog.Logger
}

// Defaults.
const (
	DefaultSettle         = 200 * time.Millisecond
	DefaultLongest        = time.Second
	DefaultGuardHold      = time.Minute
	DefaultGuardThreshold = 50
	DefaultSocketTimeout  = 10 * time.Second
	DefaultLookEvery      = 30 * time.Second
	DefaultShutdown       = 15 * time.Second
)

// Run keeps BIRD's configuration in step with the source until the context ends. It then
// returns nil, or an error when work had to be abandoned.
func Run(ctx context.Context, o Options) error {
	l := newLoop(&o)
	g, running := errgroup.WithContext(ctx)
	g.Go(func() error { return unlessOver(running, o.Source.Run(running, l.deliver)) })
	g.Go(func() error { process.ReapOrphans(running, o.Logger); return nil })
	if o.Watch != nil {
		g.Go(func() error { return unlessOver(running, o.Watch(running, l.configChanged)) })
	}
	if o.Listener != nil {
		server := NewServer(l.current, l.alive, o.Logger)
		g.Go(func() error { return server.Serve(running, o.Listener) })
	}
	g.Go(func() error { return l.run(running) })

	all := make(chan error, 1)
	go func() { all <- g.Wait() }()
	var err error
	select {
	case err = <-all:
	case <-after(ctx, o.Shutdown):
		err = fmt.Errorf("work did not end within %s and was abandoned", o.Shutdown)
	}
	if errors.Is(err, errDone) || ctx.Err() != nil && errors.Is(err, context.Cause(ctx)) {
		return nil
	}
	return err
}

// errDone ends the work when all is done that there was to do.
var errDone = errors.New("everything is applied")

// unlessOver takes an error for what it is only while nothing else has ended the work.
func unlessOver(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// after returns a channel that is closed some time after the context has ended.
func after(ctx context.Context, d time.Duration) <-chan struct{} {
	c := make(chan struct{})
	context.AfterFunc(ctx, func() { time.AfterFunc(d, func() { close(c) }) })
	return c
}
