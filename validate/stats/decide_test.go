package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// pair adds a pair of a session of its own.
func (d *Decision) pair(first, second bool) {
	d.N++
	switch {
	case first && !second:
		d.B++
		d.VoteB++
	case second && !first:
		d.C++
		d.VoteC++
	}
}

// of is n pairs of as many sessions.
func of(b, c, n int) Decision { return Decision{Pairs{b, c, n}, b, c} }

// Eight sessions to none decide, seven do not, in either direction.
func TestDecisionAtEightToNone(t *testing.T) {
	f := func(b, c int, want Word) {
		t.Helper()
		if got := of(b, c, 20).Word(0.02); got != want {
			t.Errorf("%d to %d: got %s, want %s", b, c, got, want)
		}
	}
	f(7, 0, Undecided)
	f(8, 0, Worse)
	f(0, 7, Undecided)
	f(0, 8, Better)
	f(10, 1, Undecided)
	f(11, 1, Worse)
	if got := (Decision{Pairs{30, 0, 40}, 7, 0}).Word(0.02); got != Undecided {
		t.Errorf("many pairs of seven sessions: got %s, want %s", got, Undecided)
	}
}

func TestDecisionThatThereIsNoDifference(t *testing.T) {
	f := func(d Decision, want Word) {
		t.Helper()
		if got := d.Word(0.02); got != want {
			t.Errorf("%+v: got %s, want %s", d, got, want)
		}
	}
	f(Decision{}, Undecided)
	f(of(0, 0, 300), Undecided)
	f(of(0, 0, 330), Same)
	f(of(4, 4, 330), Undecided)
	f(of(40, 40, 3000), Same)
}

// likeliest is the greatest likelihood: no point of a fine grid has more.
func TestLikeliestIsTheGreatest(t *testing.T) {
	for _, p := range []Pairs{{0, 0, 1}, {3, 0, 10}, {0, 3, 10}, {7, 2, 50}, {4, 5, 9}, {3, 0, 3}} {
		for _, d := range []float64{-0.9, -0.3, -0.02, 0, 0.02, 0.3, 0.9} {
			grid := math.Inf(-1)
			for i := range 20001 {
				q := max(0, -d) + (1-math.Abs(d))/2*float64(i)/20000
				grid = max(grid, xlogy(float64(p.B), max(0, q+d))+xlogy(float64(p.C), q)+xlogy(float64(p.N-p.B-p.C), max(0, 1-2*q-d)))
			}
			if got := p.likeliest(d); got < grid-1e-9 || got > grid+1e-3 && !math.IsInf(grid, -1) {
				t.Errorf("%+v at %v: got %v, want %v", p, d, got, grid)
			}
		}
	}
}

// The interval covers the difference at every look, and equal arms are called
// worse or better in no more than one of twenty comparisons.
func TestSimulatedDecisions(t *testing.T) {
	for _, rates := range [][2]float64{{0.02, 0.02}, {0.02, 0.1}, {0.15, 0.15}, {0.15, 0}} {
		bar(t, fmt.Sprintf("Sequence at %v", rates), func(r *rand.Rand) bool {
			var p Decision
			missed := false
			for range 1000 {
				p.pair(r.Float64() < rates[0], r.Float64() < rates[1])
				missed = missed || p.LogE(rates[0]-rates[1]) >= bound
			}
			return missed
		})
	}
	for _, rate := range []float64{0.005, 0.05, 0.15, 0.5} {
		bar(t, fmt.Sprintf("equal arms at %v, looked at after each pair", rate), func(r *rand.Rand) bool {
			var p Decision
			for range 1500 {
				p.pair(r.Float64() < rate, r.Float64() < rate)
				if w := p.Word(0); w != Undecided {
					return true
				}
			}
			return false
		})
	}
}

// Pairs of one session go wrong together, in one arm: by sessions equal arms stay
// equal, by pairs they would not.
func TestSimulatedDecisionsBySession(t *testing.T) {
	run := func(r *rand.Rand) (bySession, byPair bool) {
		var p Decision
		for range 200 {
			a, b := r.Float64() < 0.05, r.Float64() < 0.05 // the session is struck there
			voted := false
			for range 6 {
				x, y := a && r.Float64() < 0.7, b && r.Float64() < 0.7
				was := p
				p.pair(x, y)
				if p.B+p.C == was.B+was.C || voted {
					p.VoteB, p.VoteC = was.VoteB, was.VoteC
				} else {
					voted = true
				}
			}
			bySession = bySession || p.Word(0) != Undecided
			all := of(p.B, p.C, p.N)
			byPair = byPair || all.Word(0) != Undecided
		}
		return bySession, byPair
	}
	bar(t, "equal arms by session", func(r *rand.Rand) bool { s, _ := run(r); return s })
	if n := errors(func(r *rand.Rand) bool { _, p := run(r); return p }); n <= allowed(*runs) {
		t.Errorf("by pairs: wrong in %d of %d runs only: the bar sees nothing", n, *runs)
	} else {
		t.Logf("by pairs: wrong in %d of %d runs", n, *runs)
	}
}

// The right word comes, and after no more than 15% above 8/d pairs where d of them
// differ. The seeds are 1 to 200 whatever -runs says.
func TestSimulatedWords(t *testing.T) {
	const seeds, most = 200, 40000
	f := func(a, b, margin float64, want Word) (median int) {
		t.Helper()
		right, took := 0, make([]int, 0, seeds)
		for seed := range uint64(seeds) {
			r := rand.New(rand.NewPCG(seed+1, 7))
			var p Decision
			word := Undecided
			for p.N < most && word == Undecided {
				p.pair(r.Float64() < a, r.Float64() < b)
				if p.N < 200 || p.N%10 == 0 {
					word = p.Word(margin)
				}
			}
			if took = append(took, p.N); word == want {
				right++
			}
		}
		slices.Sort(took)
		t.Logf("candidate %.3f, control %.3f: %q in %d of %d, after %d pairs at the median, %d at the 90th percentile",
			a, b, want, right, seeds, took[seeds/2], took[seeds*9/10])
		if seeds-right > allowed(seeds) {
			t.Errorf("candidate %v, control %v: got %q in %d of %d, which 95%% does not allow", a, b, want, right, seeds)
		}
		return took[seeds/2]
	}
	for _, d := range []float64{0.02, 0.04, 0.08, 0.15} {
		for _, median := range []int{f(d, 0, 0.005, Worse), f(0, d, 0.005, Better)} {
			if limit := 1.15 * 8 / d; float64(median) > limit {
				t.Errorf("at %v of pairs: got a median of %d, want %.0f at most", d, median, limit)
			}
		}
	}
	f(0.15, 0.01, 0.005, Worse)
	f(0, 0, 0.02, Same)
	f(0.02, 0.02, 0.02, Same)
	f(0.10, 0.10, 0.05, Same)
}

func TestDecisionMore(t *testing.T) {
	f := func(d Decision, lo, hi int) {
		t.Helper()
		if got := d.More(0.02); got < lo || got > hi {
			t.Errorf("%+v: got %d, want %d to %d", d, got, lo, hi)
		}
	}
	f(of(8, 0, 20), 0, 0)
	f(Decision{}, 315, 330)
	f(of(0, 0, 100), 215, 230)
	f(of(4, 0, 50), 38, 52)
	f(of(11, 10, 100), 2000, 40000)
}
