package second

import (
	"context"
	"hash/fnv"
	"math"
	"runtime/debug"
	"sync"
	"time"

	"turnwatch/proxy/turn"
	"turnwatch/validate"
)

// Asker asks for second opinions. It is a sink of turns, safe for concurrent use.
type Asker struct {
	cfg    Config
	client *client
	queue  chan *job // never closed, so that a straggler cannot panic
	ctx    context.Context
	cancel context.CancelFunc
	work   sync.WaitGroup
	book   book

	mu     sync.Mutex
	closed bool
	held   int64 // bytes of the turns that wait
	rate   bucket
	tokens bucket
}

// New makes an Asker, which asks until it is closed.
func New(cfg Config) (*Asker, error) {
	cfg.defaults()
	c, err := newClient(&cfg)
	if err != nil {
		return nil, err
	}
	a := &Asker{cfg: cfg, client: c, queue: make(chan *job, cfg.Queue), book: newBook(),
		rate: newBucket(cfg.Rate), tokens: newBucket(float64(cfg.Tokens))}
	a.ctx, a.cancel = context.WithCancel(context.Background())
	for range cfg.Concurrency {
		a.work.Go(a.run)
	}
	return a, nil
}

// Wants reports whether a turn that has its verdict is one to ask about, and so what
// was said in it is to be lent.
func (a *Asker) Wants(t *turn.Turn) bool { return a.sample(t) != "" }

// sample says why a turn is asked about; "" for one that is not.
func (a *Asker) sample(t *turn.Turn) turn.Sample {
	switch {
	case t.Arm != turn.Live || t.Status != 200 || t.Outcome == validate.Unverified:
		return ""
	case t.Outcome == validate.Corrupted || t.Suspect:
		return turn.Flagged
	case t.Outcome == validate.Clean && a.draws(t.ID):
		return turn.Drawn
	}
	return ""
}

// draws takes a share of turns, each always alike: it is asked before the turn has
// its tags and after.
func (a *Asker) draws(id string) bool {
	h := fnv.New64a()
	h.Write([]byte(id))
	mixed := h.Sum64() * 0x9e3779b97f4a7c15
	mixed ^= mixed >> 32
	return float64(mixed*0xd6e8feb86659fd93) < a.cfg.Control*math.MaxUint64
}

// Finish queues a turn that is to be asked about. It keeps nothing of t and does not wait; what
// finds no room is counted.
func (a *Asker) Finish(t *turn.Turn) {
	of := a.sample(t)
	if of == "" {
		return
	}
	j := newJob(t, of, a.cfg.Replays)
	if why := a.admit(j); why != "" {
		a.book.drop(why)
	}
}

// admit queues a job, or says why not.
func (a *Asker) admit(j *job) Drop {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := time.Now()
	switch {
	case a.closed:
		return DropClosed
	case j.weight() > a.cfg.MaxTokens:
		return DropTooLong
	case len(a.queue) == cap(a.queue) || a.held+j.size > a.cfg.QueueBytes:
		return DropQueue
	case !a.rate.has(now, 1):
		return DropRate
	case !a.tokens.has(now, float64(j.weight())):
		return DropTokens
	}
	a.rate.take(1)
	a.tokens.take(float64(j.weight()))
	a.held += j.size
	a.queue <- j // only here, with mu held: there is room
	return ""
}

func (a *Asker) run() {
	for {
		select {
		case j := <-a.queue:
			a.give(j)
		case <-a.ctx.Done():
			return
		}
	}
}

// give forms the opinion on a turn and tells it.
func (a *Asker) give(j *job) {
	defer func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.held -= j.size
	}()
	defer func() {
		if p := recover(); p != nil {
			a.book.drop(DropBroken)
			a.cfg.Logger.Error("a second opinion broke", "turn_id", j.o.ID, "panic", p, "stack", string(debug.Stack()))
		}
	}()
	a.form(j)
	if a.ctx.Err() != nil {
		a.book.drop(DropClosed)
		return
	}
	o := &j.o
	o.Time = time.Now()
	a.book.add(o)
	if a.cfg.Tell != nil {
		a.cfg.Tell(o)
	}
}

// Close asks no more: what waits is dropped and counted, the question that is under way is
// cut. It returns when nothing runs any more, or when ctx is done.
func (a *Asker) Close(ctx context.Context) {
	a.mu.Lock()
	a.closed = true
	a.mu.Unlock()
	a.cancel()
	done := make(chan struct{})
	go func() {
		defer close(done)
		a.work.Wait()
	}()
	select {
	case <-done:
	case <-ctx.Done():
		return
	}
	a.empty()
	a.client.http.CloseIdleConnections()
}

// empty drops what waits. Another Close may do so, too.
func (a *Asker) empty() {
	for {
		select {
		case <-a.queue:
			a.book.drop(DropClosed)
		default:
			return
		}
	}
}

// bucket holds what may still be spent: a minute's worth at most.
type bucket struct {
	minute float64
	left   float64
	at     time.Time
}

func newBucket(minute float64) bucket { return bucket{minute: minute, left: max(minute, 1)} }

// has reports whether n may be spent. What is more than a minute's worth may be when
// nothing was for a minute.
func (b *bucket) has(now time.Time, n float64) bool {
	if !b.at.IsZero() {
		b.left = min(max(b.minute, 1), b.left+now.Sub(b.at).Minutes()*b.minute)
	}
	b.at = now
	return b.left >= min(n, max(b.minute, 1))
}

func (b *bucket) take(n float64) { b.left -= n }
