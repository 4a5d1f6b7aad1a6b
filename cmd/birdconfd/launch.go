package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/birdconfd/birdconfd/pkg/bird"
	"github.com/birdconfd/birdconfd/pkg/launch"
)

// Values of flags of launch.
const (
	choiceAuto   = "auto"
	choiceAlways = "always"
	choiceNever  = "never"
)

// launchOptions are the flags of launch.
type launchOptions struct {
	wait     time.Duration
	stateDir string
	family   string
	restart  string
}

func launchCommand(env environment) *cobra.Command {
	o := launchOptions{family: choiceAuto, restart: choiceAuto}
	cmd := &cobra.Command{
		Use:   "launch [flags] -- COMMAND ARGUMENT...",
		Short: "Start BIRD once its files are current",
		Long: `launch is for what starts BIRD: the run script of a service, a unit, a container. It waits until
"birdconfd run" has made sure, since it started itself and since BIRD ran last, that a complete
and current set of files is in place, and then becomes BIRD: COMMAND takes its place and keeps
its process ID. What BIRD starts with decides for which peers a graceful restart waits.

The option -R, for a graceful restart, is added to COMMAND if the kernel holds routes of BIRD:
without any there is nothing to preserve, and -R would only delay the first routes. If that
cannot be found out -R is added. One that COMMAND has already is kept.

If nothing is current within --wait, BIRD is started with the complete set of an earlier run,
if there is one. The file of the set is what COMMAND has after -c.

Exit code 0: ended by TERM or INT while waiting; 1: no complete set is in place, so that
another attempt is worth while; 2: wrong usage, or COMMAND cannot be started. Once BIRD is
started the exit code is BIRD's.`,
		Example: `  birdconfd launch -- bird -s /run/bird/bird.ctl -d -c /etc/bird/bird.cfg
  birdconfd launch --wait 20s --restart never -- bird6 -f -c /etc/bird/bird6.cfg`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.main(cmd.Context(), env, args)
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.SetInterspersed(false)
	f.DurationVar(&o.wait, "wait", time.Minute, "how long to wait for a current set of files; 0s for not at all")
	f.StringVar(&o.stateDir, "state-dir", "", "directory of birdconfd's records, as for run (default: .birdconfd beside BIRD's files)")
	choose(cmd, &o.restart, "restart", "whether to start with -R; auto: if the kernel holds routes of BIRD", choiceAuto, choiceAlways, choiceNever)
	choose(cmd, &o.family, "family", "whose routes those are; auto: by BIRD's version and name; it has no variable, as BIRDCONFD_FAMILY is that of run", choiceAuto, "ipv4", "ipv6", "both")
	_ = cmd.MarkFlagDirname("state-dir")                    // fails only for a flag that is not there
	_ = f.SetAnnotation("family", noVariable, []string{""}) // as does this
	return cmd
}

func (o *launchOptions) main(ctx context.Context, env environment, command []string) error {
	if len(command) == 0 {
		return usageOf("launch", "name the command that starts BIRD, after --")
	}
	if o.wait < 0 {
		return usageOf("launch", "--wait must not be negative")
	}
	options := bird.ParseOptions(command[1:])
	if options.Config == "" {
		return usageOf("launch", "the command has no -c: name BIRD's configuration file, so that it is known what to wait for")
	}
	config, err := filepath.Abs(options.Config)
	if err != nil {
		return &exitError{exitUsage, err}
	}
	program, err := bird.Find(command[0])
	if err != nil {
		return &exitError{exitUsage, err}
	}
	say := func(text string) { fmt.Fprintln(env.stderr, "birdconfd:", text) }
	set := launch.Set{Config: config, StateDir: o.stateDir}
	err = set.Await(ctx, o.wait, say)
	if err != nil && ctx.Err() == nil {
		return &exitError{exitProblems, err}
	}
	restart, why := o.preserve(ctx, program, options)
	if restart && !options.Restart {
		command = bird.WithRestart(command)
	}
	// From here on a signal ends the process, as it will be BIRD's.
	signal.Reset(syscall.SIGTERM, syscall.SIGINT)
	if ctx.Err() != nil {
		say("ended before BIRD was started")
		return nil
	}
	say("starting " + program + " " + why)
	err = syscall.Exec(program, command, os.Environ())
	return &exitError{exitUsage, fmt.Errorf("start %s: %w", program, err)}
}

// preserve decides whether BIRD is to preserve the kernel's routes, and says why.
func (o *launchOptions) preserve(ctx context.Context, program string, options bird.Options) (bool, string) {
	switch {
	case options.Restart:
		return true, "with -R, which the command has already"
	case o.restart == choiceAlways:
		return true, "with -R, by --restart"
	case o.restart == choiceNever:
		return false, "without -R, by --restart"
	}
	f, err := launch.FamiliesOf(ctx, program)
	if err != nil {
		return false, "without -R: it does not say that it is BIRD, so there is no telling where -R belongs; name BIRD itself, or give -R yourself"
	}
	if o.family != choiceAuto {
		f = launch.Families{IPv4: o.family != "ipv6", IPv6: o.family != "ipv4"}
	}
	restart, why := launch.Preserve(f)
	if restart {
		return true, "with -R: " + why
	}
	return false, "without -R: " + why
}
