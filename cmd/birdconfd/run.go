package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/birdconfd/birdconfd/pkg/bgp"
	"github.com/birdconfd/birdconfd/pkg/calico"
	"github.com/birdconfd/birdconfd/pkg/daemon"
	"github.com/birdconfd/birdconfd/pkg/datastore"
	"github.com/birdconfd/birdconfd/pkg/datastore/file"
	"github.com/birdconfd/birdconfd/pkg/recovery"
	"github.com/birdconfd/birdconfd/pkg/render"
)

// runOptions are the flags of run.
type runOptions struct {
	commonOptions
	conf           string
	reload         string
	sockets        map[string]string
	stateDir       string
	listen         string
	logFormat      string
	logLevel       string
	poll           time.Duration
	settle         time.Duration
	maxWait        time.Duration
	guardHold      time.Duration
	guardThreshold int
	confirm        time.Duration
	readinessAge   time.Duration
	unreachable    time.Duration
	socketTimeout  time.Duration
	shutdown       time.Duration
	once           bool
	onceTimeout    time.Duration
	// live tells that resources come from a server.
	live bool
}

func runCommand(env environment) *cobra.Command {
	o := runOptions{commonOptions: commonOptions{set: "bird1", check: checkRequire, family: "all"}, reload: string(render.ReloadAuto), logFormat: "text", logLevel: "info"}
	cmd := &cobra.Command{
		Use:   "run [flags] [PATH...]",
		Short: "Keep BIRD's configuration in step with Calico's resources",
		Long: `run watches Calico and Kubernetes resources in files and directories, in etcd or in the Kubernetes
API, renders one node's BIRD configuration whenever it changes, has BIRD check the whole set, puts
it in place and makes the daemon use it over its control socket. It believes only what BIRD
answers: what was refused is taken back, and what was not confirmed is tried again.

How etcd or the Kubernetes API is reached is said by Calico's own variables, such as
ETCD_ENDPOINTS and KUBECONFIG, or by its configuration file, with --calico-config.

Where the files go and how BIRD is reached is said by --output and --socket, or for more than
that by the files of a directory, with --conf. With --confdir a directory of Calico's confd is
used as it is, with the templates in it.

Before everything has been read nothing is written. A configuration that would take most BGP
sessions away is held back for --guard-hold; the signal USR1 applies it at once. The signal HUP
loads templates and --conf anew, which otherwise happens when they change.

Exit code 0: ended by TERM or INT, or with --once everything is applied; 1: with --once
something is not applied, or work had to be abandoned at the end; 2: wrong usage, or a
configuration that does not load at the start.`,
		Example: `  birdconfd run --node alpha --output /etc/bird --socket bird=/run/bird/bird.ctl --socket bird6=/run/bird/bird6.ctl bgp/
  birdconfd run --node alpha --conf /etc/birdconfd/conf.d --listen 127.0.0.1:9097 bgp/
  birdconfd run --node alpha --conf /etc/birdconfd/conf.d --datastore kubernetes
  birdconfd run --confdir /etc/calico/confd --datastore kubernetes`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.main(cmd, env, args)
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&o.node, "node", "", "name of the node to run for (default: the variable NODENAME)")
	o.sourceFlags(cmd)
	f.StringVarP(&o.output, "output", "o", "", "directory of BIRD's files")
	f.StringToStringVar(&o.sockets, "socket", nil, "control socket of a target, as in bird=/run/bird/bird.ctl; once for each")
	f.StringVar(&o.conf, "conf", "", "directory that describes targets, instead of --output and the like")
	o.confdirFlag(cmd)
	choose(cmd, &o.reload, "reload", "how daemons of --confdir are reloaded; auto: over the control socket if it is known, else by reload_cmd",
		string(render.ReloadAuto), string(render.ReloadSocket), string(render.ReloadCommand))
	choose(cmd, &o.family, "family", "address family", "all", "ipv4", "ipv6")
	choose(cmd, &o.set, "set", "built-in template set", render.BuiltinNames()...)
	f.StringVar(&o.templates, "templates", "", "directory with templates that fill hooks or take the place of built-in ones")
	choose(cmd, &o.check, "check", "have BIRD check the files first; auto: if it is installed", checkRequire, checkAuto, checkOff)
	f.StringVar(&o.birdDir, "bird-dir", "", "directory with the BIRD programs for the check (default: PATH)")
	f.StringVar(&o.endpointStatus, "endpoint-status", "", "directory with Calico's endpoint-status files, for local workload peers")
	f.StringVar(&o.stateDir, "state-dir", "", "directory for staged files and records (default: .birdconfd beside BIRD's files)")
	f.StringVar(&o.listen, "listen", "", "address for /healthz, /readyz, /status and /metrics, as in 127.0.0.1:9097 (default: none)")
	f.DurationVar(&o.poll, "poll", 10*time.Second, "how often files are looked at even if the kernel reports no change")
	f.DurationVar(&o.settle, "settle", daemon.DefaultSettle, "how long a storm of changes must have ceased before it is applied")
	f.DurationVar(&o.maxWait, "max-wait", daemon.DefaultLongest, "how long a change in a storm waits at most")
	f.DurationVar(&o.guardHold, "guard-hold", daemon.DefaultGuardHold, "how long a configuration that loses most sessions is held back; 0 for not at all")
	f.IntVar(&o.guardThreshold, "guard-threshold", daemon.DefaultGuardThreshold, "the share of sessions, in percent, of which more must get lost for that")
	f.DurationVar(&o.confirm, "confirm", 0, "put each configuration on trial for this time, and undo it if sessions collapse (default: no trial)")
	f.DurationVar(&o.readinessAge, "readiness-max-age", recovery.DefaultMaxAge, "how long nodes count as not ready after that was last certain")
	f.DurationVar(&o.unreachable, "release-unreachable", 0, "after a start of BIRD 1.6, wait no longer for peers whose sessions have not come up for this time while all others have recovered (default: wait)")
	f.DurationVar(&o.socketTimeout, "socket-timeout", daemon.DefaultSocketTimeout, "how long BIRD may take for an answer")
	f.DurationVar(&o.shutdown, "shutdown-timeout", daemon.DefaultShutdown, "how long the end may take")
	f.BoolVar(&o.once, "once", false, "end when everything is applied, or cannot be")
	f.DurationVar(&o.onceTimeout, "once-timeout", time.Minute, "how long --once may take")
	choose(cmd, &o.logFormat, "log-format", "form of the log on standard error", "text", formatJSON)
	choose(cmd, &o.logLevel, "log-level", "what is logged", "debug", "info", "warn", "error")
	for _, name := range []string{"output", "conf", "templates", "bird-dir", "endpoint-status", "state-dir"} {
		_ = cmd.MarkFlagDirname(name) // fails only for a flag that is not there
	}
	return cmd
}

// complete fills in what flags leave open, and refuses what makes no sense.
func (o *runOptions) complete(cmd *cobra.Command, env environment, paths []string) error {
	o.node = cmp.Or(o.node, env.getenv("NODENAME"))
	var err error
	if o.live, err = o.fromServer(env, paths); err != nil {
		return usageOf("run", "%w", err)
	}
	var clash []string
	for _, name := range []string{"output", "socket", "family", "set", "templates", "check", "bird-dir"} {
		if o.conf != "" && cmd.Flags().Changed(name) {
			clash = append(clash, "--"+name)
		}
	}
	if err := o.besideConfdir(cmd, "conf", "output", "set", "templates", "family"); err != nil {
		return usageOf("run", "%w", err)
	}
	switch {
	case len(paths) == 0 && !o.live:
		return usageOf("run", "name the files or directories to watch, or a --datastore")
	case slices.Contains(paths, stdoutName):
		return usageOf("run", "standard input cannot be watched: name files or directories")
	case o.node == "":
		return usageOf("run", "name the node to run for, with --node or the variable NODENAME")
	case len(clash) > 0:
		return usageOf("run", "%s belongs in the files of --conf when that is given", strings.Join(clash, ", "))
	case o.confdir == "" && (cmd.Flags().Changed("reload") || cmd.Flags().Changed("calico-release")):
		return usageOf("run", "--reload and --calico-release are about --confdir")
	case o.conf == "" && o.output == "" && o.confdir == "":
		return usageOf("run", "say where BIRD's files are, with --output, --conf or --confdir")
	case o.guardThreshold < 0 || o.guardThreshold > 100:
		return usageOf("run", "--guard-threshold is a percentage, from 0 to 100")
	case o.confirm != 0 && o.confirm < 5*time.Second:
		return usageOf("run", "--confirm is 5s or longer: sessions need some seconds to come back")
	}
	for name, d := range map[string]time.Duration{"poll": o.poll, "settle": o.settle, "max-wait": o.maxWait,
		"readiness-max-age": o.readinessAge, "socket-timeout": o.socketTimeout, "shutdown-timeout": o.shutdown, "once-timeout": o.onceTimeout} {
		if d <= 0 {
			return usageOf("run", "--%s must be longer than 0s", name)
		}
	}
	for name, d := range map[string]time.Duration{"guard-hold": o.guardHold, "release-unreachable": o.unreachable} {
		if d < 0 {
			return usageOf("run", "--%s must not be negative", name)
		}
	}
	return nil
}

// usageOf is an error about how a subcommand is used.
func usageOf(command, format string, args ...any) error {
	return &exitError{exitUsage, fmt.Errorf(format+" (see birdconfd "+command+" --help)", args...)}
}

func (o *runOptions) main(cmd *cobra.Command, env environment, paths []string) error {
	if err := o.complete(cmd, env, paths); err != nil {
		return err
	}
	// Before anything that takes time, as a signal that nobody waits for ends the process.
	reload, override, stop := signals()
	defer stop()
	compute, err := o.computeOptions(env)
	if err != nil {
		return err
	}
	logger := o.logger(env)
	ctx := cmd.Context()
	source, err := o.source(env, &compute, paths, logger)
	if err != nil {
		return usageOf("run", "%w", err)
	}
	listener, err := o.listener(ctx)
	if err != nil {
		return &exitError{exitUsage, err}
	}
	if config, problems := o.load(); config == nil {
		if listener != nil {
			listener.Close()
		}
		return startProblems(env, problems)
	}
	d := daemon.Options{Node: o.node, Version: version(), Source: source, Compute: compute, Load: o.load,
		Watch: o.watch(logger), StateDir: o.stateDir, Settle: o.settle, Longest: o.maxWait,
		Guard: daemon.Guard{Threshold: o.guardThreshold, Hold: o.guardHold}, Confirm: o.confirm,
		ReadinessAge: o.readinessAge, ReleaseUnreachable: o.unreachable,
		SocketTimeout: o.socketTimeout, Shutdown: o.shutdown, Reload: reload, Override: override,
		Listener: listener, Logger: logger, Once: o.once}
	if o.once {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, o.onceTimeout, fmt.Errorf("not everything is applied within %s", o.onceTimeout))
		defer cancel()
	}
	started := []any{"version", d.Version, "node", o.node, "pid", os.Getpid()}
	if listener != nil {
		started = append(started, "listen", listener.Addr().String())
	}
	logger.Info("started", started...)
	err = daemon.Run(ctx, d)
	if err == nil && o.once && ctx.Err() != nil {
		err = context.Cause(ctx)
		if e := source.Status().LastError; e != "" {
			err = fmt.Errorf("%w: %s", err, e)
		}
	}
	if err != nil {
		return &exitError{exitProblems, err}
	}
	logger.Info("ended")
	return nil
}

// source makes the source of resources, and makes the calculation suit it.
func (o *runOptions) source(env environment, compute *bgp.Options, paths []string, logger *slog.Logger) (datastore.Source, error) {
	if !o.live {
		status, must := o.endpointStatusDir(env)
		return file.New(file.Options{Paths: paths, EndpointStatus: status, EndpointStatusMust: must, Poll: o.poll, Logger: logger})
	}
	s, err := o.readServer(env)
	if err != nil {
		return nil, err
	}
	for _, note := range s.settings.Notes {
		logger.Warn("a setting of the datastore is not what it seems", "note", note)
	}
	s.adjust(compute)
	return s.source(&o.commonOptions, env, *compute, o.poll, logger)
}

func (o *runOptions) logger(env environment) *slog.Logger {
	var level slog.Level
	_ = level.UnmarshalText([]byte(o.logLevel)) // one of the words that the flag allows
	options := &slog.HandlerOptions{Level: level}
	if o.logFormat == formatJSON {
		return slog.New(slog.NewJSONHandler(env.stderr, options))
	}
	return slog.New(slog.NewTextHandler(env.stderr, options))
}

func (o *runOptions) listener(ctx context.Context) (net.Listener, error) {
	if o.listen == "" {
		return nil, nil
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", o.listen)
	if err != nil {
		return nil, fmt.Errorf("--listen: %w", err)
	}
	return l, nil
}

// load loads the targets and their templates.
func (o *runOptions) load() (*render.Config, []calico.Problem) {
	if o.confdir != "" {
		c := o.confdirOptions()
		c.Reload, c.Sockets, c.BirdDir, c.Check = render.ReloadMode(o.reload), o.sockets, o.birdDir, render.CheckMode(o.check)
		return render.LoadConfdir(c)
	}
	if o.conf != "" {
		return render.LoadConfig(o.conf)
	}
	return render.Standalone(render.StandaloneOptions{Set: o.set, Templates: o.overlays(), Directory: o.output,
		Sockets: o.sockets, BirdDir: o.birdDir, Families: o.families(), Check: render.CheckMode(o.check)})
}

func (o *runOptions) overlays() []string {
	if o.templates == "" {
		return nil
	}
	return []string{o.templates}
}

// watch returns what watches that which load reads.
func (o *runOptions) watch(logger *slog.Logger) func(context.Context, func()) error {
	paths := o.overlays
	if o.confdir != "" {
		paths = func() []string { return render.ConfdirPaths(o.confdir) }
	} else if o.conf != "" {
		paths = func() []string { return render.ConfigPaths(o.conf) }
	}
	return file.NewWatcher(paths, o.poll, 0, logger).Run
}

// startProblems ends a start with what is wrong with the configuration.
func startProblems(env environment, problems []calico.Problem) error {
	calico.SortProblems(problems)
	for _, p := range problems {
		fmt.Fprintln(env.stderr, p)
	}
	return &exitError{exitUsage, errors.New("the configuration does not load")}
}

// signals turns HUP and USR1 into channels. They keep working until stop is called.
func signals() (reload, override <-chan struct{}, stop func()) {
	in := make(chan os.Signal, 4)
	signal.Notify(in, syscall.SIGHUP, syscall.SIGUSR1)
	hup, usr1 := make(chan struct{}, 1), make(chan struct{}, 1)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for s := range in {
			to := hup
			if s == syscall.SIGUSR1 {
				to = usr1
			}
			select {
			case to <- struct{}{}:
			default: // one is on its way already
			}
		}
	}()
	return hup, usr1, func() { signal.Stop(in); close(in); <-done }
}
