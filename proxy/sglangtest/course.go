package sglangtest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"time"
)

// course is how busy a recorded server was: each level stands until the next.
type course []level

type level struct {
	at               time.Time
	running, waiting int
}

// at returns the level of a moment.
func (c course) at(t time.Time) level {
	i, found := slices.BinarySearchFunc(c, t, func(l level, t time.Time) int { return l.at.Compare(t) })
	switch {
	case found:
		return c[i]
	case i == 0:
		return level{}
	}
	return c[i-1]
}

// courseOf makes it of what one server did, in turns whose facts name the
// server's decode steps. It is nil where nothing says when they were.
func courseOf(all []Recording) (c course) {
	clock, spans := clockOf(all), decodings(all)
	for _, s := range spans {
		first, last := clock.when(s.first), clock.when(s.last)
		c = append(c, level{s.began, 0, 1}, level{first, 1, -1}, level{last, -1, 0})
	}
	slices.SortStableFunc(c, func(a, b level) int { return a.at.Compare(b.at) })
	for i := 1; i < len(c); i++ {
		c[i].running += c[i-1].running
		c[i].waiting += c[i-1].waiting
	}
	return c
}

// decoding is when a turn was decoded, by the server's count of its steps.
type decoding struct {
	began       time.Time
	first, last int
	head, end   time.Time // arrival of the first piece of a stream, zero of others, and of the last
}

// decodings are those of the turns of which all this is known.
func decodings(all []Recording) (spans []decoding) {
	for i := range all {
		r := &all[i]
		var f struct {
			Runs []struct {
				First int `json:"first_step"`
				Last  int `json:"last_step"`
			} `json:"decode_runs"`
		}
		var asked struct{ Stream bool }
		if r.Began.IsZero() || json.Unmarshal(r.Facts, &f) != nil || len(f.Runs) == 0 || len(r.Pieces) == 0 {
			continue
		}
		s := decoding{began: r.Began, first: f.Runs[0].First, last: f.Runs[len(f.Runs)-1].Last}
		s.end = r.Began.Add(r.Pieces[len(r.Pieces)-1].At)
		if json.Unmarshal(r.Body, &asked) == nil && asked.Stream {
			s.head = r.Began.Add(r.Pieces[0].At)
		}
		spans = append(spans, s)
	}
	return spans
}

// clock tells when a server's decode steps had ended, by what came of them.
type clock []tick

type tick struct {
	step int
	at   time.Time
}

// clockOf takes the end of an answer for the end of its last step, and the
// beginning of a stream for the end of the step before its first. What comes
// late is corrected by what came sooner of a later step.
func clockOf(all []Recording) (c clock) {
	for _, s := range decodings(all) {
		if !s.head.IsZero() {
			c = append(c, tick{s.first - 1, s.head})
		}
		c = append(c, tick{s.last, s.end})
	}
	slices.SortFunc(c, func(a, b tick) int { return cmp.Or(cmp.Compare(a.step, b.step), a.at.Compare(b.at)) })
	for i := len(c) - 2; i >= 0; i-- {
		if c[i+1].at.Before(c[i].at) {
			c[i].at = c[i+1].at
		}
	}
	return slices.CompactFunc(c, func(a, b tick) bool { return a.step == b.step })
}

// when returns the moment at which a step had ended.
func (c clock) when(step int) time.Time {
	i, found := slices.BinarySearchFunc(c, step, func(t tick, step int) int { return cmp.Compare(t.step, step) })
	switch {
	case found || i == 0:
		return c[i].at
	case i == len(c):
		return c[i-1].at
	}
	a, b := c[i-1], c[i]
	return a.at.Add(b.at.Sub(a.at) * time.Duration(step-a.step) / time.Duration(b.step-a.step))
}

// timed returns recordings whose facts tell when the first and the last step of
// each run had ended, in milliseconds, at that speed.
func timed(all []Recording, speed float64) []Recording {
	clock := clockOf(all)
	if len(clock) == 0 {
		return all
	}
	for i, t := range clock {
		clock[i].at = clock[0].at.Add(time.Duration(float64(t.at.Sub(clock[0].at)) / speed))
	}
	all = slices.Clone(all)
	for i := range all {
		var f map[string]any
		dec := json.NewDecoder(bytes.NewReader(all[i].Facts))
		dec.UseNumber()
		if dec.Decode(&f) != nil {
			continue
		}
		runs, _ := f["decode_runs"].([]any)
		for _, run := range runs {
			clock.note(run)
		}
		if b, err := json.Marshal(f); err == nil {
			all[i].Facts = b
		}
	}
	return all
}

// note adds the times of a run to it.
func (c clock) note(run any) {
	r, _ := run.(map[string]any)
	for from, to := range map[string]string{"first_step": "t0_ms", "last_step": "t1_ms"} {
		n, _ := r[from].(json.Number)
		if step, err := n.Int64(); err == nil && r[to] == nil {
			r[to] = float64(c.when(int(step)).UnixMicro()) / 1e3
		}
	}
}
