package file

import (
	"crypto/sha256"
	"errors"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/birdconfd/birdconfd/pkg/calico"
)

// decoded is what a file's content means.
type decoded struct {
	objects   []calico.Object
	workloads []calico.WorkloadEndpoint
	problems  []calico.Problem
}

// content is what is known of one file.
type content struct {
	// good is what the file held when it was read last and was all right, nil if it never
	// was, sum that content's hash, and at the time of reading.
	good *decoded
	sum  [sha256.Size]byte
	at   time.Time
	// err says why the file could not be read the last time, and broken what is wrong with
	// it as a whole; good is then still in use.
	err    error
	broken []calico.Problem
}

// errChanging means that a file has changed while it was read.
var errChanging = errors.New("it was changed while it was read")

// read tells that the content was read and need not be while the file is the same.
func (c *content) read() bool { return c.err == nil && (c.good != nil || c.broken != nil) }

// load reads the file anew if it still is what it looked like, else it returns errChanging.
// So it does while somebody has it open for writing, unless what it looks like is believed.
func (c *content) load(path string, want stamp, f format, believe bool) error {
	data, err := readSteady(path, want, f.most, believe)
	if errors.Is(err, errChanging) {
		return err
	}
	c.err, c.broken = err, nil
	if err != nil {
		return nil
	}
	sum := sha256.Sum256(data)
	if c.good != nil && sum == c.sum {
		return nil
	}
	d, broken := f.decode(path, data)
	if len(broken) > 0 {
		c.broken = broken
		return nil
	}
	c.good, c.sum, c.at = d, sum, time.Now()
	return nil
}

// readSteady reads a file that looks as wanted before and after it was read.
func readSteady(path string, want stamp, most int64, believe bool) ([]byte, error) {
	// Should it be a pipe by now, opening it must not wait for a writer.
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if stampOf(f.Stat()) != want || !believe && beingWritten(f) {
		return nil, errChanging
	}
	data, err := readLimited(f, most)
	if err == nil && (stampOf(f.Stat()) != want || !believe && beingWritten(f)) {
		err = errChanging
	}
	return data, err
}

// beingWritten tells that some process of this machine has the file open for writing: then
// there may be more to come, however long that takes. It is found out by asking for a lease
// (fcntl(2)), which is not to be had in that case, and giving it back at once. Where there
// are no leases, as for files of others or on some network file systems, it tells nothing.
func beingWritten(f *os.File) bool {
	_, err := unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_RDLCK)
	if err == nil {
		_, _ = unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_UNLCK) // closing the file does it too
	}
	return errors.Is(err, unix.EAGAIN)
}

// trouble reports why the content that the file has now is not used, if it is not, and
// what is used instead.
func (c *content) trouble(path string, seen *sight, endless, inUse bool) []calico.Problem {
	var out []calico.Problem
	switch {
	case seen.stamp.err != "":
		out = append(out, unreadable(path, errors.New(seen.stamp.err)))
	case endless:
		out = append(out, unreadable(path, errors.New("it is being changed all the time")))
	case c.err != nil:
		out = append(out, unreadable(path, c.err))
	default:
		out = slices.Clone(c.broken)
	}
	for i, p := range out {
		what, _, cut := strings.Cut(p.Message, leftOut)
		switch {
		case inUse:
			if p.Rule == calico.RuleEndpointStatus {
				what = strings.TrimSuffix(what, notPeer)
			}
			out[i].Message = what + stays(c.at)
		case cut: // the other documents cannot do without that one
			out[i].Message = what + "; no document of the file is used"
		}
	}
	return out
}

// What package calico says about the fate of documents and workloads.
const (
	leftOut = "; the document is left out"
	notPeer = "; the workload is not a peer"
)

// stays says that older content is used in place of one that cannot be used.
func stays(since time.Time) string {
	return "; the content read at " + since.Format(time.RFC3339) + " stays in use"
}
