package proxy

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"

	"turnwatch/proxy/turn"
	"turnwatch/validate"
)

// Server relays the requests of clients to one upstream and judges the turns
// among them.
type Server struct {
	cfg      Config
	log      *slog.Logger
	aside    aside // what log writes to
	http     *fasthttp.Server
	watch    *watcher
	up       *upstream
	loops    *loops
	finish   *finisher
	fronts   fronts
	clients  clientSet
	stats    Stats
	budget   budget
	schemas  *validate.Schemas
	echoes   *validate.Echoes // nil: answers are not compared with requests
	rates    turn.Rates
	strange  *strangers
	sessions *sessions
	shadow   *shadow // nil: no arms
	probes   *prober // nil: none
	notes    tally   // of annotations, by outcome
	buffers  buffers

	observers sync.Pool              // of *observer, of turns that are over
	path      atomic.Pointer[string] // of the latest turn's request

	idle time.Duration // how long a client's connection may lie without a request

	proveShare atomic.Uint64 // of all that a Uint64 can be
	captured   atomic.Int64  // what SetCapture says; 0: nothing
	echoSize   int64         // what the check of copies has set aside

	stop      sync.Once
	stopping  chan struct{} // closed when Shutdown begins
	cutting   atomic.Bool   // answers are being cut
	plainSaid atomic.Int64  // when a client that speaks no TLS was last logged, in seconds
	stopErr   error         // of the one Shutdown, set by stop
}

// schemaMemory bounds what the tools' compiled schemas take that are kept: some
// thousands of them.
const schemaMemory = 64 << 20

// New makes a server. The sinks are given every turn.
func New(cfg Config, sinks ...Sink) (*Server, error) {
	cfg.defaults()
	lines := newAside(cfg.Logger.Handler())
	s := &Server{cfg: cfg, log: slog.New(lines), aside: lines, stopping: make(chan struct{}),
		schemas: validate.NewSchemas(schemaMemory), strange: newStrangers(), idle: clientIdle}
	s.compares()
	s.budget = newBudget(cfg.JudgeMemory-s.echoSize, &s.stats.JudgeMemory)
	s.SetProveShare(cfg.ProveShare)
	var err error
	if s.up, err = newUpstream(&s.cfg, &s.stats, &s.buffers); err != nil {
		return nil, err
	}
	if s.shadow, err = newShadow(s, cfg.Shadow); err != nil {
		return nil, err
	}
	if s.watch, err = newWatcher(); err != nil {
		return nil, err
	}
	if s.loops, err = newLoops(s, s.cfg.Loops); err != nil {
		s.watch.close()
		return nil, err
	}
	go s.aside.run()
	s.sessions = newSessions(cfg.Sessions)
	s.sessions.seed = s.schemas.Seed()
	s.finish = newFinisher(s, cfg.FinishQueue, sinks)
	s.shadow.start()
	s.probes = newProber(s, cfg.Probe)
	s.probes.start()
	s.http = s.fasthttp()
	return s, nil
}

// clientIdle is how long a client's connection may lie without a request, before the
// first one too, and take to send a head.
const clientIdle = 5 * time.Minute

func (s *Server) fasthttp() *fasthttp.Server {
	return &fasthttp.Server{
		Handler:       s.handle,
		ExpectHandler: s.expect,
		ErrorHandler:  s.refuse,
		Logger:        quiet{}, // what it would print holds bytes of requests

		DisableHeaderNamesNormalizing: true,
		DisablePreParseMultipartForm:  true,
		NoDefaultServerHeader:         true,
		NoDefaultDate:                 true,
		NoDefaultContentType:          true,
		SecureErrorLogMessage:         true,
		CloseOnShutdown:               true,
		StreamRequestBody:             true,
		ReduceMemoryUsage:             true, // no write buffer while an answer streams
		LazyRequestTime:               true,

		ReadBufferSize:     readBuffer,
		MaxRequestBodySize: 1,          // all of a body comes as a stream: none is read ahead
		IdleTimeout:        clientIdle, // from the first answer on
		Concurrency:        1 << 20,

		MaxIdleWorkerDuration: time.Second, // also how long Serve leaves a goroutine behind
	}
}

type quiet struct{}

func (quiet) Printf(string, ...any) {}

// Serve relays for the clients that ln accepts until Shutdown. It returns nil
// after a Shutdown, else why it had to stop. It may be called for several
// listeners, of TCP, unix or crypto/tls, and they are its own from then on. Other
// connections are closed: it could not be learned when their client leaves.
func (s *Server) Serve(ln net.Listener) error {
	quick, err := quicken(ln, s.watch)
	if err == nil {
		l := &listener{Listener: quick, s: s}
		s.fronts.open(l)
		err = s.http.Serve(l)
	}
	if err == nil || errors.Is(err, net.ErrClosed) {
		return nil
	}
	return fmt.Errorf("accept on %s: %w", ln.Addr(), err)
}

// Stats returns the server's counters, which go on counting.
func (s *Server) Stats() *Stats { return &s.stats }

// cutGrace bounds the wait for what is left to do once answers were cut.
const cutGrace = 5 * time.Second

// Shutdown stops accepting, closes idle connections, lets answers in progress
// end until ctx is done, then cuts them, and returns when every turn was
// judged and handed to the sinks. The error says what was cut or lost. A
// second call waits for the first.
func (s *Server) Shutdown(ctx context.Context) error {
	s.stop.Do(func() { s.stopErr = s.shutdown(ctx) })
	return s.stopErr
}

func (s *Server) shutdown(ctx context.Context) error {
	close(s.stopping)
	s.fronts.close() // fasthttp does not know yet of one whose Serve just begins
	err := s.http.ShutdownWithContext(ctx)
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), cutGrace)
	defer cancel()
	if err != nil {
		err = s.cut(grace, err)
	}
	s.up.close()
	s.probes.stop(grace)
	s.shadow.stop(grace)
	err = errors.Join(err, s.finish.close(grace))
	s.shadow.close()
	s.watch.close()
	s.loops.close()
	s.aside.close(grace)
	return err
}

// cut cuts what is still in progress and says what that was: nothing, where fasthttp
// ran out of time for its own loops alone.
func (s *Server) cut(ctx context.Context, cause error) error {
	err := &cutError{s.stats.Streams.Load(), cause}
	s.cutting.Store(true)
	n := s.clients.cut()
	s.awaitClients(ctx)
	if n == 0 {
		return nil
	}
	return err
}

// cutError says how many answers were cut.
type cutError struct {
	answers int64
	cause   error
}

func (e *cutError) Error() string {
	switch e.answers {
	case 0:
		return "cut connections that were not idle"
	case 1:
		return "cut 1 answer that was still in progress"
	}
	return fmt.Sprintf("cut %d answers that were still in progress", e.answers)
}

func (e *cutError) Unwrap() error { return e.cause }

// awaitClients waits until no connection of a client is served any more. fasthttp's own
// wait serves one call alone, and its count is one short once that has returned.
func (s *Server) awaitClients(ctx context.Context) {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for s.stats.Clients.Load() > 0 {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// within has f run until it returns or ctx is done: what it waits for may hang.
func within(ctx context.Context, f func()) {
	done := make(chan struct{})
	go func() { defer close(done); f() }()
	select {
	case <-done:
	case <-ctx.Done():
	}
}
