package sglang

import (
	"slices"
	"time"

	"turnwatch/proxy/turn"
)

// maxLoads bounds what is told of one source over a turn.
const maxLoads = 1024

// loads tells, where what was said is kept as evidence, how busy the server
// was over the turn.
func (x *filling) loads() {
	c := x.t.Capture
	if c == nil {
		return
	}
	if x.f != nil {
		for _, r := range x.f.Runs[:min(len(x.f.Runs), maxLoads)] {
			c.Loads = append(c.Loads, r.load())
		}
	}
	if x.head.IsZero() {
		return
	}
	c.Loads = append(c.Loads, x.polled()...)
	for _, o := range x.g.own.over(x.stay.from, x.stay.to) {
		at := x.ms(x.g.own.base.Add(o.at))
		c.Loads = append(c.Loads, turn.Load{Source: fromOwn, AtMS: &at, Batch: o.n})
	}
}

func (r run) load() turn.Load {
	return turn.Load{Source: fromFacts, First: &r.First, Last: &r.Last, T0MS: r.T0, T1MS: r.T1, Batch: r.Batch, Bucket: r.Bucket}
}

// polled are the samples of the server's load from just before the answer
// began to its end.
func (x *filling) polled() (all []turn.Load) {
	from := x.head.Add(-fresh)
	for s := range x.g.loads.back {
		if s.at.Before(from) || len(all) == maxLoads {
			break
		}
		if s.at.After(x.end) {
			continue
		}
		l, at := s.of(x.rank), x.ms(s.at)
		all = append(all, turn.Load{Source: fromPoll, AtMS: &at, Batch: l.running, Queue: &l.waiting})
	}
	slices.Reverse(all)
	return all
}

// ms counts a moment from when the turn's request had come.
func (x *filling) ms(at time.Time) float64 {
	return float64(at.Sub(x.t.Time).Microseconds()) / 1e3
}

// over returns what the number was from one moment to another, each change of
// it, the latest of them if there were too many.
func (o *own) over(from, to time.Duration) (all []change) {
	o.mu.Lock()
	defer o.mu.Unlock()
	n := len(o.ring)
	for i := n - 1; i >= 0 && len(all) < maxLoads; i-- {
		c := o.ring[(o.next+i)%n]
		if c.at < from {
			break
		}
		if c.at < to {
			all = append(all, c)
		}
	}
	slices.Reverse(all)
	return all
}
