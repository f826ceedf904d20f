package stats

import (
	"math"

	"gonum.org/v1/gonum/mathext"
)

// twoSidedZ returns the normal quantile that leaves 1−conf on both sides
// together.
func twoSidedZ(conf float64) float64 { return mathext.NormalQuantile(1 - (1-conf)/2) }

// betaQuantile returns the p-quantile of Beta(a, b), 0 < p < 1, by Newton's steps
// kept within bounds (gonum's inverse errs far out in the tails).
func betaQuantile(p, a, b float64) float64 {
	lo, hi, x, scale := 0.0, 1.0, a/(a+b), logBeta(a, b)
	for range 200 {
		off := betaCDF(x, a, b) - p
		if off > 0 {
			hi = x
		} else {
			lo = x
		}
		next := x - off/math.Exp(xlogy(a-1, x)+xlog1my(b-1, x)-scale)
		if !(lo < next && next < hi) {
			next = lo + (hi-lo)/2
		}
		if math.Abs(next-x) <= 1e-15*x {
			return next
		}
		x = next
	}
	return x
}

// stirling is from where on the series of stirlingRest is exact to rounding.
const stirling = 20

// logBeta returns ln B(a, b). The logarithms of the gamma functions of large
// arguments would cancel to little: those are taken by the difference of their
// Stirling series instead (Abramowitz and Stegun, Handbook of Mathematical
// Functions, 1964, 6.1.41 in 6.2.2).
func logBeta(a, b float64) float64 {
	a, b = min(a, b), max(a, b)
	if b < stirling {
		return mathext.Lbeta(a, b)
	}
	share := a / (a + b)
	if a < stirling {
		gamma, _ := math.Lgamma(a)
		return gamma + stirlingRest(b) - stirlingRest(a+b) + a - a*math.Log(a+b) + (b-0.5)*math.Log1p(-share)
	}
	rest := stirlingRest(a) + stirlingRest(b) - stirlingRest(a+b)
	return math.Log(2*math.Pi)/2 - math.Log(b)/2 + rest + (a-0.5)*math.Log(share) + b*math.Log1p(-share)
}

// stirlingRest is what lnΓ(x) has beyond (x−½)·ln x − x + ½·ln 2π.
func stirlingRest(x float64) float64 {
	y := 1 / (x * x)
	return (1.0/12 - y*(1.0/360-y*(1.0/1260-y/1680))) / x
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
