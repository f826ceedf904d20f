package stats

import (
	"math"

	"gonum.org/v1/gonum/mathext"
)

// twoSidedZ returns the normal quantile that leaves 1−conf on both sides
// together.
func twoSidedZ(conf float64) float64 { return mathext.NormalQuantile(1 - (1-conf)/2) }

// betaQuantile returns the p-quantile of Beta(a, b).
func betaQuantile(p, a, b float64) float64 { return mathext.InvRegIncBeta(a, b, p) }

// logBetaCDF returns ln I_x(a, b). Where that is too small for a float64 it
// returns the first term of the power series (Abramowitz and Stegun, Handbook of
// Mathematical Functions, 1964, 26.5.4), which is below the sum: an E-value made
// of it is only smaller, hence still valid.
func logBetaCDF(x, a, b float64) float64 {
	if x >= 1 {
		return 0
	}
	if v := mathext.RegIncBeta(a, b, x); v > 1e-290 {
		return math.Log(v)
	}
	return xlogy(a, x) + xlog1my(b, x) - math.Log(a) - mathext.Lbeta(a, b)
}

// xlogy returns x·ln y, 0 for x = 0 whatever y.
func xlogy(x, y float64) float64 {
	if x == 0 {
		return 0
	}
	return x * math.Log(y)
}

// xlog1my returns x·ln(1−y), 0 for x = 0 whatever y.
func xlog1my(x, y float64) float64 {
	if x == 0 {
		return 0
	}
	return x * math.Log1p(-y)
}

// boundary returns where left turns from true to false between lo and hi.
func boundary(lo, hi float64, left func(float64) bool) float64 {
	for range 200 {
		mid := lo + (hi-lo)/2
		if mid == lo || mid == hi {
			break
		}
		if left(mid) {
			lo = mid
		} else {
			hi = mid
		}
	}
	return lo + (hi-lo)/2
}

// peak returns the greatest value of f on [lo, hi]: of steps+1 points and of what
// golden sections find beside the best of them.
func peak(lo, hi float64, steps int, f func(float64) float64) float64 {
	width := (hi - lo) / float64(steps)
	best, at := math.Inf(-1), lo
	for i := range steps + 1 {
		x := lo + float64(i)*width
		if y := f(x); y > best {
			best, at = y, x
		}
	}
	const golden = 0.6180339887498949
	a, b := max(lo, at-width), min(hi, at+width)
	for range 60 {
		l, r := b-golden*(b-a), a+golden*(b-a)
		fl, fr := f(l), f(r)
		best = max(best, fl, fr)
		if fl > fr {
			b = r
		} else {
			a = l
		}
	}
	return best
}
