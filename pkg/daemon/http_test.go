package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/birdconfd/birdconfd/pkg/datastore"
)

// noLeaks fails a test that leaves goroutines behind. It is called first.
func noLeaks(t *testing.T) {
	t.Helper()
	before := goleak.IgnoreCurrent()
	t.Cleanup(func() { goleak.VerifyNone(t, before) })
}

// page is what a server gave.
type page struct {
	code   int
	header http.Header
	body   string
}

// site is a Server that serves until the test ends.
type site struct {
	t      *testing.T
	url    string
	client http.Client
}

func serveSite(t *testing.T, s *Server) *site {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, listener) }()
	out := &site{t: t, url: "http://" + listener.Addr().String(), client: http.Client{Transport: &http.Transport{}, Timeout: 30 * time.Second}}
	t.Cleanup(func() {
		out.client.CloseIdleConnections()
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Serve returned %v", err)
		}
	})
	return out
}

func (s *site) do(method, path string) page {
	s.t.Helper()
	request, err := http.NewRequest(method, s.url+path, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	response, err := s.client.Do(request)
	if err != nil {
		s.t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return page{response.StatusCode, response.Header, string(body)}
}

func (s *site) get(path string) page { return s.do(http.MethodGet, path) }

func (p page) want(t *testing.T, code int, texts ...string) {
	t.Helper()
	if p.code != code {
		t.Errorf("code %d, want %d; body:\n%s", p.code, code, p.body)
	}
	for _, text := range texts {
		if !strings.Contains(p.body, text) {
			t.Errorf("the body lacks %q:\n%s", text, p.body)
		}
	}
}

func (p page) report(t *testing.T) Report {
	t.Helper()
	var r Report
	if err := json.Unmarshal([]byte(p.body), &r); err != nil {
		t.Fatalf("%v in:\n%s", err, p.body)
	}
	return r
}

// always gives one status.
func always(s *Status) func() *Status { return func() *Status { return s } }

func well(context.Context) error { return nil }

// goodStatus is that of a daemon that is ready, with one target.
func goodStatus() *Status {
	at := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	return &Status{
		Node: "worker-1", Version: "v1.2.3", Started: at,
		Source: datastore.Status{Kind: "file", Connected: true, Synced: true, SyncedAt: at, Reads: 1},
		Config: ConfigStatus{OK: true, LoadedAt: at, Loads: 1},
		Targets: []TargetStatus{{Name: "bird", Family: "IPv4", Directory: "/etc/bird", Desired: "aa11", Applied: "aa11",
			AppliedAt: at}},
		Renders: 1,
	}
}

// silentSocket returns the path of a socket at which connections are made but nobody says
// anything.
func silentSocket(t *testing.T) string {
	t.Helper()
	path := filepath.Join(shortDir(t), "silent.ctl")
	listener, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	return path
}

func TestPages(t *testing.T) {
	noLeaks(t)
	s := serveSite(t, NewServer(always(goodStatus()), well, nil))
	s.get("/").want(t, 200, "/healthz", "/readyz", "/status", "/metrics")
	s.get("/healthz").want(t, 200, "ok\n")
	s.get("/readyz").want(t, 200, "ready\n")
	s.get("/status").want(t, 200, `"ready": true`)
	s.get("/metrics").want(t, 200, "birdconfd_target_applied", "go_goroutines", "process_open_fds")
}

func TestUnknownPathsAreNotFound(t *testing.T) {
	noLeaks(t)
	s := serveSite(t, NewServer(always(goodStatus()), well, nil))
	for _, path := range []string{"/nothing", "/status/x", "/healthz/", "/debug/pprof/"} {
		s.get(path).want(t, 404)
	}
}

func TestOnlyReadingIsAllowed(t *testing.T) {
	noLeaks(t)
	s := serveSite(t, NewServer(always(goodStatus()), well, nil))
	for _, path := range []string{"/", "/healthz", "/readyz", "/status", "/metrics"} {
		for _, method := range []string{"POST", "PUT", "DELETE", "PATCH", "OPTIONS"} {
			if p := s.do(method, path); p.code != http.StatusMethodNotAllowed || p.header.Get("Allow") != "GET, HEAD" {
				t.Errorf("%s %s: code %d, Allow: %q", method, path, p.code, p.header.Get("Allow"))
			}
		}
		if p := s.do("HEAD", path); p.code != 200 || p.body != "" {
			t.Errorf("HEAD %s: code %d, body %q", path, p.code, p.body)
		}
	}
}

func TestHealthzFailsWithTheReason(t *testing.T) {
	noLeaks(t)
	sick := func(context.Context) error { return errors.New("the loop has\nended") }
	serveSite(t, NewServer(always(goodStatus()), sick, nil)).get("/healthz").want(t, 503, "the loop has ended\n")
}

func TestHealthzLimitsTheQuestion(t *testing.T) {
	noLeaks(t)
	hangs := func(ctx context.Context) error {
		if limit, ok := ctx.Deadline(); !ok || time.Until(limit) > aliveLimit {
			t.Errorf("the limit is %v", limit)
		}
		return nil
	}
	serveSite(t, NewServer(always(goodStatus()), hangs, nil)).get("/healthz").want(t, 200)
}

func TestBeforeTheLoopHasStarted(t *testing.T) {
	noLeaks(t)
	s := serveSite(t, NewServer(always(nil), well, nil))
	s.get("/readyz").want(t, 503, "birdconfd is starting")
	r := s.get("/status").report(t)
	if r.Ready || len(r.Reasons) != 1 || len(r.Targets) != 0 {
		t.Errorf("%+v", r)
	}
	s.get("/metrics").want(t, 200, "go_goroutines")
}

func TestServeLetsRequestsFinish(t *testing.T) {
	noLeaks(t)
	ctx, cancel := context.WithCancel(t.Context())
	alive := func(context.Context) error { cancel(); return nil } // ends the server in the middle of it
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- NewServer(always(nil), alive, nil).Serve(ctx, listener) }()
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Get("http://" + listener.Addr().String() + "/healthz")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode != 200 {
		t.Errorf("code %d", response.StatusCode)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestServeWaitsForNobodyForLong(t *testing.T) {
	noLeaks(t)
	ctx, cancel := context.WithCancel(t.Context())
	hangs := func(ctx context.Context) error {
		cancel()
		<-ctx.Done()
		return ctx.Err()
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	asked := make(chan struct{})
	go func() {
		defer close(asked)
		if response, err := client.Get("http://" + listener.Addr().String() + "/healthz"); err == nil {
			response.Body.Close()
		}
	}()
	started := time.Now()
	if err := NewServer(always(nil), hangs, nil).Serve(ctx, listener); err != nil {
		t.Error(err)
	}
	if took := time.Since(started); took > stopLimit+time.Second {
		t.Errorf("it took %s to stop", took)
	}
	<-asked
}

func TestServeTellsThatItsListenerIsGone(t *testing.T) {
	noLeaks(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	listener.Close()
	err = NewServer(always(nil), well, nil).Serve(t.Context(), listener)
	if err == nil || !strings.HasPrefix(err.Error(), "serve HTTP at 127.0.0.1:") {
		t.Errorf("%v", err)
	}
}
