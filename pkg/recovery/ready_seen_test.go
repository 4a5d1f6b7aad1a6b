package recovery

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/birdconfd/birdconfd/pkg/bird"
	"github.com/birdconfd/birdconfd/pkg/bird/birdtest"
)

func TestLook(t *testing.T) {
	for _, version := range []int{1, 2} {
		for _, flags := range [][]string{nil, {"-R"}} {
			t.Run(fmt.Sprint(version, flags), func(t *testing.T) {
				s := birdtest.NewSpeaker(t, version, "127.0.0.1")
				d := s.Start(t, s.Session("gone", birdtest.Speaker{Address: "127.0.0.7", Port: 1}, "passive;"), flags...)
				seen := Look(t.Context(), bird.Client{Socket: d.Socket})
				recovers := flags != nil
				if seen.Err != nil || seen.Status.Recovery.InProgress != recovers {
					t.Fatalf("%+v", seen)
				}
				// The device protocol is no session.
				if len(seen.Sessions) != 1 || seen.Sessions[0].Name != "gone" || seen.Sessions[0].HoldsRecovery != recovers || !strings.HasPrefix(seen.Sessions[0].Info, "Passive") {
					t.Errorf("%+v", seen.Sessions)
				}
			})
		}
	}
}

// A daemon that ends between its answers has not answered.
func TestLookAtADaemonThatEnds(t *testing.T) {
	const greeting, status = "0001 BIRD 1.6.8 ready.\n", "1000-BIRD 1.6.8\n0013 Daemon is up and running\n"
	const recovers = "0024-Graceful restart recovery in progress\n0013 Daemon is up and running\n"
	for rule, tt := range map[string]struct {
		says  []string
		whole bool // the last thing it says is a whole answer
		want  string
	}{
		"before the greeting":      {nil, true, "closed the connection instead of answering a new session"},
		"before the first answer":  {[]string{greeting}, true, "closed the connection instead of answering `show status`"},
		"before the second answer": {[]string{greeting, status}, true, "closed the connection instead of answering `show protocols`"},
		"in the second answer":     {[]string{greeting, status, "2002-name proto\n1002-a BGP master up 11:00:00 Established\n"}, false, "closed the connection instead of answering `show protocols`"},
		"before the details":       {[]string{greeting, recovers}, true, "closed the connection instead of answering `show protocols all`"},
	} {
		t.Run(rule, func(t *testing.T) {
			socket := birdtest.Listen(t, func(c net.Conn) {
				defer c.Close()
				in := bufio.NewScanner(c)
				for i, s := range tt.says {
					if i > 0 && !in.Scan() {
						return
					}
					_, _ = io.WriteString(c, s)
				}
				if tt.whole && tt.says != nil {
					in.Scan() // the question that gets no answer
				}
			}, nil)
			seen := Look(t.Context(), bird.Client{Socket: socket})
			if want := "bird at " + socket + " " + tt.want; seen.Err == nil || !strings.HasPrefix(seen.Err.Error(), want) || seen.Sessions != nil {
				t.Errorf("%+v, want %s", seen, want)
			}
		})
	}
}

func TestLookIsBounded(t *testing.T) {
	ended := make(chan struct{})
	socket := birdtest.Listen(t, func(c net.Conn) {
		defer c.Close()
		<-ended
	}, func() { close(ended) })
	reason := errors.New("that is enough")
	ctx, cancel := context.WithTimeoutCause(t.Context(), 20*time.Millisecond, reason)
	defer cancel()
	if seen := Look(ctx, bird.Client{Socket: socket}); !errors.Is(seen.Err, reason) {
		t.Errorf("by the context: %v", seen.Err)
	}
	if seen := Look(t.Context(), bird.Client{Socket: socket, Timeout: 20 * time.Millisecond}); !errors.Is(seen.Err, context.DeadlineExceeded) {
		t.Errorf("by the client: %v", seen.Err)
	}
}
