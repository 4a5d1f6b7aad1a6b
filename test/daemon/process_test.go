package daemon

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/birdconfd/birdconfd/pkg/daemon"
)

// endsWithin stops the daemon, which must not take longer.
func (s *setup) endsWithin(limit time.Duration) {
	s.t.Helper()
	begin := time.Now()
	s.end()
	if took := time.Since(begin); took > limit {
		s.t.Errorf("the end took %s, want no more than %s", took, limit)
	}
}

func TestP1StopWhileATemplateKeepsFailing(t *testing.T) {
	t.Parallel()
	s := newSetup(t, 3)
	s.templates(failsFrom(0))
	s.start()
	s.untilLogged("nothing can be rendered")
	s.saysNotReady("bird: there is nothing to apply")
	s.endsWithin(5 * time.Second)
	if s.file("bird.cfg") != "" || s.reloads() != 0 {
		t.Error("something was done")
	}
}

// A check that keeps failing, so that there is always a next attempt to come.
func TestP1StopBetweenAttempts(t *testing.T) {
	t.Parallel()
	s := newSetup(t, 3)
	s.templates(`{{define "hook-90-end"}}nonsense{{end}}`)
	s.start()
	s.until("some attempts", func() bool { return s.target("bird").Failures >= 3 })
	s.endsWithin(5 * time.Second)
	s.untilLogged("stopped before the newest configuration was applied; the next start goes on with it")
}

func TestP2ReloadUnderWayMayFinish(t *testing.T) {
	t.Parallel()
	s := newSetup(t, 3)
	p := s.proxied()
	s.change = func(o *daemon.Options) { o.SocketTimeout = patience }
	s.start()
	s.applied(mesh(3))
	release := holdsConfigure(t, p)
	s.write("cluster.yaml", cluster(4))
	s.until("the reload is under way", func() bool { return p.Count(loadCommand) == 2 })
	before := s.target("bird").Desired
	s.write("cluster.yaml", cluster(5))
	s.until("a newer set waits", func() bool { d := s.target("bird").Desired; return d != before && d != "" })
	ended := make(chan error, 1)
	stop := s.stop
	s.stop = nil
	go func() { ended <- stop() }()
	// Its server ends before the rest does.
	s.until("the end has begun", func() bool { return s.get("/healthz") == "" })
	select {
	case err := <-ended:
		t.Fatalf("the reload was not waited for: %v", err)
	default:
	}
	release()
	if err := <-ended; err != nil {
		t.Errorf("the daemon ended with %v", err)
	}
	s.untilLogged("stopped before the newest configuration was applied; the next start goes on with it")
	s.runs(s.bird, meshes(4)...)
	if text := s.file("bird.cfg"); !strings.Contains(text, mesh(4)) || strings.Contains(text, mesh(5)) || p.Count(loadCommand) != 2 {
		t.Errorf("%d reloads, and this file:\n%s", p.Count(loadCommand), text)
	}
	s.start()
	s.applied(mesh(5))
	s.runs(s.bird, meshes(5)...)
}

// A reload that never ends gets its grace, and no more.
func TestP2HangingReloadIsGivenUp(t *testing.T) {
	t.Parallel()
	s := newSetup(t, 3)
	p := s.proxied()
	s.change = func(o *daemon.Options) { o.SocketTimeout, o.Shutdown = 10*patience, 4*time.Second }
	s.start()
	s.applied(mesh(3))
	holdsConfigure(t, p)
	s.write("cluster.yaml", cluster(4))
	s.until("the reload is under way", func() bool { return p.Count(loadCommand) == 2 })
	s.endsWithin(4 * time.Second)
	s.untilLogged("stopped before the newest configuration was applied; the next start goes on with it")
	p.Opens()
	s.start()
	s.applied(mesh(4))
	s.runs(s.bird, meshes(4)...)
}

func TestP3BrokenConfdLeavesTheOldOneInUse(t *testing.T) {
	t.Parallel()
	s := newSetup(t, 3)
	reload := make(chan struct{}, 1)
	s.change = func(o *daemon.Options) { o.Reload = reload }
	one := s.place("one", s.bird)
	write := s.confd(one)
	s.start()
	s.appliedAt(one, mesh(3))
	for i, text := range []string{"targets: [", "targets:\n- {name: one, socket: relative}\n", "set: none\ntargets: [{name: bird}]\n"} {
		write("one", text)
		reload <- struct{}{}
		s.until("seen", func() bool { return s.report().Config.Failures == uint64(i+1) })
	}
	r := s.report()
	if r.Config.OK || r.Config.LoadedAt.IsZero() || len(r.Targets) != 1 || len(r.Problems) == 0 ||
		filepath.Base(r.Problems[0].Position.File) != "one.yaml" {
		t.Errorf("config %+v, problems %v", r.Config, r.Problems)
	}
	if v := s.metric("birdconfd_config_last_load_successful"); v != 0 {
		t.Errorf("metric: %v", v)
	}
	s.untilLogged("configuration or templates do not load; what was loaded before stays in use")
	s.write("cluster.yaml", cluster(4))
	s.appliedAt(one, mesh(4))
	s.runs(s.bird, meshes(4)...)
	write("one", one.yaml())
	reload <- struct{}{}
	s.until("good again", func() bool { return s.report().Config.OK && len(s.report().Problems) == 0 })
	if v := s.metric("birdconfd_config_last_load_successful"); v != 1 || s.reloads() != 2 {
		t.Errorf("metric: %v, %d reloads", v, s.reloads())
	}
}

func TestP5ReloadUsesNewTemplatesWithoutAChangeOfData(t *testing.T) {
	t.Parallel()
	s := newSetup(t, 3)
	reload := make(chan struct{}, 1)
	write := s.templates(`{{define "hook-90-end"}}{{end}}`)
	s.change = func(o *daemon.Options) { o.Reload = reload } // and no Watch
	s.start()
	s.applied(mesh(3))
	write(`{{define "hook-90-end"}}protocol static local_extra { }{{end}}`)
	reload <- struct{}{}
	s.applied("local_extra")
	if got := protocols(t, s.bird, "Static"); !slices.Contains(got, "local_extra") || s.reloads() != 2 {
		t.Errorf("BIRD has %v after %d reloads", got, s.reloads())
	}
}

func TestP11ManyFailuresBlockNothing(t *testing.T) {
	t.Parallel()
	s := newSetup(t, 3)
	good := s.place("good", s.bird)
	places := []place{good}
	template := t.TempDir()
	overwrite(t, filepath.Join(template, "local.tmpl"), failsFrom(0))
	for i := range 25 {
		// They fail in different ways: in a template, in the check, and for want of a BIRD.
		p := s.place(fmt.Sprintf("bad-%d", i), nil)
		switch i % 3 {
		case 0:
			p.templates = template
		case 1:
			p.binary = "/bin/false"
		case 2:
			p.socket, p.more = filepath.Join(t.TempDir(), "none"), "  check: off\n"
		}
		places = append(places, p)
	}
	s.confd(places...)
	var bad strings.Builder
	for i := range 300 {
		bad.WriteString(peerYAML(fmt.Sprintf("bad-%d", i), "192.0.2.999", 64500))
	}
	s.write("bad.yaml", bad.String())
	s.start()
	for n := 3; n <= 6; n++ {
		s.write("cluster.yaml", cluster(n))
		s.runs(s.bird, meshes(n)...)
	}
	s.appliedAt(good, mesh(6))
	if body := s.get("/healthz"); body != "ok\n" {
		t.Errorf("healthz: %q", body)
	}
	r := s.report()
	if n := len(r.Problems); n < 300+3 || r.Ready || len(r.Targets) != 26 {
		t.Errorf("%d problems, %d targets", n, len(r.Targets))
	}
	s.untilLogged("there are more problems, which are in the status")
	s.endsWithin(5 * time.Second)
}
