package netns

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"golang.org/x/sys/unix"
)

// Within calls f in a host's namespace. Sockets that it opens stay there. It must start no
// process, as the thread is thrown away.
func (n *Network) Within(host string, f func() error) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlock it: the thread ends with the goroutine
		done <- enter(n.Namespace(host), f)
	}()
	return <-done
}

func enter(namespace string, f func() error) error {
	file, err := os.Open(filepath.Join("/run/netns", namespace))
	if err != nil {
		return err
	}
	defer file.Close()
	if err := unix.Setns(int(file.Fd()), unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("enter namespace %s: %w", namespace, err)
	}
	return f()
}

// forward makes the namespace forward IPv4 packets.
func forward() error {
	return os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1"), 0o600)
}
