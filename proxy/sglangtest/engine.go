package sglangtest

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
)

// engine is the clock: one goroutine admits, prefills and decodes.
type engine struct {
	cfg  *Config
	wake chan struct{} // capacity 1
	stop chan struct{}

	mu       sync.Mutex
	paused   bool
	queue    []*seq
	running  []*seq
	rids     map[string]*seq
	tries    map[turnKey]int // requests for a turn so far
	records  []*Record       // the newest maxRecords
	counters Counters
	told     Load      // what /v1/loads tells
	logged   time.Time // when the status log was last written
	ids      int       // token ids in records
}

// maxRecords bounds what the server remembers of the past.
const maxRecords = 20_000

// Counters count since the server started.
type Counters struct {
	Steps        int64 // decode steps of the whole batch
	GraphSteps   int64 // those that replayed a graph
	Prefills     int64
	Requests     int64
	Finished     int64
	Scored       int64 // requests to /generate
	Aborted      int64 // requests that left the batch or the queue before their end
	PromptTokens int64
	Tokens       int64 // generated
	LargestBatch int
}

// Load is what runs and waits now.
type Load struct{ Running, Waiting int }

// Record is what the engine knows of one request: the truth to hold a verdict against.
type Record struct {
	RID              string
	Session          string
	Turn             int
	PromptTokens     int
	CompletionTokens int
	CUDAGraph        bool
	Batch, Bucket    int // at the first token
	Queue            int
	Runs             []Run
	Steps            []int    // the decode step that made each delta; 0 for the prefill
	Faults           []string // names of the faults that changed the answer
	Aborted          bool

	// Tokens of the turn, with Config.KeepTokens, and of what was scored: nil
	// once newer ones fill the room that there is.
	InputIDs, OutputIDs []int32
	MeantIDs            []int32 // what the model meant to emit, mistakes of its own included

	ended, kept bool // the answer is over; its token ids were to be kept
}

// Run is a stretch of decode steps with one batch size. It lasts from the end
// of its first step to that of its last.
type Run struct {
	First, Last, Batch, Bucket int
	Begin, End                 time.Time
}

// seq is one request in the engine. Its fields are guarded by engine.mu.
type seq struct {
	rec   *Record
	state State
	rest  *Answer
	fired []bool
	max   int

	spent   int // tokens paid for the next delta
	ready   chan struct{}
	deltas  []Delta // not yet taken
	begun   bool    // the first token exists
	ended   bool
	aborted bool // by /abort_request: it ends gracefully
}

func newEngine(cfg *Config) *engine {
	return &engine{cfg: cfg, wake: make(chan struct{}, 1), stop: make(chan struct{}), rids: map[string]*seq{}, tries: map[turnKey]int{}}
}

// turnKey is a turn of a session.
type turnKey struct {
	session string
	turn    int
}

// try counts the requests for a turn. It forgets when there are too many. mu
// is held.
func (e *engine) try(session string, turn int) int {
	k := turnKey{session, turn}
	if len(e.tries) == maxRecords {
		clear(e.tries)
	}
	e.tries[k]++
	return e.tries[k] - 1
}

var errDuplicate = errors.New("duplicate request id")

// submit queues a request.
func (e *engine) submit(rec *Record, state State, a *Answer, limit int) (*seq, error) {
	q := &seq{rec: rec, state: state, rest: a, max: limit, fired: make([]bool, len(e.cfg.Faults)), ready: make(chan struct{}, 1)}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.rids[rec.RID] != nil {
		return nil, errDuplicate
	}
	e.rids[rec.RID] = q
	q.state.Try = e.try(rec.Session, rec.Turn)
	e.queue = append(e.queue, q)
	e.counters.Requests++
	e.counters.PromptTokens += int64(rec.PromptTokens)
	if len(e.records) == maxRecords {
		e.records = slices.Delete(e.records, 0, maxRecords/10)
	}
	e.records = append(e.records, rec)
	e.forget(rec)
	signal(e.wake)
	return q, nil
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// leave takes q out of queue and batch; its client is gone. It is harmless
// after the end.
func (e *engine) leave(q *seq) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if q.ended {
		return
	}
	e.abort(q)
}

func (e *engine) abort(q *seq) {
	same := func(o *seq) bool { return o == q }
	e.queue = slices.DeleteFunc(e.queue, same)
	e.running = slices.DeleteFunc(e.running, same)
	e.counters.Aborted++
	q.rec.Aborted = true
	e.end(q)
}

func (e *engine) end(q *seq) {
	q.ended, q.rec.ended = true, true
	delete(e.rids, q.rec.RID)
	signal(q.ready)
}

// abortPrefix ends every request whose id begins with prefix, as
// /abort_request does: their streams finish with abort.
func (e *engine) abortPrefix(prefix string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for rid, q := range e.rids {
		if strings.HasPrefix(rid, prefix) {
			q.aborted = true
			e.abort(q)
		}
	}
}

// next waits for what q made since the last call. The answer is given once q
// ended: what is left in it says how.
func (e *engine) next(ctx context.Context, q *seq) (deltas []Delta, end *Answer, err error) {
	select {
	case <-q.ready:
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	deltas, q.deltas = q.deltas, nil
	if q.ended {
		end = q.rest
		if q.aborted {
			end = &Answer{Finish: "abort"}
		}
	}
	return deltas, end, nil
}

// run is the clock. It returns when stop is closed.
func (e *engine) run() {
	for {
		fresh, busy := e.admit()
		switch {
		case len(fresh) > 0:
			if !e.sleep(e.prefill(fresh)) {
				return
			}
			e.first(fresh)
		case busy:
			if !e.sleep(e.cfg.Step) {
				return
			}
			e.decode()
		default:
			select {
			case <-e.wake:
			case <-e.stop:
				return
			}
		}
	}
}

func (e *engine) sleep(d time.Duration) bool {
	if d <= 0 {
		runtime.Gosched() // let clients take what they were given
		select {
		case <-e.stop:
			return false
		default:
			return true
		}
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-e.stop:
		return false
	}
}

// admit moves requests from the queue into the batch.
func (e *engine) admit() (fresh []*seq, busy bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.paused {
		return nil, false
	}
	n := min(len(e.queue), e.cfg.MaxRunning-len(e.running))
	fresh = slices.Clone(e.queue[:n])
	e.queue = slices.Delete(e.queue, 0, n)
	e.running = append(e.running, fresh...)
	return fresh, len(e.running) > 0
}

func (e *engine) prefill(fresh []*seq) time.Duration {
	n := 0
	for _, q := range fresh {
		n += q.rec.PromptTokens
	}
	return e.cfg.Prefill * time.Duration(n) / 1000
}

// first gives fresh requests the token that prefill makes. The rest of the
// batch stands still meanwhile, as it does without mixed chunks.
func (e *engine) first(fresh []*seq) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.counters.Prefills++
	batch, queue := len(e.running), len(e.queue)
	for _, q := range fresh {
		if !q.ended {
			q.rec.Batch, q.rec.Bucket, q.rec.Queue = batch, e.cfg.bucket(batch), queue
			e.strike(q)
			e.advance(q)
		}
	}
	e.retire()
	e.tell()
}

// decode gives every running request one token.
func (e *engine) decode() {
	e.mu.Lock()
	defer e.mu.Unlock()
	batch := len(e.running)
	if batch == 0 || e.paused {
		return
	}
	bucket := e.cfg.bucket(batch)
	e.counters.Steps++
	e.counters.LargestBatch = max(e.counters.LargestBatch, batch)
	if bucket > 0 {
		e.counters.GraphSteps++
	}
	now := time.Now()
	e.status(now)
	for _, q := range e.running {
		q.state.Batch, q.state.Bucket, q.state.Step = batch, bucket, e.counters.Steps
		q.note(now, int(e.counters.Steps), batch, bucket)
		e.strike(q)
		e.advance(q)
	}
	e.retire()
	if len(e.running) == 0 || e.counters.Steps%int64(e.cfg.LoadsEvery) == 0 {
		e.tell()
	}
}

// tell publishes the load for /v1/loads.
func (e *engine) tell() { e.told = Load{Running: len(e.running), Waiting: len(e.queue)} }

func (e *engine) retire() {
	e.running = slices.DeleteFunc(e.running, func(q *seq) bool { return q.ended })
}

// note adds a decode step to the record.
func (q *seq) note(now time.Time, step, batch, bucket int) {
	if n := len(q.rec.Runs); n > 0 && q.rec.Runs[n-1].Batch == batch && q.rec.Runs[n-1].Last == step-1 {
		q.rec.Runs[n-1].Last, q.rec.Runs[n-1].End = step, now
		return
	}
	q.rec.Runs = append(q.rec.Runs, Run{First: step, Last: step, Batch: batch, Bucket: bucket, Begin: now, End: now})
}

// strike lets the faults at the rest of the answer. One that changed nothing
// has not struck, and is asked again at the next step.
func (e *engine) strike(q *seq) {
	if q.rest.tokens && q.spent > 0 {
		return // in the middle of a delta, some of whose tokens are out
	}
	for i, f := range e.cfg.Faults {
		if q.fired[i] || f.Model || f.When != nil && !f.When(q.state) {
			continue
		}
		before := q.rest.sum()
		f.Do(q.rest)
		if q.rest.sum() != before {
			q.fired[i] = true
			q.rec.Faults = append(q.rec.Faults, f.Name)
		}
	}
}

// advance makes one token of q, and with it a delta when enough were made.
func (e *engine) advance(q *seq) {
	q.state.Token++
	q.begun = true
	q.spent++
	e.counters.Tokens++
	q.rec.CompletionTokens++
	e.keep(q)
	if r := q.rest; len(r.Deltas) > 0 && q.spent >= r.cost(r.Deltas[0]) {
		r.Deltas[0].made = q.state.Token
		q.deltas = append(q.deltas, r.Deltas[0])
		q.rec.Steps = append(q.rec.Steps, int(q.state.Step))
		r.Deltas, q.spent = r.Deltas[1:], 0
	}
	over := len(q.rest.Deltas) == 0 && q.spent >= q.rest.Silent
	if !over && q.max > 0 && q.state.Token >= q.max {
		q.rest.Finish, q.rest.Matched, over = "length", 0, true
	}
	if over {
		e.counters.Finished++
		e.end(q)
	}
	signal(q.ready)
}
