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
// The differences that LogE does not reject.
func (p Pairs) Sequence(conf float64) (lo, hi float64) {
	if p.N == 0 {
		return -1, 1
	}
	seen, limit := p.difference(), -math.Log1p(-conf)
	rejected := func(d float64) bool { return p.LogE(d) >= limit }
	lo = boundary(-1, seen, rejected)
	hi = boundary(seen, 1, func(d float64) bool { return !rejected(d) })
	return lo, hi
}

func (p Pairs) difference() float64 {
	return (float64(p.B) - float64(p.C)) / float64(max(1, p.N))
}

// LogE returns the E-value against "the first's share less the second's is d": of
// the three outcomes of a pair, averaged over the prior Dirichlet(¼, ¼, ½), against
// the likeliest shares with that difference. The prior is Beta(½, ½) for the share of
// pairs that differ and Beta(¼, ¼) for their direction.
//
// Source: see Prior.Sequence; the shares that are not asked for maximised as in L.
// Wasserman, A. Ramdas and S. Balakrishnan, Universal inference, Proceedings of the
// National Academy of Sciences 117 (2020), 16880–16890.
func (p Pairs) LogE(d float64) float64 { return p.logMean() - p.likeliest(d) }

// logMean is the likelihood averaged over the prior.
func (p Pairs) logMean() float64 {
	beta := func(b, c, rest float64) float64 { return logBeta(b, c) + logBeta(b+c, rest) }
	return beta(float64(p.B)+0.25, float64(p.C)+0.25, float64(p.N-p.B-p.C)+0.5) - beta(0.25, 0.25, 0.5)
}

// likeliest returns the greatest logarithm of the likelihood when the shares
// differ by d: the root of a quadratic.
//
// T. Tango, Equivalence test and confidence interval for the difference in
// proportions for the paired-sample design, Statistics in Medicine 17 (1998), 891–908.
func (p Pairs) likeliest(d float64) float64 {
	if d < 0 {
		return Pairs{p.C, p.B, p.N}.likeliest(-d)
	}
	n, b, c := float64(p.N), float64(p.B), float64(p.C)
	half := (b+c)*(1-d) - 2*d*(n-b)
	q := min((1-d)/2, max(0, (half+math.Sqrt(half*half+8*n*c*d*(1-d)))/(4*n)))
	return xlogy(b, q+d) + xlogy(c, q) + xlogy(n-b-c, max(0, 1-2*q-d))
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
