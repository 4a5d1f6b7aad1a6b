package shared

import (
	"os"
	"runtime"
	"syscall"
	"testing"
)

// AsNobody calls f with the rights of a user who owns nothing, which root needs to be
// refused anything. Only what f does itself has them, not the goroutines that it starts.
// The thread is thrown away.
func AsNobody(t testing.TB, f func()) {
	t.Helper()
	if os.Getuid() != 0 {
		f()
		return
	}
	done := make(chan error)
	go func() {
		defer close(done)
		runtime.LockOSThread() // and never unlock it: the thread ends with the goroutine
		if err := syscall.Setfsuid(65534); err != nil {
			done <- err
			return
		}
		f()
	}()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}
