package stats

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/mathext"
)

// The wanted logarithms were computed with forty digits.
func TestBetaOfLargeCounts(t *testing.T) {
	for _, c := range []struct{ x, a, b, want float64 }{
		{0.5, 499999987.5, 499999989.5, -0.69309671918213394},
		{0.5, 500000000.5, 499999976.5, -0.69375291573482776},
		{0.15, 150000000.5, 850000000.5, -0.69315542447617241},
		{0.149, 150000000.5, 850000000.5, -3941.4024786382041},
		{0.151, 150000000.5, 850000000.5, 0},
		{1e-9, 0.5, 1e9, -0.17114331517946697},
		{1e-9, 3.5, 1e9, -3.2148929803435762},
		{0.001, 1000.5, 999000.5, -0.69735541174842849},
		{0.0011, 1000.5, 999000.5, -0.0011104207806699903},
		{0.5, 1500, 1600, -0.036883365078372709},
		{0.9999999, 999999990.5, 10.5, -70.092824167499269},
		{0.2, 300000, 1000000, -3714.8810556952532},
		{0.001, 0.5, 1000000.5, 0},
	} {
		if got := logBetaCDF(c.x, c.a, c.b); math.Abs(got-c.want) > 1e-11*max(1, math.Abs(c.want)) {
			t.Errorf("ln I at %v of %v, %v: got %.17g, want %.17g", c.x, c.a, c.b, got, c.want)
		}
		if got, want := betaCDF(c.x, c.a, c.b), math.Exp(c.want); !near(got, want, 1e-9) {
			t.Errorf("I at %v of %v, %v: got %v, want %v", c.x, c.a, c.b, got, want)
		}
	}
}

// Where the counts are small enough for it, gonum's function says the same.
func TestBetaOfSmallCounts(t *testing.T) {
	for _, n := range []float64{1, 40, 900} {
		for _, share := range []float64{0.01, 0.15, 0.5, 0.9} {
			a, b := share*n, (1-share)*n
			for _, x := range []float64{0.001, 0.01, 0.1, 0.3, 0.5, 0.9, 0.99} {
				got, want := math.Exp(logBetaTail(x, a, b)), mathext.RegIncBeta(a, b, x)
				if x > (a+1)/(a+b+2) {
					got = -math.Expm1(logBetaTail(1-x, b, a))
				}
				if !near(got, want, 1e-11) {
					t.Errorf("I at %v of %v, %v: got %v, want %v", x, a, b, got, want)
				}
			}
		}
	}
}

// One corrupted session more is never evidence that the share is lower, and at a
// thousand million sessions the difference between neighbours is still right.
func TestEvidenceOfLargeCounts(t *testing.T) {
	for _, p0 := range []float64{0.001, 0.15, 0.5} {
		n := 1_000_000_000
		k := int(p0 * float64(n))
		for d := -200_000; d <= 200_000; d += 20_000 {
			below, next := Prior{}.LogEBelow(k+d, n, p0), Prior{}.LogEBelow(k+d+1, n, p0)
			if next > below+1e-6 {
				t.Errorf("%d of %d at %v: E goes up from %v to %v with one more", k+d, n, p0, below, next)
			}
		}
	}
	for _, c := range []struct {
		k, n     int
		p0, want float64
	}{{499999987, 999999976, 0.5, -10.5873737959901}, {149000000, 1000000000, 0.15, 3919.55649774532}, {1, 1000000000, 1e-6, 988.824936497373}} {
		if got := (Prior{}).LogEBelow(c.k, c.n, c.p0); math.Abs(got-c.want) > 1e-6 {
			t.Errorf("LogEBelow(%d, %d, %v): got %.12f, want %v", c.k, c.n, c.p0, got, c.want)
		}
	}
}
