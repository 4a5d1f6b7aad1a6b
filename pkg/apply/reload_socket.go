package apply

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/birdconfd/birdconfd/pkg/bird"
)

// SocketReloader reloads over BIRD's control socket, which is the only way to know the
// result.
type SocketReloader struct {
	Client bird.Client
	// Confirm, if not zero, has BIRD go back by itself unless the new configuration is
	// confirmed within this time (whole seconds). It is confirmed once the sessions that
	// were established are so again, or when the time is nearly over and no more than
	// half of them are missing.
	Confirm time.Duration

	// looked is when the daemon was started of which it is known what file it was started with.
	looked string
}

// CollapsedError tells that a new configuration was undone because of what it did to BGP
// sessions.
type CollapsedError struct {
	// Lost are the names of the protocols that did not come back.
	Lost []string
	// Before counts the sessions that were established and are still configured.
	Before int
	Within time.Duration
}

// maxNamed is how many names an error lists.
const maxNamed = 5

func (e *CollapsedError) Error() string {
	names, more := e.Lost, ""
	if len(names) > maxNamed {
		names, more = names[:maxNamed], fmt.Sprintf(" and %d more", len(e.Lost)-maxNamed)
	}
	return fmt.Sprintf("%d of %d sessions that were established did not come back within %s, so the change was undone: %s%s",
		len(e.Lost), e.Before, e.Within, strings.Join(names, ", "), more)
}

// justBooted is how long after its start a daemon cannot be told from one that was started
// once more since, unless it is watched: its times have seconds, and are a second off at
// times.
const justBooted = 2 * time.Second

// Runs implements identifier. When in doubt it says no, which costs a reload.
func (r *SocketReloader) Runs(ctx context.Context, instance string, watched bool) (bool, error) {
	var then bird.Status
	if err := json.Unmarshal([]byte(instance), &then); err != nil {
		return false, nil // it is no instance of ours, or of an older form
	}
	conn, err := r.Client.Dial(ctx)
	if err != nil {
		return false, err
	}
	defer conn.Close()
	now, err := conn.Status(ctx)
	if err != nil {
		return false, err
	}
	return now.SameLoad(then) && (watched || then.LastReconfiguration.Sub(then.LastReboot) > justBooted), nil
}

// instance tells when the daemon was started and configured.
func instance(ctx context.Context, conn *bird.Conn) (string, error) {
	s, err := conn.Status(ctx)
	if err != nil {
		return "", err
	}
	text, err := json.Marshal(bird.Status{LastReboot: s.LastReboot, LastReconfiguration: s.LastReconfiguration,
		Booted: s.Booted, Configured: s.Configured})
	return string(text), err
}

// Reload implements Reloader.
func (r *SocketReloader) Reload(ctx context.Context, main string) (Verdict, error) {
	return r.reloadKeeping(ctx, main, nil, func([]string) {}, ctx.Done())
}

// reach implements prober.
func (r *SocketReloader) reach(ctx context.Context) error {
	conn, err := r.Client.Dial(ctx)
	if err != nil {
		return err
	}
	return conn.Close()
}

// reloadForGood implements keeper.
func (r *SocketReloader) reloadForGood(ctx context.Context, main string) (Verdict, error) {
	return r.reload(ctx, main, func(conn *bird.Conn) (bird.Reply, error) {
		return conn.Configure(ctx, bird.ConfigureOptions{File: main})
	})
}

// reloadKeeping implements keeper.
func (r *SocketReloader) reloadKeeping(ctx context.Context, main string, keep []string, begin func([]string), stop <-chan struct{}) (Verdict, error) {
	if r.Confirm == 0 {
		return r.reloadForGood(ctx, main)
	}
	return r.reload(ctx, main, func(conn *bird.Conn) (bird.Reply, error) {
		return r.try(ctx, conn, main, keep, begin, stop)
	})
}

func (r *SocketReloader) reload(ctx context.Context, main string, configure func(*bird.Conn) (bird.Reply, error)) (Verdict, error) {
	conn, err := r.Client.Dial(ctx)
	if err != nil {
		return Verdict{}, err
	}
	defer conn.Close()
	reply, err := configure(conn)
	if err != nil {
		return Verdict{}, err
	}
	id, err := instance(ctx, conn)
	if err != nil {
		return Verdict{}, fmt.Errorf("after it was configured: %w", err)
	}
	return Verdict{Confirmed: true, Words: reply.Outcome(), Instance: id, Note: r.otherFile(ctx, conn, main)}, nil
}

// otherFile tells, once for each start of the daemon, that it was started with another file
// than the one that it was made to load now. When it is started anew it will load that.
func (r *SocketReloader) otherFile(ctx context.Context, conn *bird.Conn, main string) string {
	status, err := conn.Status(ctx)
	if err != nil || status.Booted == r.looked {
		return ""
	}
	own, err := conn.OwnFile(ctx)
	if err != nil {
		return "" // it may be restricted; this is only a help
	}
	r.looked = status.Booted
	same := filepath.Base(own) == filepath.Base(main)
	if filepath.IsAbs(own) {
		a, errA := filepath.EvalSymlinks(own)
		b, errB := filepath.EvalSymlinks(main)
		same = errA == nil && errB == nil && a == b
	}
	if same {
		return ""
	}
	return fmt.Sprintf("BIRD was started with the configuration %s, which it will load when it is started anew, until it is told to load %s: start it with -c %[2]s", own, main)
}

// maxDecision bounds what is left to do when a trial is over.
const maxDecision = 5 * time.Second

// try puts a configuration on trial.
func (r *SocketReloader) try(ctx context.Context, conn *bird.Conn, main string, keep []string, begin func([]string), stop <-chan struct{}) (bird.Reply, error) {
	before, err := established(ctx, conn)
	if err != nil {
		return bird.Reply{}, err
	}
	owed := keep // which an earlier trial has cost, so that others must not outvote them
	keep = slices.Compact(slices.Sorted(slices.Values(slices.Concat(keep, before.up))))
	begin(keep)
	began := time.Now()
	deadline := began.Add(r.Confirm)
	reply, err := conn.Configure(ctx, bird.ConfigureOptions{File: main, Undo: r.Confirm})
	if err != nil {
		return reply, err
	}
	lost, kept, err := r.watch(ctx, conn, keep, deadline, stop)
	if err != nil {
		return reply, fmt.Errorf("while the new configuration was on trial: %w", err)
	}
	// From here on the decision is made, whatever else ends.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), maxDecision)
	defer cancel()
	stillOwed := slices.DeleteFunc(slices.Clone(lost), func(name string) bool { return !slices.Contains(owed, name) })
	if 2*len(lost) > kept || 2*len(stillOwed) > len(owed) {
		if _, err := conn.Undo(ctx); err != nil {
			return reply, fmt.Errorf("undo the new configuration, because %d of %d sessions did not come back: %w", len(lost), kept, err)
		}
		return reply, &CollapsedError{Lost: lost, Before: kept, Within: time.Since(began).Round(100 * time.Millisecond)}
	}
	confirmed, err := conn.Confirm(ctx)
	if err != nil {
		return reply, fmt.Errorf("confirm the new configuration: %w", err)
	}
	reply.Code, reply.Lines = confirmed.Code, append(reply.Lines, confirmed.Lines...)
	return reply, nil
}

// trial is how long sessions may take to come back: BIRD's own time, less what it takes to
// ask and answer.
func (r *SocketReloader) trial() time.Duration { return r.Confirm * 4 / 5 }

// lookEvery is how often sessions are looked at during a trial.
const lookEvery = 250 * time.Millisecond

// watch waits until all sessions are back, or the trial is over. It returns those that are
// missing, and how many of those before are still configured. When stop is closed, or the
// context ends, the trial ends early.
func (r *SocketReloader) watch(ctx context.Context, conn *bird.Conn, before []string, deadline time.Time, stop <-chan struct{}) (lost []string, kept int, err error) {
	asking, cancel := context.WithDeadline(context.WithoutCancel(ctx), deadline)
	defer cancel()
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	over := time.After(time.Until(deadline) - (r.Confirm - r.trial()))
	for last := false; ; {
		now, err := established(asking, conn)
		if err != nil {
			return nil, 0, err
		}
		lost, kept = nil, 0
		for _, name := range before {
			if up, configured := now.all[name]; configured {
				kept++
				if !up {
					lost = append(lost, name)
				}
			}
		}
		if len(lost) == 0 || last {
			return lost, kept, nil
		}
		select {
		case <-tick.C:
		case <-over:
			last = true
		case <-stop:
			last = true
		case <-ctx.Done():
			last = true
		}
	}
}

// sessions are the BGP protocols of a daemon.
type sessions struct {
	up  []string
	all map[string]bool // whether it is established
}

func established(ctx context.Context, conn *bird.Conn) (sessions, error) {
	protocols, err := conn.Protocols(ctx)
	if err != nil {
		return sessions{}, err
	}
	out := sessions{all: map[string]bool{}}
	for _, p := range protocols {
		if !p.IsBGP() {
			continue
		}
		up := p.Established()
		out.all[p.Name] = up
		if up {
			out.up = append(out.up, p.Name)
		}
	}
	return out, nil
}
