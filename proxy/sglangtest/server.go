package sglangtest

import (
	"context"
	"fmt"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Server is a running simulated server.
type Server struct {
	URL string // http://host:port

	cfg    Config
	engine *engine
	ln     net.Listener
	begin  time.Time
	ctx    context.Context // done at Close
	cancel context.CancelFunc
	wg     sync.WaitGroup
	nextID atomic.Uint64

	mu    sync.Mutex
	conns map[net.Conn]struct{} // nil once closed
}

// NewServer starts a server on a loopback port. Like httptest.NewServer it
// panics when there is none.
func NewServer(cfg Config) *Server {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(fmt.Sprintf("sglangtest: listen on a loopback port: %v", err))
	}
	return Start(ln, cfg)
}

// Start starts a server on ln, which it owns from then on.
func Start(ln net.Listener, cfg Config) *Server {
	s := &Server{URL: "http://" + ln.Addr().String(), cfg: cfg.withDefaults(), ln: ln, begin: time.Now(), conns: map[net.Conn]struct{}{}}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.engine = newEngine(&s.cfg)
	s.wg.Go(s.engine.run)
	s.wg.Go(s.accept)
	return s
}

// Close cuts every connection and returns when no goroutine of the server is
// left.
func (s *Server) Close() {
	s.mu.Lock()
	conns := s.conns
	s.conns = nil
	s.mu.Unlock()
	if conns != nil {
		s.cancel()
		s.ln.Close()
		for c := range conns {
			c.Close()
		}
		close(s.engine.stop)
	}
	s.wg.Wait()
}

func (s *Server) accept() {
	for {
		c, err := s.ln.Accept()
		if err != nil {
			if s.ctx.Err() != nil {
				return
			}
			time.Sleep(10 * time.Millisecond) // out of descriptors: some will be freed
			continue
		}
		if !s.track(c) {
			c.Close()
			return
		}
		s.wg.Go(func() {
			defer s.forget(c)
			s.serve(c)
		})
	}
}

func (s *Server) track(c net.Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conns == nil {
		return false
	}
	s.conns[c] = struct{}{}
	return true
}

func (s *Server) forget(c net.Conn) {
	c.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
}

// Pause stops the clock: requests queue up and nothing is decoded, so a test
// can make a batch of exactly the requests it wants.
func (s *Server) Pause() {
	s.engine.mu.Lock()
	defer s.engine.mu.Unlock()
	s.engine.paused = true
}

// Resume lets the clock go on.
func (s *Server) Resume() {
	s.engine.mu.Lock()
	defer s.engine.mu.Unlock()
	s.engine.paused = false
	signal(s.engine.wake)
}

// Load returns how many requests run and wait now.
func (s *Server) Load() Load {
	s.engine.mu.Lock()
	defer s.engine.mu.Unlock()
	return Load{Running: len(s.engine.running), Waiting: len(s.engine.queue)}
}

// Counters returns the counts so far.
func (s *Server) Counters() Counters {
	s.engine.mu.Lock()
	defer s.engine.mu.Unlock()
	return s.engine.counters
}

// Records returns what is known of the latest requests, oldest first.
func (s *Server) Records() []Record {
	s.engine.mu.Lock()
	defer s.engine.mu.Unlock()
	out := make([]Record, len(s.engine.records))
	for i, r := range s.engine.records {
		out[i] = *r
		out[i].Runs, out[i].Faults, out[i].Steps = slices.Clone(r.Runs), slices.Clone(r.Faults), slices.Clone(r.Steps)
	}
	return out
}

// newID returns 32 hex digits that the seed and the number of requests make.
func (s *Server) newID() string {
	n := fmt.Sprint(s.nextID.Add(1))
	return fmt.Sprintf("%016x%016x", hash(s.cfg.Seed, "id", n), hash(s.cfg.Seed, "di", n))
}
