// Package stats holds the arithmetic of rates: what a count of corrupted turns
// or sessions says about the share behind it.
package stats

import "math"

// z95 is the 97.5% quantile of the standard normal distribution.
const z95 = 1.959963984540054

// Wilson returns the 95% score interval for a share of which k in n were seen.
// With n = 0 nothing is known: 0 to 1.
//
// E. B. Wilson, Probable inference, the law of succession, and statistical
// inference, Journal of the American Statistical Association 22 (1927), 209–212,
// without continuity correction. It keeps near its level for small n and for
// shares near 0, where the textbook interval does not.
func Wilson(k, n int) (lo, hi float64) {
	if n <= 0 {
		return 0, 1
	}
	p, m, z2 := float64(k)/float64(n), float64(n), z95*z95
	middle := (p + z2/(2*m)) / (1 + z2/m)
	half := z95 / (1 + z2/m) * math.Sqrt(p*(1-p)/m+z2/(4*m*m))
	lo, hi = max(0, middle-half), min(1, middle+half)
	if k == 0 {
		lo = 0 // what rounding leaves
	}
	if k == n {
		hi = 1
	}
	return lo, hi
}
