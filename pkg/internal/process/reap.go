package process

import (
	"context"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
)

// ReapOrphans reaps the children that commands leave behind, until the context ends. Only
// PID 1, as birdconfd is in a container without an init, gets such children (kernel:
// find_new_reaper), so in any other process it returns at once. What Run has started it
// leaves alone, but would take away the exit code of what was started otherwise.
func ReapOrphans(ctx context.Context, logger *slog.Logger) {
	if os.Getpid() != 1 {
		return
	}
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGCHLD)
	defer signal.Stop(ended)
	for {
		for {
			pid, status := children.reapOne()
			if pid == 0 {
				break
			}
			logger.Debug("reaped an orphan", "pid", pid, "exit_code", status.ExitStatus(), "signal", int(max(0, status.Signal())))
		}
		select {
		case <-ended:
		case <-children.waited:
		case <-ctx.Done():
			return
		}
	}
}
