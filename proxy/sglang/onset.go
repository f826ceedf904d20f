package sglang

import (
	"math"
	"time"
)

// onset is where in an answer its first bad byte stood.
type onset struct {
	delta  int64 // events with output up to that byte, from 1; 0: not known
	deltas int64 // … in the whole answer
	tokens int64 // tokens up to that byte, if the server said so with each event
	each   int   // tokens an event (-stream-interval of the server), at least 1

	at, end time.Duration // arrival of that byte and of the answer's last, since its first
	whole   bool          // the answer was complete
}

// span returns the tokens of which one made the first bad byte, from 1: each
// event took a token at least, and so did each that followed.
func (o onset) span(tokens int64) (lo, hi int64) {
	lo, hi = 1, max(tokens, 1)
	switch {
	case o.tokens > 0:
		lo = min(o.tokens, hi)
		return lo, lo
	case o.delta > 0:
		lo = o.delta
		if o.each > 1 {
			lo = max(lo, (o.delta-1)*int64(o.each)+1)
		}
		if o.whole {
			hi -= o.deltas - o.delta
		}
	}
	lo = min(lo, max(tokens, 1))
	return lo, max(lo, hi)
}

// at returns the run that made the first bad byte. The place in the stream
// leaves some steps to choose from where tokens were not shown, such as those
// of markup; if their batches differ, it is the one nearest in time. Without any
// clue ok is false.
func (f *facts) at(o onset) (made run, ok bool) {
	steps := f.steps()
	if steps == 0 {
		return run{}, false
	}
	lo, hi := o.span(int64(f.CompletionTokens))
	from, to := f.step(lo, steps), f.step(hi, steps)
	made = f.of(from)
	if !f.same(from, to) {
		if o.delta == 0 && o.tokens == 0 || o.end <= 0 {
			return run{}, false
		}
		last := (o.each - 1) / 2 // an event comes with the last of its tokens; nearest to all of them is the middle
		made = f.of(min(max(f.nearest(o, steps)-last, from), to))
	}
	return made, !f.Merged || made.First != f.Runs[0].First
}

// same reports whether the steps from one to another share batch and bucket.
func (f *facts) same(from, to int) bool {
	one := f.of(from)
	for _, r := range f.between(from, to) {
		if r.Batch != one.Batch || (r.Bucket == nil) != (one.Bucket == nil) || r.Bucket != nil && *r.Bucket != *one.Bucket {
			return false
		}
	}
	return true
}

func (f *facts) steps() (n int) {
	for _, r := range f.Runs {
		n += r.steps()
	}
	return n
}

// step returns the decode step, from 0 and counted over the turn, that made a
// token, from 1. The first token is made by the prefill, before all steps.
// Steps of a run that made several tokens, or none, share them evenly.
func (f *facts) step(token int64, steps int) int {
	n, all, before := max(token-2, 0), 0, 0
	for _, r := range f.Runs {
		all += r.made()
	}
	if told := f.CompletionTokens - 1; told > 0 && told != all {
		n = int64(float64(n) * float64(all) / float64(told))
	}
	for _, r := range f.Runs {
		if made := int64(r.made()); n >= made {
			n -= made
			before += r.steps()
			continue
		}
		return before + int(n*int64(r.steps())/int64(r.made()))
	}
	return steps - 1
}

// of returns the run that a step of the turn was in.
func (f *facts) of(step int) run {
	for _, r := range f.Runs {
		if step < r.steps() {
			return r
		}
		step -= r.steps()
	}
	return f.Runs[len(f.Runs)-1]
}

// between returns the runs from one step to another.
func (f *facts) between(from, to int) []run {
	first, last, n := 0, 0, 0
	for i, r := range f.Runs {
		if n <= from {
			first = i
		}
		if n <= to {
			last = i
		}
		n += r.steps()
	}
	return f.Runs[first : last+1]
}

// nearest returns the step that ended when the first bad byte came. Without
// the times of the steps they are taken to be equally long.
func (f *facts) nearest(o onset, steps int) int {
	when, ok := f.when(o, steps)
	if !ok {
		return int(math.Round(float64(o.at)/float64(o.end)*float64(steps))) - 1
	}
	best, least, n := 0, math.Inf(1), 0
	for _, r := range f.Runs {
		for i := range r.steps() {
			at := *r.T0
			if r.steps() > 1 {
				at += (*r.T1 - *r.T0) * float64(i) / float64(r.steps()-1)
			}
			if d := math.Abs(at - when); d < least {
				best, least = n+i, d
			}
		}
		n += r.steps()
	}
	return best
}

// when returns the server's time at which the first bad byte was made. No
// clocks need to agree: the last byte came from the last step. Of an answer
// that was cut it is only known that the first byte came from the step before
// those that are told.
func (f *facts) when(o onset, steps int) (ms float64, ok bool) {
	for _, r := range f.Runs {
		if r.T0 == nil || r.T1 == nil {
			return 0, false
		}
	}
	first, last := *f.Runs[0].T0, *f.Runs[len(f.Runs)-1].T1
	if o.whole {
		return last - float64(o.end-o.at)/float64(time.Millisecond), true
	}
	step := (last - first) / float64(max(steps-1, 1))
	return first - step + float64(o.at)/float64(time.Millisecond), true
}
