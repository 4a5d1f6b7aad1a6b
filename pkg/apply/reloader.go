package apply

import "context"

// Reloader makes a BIRD daemon read its configuration again.
type Reloader interface {
	// Reload has the daemon read the configuration that starts with the file main, an
	// absolute path, and tells what is known of the result. An error says that the daemon
	// does not run it, or that nobody knows: a *bird.RefusedError that it read and refused
	// it, bird.ErrNotRunning that no daemon is there, any other that the result is unknown.
	Reload(ctx context.Context, main string) (Verdict, error)
}

// Verdict is what is known of a reload that did not fail.
type Verdict struct {
	// Confirmed tells that the daemon itself said that it runs the configuration. A signal
	// or a command cannot know.
	Confirmed bool `json:"confirmed"`
	// Words are what the daemon, or the command, said; for a signal, what was done.
	Words string `json:"words,omitempty"`
	// Note is worth telling people once.
	Note string `json:"-"`
	// Instance identifies the running daemon and the configuration that it has loaded; ""
	// when that cannot be known. Only the Reloader that made it understands it.
	Instance string `json:"instance,omitempty"`
}

// identifier is a Reloader that can tell whether the same daemon still runs.
type identifier interface {
	// Runs tells whether the daemon and its configuration are those of a Verdict.Instance.
	// Watched tells that it would be known if the daemon had been started anew since.
	Runs(ctx context.Context, instance string, watched bool) (bool, error)
}

// keeper is a Reloader that puts a configuration on trial.
type keeper interface {
	// reloadKeeping is Reload for a trial in which also the sessions in keep are to come back.
	// It calls begin with all that are, before it changes anything, and decides at once when
	// stop is closed.
	reloadKeeping(ctx context.Context, main string, keep []string, begin func(keep []string), stop <-chan struct{}) (Verdict, error)
	// reloadForGood is Reload without a trial.
	reloadForGood(ctx context.Context, main string) (Verdict, error)
}

// prober is a Reloader that can tell whether the daemon can be asked at all.
type prober interface {
	reach(ctx context.Context) error
}
