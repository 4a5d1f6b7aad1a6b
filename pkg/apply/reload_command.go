package apply

import (
	"cmp"
	"context"
	"errors"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/birdconfd/birdconfd/pkg/bird"
	"github.com/birdconfd/birdconfd/pkg/internal/process"
)

// CommandReloader reloads with a command, where there is no control socket. It can only
// tell that the command did not fail.
type CommandReloader struct {
	// Argv is a program, a path or a name for bird.Find, and its arguments. No shell takes
	// part in it.
	Argv []string
	// Timeout bounds the command, 30 s when zero. Then, or when the context ends, its
	// process group gets SIGTERM and 2 s later SIGKILL. Without that, whatever the command
	// has started goes on: that may be BIRD.
	Timeout time.Duration
}

const commandGrace = 2 * time.Second

// Reload implements Reloader.
func (r *CommandReloader) Reload(ctx context.Context, _ string) (Verdict, error) {
	if len(r.Argv) == 0 {
		return Verdict{}, errors.New("no reload command is given")
	}
	path, err := bird.Find(r.Argv[0])
	if err != nil {
		return Verdict{}, err
	}
	command := process.Command{
		Name: commandLine(r.Argv), Path: path, Args: r.Argv[1:],
		Timeout: r.Timeout, Grace: commandGrace, LeaveGroup: true,
	}
	result, err := command.Run(ctx)
	if err != nil {
		return Verdict{}, err
	}
	words := command.Name + ": " + cmp.Or(process.Excerpt(result.Output), "exit 0")
	if result.Held {
		words += "; warning: it left something running that holds its output, which nobody reads any more"
	}
	return Verdict{Words: words}, nil
}

// maxCommandLine bounds how much of a command line is shown, in bytes.
const maxCommandLine = 120

// commandLine is what messages call a command.
func commandLine(argv []string) string {
	var shown []string
	for _, arg := range argv {
		arg = process.Conceal(arg)
		if quoted := strconv.Quote(arg); arg == "" || strings.Contains(arg, " ") || quoted != `"`+arg+`"` {
			arg = quoted
		}
		shown = append(shown, arg)
	}
	line := strings.Join(shown, " ")
	if len(line) <= maxCommandLine {
		return line
	}
	end := maxCommandLine
	for !utf8.RuneStart(line[end]) {
		end--
	}
	return line[:end] + "…"
}
