package netns

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"golang.org/x/sys/unix"
)

// Within calls f in a host's namespace. Sockets that it opens stay there.
func (n *Network) Within(host string, f func() error) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread()
		left, err := enter(n.Namespace(host), f)
		// A thread that ends takes along the processes that it has started, if they are not to
		// outlive it. So it goes back if it can.
		if left {
			runtime.UnlockOSThread()
		}
		done <- err
	}()
	return <-done
}

// enter tells whether the thread is again where it was before.
func enter(namespace string, f func() error) (left bool, err error) {
	before, err := os.Open("/proc/thread-self/ns/net")
	if err != nil {
		return true, err
	}
	defer before.Close()
	file, err := os.Open(filepath.Join("/run/netns", namespace))
	if err != nil {
		return true, err
	}
	defer file.Close()
	if err := unix.Setns(int(file.Fd()), unix.CLONE_NEWNET); err != nil {
		return true, fmt.Errorf("enter namespace %s: %w", namespace, err)
	}
	err = f()
	if back := unix.Setns(int(before.Fd()), unix.CLONE_NEWNET); back != nil {
		return false, fmt.Errorf("leave namespace %s: %w", namespace, back)
	}
	return true, err
}

// forward makes the namespace forward IPv4 packets.
func forward() error {
	return os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1"), 0o600)
}
