package sglang

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// facts is what the server tells of a turn after its end.
type facts struct {
	RID              string `json:"rid"`
	CompletionTokens int    `json:"completion_tokens"`
	CUDAGraph        *bool  `json:"cuda_graph"`
	Runs             []run  `json:"decode_runs"`
	Merged           bool   `json:"merged"` // the first run stands for several, of which it has the largest batch
	Retractions      *int   `json:"retractions"`
	PromptTokens     int    `json:"prompt_tokens"`

	InputIDs    json.RawMessage `json:"input_ids"`
	OutputIDs   json.RawMessage `json:"output_ids"`
	InputIDsOf  int             `json:"input_ids_of"` // how many there were, where not all were kept
	OutputIDsOf int             `json:"output_ids_of"`
}

// run is a stretch of decode steps with one batch. Its times are those at which
// its first and its last step had ended, on the server's clock.
type run struct {
	First  int      `json:"first_step"`
	Last   int      `json:"last_step"`
	Batch  int      `json:"batch"`
	Bucket *int     `json:"bucket"` // nil: not known
	Tokens *int     `json:"tokens"` // nil: one a step
	T0     *float64 `json:"t0_ms"`
	T1     *float64 `json:"t1_ms"`
}

func (r run) steps() int { return r.Last - r.First + 1 }

// made is how many tokens of the turn the run made.
func (r run) made() int {
	if r.Tokens != nil {
		return *r.Tokens
	}
	return r.steps()
}

// true reports whether a run can be true.
func (r run) true() bool {
	return r.First >= 0 && r.Last >= r.First && r.Last-r.First <= maxSteps && r.Batch >= 1 && plausible(r.Batch) &&
		(r.Bucket == nil || plausible(*r.Bucket)) && (r.Tokens == nil || *r.Tokens >= 0 && *r.Tokens <= maxSteps)
}

// maxSteps bounds the decode steps of a turn.
const maxSteps = 1 << 24

var errLies = errors.New("it tells what cannot be true")

// parseFacts reads facts and refuses those that cannot be true of the turn.
func parseFacts(body []byte, rid string) (*facts, error) {
	f := new(facts)
	if err := json.Unmarshal(body, f); err != nil {
		return nil, errLies
	}
	if f.RID != rid || f.CompletionTokens < 0 || f.CompletionTokens > maxSteps {
		return nil, errLies
	}
	last := -1
	for _, r := range f.Runs {
		if !r.true() || r.First <= last {
			return nil, errLies
		}
		last = r.Last
	}
	return f, nil
}

// largest returns the largest batch and bucket over the decode steps; the
// bucket is nil when that of a step is not known.
func (f *facts) largest() (batch int, bucket *int, ok bool) {
	bucket = new(int)
	for _, r := range f.Runs {
		batch = max(batch, r.Batch)
		if r.Bucket == nil {
			bucket = nil
		} else if bucket != nil {
			*bucket = max(*bucket, *r.Bucket)
		}
	}
	return batch, bucket, len(f.Runs) > 0
}

// exposure counts the decode steps by range of the batch, as 1:12,5-8:40: the
// exposure of a turn whose batch changed. It is empty where that is not known.
func (f *facts) exposure() string {
	ends := [...]int{1, 4, 8, 16, 32, 64, 128}
	names := [...]string{"1", "2-4", "5-8", "9-16", "17-32", "33-64", "65-128", "129+"}
	var n [len(names)]int
	if f.Merged {
		return ""
	}
	for _, r := range f.Runs {
		i, _ := slices.BinarySearch(ends[:], r.Batch)
		n[i] += r.steps()
	}
	var all []string
	for i, name := range names {
		if n[i] > 0 {
			all = append(all, name+":"+strconv.Itoa(n[i]))
		}
	}
	return strings.Join(all, ",")
}

// What became of asking for facts.
const (
	factsOK      = "ok"
	factsAbsent  = "absent"  // the server does not know the turn, or has no such route
	factsFailed  = "failed"  // the server cannot be asked
	factsLies    = "refused" // what it told cannot be true
	factsLate    = "late"    // they did not come in time
	factsFull    = "full"    // too many turns wait for theirs
	factsBackoff = "backoff" // none came of late, so none are asked for
)

// asker asks for facts, in goroutines of its own.
type asker struct {
	c     *client
	limit time.Duration
	stats *stats
	queue chan question

	mu     sync.Mutex
	closed bool // nothing is asked any more
	fails  int  // since the last success
	until  time.Time
}

// question is one turn that waits for its facts.
type question struct {
	path, rid string
	deadline  time.Time
	tell      func(*facts) // called once, nil for none
}

// factsQueue is how many turns may wait while others are asked for.
const factsQueue = 256

// patience is how many failures in a row it takes to stop asking for a while.
const patience = 8

// ask takes a question and reports whether it did. It does not wait.
func (a *asker) ask(path, rid string, tell func(*facts)) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := time.Now()
	why := factsFull
	switch {
	case a.closed:
	case now.Before(a.until):
		why = factsBackoff
	default:
		select {
		case a.queue <- question{path, rid, now.Add(a.limit), tell}:
			return true
		default:
		}
	}
	a.stats.fact(why)
	return false
}

// run answers questions until ctx is done; those that are left then, and those
// that are under way, are told that there are none.
func (a *asker) run(ctx context.Context, workers int) {
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() { a.work(ctx) })
	}
	<-ctx.Done()
	a.mu.Lock()
	a.closed = true
	a.mu.Unlock()
	wg.Wait()
	for len(a.queue) > 0 {
		a.answer(ctx, <-a.queue)
	}
}

func (a *asker) work(ctx context.Context) {
	for {
		select {
		case q := <-a.queue:
			a.answer(ctx, q)
		case <-ctx.Done():
			return
		}
	}
}

func (a *asker) answer(ctx context.Context, q question) {
	limit, cancel := context.WithDeadline(ctx, q.deadline)
	defer cancel()
	f, err := a.fetch(limit, q)
	what := factsOK
	switch {
	case err == nil:
	case errors.Is(err, errNotThere):
		what = factsAbsent
	case errors.Is(err, errLies):
		what = factsLies
	case limit.Err() != nil:
		what = factsLate
	default:
		what = factsFailed
	}
	a.stats.fact(what)
	a.note(err == nil)
	q.tell(f)
}

// fetch asks again, shortly, while the server does not know the turn yet: what
// its scheduler knows needs a moment to reach its listener.
func (a *asker) fetch(ctx context.Context, q question) (*facts, error) {
	for wait := 20 * time.Millisecond; ; wait *= 4 {
		body, err := a.c.get(ctx, strings.TrimRight(q.path, "/")+"/"+url.PathEscape(q.rid), maxFacts)
		if err == nil {
			return parseFacts(body, q.rid)
		}
		if !errors.Is(err, errNotThere) || wait > 100*time.Millisecond || !pause(ctx, wait) {
			return nil, err
		}
	}
}

// note backs off from a server that has no facts.
func (a *asker) note(good bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if good {
		a.fails = 0
		return
	}
	if a.fails++; a.fails >= patience {
		a.until = time.Now().Add(min(firstWait<<min(a.fails-patience, 10), longestWait))
	}
}
