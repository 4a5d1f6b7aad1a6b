package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/birdconfd/birdconfd/pkg/bird"
	"github.com/birdconfd/birdconfd/pkg/calico"
	"github.com/birdconfd/birdconfd/pkg/render"
)

// checkTarget has BIRD check one target's files as a set. What BIRD says goes into the
// report.
func (o *renderOptions) checkTarget(ctx context.Context, set *render.Set, res *rendered, r *report) {
	binary, version, ok := o.findBird(ctx, set, res.target, r)
	if !ok {
		res.refused = o.check == checkRequire
		return
	}
	dir, err := stage(res.files)
	if err != nil {
		res.refused = true
		r.add(problemOf(calico.Error, calico.RuleBirdCheck,
			fmt.Sprintf("the files of %s cannot be checked: %s", res.target.Name, err), "the variable TMPDIR names another place for temporary files"))
		return
	}
	defer os.RemoveAll(dir)
	if err := (bird.Checker{Binary: binary}).Check(ctx, filepath.Join(dir, res.target.Main())); err != nil {
		if res.refused = true; ctx.Err() != nil {
			return // interrupted, which says nothing about the files
		}
		r.add(refusal(err, res, dir))
		return
	}
	r.checked(res.target.Name, version)
}

// stage puts files into a directory of their own that nobody else can read.
func stage(files []render.File) (string, error) {
	dir, err := os.MkdirTemp("", "birdconfd-check-") // mode 0700
	if err != nil {
		return "", err
	}
	for _, f := range files {
		if err := os.WriteFile(filepath.Join(dir, f.Name), f.Data, 0o600); err != nil {
			os.RemoveAll(dir)
			return "", err
		}
	}
	return dir, nil
}

// findBird finds the program that checks a target; false when there is none or it is of
// the wrong version, which is reported.
func (o *renderOptions) findBird(ctx context.Context, set *render.Set, t render.Target, r *report) (string, bird.Version, bool) {
	name := t.Binary
	if o.birdDir != "" {
		name = filepath.Join(o.birdDir, t.Binary)
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
			fmt.Sprintf("install BIRD %s, or name its directory with --bird-dir", set.Bird)))
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
	if set.Bird != "" && !strings.HasPrefix(version.String()+".", set.Bird+".") {
		complain(fmt.Sprintf("%s is BIRD %s, but the files are written for BIRD %s", path, version, set.Bird))
		return "", version, false
	}
	return path, version, true
}

// refusal makes a problem of what the check said: with the line, the text of the line and
// the resource that it comes from.
func refusal(err error, res *rendered, dir string) calico.Problem {
	p := problemOf(calico.Error, calico.RuleBirdCheck, "", "")
	refused, ok := errors.AsType[*bird.ConfigError](err)
	if !ok {
		p.Message = fmt.Sprintf("BIRD could not check the files of %s: %s", res.target.Name, strings.ReplaceAll(err.Error(), dir+"/", ""))
		return p
	}
	name, ours := strings.CutPrefix(refused.File, dir+"/")
	p.Position = calico.Position{File: name, Line: refused.Line, Column: refused.Column}
	p.Message = "BIRD refuses the file: " + render.Conceal(res.view, strings.ReplaceAll(refused.Message, dir+"/", ""))
	if refused.Line == 1 && refused.Column == 0 {
		p.Position = calico.Position{File: name}
		p.Hint = "BIRD read to the end of the file: a closing brace is missing somewhere"
		return p
	}
	f := render.FindFile(res.files, name)
	if !ours || f == nil {
		return p
	}
	p.Resource = render.ResourceAt(f.Data, refused.Line)
	line := lineOf(f.Data, refused.Line)
	if line != "" && !strings.Contains(line, "password") {
		p.Message += fmt.Sprintf(" (at or before: %s)", render.Conceal(res.view, line))
	}
	if strings.Contains(line, "krt_tunnel") {
		p.Hint = "only Calico's own BIRD knows krt_tunnel: check with that one, or let Felix program the routes of IPIP pools, as it does with programClusterRoutes: EnabledNoEncapOnly"
	}
	return p
}

func lineOf(data []byte, n int) string {
	lines := strings.Split(string(data), "\n")
	if n < 1 || n > len(lines) {
		return ""
	}
	return strings.TrimSpace(lines[n-1])
}
