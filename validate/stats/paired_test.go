package stats

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestPairedDecision(t *testing.T) {
	f := func(b, c int, decided bool) {
		t.Helper()
		if got := LogEPairedGreater(b, c) >= math.Log(40); got != decided {
			t.Errorf("%d to %d: decided %v, want %v (E = %.1f)", b, c, got, decided, math.Exp(LogEPairedGreater(b, c)))
		}
	}
	f(7, 0, false)
	f(8, 0, true)
	f(0, 8, false)
	f(11, 1, true)
}

func TestPairsLeft(t *testing.T) {
	f := func(p Pairs, want int) {
		t.Helper()
		if got := p.Left(math.Log(40)); got != want {
			t.Errorf("%+v: got %d, want %d", p, got, want)
		}
	}
	f(Pairs{8, 0, 100}, 0)
	f(Pairs{0, 9, 100}, 0)
	f(Pairs{4, 0, 100}, 88) // 7.5 of them round up to 8
	f(Pairs{0, 0, 100}, -1)
	f(Pairs{3, 3, 100}, -1)
	f(Pairs{}, -1)
}

func TestPairsSequence(t *testing.T) {
	f := func(p Pairs) {
		t.Helper()
		lo, hi := p.Sequence(0.95)
		if d := float64(p.B-p.C) / float64(max(1, p.N)); !(-1 <= lo && lo <= d && d <= hi && hi <= 1) {
			t.Errorf("%+v: [%v, %v] without %v", p, lo, hi, d)
		}
		if l, h := (Pairs{p.C, p.B, p.N}).Sequence(0.95); math.Abs(l+hi) > 1e-9 || math.Abs(h+lo) > 1e-9 {
			t.Errorf("%+v: [%v, %v], turned round [%v, %v]", p, lo, hi, l, h)
		}
	}
	for _, p := range []Pairs{{}, {0, 0, 1}, {1, 0, 1}, {0, 0, 500}, {8, 0, 53}, {3, 5, 8}, {500, 100, 5000}} {
		f(p)
	}
	lo, hi := (Pairs{0, 0, 1000}).Sequence(0.95)
	if hi > 0.012 || lo < -0.012 {
		t.Errorf("1,000 pairs without a difference leave [%v, %v]", lo, hi)
	}
}

// Looked at after every pair, the interval covers the difference all the time.
func TestSimulatedPairs(t *testing.T) {
	for _, share := range [][2]float64{{0.02, 0.02}, {0.15, 0.02}} {
		bar(t, "Pairs.Sequence", func(r *rand.Rand) bool {
			var p Pairs
			for range 200 {
				first, second := r.Float64() < share[0], r.Float64() < share[1]
				p.N++
				if first && !second {
					p.B++
				}
				if second && !first {
					p.C++
				}
				if p.logMean()-p.likeliest(share[0]-share[1]) >= bound { // what Sequence leaves out
					return true
				}
			}
			return false
		})
	}
}
