package sglang

import (
	"sort"
	"sync"
	"time"
)

// ownHistory is how many changes of our own number of turns are remembered.
const ownHistory = 1 << 14

// own knows how many turns of this sidecar are decoding. It is an estimate of
// the server's batch: right where all its traffic comes through here, and low
// otherwise.
//
// enter and leave are called on the path of an answer, after a write: both are
// short whatever has happened before.
type own struct {
	base time.Time

	mu       sync.Mutex
	begun    int     // turns without an answer so far
	now      int     // turns that decode
	integral float64 // of now over time, in turns × seconds
	last     time.Duration
	seq      int64    // of the last change
	ring     []change // the latest ownHistory; at next the oldest, once it is full
	next     int
	high     []change // falling: the first one since any moment is the largest since then
	low      []change // rising: … the smallest
}

// change is what the number became, and when.
type change struct {
	at  time.Duration // since base
	seq int64
	n   int
}

func newOwn() *own { return &own{base: time.Now()} }

// stay is one turn's time among those that decode.
type stay struct {
	from, to time.Duration // since base
	seq      int64         // of the change that it was
	integral float64
	inside   bool
	over     bool

	at, waiting int // turns that decoded, and that had no answer yet, when it began
	min, max    int
	mean        float64
}

// begin counts a turn that has no answer yet, and reports whether it is the
// only turn.
func (o *own) begin() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.begun++
	return o.begun+o.now == 1
}

// enter counts a turn whose answer begins now.
func (o *own) enter(s *stay, now time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.begun--
	o.tick(now.Sub(o.base))
	o.set(o.now + 1)
	s.from, s.seq, s.integral, s.inside = o.last, o.seq, o.integral, true
	s.at, s.waiting = o.now, o.begun
}

// leave counts a turn out and notes what its time was like.
func (o *own) leave(s *stay) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case s.over:
		return
	case !s.inside:
		o.begun--
		s.over = true
		return
	}
	o.tick(time.Since(o.base))
	s.to, s.inside, s.over = o.last, false, true
	s.min, s.max = since(o.low, s.seq), since(o.high, s.seq)
	s.mean = float64(o.now)
	if took := (s.to - s.from).Seconds(); took > 0 {
		s.mean = (o.integral - s.integral) / took
	}
	o.set(o.now - 1)
}

// since returns the first value of a stack since a change.
func since(stack []change, seq int64) int {
	i := sort.Search(len(stack), func(i int) bool { return stack[i].seq >= seq })
	return stack[i].n // the last value is always there
}

// tick lets time pass, up to a moment that others may have passed since it was read.
func (o *own) tick(at time.Duration) {
	at = max(at, o.last)
	o.integral += float64(o.now) * (at - o.last).Seconds()
	o.last = at
}

// set makes the number n from the last tick on.
func (o *own) set(n int) {
	o.seq++
	o.now = n
	c := change{o.last, o.seq, n}
	if len(o.ring) < ownHistory {
		o.ring = append(o.ring, c)
	} else {
		o.ring[o.next] = c
		o.next = (o.next + 1) % ownHistory
	}
	o.high = push(o.high, c, func(top int) bool { return top <= n })
	o.low = push(o.low, c, func(top int) bool { return top >= n })
}

// push puts c on a stack, in place of what it covers. A stack holds no value
// twice, so it is never longer than the number has been large.
func push(stack []change, c change, covers func(top int) bool) []change {
	for len(stack) > 0 && covers(stack[len(stack)-1].n) {
		stack = stack[:len(stack)-1]
	}
	return append(stack, c)
}

// when returns the number at a moment, if that is remembered.
func (o *own) when(t time.Time) (int, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	at, n := t.Sub(o.base), len(o.ring)
	i := sort.Search(n, func(i int) bool { return o.ring[(o.next+i)%n].at > at })
	if i == 0 {
		return 0, false
	}
	return o.ring[(o.next+i-1)%n].n, true
}

// running reports whether any turn is under way.
func (o *own) running() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.begun+o.now > 0
}

// decoding is how many turns decode now.
func (o *own) decoding() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.now
}
