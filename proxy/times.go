package proxy

import (
	"math/rand/v2"
	"sync/atomic"
	"time"
)

// Times is how often something took how long.
type Times struct {
	Bounds []float64 // in seconds, ascending
	Counts []uint64  // up to each bound, and beyond the last
	Sum    float64   // in seconds
}

// timesBounds are the bounds of all times that are taken here, in
// microseconds: from a copy of a few bytes to a tenth of a second.
var timesBounds = [...]int64{1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 10e3, 20e3, 50e3, 100e3}

// times counts how long something takes. It is safe for concurrent use.
type times struct {
	n   [len(timesBounds) + 1]atomic.Uint64
	sum atomic.Int64 // nanoseconds
}

// add counts one; a clock that went back counts as no time.
func (t *times) add(d time.Duration) {
	d = max(0, d)
	i := 0
	for i < len(timesBounds) && int64(d) > timesBounds[i]*int64(time.Microsecond) {
		i++
	}
	t.n[i].Add(1)
	t.sum.Add(int64(d))
}

// read returns what was counted.
func (t *times) read() *Times {
	out := &Times{Sum: time.Duration(t.sum.Load()).Seconds()}
	for i := range t.n {
		out.Counts = append(out.Counts, t.n[i].Load())
	}
	for _, us := range timesBounds {
		out.Bounds = append(out.Bounds, float64(us)/1e6)
	}
	return out
}

// timings are the times that the relay and the judge take.
func (s *Stats) timings() []Metric {
	phase := func(name string, t *times) Sample {
		return Sample{Labels: []Label{{"phase", name}}, Times: t.read()}
	}
	return []Metric{
		{Name: "turnwatch_proxy_overhead_seconds", Series: []Sample{phase("first_byte", &s.firstByte), phase("chunk", &s.chunk)}},
		{Name: "turnwatch_validation_duration_seconds", Series: []Sample{
			phase("request", &s.judgeRequest), phase("chunk", &s.judgeChunk), phase("end", &s.judgeEnd)}},
	}
}

// sampleEvery is one in how many reads of an answer is timed: two looks at the
// clock cost as much as a short read is worth.
const sampleEvery = 64

// stopwatch times what is done one after the other. The zero one does nothing. It
// counts from a moment that is known: to read the time that has passed since takes
// half as long as to read the time.
type stopwatch struct {
	from time.Time
	at   time.Duration // since then, of the last lap
}

func newStopwatch(on bool) (w stopwatch) {
	if on {
		w.from = time.Now()
	}
	return w
}

// stopwatchOf begins now, and counts from when a turn began.
func stopwatchOf(began time.Time) stopwatch { return stopwatch{began, time.Since(began)} }

// lap adds what has passed since the lap before.
func (w *stopwatch) lap(t *times) {
	if w.from.IsZero() {
		return
	}
	now := time.Since(w.from)
	t.add(now - w.at)
	w.at = now
}

// time tells what has passed since the last lap.
func (w *stopwatch) time() time.Duration {
	if w.from.IsZero() {
		return 0
	}
	return time.Since(w.from) - w.at
}

// now is when the last lap was.
func (w *stopwatch) now() time.Time { return w.from.Add(w.at) }

// sampler times one in so many reads of a turn's answer. It begins anywhere, so
// that no read is favoured by its place. The zero one is ready.
type sampler struct{ reads int }

func (s *sampler) next(on bool) stopwatch {
	if s.reads++; s.reads == 1 {
		s.reads += rand.IntN(sampleEvery)
	}
	return newStopwatch(on && s.reads%sampleEvery == 0)
}
