package main

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/birdconfd/birdconfd/pkg/apply"
	"github.com/birdconfd/birdconfd/pkg/daemon"
	"github.com/birdconfd/birdconfd/pkg/render"
)

// print shows all files on standard output, those that BIRD refuses too.
func (o *renderOptions) print(env environment, set *render.Set, results []*rendered, r *report) error {
	var out bytes.Buffer
	for _, res := range results {
		for _, f := range o.shown(set, res, r) {
			fmt.Fprintf(&out, "# ---------- %s ----------\n%s\n", f.Name, f.Data)
		}
	}
	if _, err := env.stdout.Write(out.Bytes()); err != nil {
		return fmt.Errorf("write to standard output: %w", err)
	}
	return nil
}

// shown are the files of a target as they may be seen. Those with passwords are rendered
// once more without: only that is sure to leave nothing of them behind.
func (o *renderOptions) shown(set *render.Set, res *rendered, r *report) []render.File {
	if o.showSecrets || !slices.ContainsFunc(res.files, func(f render.File) bool { return f.HasSecret }) {
		return res.files
	}
	masked := render.Masked(res.input)
	files, problems := set.Render(res.target, masked)
	if files == nil { // else they are those that are reported already
		r.add(problems...)
	}
	for i := range files {
		files[i].Data = []byte(render.Conceal(masked, string(files[i].Data)))
	}
	return files
}

// write writes all files into the directory, unless those of some target were refused:
// then what is there stays.
func (o *renderOptions) write(results []*rendered, r *report) error {
	var files []render.File
	var missing, refused []string
	for _, res := range results {
		switch {
		case res.withheld:
			missing = append(missing, res.target.Name)
		case res.refused:
			refused = append(refused, res.target.Name)
		}
		files = append(files, res.files...)
	}
	if len(refused) > 0 {
		r.note("nothing was written to %s, because of %s", o.output, strings.Join(refused, " and "))
		return nil
	}
	if len(missing) > 0 {
		r.note("files of %s were not written: there are none", strings.Join(missing, " and "))
	}
	if len(files) == 0 {
		return nil
	}
	done, err := apply.Write(apply.Target{Dir: o.output}, daemon.ApplyFiles(files))
	r.Written, r.Unchanged = done.Changed, done.Unchanged
	return err
}
