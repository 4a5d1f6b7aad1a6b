package main

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/birdconfd/birdconfd/pkg/bgp"
	"github.com/birdconfd/birdconfd/pkg/calico"
	"github.com/birdconfd/birdconfd/pkg/recovery"
	"github.com/birdconfd/birdconfd/pkg/render"
)

//go:embed sample/cluster.yaml
var sampleCluster []byte

const (
	sampleName = "sample/cluster.yaml"
	sampleNode = "ingress-1"
)

// renderOptions are the flags of render.
type renderOptions struct {
	commonOptions
	sample      bool
	timeout     time.Duration
	live        bool // resources come from a server
	phase       string
	showSecrets bool
	strict      bool
}

// Values of flags.
const (
	stdoutName   = "-"
	checkAuto    = "auto"
	checkRequire = "require"
	checkOff     = "off"
	formatJSON   = "json"
	phaseStart   = string(bgp.Starting)
	phaseSteady  = string(bgp.Steady)
)

func renderCommand(env environment) *cobra.Command {
	o := renderOptions{phase: phaseStart, commonOptions: commonOptions{set: "bird1", check: checkAuto, family: "all", format: "text"}}
	cmd := &cobra.Command{
		Use:   "render [flags] [PATH...]",
		Short: "Render one node's BIRD configuration from Calico's resources",
		Long: `render reads Calico and Kubernetes resources as YAML or JSON (files, directories, or - for
standard input), or from etcd or the Kubernetes API, works out what one node should run, renders
BIRD's configuration files and has BIRD itself check them as a set.

How etcd or the Kubernetes API is reached is said by Calico's own variables, such as
ETCD_ENDPOINTS and KUBECONFIG, or by its configuration file, with --calico-config.

The files go to standard output, with passwords concealed, or with --output into a
directory, which is written only when BIRD refuses nothing. There a file that exists keeps
its owner and mode, but one that holds a password is never readable by everybody.

Problems go to standard error. With --format json that is one object with the fields node,
problems (each with severity, rule, message and, where known, resource, field, position and
hint), checked (target and bird, the version that accepted it), written, unchanged, notes and
error, which is set when the run itself fails.

Exit code 0: rendered, perhaps with warnings; 1: something is missing from the result because
of an error, or BIRD refuses it; 2: wrong usage, or input that cannot be read.`,
		Example: `  birdconfd render --sample
  birdconfd render --node worker-1 cluster/
  birdconfd render --node worker-1 --datastore kubernetes
  birdconfd render --node worker-1 --confdir /etc/calico/confd cluster/
  kubectl get bgpconfigurations,bgppeers,bgpfilters,ippools,blockaffinities,nodes -o yaml | birdconfd render --node worker-1 -`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.besideConfdir(cmd, "set", "templates"); err != nil {
				return usage("%w", err)
			}
			return renderMain(cmd.Context(), env, o, args)
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&o.node, "node", "", "name of the node to render for (default: the variable NODENAME)")
	o.sourceFlags(cmd)
	f.DurationVar(&o.timeout, "timeout", 30*time.Second, "how long reading from a server may take")
	f.BoolVar(&o.sample, "sample", false, "render the built-in sample cluster, for node "+sampleNode)
	f.StringVarP(&o.output, "output", "o", stdoutName, "directory to write the files to, or - for standard output")
	choose(cmd, &o.family, "family", "address family", "all", "ipv4", "ipv6")
	choose(cmd, &o.set, "set", "built-in template set", render.BuiltinNames()...)
	o.confdirFlag(cmd)
	choose(cmd, &o.phase, "phase", "whether BIRD is to start with the files, or to load them when it has recovered from its start", phaseStart, phaseSteady)
	f.StringVar(&o.templates, "templates", "", "directory with templates that fill hooks or take the place of built-in ones")
	choose(cmd, &o.check, "check", "have BIRD check the result; auto: if it is installed", checkAuto, checkRequire, checkOff)
	f.StringVar(&o.birdDir, "bird-dir", "", "directory with the BIRD programs for the check (default: PATH)")
	f.StringVar(&o.endpointStatus, "endpoint-status", "", "directory with Calico's endpoint-status files, for local workload peers")
	choose(cmd, &o.format, "format", "form of what goes to standard error", "text", formatJSON)
	f.BoolVar(&o.strict, "strict", false, "print and write nothing when there is any error")
	f.BoolVar(&o.showSecrets, "show-secrets", false, "do not conceal passwords on standard output")
	for _, name := range []string{"output", "templates", "bird-dir", "endpoint-status"} {
		_ = cmd.MarkFlagDirname(name) // fails only for a flag that is not there
	}
	return cmd
}

func usage(format string, args ...any) error {
	return &exitError{exitUsage, fmt.Errorf(format+" (see birdconfd render --help)", args...)}
}

// complete fills in what flags leave open, and refuses what makes no sense together.
func (o *renderOptions) complete(env environment, paths []string) error {
	if o.sample {
		o.node = cmp.Or(o.node, sampleNode)
	}
	o.node = cmp.Or(o.node, env.getenv("NODENAME"))
	if !o.sample {
		var err error
		if o.live, err = o.fromServer(env, paths); err != nil {
			return usage("%w", err)
		}
	}
	switch {
	case o.sample && len(paths) > 0:
		return usage("--sample takes no paths")
	case o.sample && (o.datastore != "" && o.datastore != datastoreFile || o.calicoConfig != ""):
		return usage("--sample is read from no datastore")
	case len(paths) == 0 && !o.sample && !o.live:
		return usage("name the files or directories to read, - for standard input, --sample, or a --datastore")
	case o.timeout <= 0:
		return usage("--timeout must be longer than 0s")
	case o.node == "":
		return usage("name the node to render for, with --node or the variable NODENAME")
	case o.output == "":
		return usage("--output is empty: give a directory, or - for standard output")
	}
	return nil
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

func renderMain(ctx context.Context, env environment, o renderOptions, paths []string) error {
	err := o.complete(env, paths)
	r := newReport(o.node)
	if err == nil {
		err = o.render(ctx, env, paths, r)
	}
	return r.finish(env.stderr, o.format, err)
}

// render does the work. What is wrong with the input goes into the report; an error is
// about this run.
func (o *renderOptions) render(ctx context.Context, env environment, paths []string, r *report) error {
	options, err := o.computeOptions(env)
	if err != nil {
		return err
	}
	set, err := o.load(r)
	if set == nil {
		return err
	}
	cluster, ok, err := o.cluster(ctx, env, paths, &options, r)
	if err != nil {
		return err
	}
	if ctx.Err() != nil {
		return interrupted(ctx)
	}
	if !ok {
		return nil
	}
	views, problems := bgp.Compute(cluster, o.node, options)
	r.add(problems...)
	if o.phase == phaseStart {
		views = recovery.ForStart(views).Views
	}
	in := render.Input{Views: views, All: views, Cluster: cluster, Node: o.node, Options: options, Getenv: env.lookup}
	var results []*rendered
	for _, t := range set.Targets {
		t, ok := t.Only(options.Families)
		if !ok {
			continue
		}
		res := &rendered{target: t, input: in, withheld: true}
		if t.ReadyFor(views) {
			files, problems := set.Render(t, in)
			r.add(problems...)
			res.files, res.withheld = files, files == nil
		}
		results = append(results, res)
	}
	for _, res := range results {
		if !res.withheld && o.check != checkOff {
			o.checkTarget(ctx, set, res, r)
		}
	}
	if ctx.Err() != nil {
		return interrupted(ctx)
	}
	if o.strict && r.exitCode() != exitFine {
		r.note("nothing was printed or written, because of errors")
		return nil
	}
	if o.output == stdoutName {
		return o.print(env, set, results, r)
	}
	return o.write(results, r)
}

func interrupted(ctx context.Context) error {
	return fmt.Errorf("interrupted before anything was written: %w", context.Cause(ctx))
}

// rendered is what came out for one target.
type rendered struct {
	target render.Target
	input  render.Input
	files  []render.File
	// withheld: there are no files. A problem says why.
	withheld bool
	// refused: there are files, but they must not be written. A problem says why.
	refused bool
}

// problemOf makes a problem without a place.
func problemOf(severity calico.Severity, rule, message, hint string) calico.Problem {
	return calico.Problem{Severity: severity, Rule: rule, Message: message, Hint: hint}
}
