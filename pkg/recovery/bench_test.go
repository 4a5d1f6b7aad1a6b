package recovery

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/birdconfd/birdconfd/pkg/bird"
	"github.com/birdconfd/birdconfd/pkg/bird/birdtest"
)

// BenchmarkLook looks at a BIRD with 5,000 sessions that recovers: four times in a second at
// its status, once in a second or less often at its sessions, too. cpu-ms/op is what the
// watcher has used.
func BenchmarkLook(b *testing.B) {
	for _, version := range []int{1, 2} {
		var sessions strings.Builder
		s := birdtest.NewSpeaker(b, version, "127.0.0.1")
		for i := range 5000 {
			peer := birdtest.Speaker{Address: fmt.Sprintf("127.1.%d.%d", i/250, 1+i%250), Port: 1}
			sessions.WriteString(s.Session(fmt.Sprintf("p%d", i), peer, "passive;"))
		}
		d := s.Start(b, "graceful restart wait 3600;\n"+sessions.String(), "-R")
		conn := dial(b, d)
		b.Cleanup(func() { conn.Close() })
		l := looker{Watcher: NewWatcher(bird.Client{Socket: d.Socket}, func(State) {}), conn: conn}
		look := func(b *testing.B) {
			state, err := l.look(b.Context())
			if err != nil || len(state.Holders()) != 5000 {
				b.Fatalf("%d holders, %v", len(state.Holders()), err)
			}
			l.tell(state)
		}
		look(b)
		for _, what := range []string{"status", "sessions"} {
			b.Run(fmt.Sprintf("%d/%s", version, what), func(b *testing.B) {
				b.ReportAllocs()
				before, n := cpu(), 0
				for b.Loop() {
					n++
					if what == "sessions" {
						l.sessionsAt = time.Time{}
					} else {
						l.sessionsAt = time.Now()
					}
					look(b)
				}
				b.ReportMetric(float64((cpu()-before).Microseconds())/1000/float64(n), "cpu-ms/op")
			})
		}
	}
}

// cpu is what this process has used.
func cpu() time.Duration {
	var own syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &own) // cannot fail
	return time.Duration(own.Utime.Nano() + own.Stime.Nano())
}
