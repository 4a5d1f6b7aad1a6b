package daemon

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Limits of the server. An answer has to be written before writeLimit, so whatever a page
// waits for has to end sooner.
const (
	headerLimit  = 5 * time.Second
	readLimit    = 10 * time.Second
	writeLimit   = 15 * time.Second
	idleLimit    = time.Minute
	stopLimit    = 2 * time.Second
	aliveLimit   = 5 * time.Second
	statusLimit  = 3 * time.Second // for each BIRD's answer
	metricsLimit = 2 * time.Second // for each BIRD's answer
	metricsAge   = 5 * time.Second // of BIRD's answers
	headerSize   = 16 << 10
)

// Server tells over HTTP how the daemon is. It changes nothing.
type Server struct {
	status func() *Status
	alive  func(context.Context) error
	logger *slog.Logger
	ask    asker
}

// NewServer returns a server. status gives the newest Status, nil before there is one;
// alive returns nil when the daemon's work goes on, and returns when its context ends. A
// nil logger discards.
func NewServer(status func() *Status, alive func(ctx context.Context) error, logger *slog.Logger) *Server {
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	return &Server{status: status, alive: alive, logger: logger, ask: Ask}
}

// Serve answers at the listener, which it closes, until the context ends. Requests that
// are under way then have two seconds. It returns nil when it ended with the context.
func (s *Server) Serve(ctx context.Context, listener net.Listener) error {
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	server := &http.Server{
		Handler:           s.handler(life),
		BaseContext:       func(net.Listener) context.Context { return life },
		ReadHeaderTimeout: headerLimit,
		ReadTimeout:       readLimit,
		WriteTimeout:      writeLimit,
		IdleTimeout:       idleLimit,
		MaxHeaderBytes:    headerSize,
		ErrorLog:          slog.NewLogLogger(s.logger.Handler(), slog.LevelWarn),
	}
	stopped := make(chan struct{})
	unlessOver := context.AfterFunc(ctx, func() {
		defer close(stopped)
		limited, cancel := context.WithTimeout(life, stopLimit)
		defer cancel()
		_ = server.Shutdown(limited) // who is not served by then is cut off
		end()
		_ = server.Close()
	})
	err := server.Serve(listener)
	if unlessOver() {
		_ = server.Close()
		return fmt.Errorf("serve HTTP at %s: %w", listener.Addr(), err)
	}
	<-stopped
	return nil
}

const index = `birdconfd

/healthz  whether its work goes on
/readyz   whether BIRD runs what the newest data asks for
/status   all that is known, and what BIRD says (JSON)
/metrics  for Prometheus
`

// handler is made for a time: no question to BIRD outlives life.
func (s *Server) handler(life context.Context) http.Handler {
	ask := share(life, statusLimit, s.ask)
	metrics := promhttp.HandlerFor(registry(s.status, remember(metricsAge, within(metricsLimit, ask))),
		promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError, ErrorLog: slog.NewLogLogger(s.logger.Handler(), slog.LevelWarn)})

	mux := http.NewServeMux() // GET is for HEAD too
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) { text(w, http.StatusOK, index) })
	mux.HandleFunc("GET /healthz", s.healthz)
	mux.HandleFunc("GET /readyz", s.readyz)
	mux.HandleFunc("GET /status", func(w http.ResponseWriter, r *http.Request) {
		s.report(w, newReport(r.Context(), s.status(), ask))
	})
	mux.Handle("GET /metrics", metrics)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		mux.ServeHTTP(w, r)
	})
}

func (s *Server) healthz(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeoutCause(r.Context(), aliveLimit,
		fmt.Errorf("the loop has not come round within %s", aliveLimit))
	defer cancel()
	if err := s.alive(ctx); err != nil {
		text(w, http.StatusServiceUnavailable, oneLine(err.Error())+"\n")
		return
	}
	text(w, http.StatusOK, "ok\n")
}

func (s *Server) readyz(w http.ResponseWriter, _ *http.Request) {
	r := readiness(s.status(), time.Now())
	code := http.StatusOK
	if !r.Ready {
		code = http.StatusServiceUnavailable
	}
	text(w, code, r.String())
}

func (s *Server) report(w http.ResponseWriter, r Report) {
	w.Header().Set("Content-Type", "application/json")
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(r); err != nil {
		s.logger.Debug("a status could not be sent", "error", err)
	}
}

func text(w http.ResponseWriter, code int, body string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(code)
	_, _ = w.Write([]byte(body)) // nobody is left to tell when the client is gone
}
