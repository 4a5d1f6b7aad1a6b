package daemon

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestThoseWhoAskAtOnceShareAQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var questions atomic.Int32
		ask := share(t.Context(), time.Minute, func(context.Context, string) Answer {
			questions.Add(1)
			synctest.Wait() // until all others wait for this one
			return Answer{Error: "shared"}
		})
		var all sync.WaitGroup
		for range 10 {
			all.Go(func() {
				if a := ask(t.Context(), "s"); a.Error != "shared" {
					t.Errorf("%+v", a)
				}
			})
		}
		all.Wait()
		if n := questions.Load(); n != 1 {
			t.Errorf("%d questions", n)
		}
	})
}

func TestAQuestionGoesOnWhenOneOfThoseWhoAskLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ask := share(t.Context(), time.Minute, func(ctx context.Context, _ string) Answer {
			select {
			case <-time.After(10 * time.Second):
				return Answer{}
			case <-ctx.Done():
				return Answer{Error: "cut off"}
			}
		})
		var all sync.WaitGroup
		all.Go(func() {
			a := within(2*time.Second, ask)(t.Context(), "s")
			if a.Error != "BIRD at s did not answer within 2s" {
				t.Errorf("who leaves: %+v", a)
			}
		})
		all.Go(func() {
			if a := ask(t.Context(), "s"); a.Error != "" {
				t.Errorf("who stays: %+v", a)
			}
		})
		all.Wait()
	})
}

func TestAnswersAreKeptForSomeTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		questions := map[string]int{}
		ask := remember(5*time.Second, func(_ context.Context, socket string) Answer {
			questions[socket]++
			return Answer{Error: fmt.Sprint(questions[socket])}
		})
		for _, step := range []struct{ wait, want string }{{"0s", "1"}, {"4.9s", "1"}, {"0.1s", "2"}, {"5s", "3"}} {
			d, err := time.ParseDuration(step.wait)
			if err != nil {
				t.Fatal(err)
			}
			<-time.After(d) // on the clock of the bubble
			if a := ask(t.Context(), "s"); a.Error != step.want {
				t.Errorf("after another %s: answer %s, want %s", step.wait, a.Error, step.want)
			}
		}
	})
}
