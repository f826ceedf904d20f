package stress

import (
	"context"
	"strconv"
	"time"

	"turnwatch/validate"
)

// Result is what came of a load.
type Result struct {
	Began, Ended time.Time
	Stopped      string // why it ended before its end; "" if it did not
	Interrupted  bool   // … because its context was done
	Requests     int64
	Client       Meter
	// Aligned and Unaligned are sessions that could be padded as wanted, or not.
	Aligned, Unaligned int
	Arms               []*Arm // by stage, then by target
	Beside             Arm    // of the companions, turns alone
	// Same and Other are turns on which two targets said the same, to the letter, or
	// did not.
	Same, Other int
	said        map[[2]int]uint64 // of turns that one target has answered
	targets     int
}

// Arm is what came of one concurrency at one target.
type Arm struct {
	Concurrency int
	Target      int
	URL         string

	Sessions Rate
	Turns    Rate         // of those that were judged
	Classes  [Classes]int // turns
	Suspect  int          // turns with signals that convict nobody alone
	Parser   int          // turns with findings that a parser is known to cause
	Cut      int          // sessions that were not played to their end
	Unjudged int          // sessions of which nothing could be judged
	Kinds    map[validate.Kind]int
	Differ   int // turns on which a sidecar in between had another word

	First Times // to the first byte of an answer
	Each  Times // between events, on average over a turn

	Batches map[int]int    // turns by the largest batch they were in, where one was told
	Sources map[string]int // turns by who told it
	Guessed int            // largest batch of our own requests, where nobody told

	Failure string // the first reason why a turn failed
	Mistake string // the first that was wrong
}

func newArm() Arm {
	return Arm{Kinds: map[validate.Kind]int{}, Batches: map[int]int{}, Sources: map[string]int{}}
}

func newResult(l *Load) *Result {
	r := &Result{Began: time.Now(), Beside: newArm(), targets: len(l.Targets), said: map[[2]int]uint64{}}
	for _, c := range l.Concurrency {
		for i, t := range l.Targets {
			n := newArm()
			n.Concurrency, n.Target, n.URL = c, i, t.URL
			r.Arms = append(r.Arms, &n)
		}
	}
	return r
}

// at is the count of a stage and a target.
func (r *Result) at(stage, target int) *Arm { return r.Arms[stage*r.targets+target] }

// Of adds up all concurrencies at a target.
func (r *Result) Of(target int) Arm {
	sum := newArm()
	sum.Target = target
	for _, c := range r.Arms {
		if c.Target == target {
			sum.add(c)
		}
	}
	return sum
}

func (c *Arm) add(o *Arm) {
	c.URL = o.URL
	c.Sessions.add(o.Sessions)
	c.Turns.add(o.Turns)
	for i, n := range o.Classes {
		c.Classes[i] += n
	}
	c.Suspect += o.Suspect
	c.Parser += o.Parser
	c.Cut += o.Cut
	c.Unjudged += o.Unjudged
	c.Differ += o.Differ
	c.Guessed = max(c.Guessed, o.Guessed)
	c.First.join(o.First)
	c.Each.join(o.Each)
	addAll(c.Kinds, o.Kinds)
	addAll(c.Batches, o.Batches)
	addAll(c.Sources, o.Sources)
	if c.Failure == "" {
		c.Failure = o.Failure
	}
	if c.Mistake == "" {
		c.Mistake = o.Mistake
	}
}

func addAll[K comparable](to, from map[K]int) {
	for k, n := range from {
		to[k] += n
	}
}

func (r *Rate) add(o Rate) {
	r.Corrupted += o.Corrupted
	r.All += o.All
}

// turn takes in a turn.
func (r *Result) turn(t *Turn) {
	if t.Counted {
		r.at(t.Stage, t.Target).turn(t)
		r.compare(t)
	} else {
		r.Beside.turn(t)
	}
}

// compare holds what two targets said against each other, where both said it all.
func (r *Result) compare(t *Turn) {
	if class := t.Class(); r.targets < 2 || class == Aborted || class == Failed || class == Truncated {
		return
	}
	at := [2]int{t.pair, t.Number}
	switch other, ok := r.said[at]; {
	case !ok:
		r.said[at] = t.said
		return
	case other == t.said:
		r.Same++
	default:
		r.Other++
	}
	delete(r.said, at)
}

func (c *Arm) turn(t *Turn) {
	class := t.Class()
	c.Classes[class]++
	switch class {
	case Corrupted:
		c.Turns.Corrupted++
		c.Kinds[t.kind()]++
		fallthrough
	case Right, Wrong, Truncated:
		c.Turns.All++
	}
	if t.Suspect {
		c.Suspect++
	}
	if t.Outcome == validate.Corrupted && class != Corrupted {
		c.Parser++
	}
	if t.Sidecar != "" && t.Sidecar != t.Outcome && t.Abort == "" {
		c.Differ++
	}
	c.batch(t)
	c.times(t, class)
	c.explain(t, class)
}

// times takes in how long the answer took, where it was whole and streamed.
func (c *Arm) times(t *Turn, class Class) {
	if !t.Stream || class == Aborted || class == Failed || class == Truncated {
		return
	}
	c.First.add(t.TTFBMS)
	if t.Events > 1 {
		c.Each.add((t.DurationMS - t.TTFBMS) / float64(t.Events-1))
	}
}

// kind is the most specific one that counts.
func (t *Turn) kind() validate.Kind {
	for i := range t.Findings {
		if f := &t.Findings[i]; f.Cause != validate.CauseParser && corrupts(f.Kind) {
			return f.Kind
		}
	}
	return ""
}

// explain keeps the first reason of a kind.
func (c *Arm) explain(t *Turn, class Class) {
	switch {
	case class == Failed && c.Failure == "" && t.Err != nil:
		c.Failure = t.RequestID + ": " + t.Err.Error()
	case class == Failed && c.Failure == "":
		c.Failure = t.RequestID + ": unverified, " + string(t.Reason)
	case class == Wrong && c.Mistake == "":
		c.Mistake = t.RequestID + ": " + t.Wrong.Error()
	}
}

func (c *Arm) batch(t *Turn) {
	if t.Status == 0 {
		return
	}
	b := t.batch()
	c.Guessed = max(c.Guessed, own(t))
	if b.Size > 0 {
		c.Batches[b.Size]++
		c.Sources[b.Source]++
	}
}

// own is the largest number of our own requests beside the turn.
func own(t *Turn) int {
	if b, ok := t.Tags["batch"]; ok && b.Source == "own" {
		n, _ := strconv.Atoi(b.Value)
		return n
	}
	return 0
}

// achieved is a batch that a server told of.
type achieved struct {
	Size   int
	Source string
}

// batch is the largest batch of the turn, as far as the server tells; our own
// count of requests is no batch.
func (t *Turn) batch() achieved {
	for _, name := range []string{"batch", "batch_at_head", "batch_told"} {
		if b, ok := t.Tags[name]; ok && b.Source != "own" {
			if n, err := strconv.Atoi(b.Value); err == nil && n > 0 {
				return achieved{n, b.Source}
			}
		}
	}
	return achieved{}
}

// session takes in a session.
func (r *Result) session(s *Session) {
	c := r.at(s.Stage, s.Target)
	switch {
	case !s.Whole:
		c.Cut++
	case !s.Judged():
		c.Unjudged++
	default:
		c.Sessions.All++
		if s.Corrupt() {
			c.Sessions.Corrupted++
		}
	}
}

// stopped notes why the load ended.
func (r *Result) stopped(ctx context.Context) {
	r.Ended = time.Now()
	if ctx.Err() == nil {
		return
	}
	if why, ok := context.Cause(ctx).(reason); ok {
		r.Stopped = string(why)
		return
	}
	r.Stopped, r.Interrupted = "interrupted", true
}

// Largest is the largest batch that was told, 0 where none was, and the share of
// turns that were not alone.
func (c *Arm) Largest() (size int, together float64) {
	all, more := 0, 0
	for b, n := range c.Batches {
		size = max(size, b)
		all += n
		if b > 1 {
			more += n
		}
	}
	return size, float64(more) / float64(max(1, all))
}

// Mean is the mean over turns of the largest batch that each was in.
func (c *Arm) Mean() float64 {
	all, sum := 0, 0
	for b, n := range c.Batches {
		all, sum = all+n, sum+b*n
	}
	return float64(sum) / float64(max(1, all))
}
