package main

import (
	"context"
	"os"

	"github.com/birdconfd/birdconfd/pkg/bgp"
	"github.com/birdconfd/birdconfd/pkg/calico"
	"github.com/birdconfd/birdconfd/pkg/datastore/file"
	"github.com/birdconfd/birdconfd/pkg/render"
)

// load loads the templates; nil when something is wrong with them.
func (o *renderOptions) load(r *report) (*render.Set, error) {
	if o.confdir != "" {
		c, problems := render.LoadConfdir(o.confdirOptions())
		r.add(problems...)
		if c == nil {
			return nil, nil
		}
		return c.Set(), nil
	}
	base, err := render.Builtin(o.set)
	if err != nil {
		return nil, usage("%w", err)
	}
	var overlay []render.Source
	if o.templates != "" {
		overlay = append(overlay, render.Source{FS: os.DirFS(o.templates), Label: o.templates})
	}
	set, problems := render.Load(base, overlay...)
	r.add(problems...)
	return set, nil
}

// cluster reads all input, and makes the calculation suit it. It is false when some of it
// cannot be read.
func (o *renderOptions) cluster(ctx context.Context, env environment, paths []string, compute *bgp.Options, r *report) (*calico.Cluster, bool, error) {
	if !o.live {
		c, ok := o.read(ctx, env, paths, r)
		return c, ok, nil
	}
	s, err := o.readServer(env)
	if err != nil {
		return nil, false, usage("%w", err)
	}
	for _, note := range s.settings.Notes {
		r.note("%s", note)
	}
	s.adjust(compute)
	source, err := s.source(&o.commonOptions, env, *compute, 0, nil)
	if err != nil {
		return nil, false, usage("%w", err)
	}
	snapshot, ok := once(ctx, source, o.timeout)
	if ctx.Err() == nil {
		r.add(snapshot.Problems...)
	}
	return snapshot.Cluster, ok, nil
}

// read reads all input. It is false when some of it cannot be read: what is then missing
// may be most of the cluster, so nothing is rendered.
func (o *renderOptions) read(ctx context.Context, env environment, paths []string, r *report) (*calico.Cluster, bool) {
	var objects []calico.Object
	var problems []calico.Problem
	if o.sample {
		objects, problems = calico.Decode(sampleName, sampleCluster)
	} else {
		objects, problems = file.Load(ctx, paths, env.stdin)
	}
	if ctx.Err() != nil {
		return nil, false // what was cut short is not unreadable
	}
	r.add(problems...)
	var workloads []calico.WorkloadEndpoint
	dir, must := o.endpointStatusDir(env)
	if o.sample && !must {
		dir = ""
	}
	if must && !exists(dir) {
		p := problemOf(calico.Error, calico.RuleUnreadable, "there is no such directory", "check --endpoint-status")
		p.Position.File = dir
		r.add(p)
	} else if dir != "" {
		workloads, problems = file.LoadEndpointStatus(dir)
		r.add(problems...)
	}
	if r.unreadable() {
		return nil, false
	}
	cluster, problems := calico.NewCluster(objects, workloads)
	r.add(problems...)
	return cluster, true
}
