package bird

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/birdconfd/birdconfd/pkg/internal/process"
)

const defaultTimeout = 30 * time.Second

// Checker asks a BIRD binary for its opinion of configurations. The zero Checker uses
// the first "bird" that Find finds.
type Checker struct {
	// Binary is a path, or a name for Find. It should be of the version and address
	// family that will run the configuration.
	Binary string
	// Timeout bounds one check, 30 s when zero.
	Timeout time.Duration
}

// ConfigError is BIRD's refusal of a configuration.
type ConfigError struct {
	// File is the path as BIRD knows it: the main file as it was given, an included
	// file as its include names it, relative ones joined to the including file's
	// directory ("./kernel.cfg" beside a main file given without one).
	File string
	// Line counts from 1 and Column from 0. They point to the end of what BIRD could
	// not read or to what follows, which may already be in the including file; for a
	// missing closing brace they are 1 and 0.
	Line, Column int
	Message      string // BIRD's own words
	Output       string // all that BIRD wrote; its end when that is longer than 64 KiB
}

// Error gives the place as compilers do, and BIRD's message.
func (e *ConfigError) Error() string {
	return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Column, e.Message)
}

// Check has BIRD parse the configuration that starts with the file main, without
// running it. It returns nil when BIRD accepts it, a *ConfigError when BIRD refuses it
// and says where, and another error when BIRD could not be asked or answered
// something else; errors.Is finds context.DeadlineExceeded in it after a timeout,
// exec.ErrNotFound or fs.ErrNotExist without the binary.
//
// Only the exit code counts, because BIRD from 2.17 on prints warnings about
// configurations that it accepts.
func (c Checker) Check(ctx context.Context, main string) error {
	output, err := run(ctx, cmp.Or(c.Timeout, defaultTimeout), cmp.Or(c.Binary, "bird"), "-p", "-c", main)
	if _, exited := errors.AsType[*exec.ExitError](err); exited {
		if refusal := parseRefusal(output); refusal != nil {
			return refusal
		}
	}
	if err != nil {
		return fmt.Errorf("check %s: %w", main, err)
	}
	return nil
}

// refusal matches a line such as "bird: t.conf:3:23 Number out of range". Before the
// file BIRD 3 also puts a timestamp, the number of the thread and the severity. What
// looks the same but has a colon after the column is a warning.
var refusal = regexp.MustCompile(`^(?:[^\s:]+: )?` +
	`(?:\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)? )?(?:\[\d+\] )?(?:<[A-Z]+> )?` +
	`(\S.*?):(\d+):(\d+) (.*)$`)

// parseRefusal finds the refusal in the output of bird -p. BIRD stops at the first
// error, so it is the last line; what other lines say is for the reader of Output.
func parseRefusal(output string) *ConfigError {
	for _, line := range slices.Backward(strings.Split(output, "\n")) {
		m := refusal.FindStringSubmatch(strings.TrimRight(line, " \t\r"))
		if m == nil {
			continue
		}
		e := &ConfigError{File: m[1], Message: m[4], Output: output}
		var errLine, errColumn error
		e.Line, errLine = strconv.Atoi(m[2])
		e.Column, errColumn = strconv.Atoi(m[3])
		if errLine == nil && errColumn == nil {
			return e
		}
	}
	return nil
}

// run runs a BIRD binary to its end and returns what it wrote, standard output and
// standard error together. The error says what became of it unless it exited with 0;
// it wraps an *exec.ExitError only if it exited by itself. Nothing of its process group
// is left running.
func run(ctx context.Context, timeout time.Duration, binary string, args ...string) (string, error) {
	path, err := Find(binary)
	if err != nil {
		return "", err
	}
	called := filepath.Base(path) + " " + args[0]
	result, err := process.Command{Name: called, Path: path, Args: args, Timeout: timeout}.Run(ctx)
	if _, late := errors.AsType[*process.TimeoutError](err); late {
		err = fmt.Errorf("%s did not answer within %s: %w", called, timeout, context.DeadlineExceeded)
	}
	return result.Output, err
}
