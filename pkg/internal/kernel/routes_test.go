package kernel

import (
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/birdconfd/birdconfd/test/shared"
)

// inNamespace calls f in a network namespace of its own, with a way to run commands there.
// Its thread is thrown away.
func inNamespace(t *testing.T, f func(ip func(args ...string))) {
	t.Helper()
	shared.NeedRoot(t, "a network namespace")
	if _, err := exec.LookPath("ip"); err != nil {
		shared.Skip(t, "needs iproute2")
	}
	done := make(chan error)
	go func() {
		defer close(done)
		runtime.LockOSThread() // and never unlock it: the thread ends with the goroutine
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			done <- err
			return
		}
		f(func(args ...string) {
			// A command is started by this thread, and so in its namespace.
			if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
				t.Errorf("ip %s: %v: %s", strings.Join(args, " "), err, out)
			}
		})
	}()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

func TestBirdRoutes(t *testing.T) {
	for _, tt := range []struct {
		rule   string
		routes []string
		v4, v6 bool
	}{
		{"nothing at all", nil, false, false},
		{"others' routes", []string{"-4 192.0.2.0/24 dev lo proto static", "-6 2001:db8::/64 dev lo proto zebra", "-4 198.51.100.0/24 dev lo"}, false, false},
		{"IPv4", []string{"-4 192.0.2.0/24 dev lo proto bird"}, true, false},
		{"IPv6", []string{"-6 2001:db8::/64 dev lo proto bird"}, false, true},
		{"in another table", []string{"-4 192.0.2.0/24 dev lo proto bird table 4711", "-6 2001:db8::/64 dev lo proto bird table 17"}, true, true},
		{"a blackhole", []string{"-4 blackhole 192.0.2.0/24 proto bird", "-6 unreachable 2001:db8::/64 proto bird"}, true, true},
		{"after others", []string{"-4 192.0.2.0/24 dev lo proto static", "-4 203.0.113.0/24 dev lo proto bird"}, true, false},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			inNamespace(t, func(ip func(args ...string)) {
				ip("link", "set", "lo", "up")
				for _, r := range tt.routes {
					f := strings.Fields(r)
					ip(append([]string{f[0], "route", "add"}, f[1:]...)...)
				}
				for family, want := range map[Family]bool{IPv4: tt.v4, IPv6: tt.v6} {
					if got, err := BirdRoutes(family); got != want || err != nil {
						t.Errorf("%s: %t, %v; want %t", family, got, err, want)
					}
				}
			})
		})
	}
}

func TestBirdRoutesThatCannotBeListed(t *testing.T) {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	// Without room for another file there is no socket to ask through.
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 0, Max: limit.Max}); err != nil {
		t.Fatal(err)
	}
	found, err := BirdRoutes(IPv6)
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	if found || !errors.Is(err, unix.EMFILE) || !strings.HasPrefix(err.Error(), "list the kernel's IPv6 routes: ") {
		t.Errorf("%t, %v", found, err)
	}
}

// More routes than fit into one message of the kernel.
func TestBirdRoutesAmongMany(t *testing.T) {
	inNamespace(t, func(ip func(args ...string)) {
		ip("link", "set", "lo", "up")
		var batch strings.Builder
		for i := range 20_000 {
			fmt.Fprintf(&batch, "route add 10.0.%d.%d dev lo proto static\n", i>>8, i&255)
		}
		cmd := exec.Command("ip", "-batch", "-")
		cmd.Stdin = strings.NewReader(batch.String())
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
			return
		}
		if found, err := BirdRoutes(IPv4); found || err != nil {
			t.Errorf("%t, %v", found, err)
		}
		ip("route", "add", "192.0.2.0/24", "dev", "lo", "proto", "bird")
		if found, err := BirdRoutes(IPv4); !found || err != nil {
			t.Errorf("%t, %v", found, err)
		}
	})
}
