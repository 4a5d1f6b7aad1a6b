package daemon

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/birdconfd/birdconfd/pkg/bird"
	"github.com/birdconfd/birdconfd/pkg/calico"
	"github.com/birdconfd/birdconfd/pkg/internal/process"
	"github.com/birdconfd/birdconfd/pkg/render"
)

// checker has BIRD's own program check a set.
type checker struct {
	target render.TargetConfig
	log    *slog.Logger
	warn   sync.Once
	// program is what version was read of, so that it is read again when it is replaced.
	program fs.FileInfo
	version bird.Version
}

func newChecker(c render.TargetConfig, log *slog.Logger) *checker {
	return &checker{target: c, log: log}
}

// check is apply.Target's Check.
func (c *checker) check(ctx context.Context, main string) error {
	if len(c.target.CheckCommands) > 0 {
		if err := c.commands(ctx, filepath.Dir(main)); err != nil {
			return err
		}
		if c.target.CheckCommands[filepath.Base(main)] != "" || c.target.Binary == "" {
			return nil // the command has seen to all
		}
	}
	path, err := c.find(ctx)
	if err != nil {
		if c.target.Check == render.CheckAuto && ctx.Err() == nil {
			c.warn.Do(func() {
				c.log.Warn("sets are not checked before they are put in place", "target", c.target.Name, "reason", err)
			})
			return nil
		}
		return err
	}
	return bird.Checker{Binary: path}.Check(ctx, main)
}

// checkTimeout is how long a command may take that checks files, and checkGrace how long it has
// to end after that.
const (
	checkTimeout = 30 * time.Second
	checkGrace   = 2 * time.Second
)

// source is where a command of confd names the file to check.
var source = regexp.MustCompile(`\{\{-?\s*\.src\s*-?\}\}`)

// commands has commands of confd check the files in a directory.
func (c *checker) commands(ctx context.Context, dir string) error {
	for _, name := range slices.Sorted(maps.Keys(c.target.CheckCommands)) {
		line := source.ReplaceAllLiteralString(c.target.CheckCommands[name], shellQuote(filepath.Join(dir, name)))
		command := process.Command{Name: "check_cmd of " + name, Path: "/bin/sh", Args: []string{"-c", line}, Timeout: checkTimeout, Grace: checkGrace}
		if _, err := command.Run(ctx); err != nil {
			return err
		}
	}
	return nil
}

// shellQuote writes a text as one word for a shell.
func shellQuote(s string) string {
	if plainPath.MatchString(s) {
		return s // the command may have quotes of its own around it
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// plainPath is a path that means the same to a shell with and without quotes.
var plainPath = regexp.MustCompile(`^[A-Za-z0-9_./-]+$`)

// find finds the program and makes sure that it is of the right version.
func (c *checker) find(ctx context.Context) (string, error) {
	path, err := bird.Find(c.target.Binary)
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("%w; install BIRD, or name its program", err)
	} else if err != nil {
		return "", err
	}
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if c.program == nil || !os.SameFile(c.program, info) || c.program.ModTime() != info.ModTime() {
		version, err := bird.ReadVersion(ctx, path)
		if err != nil {
			return "", err
		}
		c.program, c.version = info, version
	}
	if want := c.target.Version; !c.version.Is(want) {
		return "", fmt.Errorf("%s is BIRD %s, but the files are written for BIRD %s", path, c.version, want)
	}
	return path, nil
}

// CheckProblem makes a problem of what a check said about a target's files, whose names
// are without directories: with the line, its text and the resource that it comes from. No
// password is in it.
func CheckProblem(target string, files []render.File, in render.Input, err error) calico.Problem {
	p := calico.Problem{Severity: calico.Error, Rule: calico.RuleBirdCheck}
	refused, ok := errors.AsType[*bird.ConfigError](err)
	if !ok {
		p.Message = fmt.Sprintf("the files of %s could not be checked: %s", target, render.Conceal(in, err.Error()))
		return p
	}
	p.Position = calico.Position{File: refused.File, Line: refused.Line, Column: refused.Column}
	p.Message = "BIRD refuses the file: " + render.Conceal(in, refused.Message)
	if refused.Line == 1 && refused.Column == 0 {
		p.Position = calico.Position{File: refused.File}
		p.Hint = "BIRD read to the end of the file: a closing brace is missing somewhere"
		return p
	}
	f := render.FindFile(files, refused.File)
	if f == nil || strings.Contains(refused.File, "/") {
		return p
	}
	p.Resource = render.ResourceAt(f.Data, refused.Line)
	line := lineOf(f.Data, refused.Line)
	if line != "" && !strings.Contains(line, "password") {
		p.Message += fmt.Sprintf(" (at or before: %s)", render.Conceal(in, line))
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
