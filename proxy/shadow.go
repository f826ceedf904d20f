package proxy

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"

	"turnwatch/proxy/pairs"
	"turnwatch/proxy/turn"
)

// shadow sends requests of clients to other servers, too, and pairs the answers with
// the live ones. Nothing on the way of a live answer waits for it: a request is copied
// and offered after it was sent upstream, and what finds no room is dropped and counted.
//
// Each request that an arm was offered ends as paired, dropped or failed, once.
type shadow struct {
	s      *Server
	cfg    atomic.Pointer[ShadowConfig]
	log    *slog.Logger
	arms   []*arm
	book   *pairs.Book
	budget budget
	ctx    context.Context // done when the arms are to be left
	cancel context.CancelFunc
	work   sync.WaitGroup

	mu      sync.RWMutex
	stopped bool                 // no request is taken any more
	open    map[*mirror]struct{} // requests whose pair is still to come
}

// maxOpen bounds the requests whose pair is still to come: they hold little, but live
// answers may take long.
const maxOpen = 4096

// start starts the arms' workers.
func (sh *shadow) start() {
	if sh == nil {
		return
	}
	sh.ctx, sh.cancel = context.WithCancel(context.Background())
	for _, a := range sh.arms {
		for range sh.now().Concurrency {
			sh.work.Go(a.run)
		}
	}
}

// offer offers the turn's request to the arms. Its body is copied.
func (o *observer) offer(body []byte) {
	o.req.Outline = true
	o.mirror = o.s.shadow.take(o, body)
}

// take makes a mirror of the turn's request and gives it to every arm.
func (sh *shadow) take(o *observer, body []byte) *mirror {
	m := sh.mirror(o)
	tooMany := sh.enter(m)
	sh.mu.RLock()
	defer sh.mu.RUnlock()
	why := ""
	switch {
	case sh.stopped:
		why = dropShutdown
	case tooMany || !m.hold(body):
		why = dropMemory
	}
	for i, a := range sh.arms {
		a.offered.Add(1)
		not := why
		if not == "" {
			not = a.offer(m, i+1)
		}
		if not != "" {
			m.settle(i+1, part{side: turn.Side{State: turn.Dropped, Why: not}})
		}
	}
	m.done()
	return m
}

// enter notes a mirror whose pair is to come, and reports whether there are too many.
func (sh *shadow) enter(m *mirror) (tooMany bool) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	sh.open[m] = struct{}{}
	return len(sh.open) > maxOpen
}

// leave forgets it.
func (sh *shadow) leave(m *mirror) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	delete(sh.open, m)
}

// stop leaves the arms: what waits is dropped, what is under way is cut. It returns when
// no worker is left, or when ctx is done: a sink may hang. The pairs still come as the live
// turns are recorded.
func (sh *shadow) stop(ctx context.Context) {
	if sh == nil {
		return
	}
	sh.mu.Lock()
	sh.stopped = true
	sh.mu.Unlock()
	sh.cancel()
	within(ctx, sh.work.Wait)
	for _, a := range sh.arms {
		a.up.close()
	}
}

// close pairs what is left with live turns that will not be recorded any more.
func (sh *shadow) close() {
	if sh == nil {
		return
	}
	sh.mu.RLock()
	left := make([]*mirror, 0, len(sh.open))
	for m := range sh.open {
		left = append(left, m)
	}
	sh.mu.RUnlock()
	for _, m := range left {
		m.lost()
	}
}

// Shadow says what the pairs so far say, and whether there is shadow traffic at all.
func (s *Server) Shadow() (pairs.Report, bool) {
	if s.shadow == nil {
		return pairs.Report{}, false
	}
	return s.shadow.book.Report(), true
}

// tell gives a pair to the book and to whoever is to be told.
func (sh *shadow) tell(p *turn.Pair) {
	defer func() {
		if r := recover(); r != nil {
			sh.log.Error("a pair of answers is lost to who is told of them", "turn_id", p.ID, "panic", r)
		}
	}()
	sh.book.Add(p)
	if tell := sh.now().Pair; tell != nil {
		tell(p)
	}
}
