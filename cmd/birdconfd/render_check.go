package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/birdconfd/birdconfd/pkg/apply"
	"github.com/birdconfd/birdconfd/pkg/bird"
	"github.com/birdconfd/birdconfd/pkg/calico"
	"github.com/birdconfd/birdconfd/pkg/daemon"
	"github.com/birdconfd/birdconfd/pkg/render"
)

// checkTarget has BIRD check one target's files as a set. What BIRD says goes into the
// report.
func (o *renderOptions) checkTarget(ctx context.Context, set *render.Set, res *rendered, r *report) {
	if res.target.Binary == "" {
		return // files that are not for BIRD
	}
	binary, version, ok := o.findBird(ctx, set, res.target, r)
	if !ok {
		res.refused = o.check == checkRequire
		return
	}
	err := apply.CheckSet(ctx, daemon.ApplyFiles(res.files), res.target.Beside, bird.Checker{Binary: binary}.Check)
	if err == nil {
		r.checked(res.target.Name, version)
		return
	}
	if res.refused = true; ctx.Err() != nil {
		return // interrupted, which says nothing about the files
	}
	if e, ok := errors.AsType[*apply.Error](err); ok && e.Stage == apply.StageWrite {
		r.add(problemOf(calico.Error, calico.RuleBirdCheck,
			fmt.Sprintf("the files of %s cannot be checked: %s", res.target.Name, e.Err), "the variable TMPDIR names another place for temporary files"))
		return
	}
	r.add(daemon.CheckProblem(res.target.Name, res.files, res.input, errors.Unwrap(err)))
}

// findBird finds the program that checks a target; false when there is none or it is of
// the wrong version, which is reported.
func (o *renderOptions) findBird(ctx context.Context, set *render.Set, t render.Target, r *report) (string, bird.Version, bool) {
	name := t.Binary
	if o.birdDir != "" {
		name = filepath.Join(o.birdDir, filepath.Base(t.Binary))
	}
	severity, consequence := calico.Warning, "the files of %s are not checked"
	if o.check == checkRequire {
		severity, consequence = calico.Error, "the files of %s cannot be checked"
	}
	complain := func(what string) {
		if ctx.Err() != nil {
			return // interrupted, which says nothing about BIRD
		}
		r.add(problemOf(severity, calico.RuleBirdCheck, what+", so "+fmt.Sprintf(consequence, t.Name),
			fmt.Sprintf("install BIRD%s, or name its directory with --bird-dir", strings.TrimRight(" "+set.Bird, " "))))
	}
	path, err := bird.Find(name)
	if err != nil {
		if o.birdDir == "" && (errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist)) {
			complain(t.Binary + " is not installed")
		} else if errors.Is(err, fs.ErrNotExist) {
			complain("there is no " + name)
		} else {
			complain(err.Error())
		}
		return "", bird.Version{}, false
	}
	version, err := bird.ReadVersion(ctx, path)
	if err != nil {
		complain(err.Error())
		return "", version, false
	}
	if !version.Is(set.Bird) {
		complain(fmt.Sprintf("%s is BIRD %s, but the files are written for BIRD %s", path, version, set.Bird))
		return "", version, false
	}
	return path, version, true
}
