// Package stats holds the arithmetic of rates: what a count of corrupted turns
// or sessions says about the share behind it.
//
// One rate has an interval: Wilson to be shown, Upper and ClopperPearson to be
// claimed. Two rates are compared exactly (Fisher, CMH, McNemar), with the size
// of their difference (MiettinenNurminen, OddsRatio). Those hold for a number of
// sessions fixed in advance; whoever looks after each session needs what holds
// at every look: Prior.Sequence, Blocks and the other E-values. Decision words what
// pairs of answers to equal requests say of two arms. CUSUM and
// ShiryaevRoberts watch a rate for a rise, Ratio takes sessions for what they
// are, clusters of turns, Pairs compares two sides on the same requests, and FixedN
// and PeekSafeN say how many it takes. Explain finds the conjunction of tags that
// carries the corruption.
//
// Counts are 0 ≤ k ≤ n, levels and probabilities lie within (0, 1) unless said
// otherwise. No function returns NaN for those. With n = 0 nothing is known, and
// the answers say so: an interval is all there is, a p-value is 1, an E-value 1.
//
// E-values are given as natural logarithms; E ≥ 1/α rejects at level α. Results are
// good to nine digits for thousands of sessions, those logarithms to six decimals up
// to a thousand million.
package stats

import "math"

// Arm is one side of a comparison: K corrupted of N.
type Arm struct{ K, N int }

// Rate returns K/N, 0 with none seen.
func (a Arm) Rate() float64 {
	if a.N == 0 {
		return 0
	}
	return float64(a.K) / float64(a.N)
}

// Wilson returns the 95% score interval for a share of which k in n were seen.
// With n = 0 nothing is known: 0 to 1. It is WilsonAt at 0.95.
func Wilson(k, n int) (lo, hi float64) { return WilsonAt(k, n, 0.95) }

// WilsonAt returns the score interval at level conf.
//
// E. B. Wilson, Probable inference, the law of succession, and statistical
// inference, Journal of the American Statistical Association 22 (1927), 209–212,
// without continuity correction. It keeps near its level for small n and for
// shares near 0, where the textbook interval does not.
func WilsonAt(k, n int, conf float64) (lo, hi float64) {
	if n <= 0 {
		return 0, 1
	}
	lo, hi = score(float64(k)/float64(n), float64(n), twoSidedZ(conf))
	if k == 0 {
		lo = 0 // what rounding leaves
	}
	if k == n {
		hi = 1
	}
	return lo, hi
}

// score is Wilson's interval of share p among n, which need not be whole.
func score(p, n, z float64) (lo, hi float64) {
	z2 := z * z
	middle := (p + z2/(2*n)) / (1 + z2/n)
	half := z / (1 + z2/n) * math.Sqrt(p*(1-p)/n+z2/(4*n*n))
	return max(0, min(p, middle-half)), min(1, max(p, middle+half))
}
