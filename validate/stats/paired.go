package stats

import "math"

// LogEPaired returns the E-value against "both are corrupted equally often" from
// the pairs in which only the first (b) or only the second (c) was; the prior of
// the direction is Beta(½, ½).
//
// Source: the conditional test of Q. McNemar, Psychometrika 12 (1947), 153–157,
// with the mixture of Robbins (see Sequence) at ½.
func LogEPaired(b, c int) float64 { return Prior{}.LogE(b, b+c, 0.5) }

// LogEPairedGreater returns the E-value against "the first is not corrupted more
// often", with a uniform prior on directions above ½. A two-sided decision at
// level α asks for E ≥ 2/α one way or the other: 40 for 5%, which 8 to 0 reaches
// and 7 to 0 does not. Counts of replicas may be added up. Source: see LogEPaired
// and LogEBelow.
func LogEPairedGreater(b, c int) float64 { return Prior{1, 1}.LogEAbove(b, b+c, 0.5) }

// Pairs is what happened to the same requests on two sides: of N pairs, in B only
// the first was corrupted, in C only the second.
type Pairs struct{ B, C, N int }

// Sequence returns an interval of the first's share less the second's that covers
// the true difference at all times together with probability at least conf.
//
// Source: see Prior.Sequence; here of the three outcomes of a pair, averaged over
// the prior Dirichlet(½, ½, ½), against the likeliest shares with that difference.
func (p Pairs) Sequence(conf float64) (lo, hi float64) {
	if p.N == 0 {
		return -1, 1
	}
	limit, mean := -math.Log1p(-conf), p.logMean()
	seen := (float64(p.B) - float64(p.C)) / float64(p.N)
	rejected := func(d float64) bool { return mean-p.likeliest(d) >= limit }
	lo = boundary(-1, seen, rejected)
	hi = boundary(seen, 1, func(d float64) bool { return !rejected(d) })
	return lo, hi
}

// logMean is the likelihood averaged over the prior.
func (p Pairs) logMean() float64 {
	beta := func(b, c, rest float64) float64 { return logBeta(b, c) + logBeta(b+c, rest) }
	return beta(float64(p.B)+0.5, float64(p.C)+0.5, float64(p.N-p.B-p.C)+0.5) - beta(0.5, 0.5, 0.5)
}

// likeliest returns the greatest logarithm of the likelihood when the shares
// differ by d. It is concave in the second's.
func (p Pairs) likeliest(d float64) float64 {
	b, c, rest := float64(p.B), float64(p.C), float64(p.N-p.B-p.C)
	rising := func(q float64) bool { return slope(b, q+d)+slope(c, q) > 2*slope(rest, 1-2*q-d) }
	q := boundary(max(0, -d), (1-d)/2, rising)
	return xlogy(b, q+d) + xlogy(c, q) + xlogy(rest, max(0, 1-2*q-d))
}

// slope is the derivative of n·ln p, 0 for n = 0 whatever p.
func slope(n, p float64) float64 {
	if n == 0 {
		return 0
	}
	return n / max(0, p)
}

// Left returns about how many pairs more it takes until LogEPairedGreater of the
// leading side reaches bound, at the shares seen; 0 where it has, −1 where the
// shares are as good as equal, or more than a thousand million pairs would not do.
func (p Pairs) Left(bound float64) int {
	b, c := max(p.B, p.C), min(p.B, p.C)
	after := func(n int) bool {
		grown := float64(n) / float64(p.N)
		more := int(math.Round(float64(b) * grown))
		return LogEPairedGreater(more, int(math.Round(float64(c)*grown))) >= bound
	}
	if p.N > 0 && after(p.N) {
		return 0
	}
	hi := 2 * p.N
	for ; 0 < hi && hi < 1e9 && !after(hi); hi *= 2 {
	}
	if b == c || hi == 0 || hi >= 1e9 {
		return -1
	}
	return least(p.N, hi, after) - p.N
}
