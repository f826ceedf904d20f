package stats

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// runs is how many runs each simulated rate is taken from; run i has the seed i,
// from 1 up. The full size is
//
//	go test ./validate/stats -run Simulated -v -runs 2000
//
// and takes less than a minute.
var runs = flag.Int("runs", 200, "simulated runs of each kind")

// allowed returns the most errors in n runs that do not contradict a rate of 5%:
// the one-sided 99% Clopper–Pearson bound stays at it or below.
func allowed(n int) int {
	return least(0, n+1, func(k int) bool { return Lower(k, n, 0.99) > 0.05 }) - 1
}

func TestAllowed(t *testing.T) {
	for n, want := range map[int]int{400: 31, 2000: 123} {
		if got := allowed(n); got != want {
			t.Errorf("of %d: got %d, want %d", n, got, want)
		}
	}
}

// errors counts the runs that go wrong.
func errors(wrong func(r *rand.Rand) bool) (n int) {
	for seed := range uint64(*runs) {
		if wrong(rand.New(rand.NewPCG(seed+1, 6))) {
			n++
		}
	}
	return n
}

// bar fails for more errors than 5% explains.
func bar(t *testing.T, what string, wrong func(r *rand.Rand) bool) {
	t.Helper()
	n := errors(wrong)
	t.Logf("%s: %d of %d runs, %d allowed", what, n, *runs, allowed(*runs))
	if n > allowed(*runs) {
		t.Errorf("%s: wrong in %d of %d runs, which 5%% does not explain", what, n, *runs)
	}
}

const bound = 2.995732273553991 // ln 20

var shares = []float64{0.01, 0.05, 0.15, 0.5}

// Two equal arms, looked at after every session: no more than 5% of the runs ever
// see a difference.
func TestSimulatedEqualArms(t *testing.T) {
	for _, p := range shares {
		for _, na := range []int{1, 3} {
			bar(t, fmt.Sprintf("Blocks of %d and 1 at %v", na, p), func(r *rand.Rand) bool {
				s := Blocks{NA: na}
				for range 500 {
					for range na {
						s.AddA(r.Float64() < p)
					}
					s.AddB(r.Float64() < p)
				}
				return s.P() <= 0.05
			})
		}
		bar(t, fmt.Sprintf("LogEUniversal at %v", p), func(r *rand.Rand) bool {
			var a, b Arm
			for range 500 {
				a, b = a.plus(r, p), b.plus(r, p)
				if (Prior{}).LogEUniversal(a, b) >= bound {
					return true
				}
			}
			return false
		})
	}
}

// plus adds a session.
func (a Arm) plus(r *rand.Rand, p float64) Arm {
	a.N++
	if r.Float64() < p {
		a.K++
	}
	return a
}

// Fisher's test is for a number fixed in advance: looked at after every pair it
// finds differences where there are none, far more often than it says.
func TestSimulatedPeekingAtFisher(t *testing.T) {
	deceived := func(r *rand.Rand, looks func(n int) bool) bool {
		var a, b Arm
		for n := 1; n <= 200; n++ {
			a, b = a.plus(r, 0.15), b.plus(r, 0.15)
			if looks(n) && Fisher(a, b) <= 0.05 {
				return true
			}
		}
		return false
	}
	bar(t, "Fisher at the end", func(r *rand.Rand) bool { return deceived(r, func(n int) bool { return n == 200 }) })
	n := errors(func(r *rand.Rand) bool { return deceived(r, func(int) bool { return true }) })
	t.Logf("Fisher after every pair: %d of %d runs", n, *runs)
	if n <= allowed(*runs) {
		t.Errorf("peeking deceived in %d of %d runs: the bar sees nothing", n, *runs)
	}
}

// One share, looked at after every session: the confidence sequence covers it all
// the time, and no E-value rules out what is so.
func TestSimulatedOneShare(t *testing.T) {
	for _, p := range shares {
		bar(t, fmt.Sprintf("Sequence at %v", p), looked(p, func(a Arm) bool {
			out := Prior{}.LogE(a.K, a.N, p) >= bound
			if a.N%50 == 0 { // Sequence says the same, at more cost
				if lo, hi := (Prior{}).Sequence(a.K, a.N, 0.95); out != (p < lo || hi < p) {
					t.Errorf("%v at %v: Sequence is [%v, %v], LogE rejects: %v", a, p, lo, hi, out)
				}
			}
			return out
		}))
		bar(t, fmt.Sprintf("LogEBelow at %v", p), looked(p, func(a Arm) bool { return Prior{}.LogEBelow(a.K, a.N, p) >= bound }))
		bar(t, fmt.Sprintf("LogEAbove at %v", p), looked(p, func(a Arm) bool { return Prior{}.LogEAbove(a.K, a.N, p) >= bound }))
	}
	bar(t, "LogEPaired", looked(0.5, func(a Arm) bool { return LogEPaired(a.K, a.N-a.K) >= bound }))
	bar(t, "LogEPairedGreater", looked(0.5, func(a Arm) bool { return LogEPairedGreater(a.K, a.N-a.K) >= bound }))
}

// looked makes a run of 300 sessions that goes wrong where one look does.
func looked(p float64, wrong func(Arm) bool) func(*rand.Rand) bool {
	return func(r *rand.Rand) bool {
		var a Arm
		for range 300 {
			if a = a.plus(r, p); wrong(a) {
				return true
			}
		}
		return false
	}
}

// Of 20 comparisons that share one arm, 15 without a difference: the share of
// false rejections is 5% or less on average.
func TestSimulatedEBH(t *testing.T) {
	var falsely float64
	found := 0
	for seed := range uint64(*runs) {
		r := rand.New(rand.NewPCG(seed+1, 7))
		arms := make([]Blocks, 20)
		for range 200 {
			common := r.Float64() < 0.02
			for i := range arms {
				p := 0.02
				if i < 5 {
					p = 0.3
				}
				arms[i].AddA(r.Float64() < p)
				arms[i].AddB(common)
			}
		}
		logE := make([]float64, len(arms))
		for i := range arms {
			logE[i] = arms[i].LogE()
		}
		wrong, all := 0, 0
		for i, reject := range EBH(logE, 0.05) {
			if reject {
				all++
				if i >= 5 {
					wrong++
				}
			}
		}
		found += all - wrong
		falsely += float64(wrong) / float64(max(1, all))
	}
	t.Logf("%.4f of the rejected falsely, %.2f of 5 found", falsely/float64(*runs), float64(found)/float64(*runs))
	if falsely/float64(*runs) > 0.05 || found < 4*(*runs) {
		t.Errorf("%v of the rejected falsely, %d of %d found", falsely/float64(*runs), found, 5**runs)
	}
}

// The alarms come as seldom as they say, and as soon.
func TestSimulatedAlarms(t *testing.T) {
	average := func(p float64, start func() func(bool) bool) (mean, se float64) {
		var sum, squares float64
		for seed := range uint64(*runs) {
			r, alarm, n := rand.New(rand.NewPCG(seed+1, 8)), start(), 1.0
			for !alarm(r.Float64() < p) {
				n++
			}
			sum, squares = sum+n, squares+n*n
		}
		mean = sum / float64(*runs)
		return mean, math.Sqrt((squares/float64(*runs) - mean*mean) / float64(*runs))
	}
	for _, p := range []float64{0.005, 0.05} {
		want := RunLength(0.005, 0.05, 4, p)
		got, se := average(p, func() func(bool) bool {
			c := CUSUM{P0: 0.005, P1: 0.05}
			return func(bad bool) bool { return c.Add(bad) >= 4 }
		})
		t.Logf("CUSUM at %v: after %.0f ± %.0f turns, RunLength says %.0f", p, got, se, want)
		if math.Abs(got-want) > 4*se+0.03*want {
			t.Errorf("CUSUM at %v: alarm after %v ± %v turns, want %v", p, got, se, want)
		}
	}
	for _, p := range []float64{0.002, 0.005} {
		got, se := average(p, func() func(bool) bool {
			s := ShiryaevRoberts{P0: 0.005, P1: 0.05}
			return func(bad bool) bool { return s.Add(bad) >= 1000 }
		})
		t.Logf("ShiryaevRoberts at %v: after %.0f ± %.0f turns, 1000 promised", p, got, se)
		if got+4*se < 1000 {
			t.Errorf("ShiryaevRoberts at %v: alarm after %v ± %v turns, want 1000 or more", p, got, se)
		}
	}
}

// Turns of a session are corrupted together: as if on their own they promise too
// much, taken by session they keep near what they say.
func TestSimulatedClusters(t *testing.T) {
	const p = 0.2
	missed := func(interval func([]Cluster) (lo, hi float64)) int {
		return errors(func(r *rand.Rand) bool {
			sessions := make([]Cluster, 60)
			for i := range sessions {
				own := 0.0 // half of the sessions carry it all
				if r.Float64() < 0.5 {
					own = 2 * p
				}
				for range 5 + r.IntN(20) {
					sessions[i] = sessions[i].plus(r, own)
				}
			}
			lo, hi := interval(sessions)
			return p < lo || hi < p
		})
	}
	alone := missed(func(sessions []Cluster) (lo, hi float64) {
		var all Arm
		for _, s := range sessions {
			all.K, all.N = all.K+s.K, all.N+s.N
		}
		return Wilson(all.K, all.N)
	})
	together := missed(func(sessions []Cluster) (lo, hi float64) { return Ratio(sessions).Interval(0.95) })
	t.Logf("missed by turns %d, by sessions %d, of %d runs", alone, together, *runs)
	if together > allowed(*runs) || alone < 3*together {
		t.Errorf("missed by turns %d, by sessions %d, of %d runs", alone, together, *runs)
	}
}

// What is exact is so by counting all outcomes: intervals that cover at least as
// often as they say, tests that reject no more often.
func TestExactLevels(t *testing.T) {
	for _, n := range []int{5, 40} {
		for i := 1; i < 100; i++ {
			p := float64(i) / 100
			l, covered := binomialLaw(n, p), 0.0
			for k := range n + 1 {
				if lo, hi := ClopperPearson(k, n, 0.95); lo <= p && p <= hi {
					covered += l.at(k)
				}
			}
			if covered < 0.95-1e-9 {
				t.Errorf("ClopperPearson covers %v of %d in %v of all cases", p, n, covered)
			}
			if size := Power(p, p, n, n, 0.05); size > 0.05+1e-9 {
				t.Errorf("Fisher rejects equal shares %v of %d in %v of all cases", p, n, size)
			}
		}
	}
	var reject []Arm // K in the first arm, N in the second
	for x := range 13 {
		for y := range 13 {
			if Boschloo(Arm{x, 12}, Arm{y, 12}) <= 0.05 {
				reject = append(reject, Arm{x, y})
			}
		}
	}
	for i := 1; i < 100; i++ {
		l, size := binomialLaw(12, float64(i)/100), 0.0
		for _, r := range reject {
			size += l.at(r.K) * l.at(r.N)
		}
		if size > 0.05+1e-6 {
			t.Errorf("Boschloo rejects equal shares of %d%% in %v of all cases", i, size)
		}
	}
}
