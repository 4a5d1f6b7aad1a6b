package daemon

import (
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"

	"github.com/birdconfd/birdconfd/pkg/calico"
)

// Notifier tells a service manager how the daemon is doing, in the manner of sd_notify(3).
// Without the variable NOTIFY_SOCKET it does nothing. What cannot be told is logged: the
// daemon's work does not depend on it.
type Notifier struct {
	logger *slog.Logger
	ready  atomic.Bool
}

// NewNotifier returns a Notifier; a nil logger discards.
func NewNotifier(logger *slog.Logger) *Notifier {
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	return &Notifier{logger: logger}
}

// Ready tells that the daemon has started.
func (n *Notifier) Ready() {
	n.ready.Store(true)
	n.send(daemon.SdNotifyReady)
}

// Reloading tells that configuration is being loaded anew; Reloaded has to follow. Before
// Ready both do nothing: that load is part of the start, and its end is not yet READY.
func (n *Notifier) Reloading() {
	if n.ready.Load() {
		n.send(daemon.SdNotifyReloading + "\n" + daemon.SdNotifyMonotonicUsec())
	}
}

// Reloaded tells that loading is over, however it went.
func (n *Notifier) Reloaded() {
	if n.ready.Load() {
		n.send(daemon.SdNotifyReady)
	}
}

// Stopping tells that the daemon is about to end.
func (n *Notifier) Stopping() { n.send(daemon.SdNotifyStopping) }

// Status gives a text for people to see beside the service's state.
func (n *Notifier) Status(text string) { n.send("STATUS=" + oneLine(text)) }

// Alive keeps the watchdog quiet.
func (n *Notifier) Alive() { n.send(daemon.SdNotifyWatchdog) }

// WatchdogInterval is within which time Alive is to be called each time; zero for never.
func (n *Notifier) WatchdogInterval() time.Duration {
	interval, err := daemon.SdWatchdogEnabled(false)
	if err != nil {
		n.logger.Warn("the service manager's watchdog is not used", "error", err)
	}
	return interval
}

// Tick returns a clock for Alive, twice in each interval of the watchdog, as sd_notify(3)
// recommends. Without a watchdog it never ticks.
func (n *Notifier) Tick() Tick {
	interval := n.WatchdogInterval() / 2
	if interval <= 0 {
		return Tick{}
	}
	t := time.NewTicker(interval)
	return Tick{t.C, t.Stop}
}

// Tick is a clock that can be one that never ticks.
type Tick struct {
	C    <-chan time.Time
	stop func()
}

// Stop stops the clock.
func (t Tick) Stop() {
	if t.stop != nil {
		t.stop()
	}
}

func (n *Notifier) send(state string) {
	if _, err := daemon.SdNotify(false, state); err != nil {
		name, _, _ := strings.Cut(state, "=")
		n.logger.Warn("the service manager cannot be told", "what", name, "error", err)
	}
}

// oneLine makes a text that may come from anywhere fit for a line: neither can it begin
// another nor steer a terminal.
func oneLine(s string) string {
	return calico.Printable(strings.NewReplacer("\n", " ", "\t", " ").Replace(strings.TrimSpace(s)))
}
