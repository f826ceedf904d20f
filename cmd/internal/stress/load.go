// Package stress puts known-answer agent sessions to a server, many at a time,
// and counts what a journal says of them.
package stress

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"turnwatch/validate/agents"
)

// Load says what to run.
type Load struct {
	URL         string // of the server: http://host:port
	Model       string // named in each request
	Seed        uint64 // of the first session; the others follow
	Sessions    int
	Concurrency int // sessions at a time
	// Progress, if set, is told after each turn how many are done. It is called
	// from many goroutines.
	Progress func(done, total int)
}

// Turn is one turn as the client saw it.
type Turn struct {
	Session string
	Number  int
	Time    time.Duration
	Wrong   error // the answer is not the known one
	Err     error // there is no answer
}

// RequestID is what the turn's X-Request-Id was.
func (t Turn) RequestID() string { return fmt.Sprintf("%s-%d", t.Session, t.Number) }

// Run plays all sessions and returns their turns in order. A turn that fails
// does not end its session: the next one asks with the right history. Run
// returns early, with an error, when ctx is done.
func Run(ctx context.Context, l Load) ([]Turn, error) {
	transport := &http.Transport{MaxIdleConnsPerHost: l.Concurrency, IdleConnTimeout: 4 * time.Second, DisableCompression: true}
	defer transport.CloseIdleConnections()
	r := runner{load: l, client: http.Client{Transport: transport}, turns: make([][]Turn, l.Sessions)}
	for i := range l.Sessions {
		r.total += agents.NewSession(l.Seed + uint64(i)).Turns()
	}
	var wg sync.WaitGroup
	for range min(l.Concurrency, l.Sessions) {
		wg.Go(func() { r.work(ctx) })
	}
	wg.Wait()
	return slices.Concat(r.turns...), ctx.Err()
}

type runner struct {
	load   Load
	client http.Client
	total  int
	turns  [][]Turn // each element owned by the worker that took it
	next   atomic.Int64
	done   atomic.Int64
}

// work plays sessions until none is left.
func (r *runner) work(ctx context.Context) {
	for ctx.Err() == nil {
		i := int(r.next.Add(1)) - 1
		if i >= r.load.Sessions {
			return
		}
		s := agents.NewSession(r.load.Seed + uint64(i))
		for n := 1; n <= s.Turns() && ctx.Err() == nil; n++ {
			r.turns[i] = append(r.turns[i], r.turn(ctx, s, n))
			done := int(r.done.Add(1))
			if r.load.Progress != nil {
				r.load.Progress(done, r.total)
			}
		}
	}
}

func (r *runner) turn(ctx context.Context, s *agents.Session, n int) Turn {
	t := Turn{Session: s.ID, Number: n}
	begin := time.Now()
	answer, err := r.ask(ctx, t, s.Request(n, agents.Options{Model: r.load.Model, Stream: true}))
	t.Time = time.Since(begin)
	if err != nil {
		t.Err = err
		return t
	}
	t.Wrong = s.Check(n, answer)
	return t
}
