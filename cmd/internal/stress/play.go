package stress

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"turnwatch/proxy/turn"
	"turnwatch/validate/agents"
)

// player plays a load.
type player struct {
	load    *Load
	servers []*server
	total   int // turns that will be counted, about

	stop     context.CancelCauseFunc
	beside   []atomic.Int64 // sessions of each companion at each target, over all stages
	requests atomic.Int64
	events   atomic.Int64

	mu     sync.Mutex // guards what follows, and the load's functions
	done   int
	failed int // the latest turns, all of them
	res    *Result
}

// Run plays all sessions, or as many as it may, and says what came of them. It
// returns an error only where nothing could be run. A turn that fails does not end
// its session: the next one asks with the right history.
func Run(ctx context.Context, l Load) (*Result, error) {
	if err := l.defaults(); err != nil {
		return nil, err
	}
	p := &player{load: &l, res: newResult(&l), beside: make([]atomic.Int64, len(l.Companions)*len(l.Targets))}
	if err := p.open(ctx); err != nil {
		return nil, err
	}
	defer p.close()
	p.total = l.Tasks.New(l.Seed, l.Shape).Turns() * l.Sessions * len(l.Targets) * len(l.Concurrency)
	ctx, p.stop = context.WithCancelCause(ctx)
	defer p.stop(nil)
	if l.MaxTime > 0 {
		defer time.AfterFunc(l.MaxTime, func() { p.stop(reason(fmt.Sprintf("-max-time=%v is over", l.MaxTime))) }).Stop()
	}
	p.measured(ctx, func() { p.stages(ctx) })
	p.res.stopped(ctx)
	return p.res, nil
}

// reason is why a load ended early.
type reason string

func (r reason) Error() string { return string(r) }

func (p *player) open(ctx context.Context) error {
	conns := 0
	for _, c := range p.load.Concurrency {
		conns = max(conns, c)
	}
	for _, c := range p.load.Companions {
		conns += c.Concurrency
	}
	for _, t := range p.load.Targets {
		s, err := t.open(conns)
		if err != nil {
			return err
		}
		p.servers = append(p.servers, s)
		if err := s.knock(ctx); err != nil {
			p.close()
			return err
		}
	}
	return nil
}

func (p *player) close() {
	for _, s := range p.servers {
		s.client.CloseIdleConnections()
	}
}

// measured runs the load with what runs beside it: the taggers' polls and the
// meter of what the load costs us.
func (p *player) measured(ctx context.Context, run func()) {
	// What is asked of turns at the end of the load must still be answered.
	polls, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var wg sync.WaitGroup
	for _, s := range p.servers {
		wg.Go(func() { s.tagger.Run(polls) })
	}
	m := startMeter()
	run()
	p.res.Client = m.stop(p.events.Load())
	p.res.Requests = p.requests.Load()
	cancel()
	wg.Wait()
}

// one is one session that is being played.
type one struct {
	p       *player
	w       *Work
	s       *server
	task    *agents.Session
	random  *rand.Rand
	prefix  string
	pad     string
	aligned string         // what its first request was padded to
	records sync.WaitGroup // turns whose tags are still asked for
	group   int
	Session
}

// session prepares the nth session of a group at a target; group 0 is that of the
// counted sessions.
func (p *player) session(w *Work, target, stage, n, group int) *one {
	number := n
	if group == 0 {
		number += stage * p.load.Sessions
	}
	seed := p.load.Seed + uint64(number) + uint64(group)<<32
	o := &one{p: p, w: w, s: p.servers[target], task: w.Tasks.New(seed, w.Shape), random: rand.New(rand.NewPCG(seed, 0x73747265)), group: group}
	o.Session = Session{ID: p.load.Session + o.task.ID, Number: number, Target: target, Stage: stage}
	switch {
	case w.Words > 0 && w.Prefixes > 0:
		o.prefix = agents.Filler(uint64(n%w.Prefixes), w.Words)
	case w.Words > 0:
		o.prefix = agents.Filler(1<<40+seed, w.Words)
	}
	return o
}

// play plays the session to its end, or until ctx is done.
func (o *one) play(ctx context.Context) *Session {
	if o.w.Align > 0 && o.task.Pads() {
		o.align(ctx)
	}
	n := 1
	for ; n <= o.task.Turns() && ctx.Err() == nil; n++ {
		o.think(ctx)
		o.turn(ctx, n)
	}
	o.records.Wait()
	o.Whole = ctx.Err() == nil && n > o.task.Turns()
	return &o.Session
}

func (o *one) think(ctx context.Context) {
	if o.w.Think <= 0 {
		return
	}
	select {
	case <-time.After(time.Duration(o.random.Int64N(int64(o.w.Think)))):
	case <-ctx.Done():
	}
}

// turn asks for one turn, and again after each time that it was cut off.
func (o *one) turn(ctx context.Context, n int) {
	opts := o.options()
	body := o.task.Request(n, opts)
	tries := 1
	cut := o.w.Abort.Share > 0 && o.random.Float64() < float64(o.w.Abort.Share)
	if cut {
		tries += o.w.Abort.Retries
	}
	for try := range tries {
		last := try == tries-1
		aborted := o.try(ctx, n, try, body, cut && (!last || tries == 1))
		if !aborted || ctx.Err() != nil {
			return
		}
	}
}

func (o *one) options() agents.Options {
	w := o.w
	return agents.Options{Model: o.s.Model, Stream: o.random.Float64() < float64(w.Streamed), Temperature: w.Temperature, Seed: w.Sampling,
		MaxTokens: w.MaxTokens, Prefix: o.prefix, Pad: o.pad, Extra: w.Extra}
}

// try sends the request once and reports whether it was cut off.
func (o *one) try(ctx context.Context, n, try int, body []byte, cut bool) (aborted bool) {
	if !o.p.allow() {
		return false
	}
	t := &Turn{Target: o.Target, Stage: o.Stage, Counted: o.group == 0, pair: o.Number}
	t.Session, t.Number = o.ID, n
	t.RequestID = fmt.Sprintf("%s-%d", o.ID, n)
	if try > 0 {
		t.RequestID += fmt.Sprintf(".%d", try+1)
	}
	ctx, done := context.WithTimeoutCause(ctx, o.p.load.Timeout, errLate)
	defer done()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	answer, watch := o.s.ask(ctx, t, body, o.cutter(cut, cancel))
	o.p.events.Add(int64(t.Events))
	if t.Err == nil && t.Abort == "" {
		t.Wrong = o.task.Check(n, answer)
		t.Answer = known(t.Wrong)
	}
	o.records.Add(1)
	if late := watch.Tag(&t.Turn); late != nil {
		late(func() { o.record(t) })
	} else {
		o.record(t)
	}
	return t.Abort != ""
}

func known(wrong error) turn.Answer {
	if wrong != nil {
		return turn.Wrong
	}
	return turn.Right
}

func (o *one) cutter(cut bool, cancel context.CancelCauseFunc) *cutter {
	if !cut {
		return nil
	}
	a := o.w.Abort
	delay := a.After
	if a.Jitter > 0 {
		delay += time.Duration(o.random.Int64N(int64(a.Jitter)))
	}
	return &cutter{Abort: a, delay: delay, cancel: cancel}
}

// allow counts a request and reports whether it may be sent.
func (p *player) allow() bool {
	limit := p.load.MaxRequests
	if n := p.requests.Add(1); limit > 0 && n > limit {
		p.requests.Add(-1)
		p.stop(reason(fmt.Sprintf("-max-requests=%d are sent", limit)))
		return false
	}
	return true
}

// despair stops the load when nothing but failures come back: the server is gone.
func (p *player) despair(t *Turn) {
	const enough = 200
	if t.Class() != Failed {
		p.failed = 0
		return
	}
	if p.failed++; p.failed == enough {
		p.stop(reason(fmt.Sprintf("the last %d turns failed", enough)))
	}
}

// record takes in a turn that has its tags.
func (o *one) record(t *Turn) {
	defer o.records.Done()
	o.label(t)
	p := o.p
	p.mu.Lock()
	defer p.mu.Unlock()
	o.Turns[t.Class()]++
	o.Batch = max(o.Batch, t.batch().Size)
	p.res.turn(t)
	if p.load.Turned != nil {
		p.load.Turned(t)
	}
	p.despair(t)
	if t.Counted {
		p.done++
		if p.load.Progress != nil {
			p.load.Progress(p.done, max(p.done, p.total))
		}
	}
}
