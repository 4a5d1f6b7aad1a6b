package main

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/birdconfd/birdconfd/pkg/bird"
	"github.com/birdconfd/birdconfd/pkg/recovery"
)

const readyTimeout = 5 * time.Second

// readyOptions are the flags of ready.
type readyOptions struct {
	bird, bird6 string
	conf        string
	confdir     string
	output      string
	sockets     map[string]string
	stateDir    string
	maxAge      time.Duration
	settled     time.Duration
	timeout     time.Duration
	format      string
}

func readyCommand(env environment) *cobra.Command {
	o := readyOptions{format: "text"}
	cmd := &cobra.Command{
		Use:   "ready [flags]",
		Short: "Tell whether BIRD serves this node: a readiness probe",
		Long: `ready asks BIRD over its control socket whether it runs, holds back no routes after a start, and
has its BGP sessions. A session counts unless it is disabled, or its peer is a node that is
NotReady. That is known from what birdconfd run has left in its state directory; no birdconfd
needs to run.

Which daemons are asked is said by --bird and --bird6, or by the flags or variables that run
has: --conf, --confdir, or --output with --socket. Without any of them it is Calico's
/var/run/calico/bird.ctl, and bird6.ctl if that is there.

Exit code 0: ready, with one line on standard output; 1: not ready, with a line for each reason
and each session that is down on standard error; 2: wrong usage, or a --conf or --confdir that
cannot be read.`,
		Example: `  birdconfd ready
  birdconfd ready --bird /run/bird/bird.ctl
  birdconfd ready --output /etc/bird --socket bird=/run/bird/bird.ctl --settled 5m`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return o.main(cmd.Context(), env)
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&o.bird, "bird", "", "control socket of the target bird, whatever else is configured")
	f.StringVar(&o.bird6, "bird6", "", "control socket of the target bird6, whatever else is configured")
	f.StringVar(&o.conf, "conf", "", "directory that describes targets, as for run")
	f.StringVar(&o.confdir, "confdir", "", "directory of Calico's confd, as for run")
	f.StringVarP(&o.output, "output", "o", "", "directory of BIRD's files, as for run")
	f.StringToStringVar(&o.sockets, "socket", nil, "control socket of a target, as in bird=/run/bird/bird.ctl; once for each")
	f.StringVar(&o.stateDir, "state-dir", "", "directory where run keeps what it knows (default: .birdconfd beside BIRD's files)")
	f.DurationVar(&o.maxAge, "readiness-max-age", recovery.DefaultMaxAge, "how old the knowledge that nodes are NotReady may be")
	f.DurationVar(&o.settled, "settled", 0, "after BIRD has run for this time one session that counts is enough (default: never)")
	f.DurationVar(&o.timeout, "timeout", readyTimeout, "how long it all may take")
	choose(cmd, &o.format, "format", "form of the answer; json goes to standard output in any case", "text", formatJSON)
	for _, name := range []string{"conf", "confdir", "output", "state-dir"} {
		_ = cmd.MarkFlagDirname(name) // fails only for a flag that is not there
	}
	for _, name := range []string{"bird", "bird6"} {
		_ = cmd.MarkFlagFilename(name) // as does this
	}
	return cmd
}

// readyReport is what ready gives as JSON.
type readyReport struct {
	Ready bool `json:"ready"`
	// Notes are worth knowing and do not change the verdict by themselves.
	Notes   []string      `json:"notes"`
	Targets []readyTarget `json:"targets"`
}

type readyTarget struct {
	Name   string `json:"name"`
	Socket string `json:"socket"`
	recovery.Verdict

	state string // the directory with what is known of peers, "" for none
}

func (o *readyOptions) main(ctx context.Context, env environment) error {
	for name, d := range map[string]time.Duration{"readiness-max-age": o.maxAge, "timeout": o.timeout} {
		if d <= 0 {
			return usageOf("ready", "--%s must be longer than 0s", name)
		}
	}
	if o.settled < 0 {
		return usageOf("ready", "--settled must not be negative")
	}
	targets, err := o.targets(env)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, o.timeout, fmt.Errorf("no answer within %s", o.timeout))
	defer cancel()
	r := o.judge(ctx, targets)
	if err := r.show(env, o.format); err != nil {
		return &exitError{exitUsage, fmt.Errorf("write to standard output: %w", err)}
	}
	if !r.Ready {
		return &exitError{code: exitProblems}
	}
	return nil
}

// judge asks all daemons at once.
func (o *readyOptions) judge(ctx context.Context, targets []readyTarget) readyReport {
	seen := make([]recovery.Seen, len(targets))
	var all sync.WaitGroup
	for i, t := range targets {
		all.Go(func() { seen[i] = recovery.Look(ctx, bird.Client{Socket: t.Socket, Timeout: o.timeout}) })
	}
	all.Wait()
	r := readyReport{Ready: true, Notes: []string{}, Targets: targets}
	blind := false
	for i := range r.Targets {
		t := &r.Targets[i]
		var known recovery.Peers
		switch {
		case seen[i].Err != nil: // nothing is known of its sessions either
		case t.state == "":
			blind = true
		default:
			var err error
			if known, err = recovery.ReadPeers(t.state); err != nil {
				r.Notes = append(r.Notes, fmt.Sprintf("%s: every session counts: %s", t.Name, err))
			}
		}
		t.Verdict = recovery.Judge(seen[i], known, time.Now(), recovery.Rules{MaxAge: o.maxAge, Settled: o.settled})
		r.Ready = r.Ready && t.Ready
	}
	if blind {
		r.Notes = append(r.Notes, "every session counts, as nothing is known about nodes; --output, --conf or --state-dir say where run keeps that")
	}
	return r
}

// show writes the report.
func (r *readyReport) show(env environment, format string) error {
	if format == formatJSON {
		return writeJSON(env.stdout, r)
	}
	var b bytes.Buffer
	if !r.Ready {
		for _, t := range r.Targets {
			for _, reason := range t.Reasons {
				writeLine(&b, 0, "%s: %s", t.Name, reason)
			}
		}
		for _, t := range r.Targets {
			for _, m := range t.Missing {
				writeLine(&b, 0, "%s: %s", t.Name, m)
			}
		}
	}
	for _, n := range r.Notes {
		writeLine(&b, 0, "note: %s", n)
	}
	_, _ = env.stderr.Write(b.Bytes()) // the exit code tells the same
	if !r.Ready {
		return nil
	}
	var counts []string
	for _, t := range r.Targets {
		counts = append(counts, t.Name+" has "+t.count())
	}
	_, err := fmt.Fprintln(env.stdout, "ready: "+strings.Join(counts, "; "))
	return err
}

// count tells of the sessions of a target that is ready.
func (t *readyTarget) count() string {
	if t.Sessions == 0 {
		return "no BGP sessions"
	}
	tolerated := 0
	for _, m := range t.Missing {
		if m.Counts {
			tolerated++
		}
	}
	out := fmt.Sprintf("%d of %d BGP sessions up", t.Up, t.Sessions)
	if n := len(t.Missing) - tolerated; n > 0 {
		out += fmt.Sprintf(", %d down that do not count", n)
	}
	if tolerated > 0 {
		out += fmt.Sprintf(", %d down that BIRD has run too long to wait for", tolerated)
	}
	return out
}
