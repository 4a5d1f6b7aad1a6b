package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Exit codes of all subcommands.
const (
	exitFine     = 0
	exitProblems = 1 // an error-level problem, or a check that BIRD refused
	exitUsage    = 2 // wrong usage, or input that cannot be read
)

// environment is everything that a command gets from outside, so that tests can hand it in.
type environment struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	lookup         func(string) (string, bool)
}

// getenv returns a variable's value, "" when it is not set.
func (e environment) getenv(name string) string {
	v, _ := e.lookup(name)
	return v
}

// calicoVariable returns one of Calico's own variables. Each may have the prefix CALICO_,
// and the prefixed one wins when it is set, even to nothing.
func (e environment) calicoVariable(name string) string {
	if v, ok := e.lookup("CALICO_" + name); ok {
		return v
	}
	return e.getenv(name)
}

// exitError ends the program with a code. Without an error everything has been said.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// run runs the command line and returns the exit code.
func run(ctx context.Context, args []string, env environment) int {
	root := &cobra.Command{
		Use:   "birdconfd",
		Short: "Keep BIRD's configuration in step with a cluster's Calico BGP resources",
		Long: `birdconfd works out, from a cluster's Calico BGP resources, what BIRD should run on one
node, renders it through templates and has BIRD check the result.

Every flag can also be given as an environment variable: BIRDCONFD_ and the flag's name in
capitals, with _ for -. The flag wins; an empty variable counts as not set.`,
		SilenceUsage:  true,
		SilenceErrors: true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			return flagsFromEnvironment(cmd.Flags(), env)
		},
	}
	root.SetArgs(args)
	root.SetIn(env.stdin)
	root.SetOut(env.stdout)
	root.SetErr(env.stderr)
	root.AddCommand(renderCommand(env), runCommand(env), launchCommand(env), statusCommand(env), readyCommand(env), versionCommand(env))

	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return exitFine
	}
	exit, ok := errors.AsType[*exitError](err)
	if !ok {
		exit = &exitError{code: exitUsage, err: fmt.Errorf("%w (see %s --help)", err, cmd.CommandPath())}
	}
	if exit.err != nil {
		fmt.Fprintln(env.stderr, "birdconfd:", exit.err)
	}
	return exit.code
}

// noVariable marks a flag that has no variable, since another subcommand has a flag of that
// name which means something else.
const noVariable = "no-variable"

// flagsFromEnvironment sets the flags that are not on the command line from their variables.
func flagsFromEnvironment(flags *pflag.FlagSet, env environment) error {
	var errs []error
	flags.VisitAll(func(f *pflag.Flag) {
		name := "BIRDCONFD_" + strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_"))
		value := env.getenv(name)
		if value == "" || f.Changed || f.Name == "help" || f.Annotations[noVariable] != nil {
			return
		}
		if err := flags.Set(f.Name, value); err != nil {
			errs = append(errs, fmt.Errorf("environment variable %s: %w", name, err))
		}
	})
	return errors.Join(errs...)
}

// choice is the value of a flag with a fixed set of values.
type choice struct {
	value   *string
	allowed []string
}

func (c choice) String() string { return *c.value }

// Set refuses what is not in the set.
func (c choice) Set(s string) error {
	if !slices.Contains(c.allowed, s) {
		return fmt.Errorf("it is one of %s", strings.Join(c.allowed, ", "))
	}
	*c.value = s
	return nil
}

// Type stands for the value in the help.
func (c choice) Type() string { return strings.Join(c.allowed, "|") }

// choose gives a command a flag with a fixed set of values, which a shell can complete.
func choose(cmd *cobra.Command, value *string, name, usage string, allowed ...string) {
	cmd.Flags().Var(choice{value, allowed}, name, usage)
	// It fails only for a flag that is not there.
	_ = cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(allowed, cobra.ShellCompDirectiveNoFileComp))
}

func versionCommand(env environment) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		Run: func(*cobra.Command, []string) {
			fmt.Fprintln(env.stdout, "birdconfd", version())
		},
	}
}

// version returns the module's version and the revision it was built from, as far as they
// are known.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	v := info.Main.Version
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && !strings.Contains(v, s.Value[:min(12, len(s.Value))]) {
			v += " (" + s.Value + ")"
		}
	}
	return v + " " + info.GoVersion
}
