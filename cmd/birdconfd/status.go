package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/birdconfd/birdconfd/pkg/daemon"
)

const (
	statusURL     = "http://127.0.0.1:9097"
	statusTimeout = 5 * time.Second
)

// statusOptions are the flags of status.
type statusOptions struct {
	url     string
	sockets []string
	format  string
}

func statusCommand(env environment) *cobra.Command {
	o := statusOptions{url: statusURL, format: "text"}
	cmd := &cobra.Command{
		Use:   "status [flags]",
		Short: "Show how a running birdconfd, its BIRD daemons and their sessions are doing",
		Long: `status asks a running birdconfd what it serves, and BIRD for its sessions. It shows for each
target whether BIRD runs the newest configuration, and if not, why; whether BIRD holds routes
back after a start, and for how long; and each BGP session with the resource that it comes
from and what is wrong with it.

With --socket it asks BIRD itself, without birdconfd; then nothing tells where a session
comes from. The flag can be repeated, as NAME=PATH or just PATH.

Exit code 0: birdconfd is ready; 1: it is not, or a BIRD does not answer; 2: wrong
usage, or no birdconfd answers. A session that is down changes no exit code.`,
		Example: `  birdconfd status
  birdconfd status --socket /run/bird/bird.ctl
  birdconfd status --socket bird=/run/calico/bird.ctl --socket bird6=/run/calico/bird6.ctl`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, cancel := context.WithTimeout(cmd.Context(), statusTimeout)
			defer cancel()
			if len(o.sockets) > 0 {
				return o.fromSockets(ctx, env)
			}
			return o.fromDaemon(ctx, env)
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&o.url, "url", statusURL, "where birdconfd answers")
	f.StringSliceVar(&o.sockets, "socket", nil, "control socket of a BIRD to ask instead, [NAME=]PATH; it has no variable, as BIRDCONFD_SOCKET is that of run")
	choose(cmd, &o.format, "format", "form of what goes to standard output", "text", formatJSON)
	_ = cmd.MarkFlagFilename("socket")                      // fails only for a flag that is not there
	_ = f.SetAnnotation("socket", noVariable, []string{""}) // as does this
	return cmd
}

// fromDaemon shows what a birdconfd reports.
func (o *statusOptions) fromDaemon(ctx context.Context, env environment) error {
	base, err := url.Parse(o.url)
	if err != nil || base.Host == "" || !slices.Contains([]string{"http", "https"}, base.Scheme) {
		return fmt.Errorf("--url: %q is not like %s", o.url, statusURL)
	}
	r, err := fetchReport(ctx, base)
	if err != nil {
		return &exitError{exitUsage, err}
	}
	fine := r.Ready
	for i := range r.Targets {
		fine = fine && r.Targets[i].Error == ""
	}
	return o.show(env, r, fine, func(b *bytes.Buffer) { printReport(b, r, time.Now()) })
}

// socketReport is what status --socket gives as JSON.
type socketReport struct {
	Targets []socketTarget `json:"targets"`
}

type socketTarget struct {
	Name   string `json:"name"`
	Socket string `json:"socket"`
	daemon.Answer
}

// fromSockets shows what BIRD daemons say themselves.
func (o *statusOptions) fromSockets(ctx context.Context, env environment) error {
	var r socketReport
	for _, s := range o.sockets {
		t, err := parseSocket(s)
		if err != nil {
			return err
		}
		r.Targets = append(r.Targets, t)
	}
	var all sync.WaitGroup
	for i := range r.Targets {
		t := &r.Targets[i]
		all.Go(func() { t.Answer = daemon.Ask(ctx, t.Socket) })
	}
	all.Wait()
	fine := !slices.ContainsFunc(r.Targets, func(t socketTarget) bool { return t.Error != "" })
	return o.show(env, r, fine, func(b *bytes.Buffer) {
		for i := range r.Targets {
			t := &r.Targets[i]
			printHead(b, t.Name, t.Socket, &t.Answer)
			printSessions(b, t.Sessions)
		}
	})
}

// parseSocket reads [NAME=]PATH. Without a name it is that of the file.
func parseSocket(s string) (socketTarget, error) {
	name, path, ok := strings.Cut(s, "=")
	if !ok || strings.Contains(name, "/") {
		name, path = "", s
	}
	if path == "" {
		return socketTarget{}, fmt.Errorf("--socket: %q names no path", s)
	}
	return socketTarget{Name: cmp.Or(name, strings.TrimSuffix(filepath.Base(path), ".ctl")), Socket: path}, nil
}

// show writes a result in the form that was asked for.
func (o *statusOptions) show(env environment, result any, fine bool, print func(*bytes.Buffer)) error {
	var b bytes.Buffer
	if o.format == formatJSON {
		if err := writeJSON(&b, result); err != nil {
			return &exitError{exitUsage, err}
		}
	} else {
		print(&b)
	}
	if _, err := env.stdout.Write(b.Bytes()); err != nil {
		return &exitError{exitUsage, fmt.Errorf("write to standard output: %w", err)}
	}
	if !fine {
		return &exitError{code: exitProblems}
	}
	return nil
}

func writeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
