package main

import (
	"cmp"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/birdconfd/birdconfd/pkg/apply"
	"github.com/birdconfd/birdconfd/pkg/bird"
	"github.com/birdconfd/birdconfd/pkg/calico"
	"github.com/birdconfd/birdconfd/pkg/render"
)

// calicoDir is where calico/node has its control sockets.
const calicoDir = "/var/run/calico"

// targets are the daemons to ask.
func (o *readyOptions) targets(env environment) ([]readyTarget, error) {
	configured, err := o.configured(env)
	if err != nil {
		return nil, err
	}
	var named []readyTarget
	for _, flag := range []struct{ name, socket string }{{"bird", o.bird}, {"bird6", o.bird6}} {
		if flag.socket == "" {
			continue
		}
		t := o.target(flag.name, flag.socket, o.output)
		if i := slices.IndexFunc(configured, func(c readyTarget) bool { return c.Name == flag.name }); i >= 0 {
			t.state = configured[i].state
		}
		named = append(named, t)
	}
	switch {
	case len(named) > 0:
		return named, nil
	case len(configured) > 0:
		return configured, nil
	case o.conf != "" || o.confdir != "":
		return nil, usageOf("ready", "no target in %s has a control socket", cmp.Or(o.conf, o.confdir))
	}
	return o.calico(calicoDir, cmp.Or(o.output, render.DefaultDirectory)), nil
}

// configured are the daemons that --conf, --confdir or --socket name.
func (o *readyOptions) configured(env environment) ([]readyTarget, error) {
	var out []readyTarget
	if o.conf == "" && o.confdir == "" {
		for _, name := range slices.Sorted(maps.Keys(o.sockets)) {
			if socket := o.sockets[name]; socket != "" {
				out = append(out, o.target(name, socket, o.output))
			}
		}
		return out, nil
	}
	var places []render.Place
	var problems []calico.Problem
	if o.confdir != "" {
		places, problems = render.ConfdirPlaces(render.ConfdirOptions{Dir: o.confdir, Sockets: o.sockets})
	} else {
		places, problems = render.Places(o.conf)
	}
	if places == nil && calico.HasErrors(problems) {
		return nil, startProblems(env, problems)
	}
	for _, p := range places {
		if p.Socket != "" {
			out = append(out, o.target(p.Name, p.Socket, p.Directory))
		}
	}
	return out, nil
}

// calico are the daemons of calico/node, whose control sockets are in one directory and
// whose files are in another. Many clusters have no BIRD for IPv6; those that have one give it
// sessions.
func (o *readyOptions) calico(sockets, files string) []readyTarget {
	out := []readyTarget{o.target("bird", filepath.Join(sockets, "bird.ctl"), files)}
	six := filepath.Join(sockets, "bird6.ctl")
	config, _ := os.ReadFile(filepath.Join(files, "bird6.cfg")) // without it there are none
	if exists(six) || len(bird.BGPProtocols(config)) > 0 {
		out = append(out, o.target("bird6", six, files))
	}
	return out
}

// target is one whose files are in a directory, as far as that is known.
func (o *readyOptions) target(name, socket, dir string) readyTarget {
	t := readyTarget{Name: name, Socket: socket}
	if cmp.Or(o.stateDir, dir) != "" {
		t.state = apply.StatePath(dir, o.stateDir, name)
	}
	return t
}
