package render

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/birdconfd/birdconfd/pkg/calico"
)

// defaultReloadTimeout is how long a reload without a socket may take.
const defaultReloadTimeout = 30 * time.Second

// signals are what can be sent to a daemon.
var signals = []string{"HUP", "USR1", "USR2"}

func (f *reloadForm) line() int {
	if f.Signal != nil {
		return cmp.Or(f.Signal.line(), f.Command.line, f.Timeout.line)
	}
	return cmp.Or(f.Command.line, f.Timeout.line)
}

func (f *signalForm) line() int { return cmp.Or(f.PIDFile.line, f.Process.line, f.Name.line) }

// reload reads how the daemon is made to read its files.
func (r *targetReader) reload() *ReloadConfig {
	form := r.form.Reload
	out := &ReloadConfig{Timeout: value(r, form.Timeout, defaultReloadTimeout, timeoutValue)}
	signal, command := form.Signal != nil, form.Command.line > 0
	switch {
	case signal && command:
		r.fail(form.line(), newFault(calico.RuleConflict, "keep one of them", "signal and command exclude each other"))
	case !signal && !command:
		r.fail(form.line(), newFault(calico.RuleMissingField, "", "reload needs signal or command"))
	}
	if signal {
		out.Signal = r.signal()
	}
	if command {
		out.Command = r.command()
	}
	return out
}

func (r *targetReader) signal() *SignalReload {
	form := r.form.Reload.Signal
	switch file, process := form.PIDFile.given(), form.Process.given(); {
	case file && process:
		r.fail(form.line(), newFault(calico.RuleConflict, "keep one of them", "pid_file and process exclude each other"))
	case !file && !process:
		r.fail(cmp.Or(form.line(), r.form.Reload.line()), newFault(calico.RuleMissingField, "", "signal needs pid_file or process"))
	}
	return &SignalReload{
		PIDFile: value(r, form.PIDFile, "", absolute("pid_file")),
		Process: value(r, form.Process, "", processValue),
		Signal:  value(r, form.Name, signals[0], signalValue),
	}
}

func processValue(text string) (string, *fault) {
	if !fileName.MatchString(text) {
		return text, newFault(calico.RuleWrongType, "", "process %q is not the plain name of a program", text)
	}
	return text, nil
}

func signalValue(text string) (string, *fault) {
	name := strings.TrimPrefix(text, "SIG")
	if !slices.Contains(signals, name) {
		return name, newFault(calico.RuleEnum, calico.DidYouMean(name, signals), "signal %q is not one of %s", text, strings.Join(signals, ", "))
	}
	return name, nil
}

func timeoutValue(text string) (time.Duration, *fault) {
	d, err := time.ParseDuration(text)
	switch {
	case err != nil:
		return 0, newFault(calico.RuleDuration, "write it with a unit, such as 30s", "timeout %q is not a duration", text)
	case d <= 0:
		return 0, newFault(calico.RuleRange, "", "timeout %q is not more than 0", text)
	}
	return d, nil
}

// command reads a program with its arguments. No shell takes part in it.
func (r *targetReader) command() []string {
	form := r.form.Reload.Command
	if form.single {
		r.fail(form.line, newFault(calico.RuleWrongType, "write "+argv(form.list[0].text),
			"command is a list of a program and its arguments, not one text"))
		return nil
	}
	var out []string
	for _, w := range form.list {
		out = append(out, w.text)
	}
	if len(out) == 0 || out[0] == "" {
		r.fail(form.line, newFault(calico.RuleMissingField, "", "command has no program"))
	} else if strings.Contains(out[0], "/") && !filepath.IsAbs(out[0]) {
		r.fail(form.line, newFault(calico.RuleWrongType, "", "command %q is neither the plain name of a program nor an absolute path", out[0]))
	}
	return out
}

// argv writes a command line as a list; one that needs a shell as a call of it.
func argv(line string) string {
	args := strings.Fields(line)
	if strings.ContainsAny(line, "|&;<>()$`\\\"'*?~") {
		args = []string{"sh", "-c", line}
	}
	for i, a := range args {
		args[i] = fmt.Sprintf("%q", a)
	}
	return "[" + strings.Join(args, ", ") + "]"
}
