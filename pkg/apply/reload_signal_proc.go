package apply

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/birdconfd/birdconfd/pkg/internal/process"
)

// proc is what /proc tells of a process (proc_pid_status(5)).
type proc struct {
	pid, parent int
	// name is the program's, cut off at 15 bytes; a process can change it.
	name string
	// programs are the plain names of what is being run, as far as they can be seen.
	programs []string
	ended    bool // or about to: a signal would be lost on it
	nested   bool // it is in a PID namespace below ours
}

// maxName is how long the kernel keeps a program's name (TASK_COMM_LEN), in bytes.
const maxName = 15

// is tells whether a process runs one of the programs. The name alone would also be that of
// a script that is called so.
func (p proc) is(programs ...string) bool {
	return slices.ContainsFunc(programs, func(program string) bool {
		return p.name == program[:min(maxName, len(program))] && slices.Contains(p.programs, program)
	})
}

// readProc reads a process; depth is that of our own PID namespace.
func readProc(pid, depth int) (proc, error) {
	dir := fmt.Sprintf("/proc/%d/", pid)
	p := proc{pid: pid}
	fields, err := readProcStatus(dir)
	if isGone(err) {
		return p, gone(pid)
	}
	if err != nil {
		return p, err
	}
	p.name = fields["Name"]
	p.parent, _ = strconv.Atoi(fields["PPid"])
	p.ended = strings.HasPrefix(fields["State"], "Z") || strings.HasPrefix(fields["State"], "X")
	p.nested = len(strings.Fields(fields["NSpid"])) > depth
	line, _ := os.ReadFile(dir + "cmdline") // what cannot be read is as good as empty
	if argv0, _, _ := strings.Cut(string(line), "\x00"); argv0 != "" {
		p.programs = append(p.programs, path.Base(argv0))
	}
	// Others' may be hidden (PTRACE_MODE_READ_FSCREDS); then argv has to do.
	exe, err := os.Readlink(dir + "exe")
	if err == nil {
		p.programs = append(p.programs, path.Base(strings.TrimSuffix(exe, " (deleted)")))
	}
	// On its way out a process loses its memory before it becomes a zombie.
	p.ended = p.ended || len(line) == 0 && isGone(err)
	return p, nil
}

// namespaceDepth counts the PID namespaces from that of /proc down to our own. It makes sure
// that these are the same: in any other the numbers are those of strangers.
func namespaceDepth() (int, error) {
	fields, err := readProcStatus("/proc/self/")
	if err != nil {
		return 0, err
	}
	if fields["Tgid"] != strconv.Itoa(os.Getpid()) {
		return 0, errors.New("/proc shows another PID namespace than our own")
	}
	return len(strings.Fields(fields["NSpid"])), nil
}

func readProcStatus(dir string) (map[string]string, error) {
	data, err := os.ReadFile(dir + "status")
	if err != nil {
		return nil, err
	}
	fields := map[string]string{}
	for line := range strings.Lines(string(data)) {
		key, value, _ := strings.Cut(line, ":")
		fields[key] = strings.TrimSpace(value)
	}
	return fields, nil
}

// isGone recognises a process that has ended, also while its files were being read.
func isGone(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH)
}

// findProc finds the one process that runs a program.
func findProc(program string, depth int) (int, error) {
	all, hidden, err := listProcs(depth)
	if err != nil {
		return 0, err
	}
	found := map[int]proc{}
	nested := 0
	for _, p := range all {
		switch {
		case !p.is(program) || p.ended || p.pid == os.Getpid() || process.IsCommand(p.pid):
		case p.nested:
			nested++
		default:
			found[p.pid] = p
		}
	}
	var daemons []int // without those that another one has started
	for pid, p := range found {
		if _, forked := found[p.parent]; !forked {
			daemons = append(daemons, pid)
		}
	}
	slices.Sort(daemons)
	switch {
	case len(daemons) == 1:
		return daemons[0], nil
	case len(daemons) > 1:
		return 0, fmt.Errorf("process %s is ambiguous: pids %s; use a control socket or a pid file", program, joinInts(daemons))
	case nested > 0:
		return 0, notRunning(fmt.Sprintf("there is no process %s in our PID namespace, and %d in others", program, nested))
	case hidden > 0:
		return 0, fmt.Errorf("process %s cannot be seen, but /proc hides %d processes", program, hidden)
	default:
		return 0, notRunning("there is no process " + program)
	}
}

// listProcs reads all processes, and counts those that it may not read.
func listProcs(depth int) (all []proc, hidden int, err error) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil, 0, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, 0, err
	}
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		switch p, err := readProc(pid, depth); {
		case err == nil:
			all = append(all, p)
		case errors.Is(err, fs.ErrPermission):
			hidden++
		}
	}
	return all, hidden, nil
}

func joinInts(numbers []int) string {
	var out []string
	for _, n := range numbers {
		out = append(out, strconv.Itoa(n))
	}
	return strings.Join(out, ", ")
}
