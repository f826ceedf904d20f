package sglang

import (
	"math"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"
)

// TestOwnViewIsWhatWasDecoding holds the view of each turn against a plain
// count of all that happened.
func TestOwnViewIsWhatWasDecoding(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(1, 2))
		o := newOwn()
		type level struct {
			at time.Time
			n  int
		}
		var levels []level
		type open struct {
			s     *stay
			index int
			begin time.Time
		}
		var running []open
		check := func(u open, end time.Time) {
			t.Helper()
			lo, hi, area := math.MaxInt, 0, 0.0
			for i, l := range levels[u.index:] {
				until := end
				if u.index+i+1 < len(levels) {
					until = levels[u.index+i+1].at
				}
				lo, hi, area = min(lo, l.n), max(hi, l.n), area+float64(l.n)*until.Sub(l.at).Seconds()
			}
			mean := float64(levels[len(levels)-1].n)
			if took := end.Sub(u.begin).Seconds(); took > 0 {
				mean = area / took
			}
			if u.s.min != lo || u.s.max != hi || math.Abs(u.s.mean-mean) > 1e-6 || !u.s.over {
				t.Fatalf("got %d to %d, mean %v; want %d to %d, %v", u.s.min, u.s.max, u.s.mean, lo, hi, mean)
			}
		}
		for range 5000 {
			time.Sleep(time.Duration(r.IntN(3)) * time.Millisecond)
			if n := len(running); n > 0 && (r.IntN(2) == 0 || n > 40) {
				i := r.IntN(n)
				u := running[i]
				running[i] = running[n-1]
				running = running[:n-1]
				now := time.Now()
				o.leave(u.s)
				check(u, now)
				levels = append(levels, level{now, len(running)})
				continue
			}
			s := new(stay)
			o.begin()
			o.enter(s, time.Now())
			levels = append(levels, level{time.Now(), len(running) + 1})
			running = append(running, open{s, len(levels) - 1, time.Now()})
		}
		for _, l := range levels[len(levels)-1000:] {
			got, ok := o.when(l.at)
			want := 0
			for _, m := range levels {
				if !m.at.After(l.at) {
					want = m.n
				}
			}
			if got != want || !ok {
				t.Fatalf("when: got %d, %t, want %d", got, ok, want)
			}
		}
		if n := max(len(o.high), len(o.low)); n > 50 {
			t.Errorf("a stack holds %d values", n)
		}
	})
}

func TestOwnViewCountsTurnsWithoutAnAnswer(t *testing.T) {
	o := newOwn()
	if !o.begin() || o.begin() {
		t.Error("begin: want true for the first turn alone")
	}
	var a, b stay
	o.enter(&a, time.Now())
	if a.at != 1 || a.waiting != 1 || !o.running() {
		t.Errorf("got %d decoding, %d waiting", a.at, a.waiting)
	}
	o.leave(&b)
	o.leave(&b) // twice is once
	o.leave(&a)
	if o.begun != 0 || o.now != 0 || o.running() {
		t.Errorf("at the end: %d begun, %d decoding", o.begun, o.now)
	}
	if _, ok := o.when(o.base.Add(-time.Second)); ok {
		t.Error("what was before the beginning is known")
	}
}

func TestOwnViewForgets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOwn()
		begin := time.Now()
		for range ownHistory {
			time.Sleep(time.Microsecond)
			var s stay
			o.begin()
			o.enter(&s, time.Now())
			o.leave(&s)
		}
		if _, ok := o.when(begin); ok {
			t.Error("the oldest change is still known")
		}
		if n, ok := o.when(time.Now()); n != 0 || !ok {
			t.Errorf("now: got %d, %t", n, ok)
		}
	})
}

// TestLoadIsTheGreaterOfOursAndWhatWasPolled.
func TestLoadIsTheGreaterOfOursAndWhatWasPolled(t *testing.T) {
	g, err := New(Config{Upstream: "http://127.0.0.1:1", NoPoll: true})
	if err != nil {
		t.Fatal(err)
	}
	f := func(what string, want int) {
		t.Helper()
		if got := g.Load(); got != want {
			t.Errorf("%s: got %d, want %d", what, got, want)
		}
	}
	a, b := g.Begin(), g.Begin()
	f("no answer yet", 0)
	a.Head([]byte("HTTP/1.1 200 OK\r\n\r\n"))
	b.Head([]byte("HTTP/1.1 200 OK\r\n\r\n"))
	f("two of ours", 2)
	g.loads.add(sample{time.Now(), []load{{running: 5}, {rank: 1, running: 1}}})
	f("more of others", 5)
	a.End()
	b.End()
	f("what was polled last", 5)
}
