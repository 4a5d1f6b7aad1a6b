package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/birdconfd/birdconfd/pkg/bird"
	"github.com/birdconfd/birdconfd/pkg/calico"
)

// report collects what a run has to say besides its result.
type report struct {
	Node     string           `json:"node"`
	Problems []calico.Problem `json:"problems"`
	// Checked are the targets that BIRD accepted.
	Checked []check `json:"checked"`
	// Written and Unchanged are the paths of the files, with --output.
	Written   []string `json:"written,omitempty"`
	Unchanged []string `json:"unchanged,omitempty"`
	Notes     []string `json:"notes,omitempty"`
	// Error is why the run itself came to nothing.
	Error string `json:"error,omitempty"`
}

type check struct {
	Target string `json:"target"`
	Bird   string `json:"bird"`
}

func newReport(node string) *report {
	return &report{Node: node, Problems: []calico.Problem{}, Checked: []check{}}
}

func (r *report) add(p ...calico.Problem) { r.Problems = append(r.Problems, p...) }

func (r *report) note(format string, args ...any) {
	r.Notes = append(r.Notes, fmt.Sprintf(format, args...))
}

func (r *report) checked(target string, v bird.Version) {
	r.Checked = append(r.Checked, check{target, v.String()})
}

func (r *report) unreadable() bool {
	return slices.ContainsFunc(r.Problems, func(p calico.Problem) bool { return p.Rule == calico.RuleUnreadable })
}

func (r *report) exitCode() int {
	if r.unreadable() {
		return exitUsage
	}
	if worst, ok := calico.Worst(r.Problems); ok && worst == calico.Error {
		return exitProblems
	}
	return exitFine
}

// finish prints the report with the error that ended the run, if any, and returns what
// the program is to exit with.
func (r *report) finish(w io.Writer, format string, err error) error {
	code := r.exitCode()
	if err != nil {
		r.Error = err.Error()
		code = max(code, exitProblems)
		if exit, ok := errors.AsType[*exitError](err); ok {
			code = max(code, exit.code)
		}
	}
	r.print(w, format)
	if code != exitFine {
		return &exitError{code: code}
	}
	return nil
}

func (r *report) print(w io.Writer, format string) {
	calico.SortProblems(r.Problems)
	if format == formatJSON {
		_ = writeJSON(w, r) // nobody is left to tell when standard error is gone
		return
	}
	for _, p := range r.Problems {
		fmt.Fprintln(w, p)
	}
	for _, n := range r.Notes {
		fmt.Fprintln(w, "birdconfd:", n)
	}
	if r.Error != "" {
		fmt.Fprintln(w, "birdconfd:", r.Error)
		return
	}
	fmt.Fprintln(w, "birdconfd:", r.summary())
}

// summary says in one line how it went.
func (r *report) summary() string {
	parts := []string{"node " + r.Node}
	for _, c := range r.Checked {
		parts = append(parts, fmt.Sprintf("%s accepted by BIRD %s", c.Target, c.Bird))
	}
	if n := len(r.Written); n > 0 {
		parts = append(parts, fmt.Sprintf("%d %s written", n, plural(n, "file")))
	}
	if n := len(r.Unchanged); n > 0 {
		parts = append(parts, fmt.Sprintf("%d %s unchanged", n, plural(n, "file")))
	}
	var counts [3]int
	for _, p := range r.Problems {
		counts[p.Severity]++
	}
	for _, s := range []calico.Severity{calico.Error, calico.Warning, calico.Info} {
		if n := counts[s]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, plural(n, severityNouns[s])))
		}
	}
	return strings.Join(parts, ", ")
}

var severityNouns = map[calico.Severity]string{calico.Error: "error", calico.Warning: "warning", calico.Info: "remark"}

func plural(n int, noun string) string {
	if n == 1 {
		return noun
	}
	return noun + "s"
}
