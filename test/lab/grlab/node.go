package grlab

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// Node is a node of the cluster. While it has power a supervisor runs its BIRD with -R, and
// birdconfd runs until it is ended.
type Node struct {
	Number  int
	Name    string
	Address netip.Addr
	Block   netip.Prefix // of addresses for workloads
	lab     *Lab
	dir     string
	powered bool
	bird    *supervisor
	confd   *process
	monitor *monitor
}

func newNode(l *Lab, number int) *Node {
	n := &Node{
		Number: number, Name: fmt.Sprintf("node%d", number), lab: l,
		Address: netip.AddrFrom4([4]byte{10, 99, 0, byte(number)}),
		Block:   netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 244, byte(number), 0}), 26),
	}
	n.dir = filepath.Join(l.dir, n.Name)
	n.monitor = newMonitor(n)
	return n
}

func (n *Node) resources() string { return filepath.Join(n.dir, "resources") }
func (n *Node) output() string    { return filepath.Join(n.dir, "bird") }
func (n *Node) socket() string    { return filepath.Join(n.dir, "bird.ctl") }
func (n *Node) birdLog() string   { return filepath.Join(n.dir, "bird.log") }
func (n *Node) confdLog() string  { return filepath.Join(n.dir, "birdconfd.log") }

// PowerOn starts a node as after a loss of power: no route in the kernel, no file of BIRD's
// unless there is Options.Launch, and BIRD's supervisor and birdconfd start together.
func (n *Node) PowerOn() error {
	if err := n.Boot(); err != nil {
		return err
	}
	n.StartBIRD()
	return n.StartBirdconfd()
}

// Boot starts a node without BIRD and birdconfd.
func (n *Node) Boot() error {
	n.powered = true
	err := os.RemoveAll(n.socket())
	if !n.lab.options.Launch {
		err = errors.Join(err, os.RemoveAll(n.output()))
	}
	err = errors.Join(err, os.MkdirAll(n.output(), 0o700))
	if err != nil {
		return err
	}
	hardware := fmt.Sprintf("02:00:00:00:00:%02x", n.Number)
	if err := n.lab.network.Host(n.Name, hardware, n.Address.String()+"/24"); err != nil {
		return err
	}
	if n.lab.options.Workloads {
		if err := n.lab.network.Behind(n.Name, n.workload(), n.WorkloadAddress().String()); err != nil {
			return err
		}
	}
	return n.monitor.start()
}

// PowerOff ends a node as a loss of power does: nobody is told, and the routes in the kernel
// are gone.
func (n *Node) PowerOff() error {
	if !n.powered {
		return nil
	}
	n.powered = false
	errs := []error{n.lab.network.Unplug(n.Name)}
	if n.bird != nil {
		n.bird.close()
		n.bird = nil
	}
	errs = append(errs, n.KillBirdconfd())
	n.monitor.stop()
	if n.lab.options.Workloads {
		errs = append(errs, n.lab.network.Remove(n.workload()))
	}
	return errors.Join(append(errs, n.lab.network.Remove(n.Name))...)
}

// run starts a program in the node's namespace, which does not outlive this one.
func (n *Node) run(log, program string, args ...string) (*exec.Cmd, error) {
	args = append([]string{"netns", "exec", n.lab.network.Namespace(n.Name), program}, args...)
	cmd := exec.Command("ip", args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	file, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	cmd.Stdout, cmd.Stderr = file, file
	return cmd, cmd.Start()
}

// StartBIRD starts the supervisor of BIRD, which starts BIRD.
func (n *Node) StartBIRD() {
	o := n.lab.options
	command := []string{o.Binary, "-d", "-R", "-s", n.socket(), "-c", filepath.Join(n.output(), "bird.cfg")}
	if o.Launch {
		command = append([]string{o.Program, "launch", "--"}, command...)
	}
	n.bird = supervise(o.Pause, func() (*exec.Cmd, error) {
		return n.run(n.birdLog(), command[0], command[1:]...)
	})
}

// CrashBIRD kills BIRD. Its routes stay in the kernel, and it is started anew.
func (n *Node) CrashBIRD() error {
	if err := n.bird.crash(); err != nil {
		return fmt.Errorf("%s: kill BIRD: %w", n.Name, err)
	}
	return nil
}

// AwaitBIRD waits until a BIRD answers that was started later than that, and returns when it
// was.
func (n *Node) AwaitBIRD(ctx context.Context, after time.Time) (time.Time, error) {
	var start time.Time
	err := Until(ctx, 30*time.Second, n.Name+" has a new BIRD that answers", func() error {
		start = n.bird.lastStart()
		if !start.After(after) {
			return errors.New("it has not been started")
		}
		_, err := n.Status(ctx)
		if err == nil && n.bird.lastStart() != start {
			err = errors.New("it has been started again")
		}
		return err
	})
	return start, err
}

// BIRDStarted is when BIRD was started last.
func (n *Node) BIRDStarted() time.Time { return n.bird.lastStart() }
