package stats

import (
	"math"

	"gonum.org/v1/gonum/mathext"
)

// ClopperPearson returns the exact interval at level conf: it covers the true
// share at least that often, whatever the share.
//
// C. J. Clopper and E. S. Pearson, The use of confidence or fiducial limits
// illustrated in the case of the binomial, Biometrika 26 (1934), 404–413; by
// beta quantiles as in L. D. Brown, T. T. Cai and A. DasGupta, Interval
// estimation for a binomial proportion, Statistical Science 16 (2001), section 4.2.1.
func ClopperPearson(k, n int, conf float64) (lo, hi float64) {
	half := 1 - (1-conf)/2
	return Lower(k, n, half), Upper(k, n, half)
}

// Upper returns the exact one-sided bound at level conf: "the share is below".
// With k = 0 it is 1−(1−conf)^(1/n). Source: see ClopperPearson.
func Upper(k, n int, conf float64) float64 {
	if k >= n {
		return 1
	}
	if k == 0 {
		return -math.Expm1(math.Log1p(-conf) / float64(n))
	}
	return max(Arm{k, n}.Rate(), betaQuantile(conf, float64(k+1), float64(n-k)))
}

// Lower returns the exact one-sided bound at level conf: "the share is above".
// Source: see ClopperPearson.
func Lower(k, n int, conf float64) float64 {
	if k <= 0 {
		return 0
	}
	if k == n {
		return math.Exp(math.Log1p(-conf) / float64(n))
	}
	return min(Arm{k, n}.Rate(), betaQuantile(1-conf, float64(k), float64(n-k+1)))
}

// Jeffreys returns the equal-tailed interval of the posterior under the prior
// Beta(½, ½), with 0 below at k = 0 and 1 above at k = n.
//
// L. D. Brown, T. T. Cai and A. DasGupta, Interval estimation for a binomial
// proportion, Statistical Science 16 (2001), section 3.1.3.
func Jeffreys(k, n int, conf float64) (lo, hi float64) {
	lo, hi = 0, 1
	a, b, tail := float64(k)+0.5, float64(n-k)+0.5, (1-conf)/2
	if k > 0 {
		lo = betaQuantile(tail, a, b)
	}
	if k < n {
		hi = betaQuantile(1-tail, a, b)
	}
	return lo, hi
}

// MidP returns the interval that inverts the two one-sided tests which count
// half the probability of what was seen: shorter than ClopperPearson's, near its
// level instead of above it.
//
// H. O. Lancaster, Significance tests in discrete distributions, Journal of the
// American Statistical Association 56 (1961), 223–234; as an interval in
// A. Agresti and A. Gottard, Computational Statistics & Data Analysis 51 (2007),
// 6447–6458.
func MidP(k, n int, conf float64) (lo, hi float64) {
	lo, hi = 0, 1
	tail := (1 - conf) / 2
	if k > 0 {
		lo = boundary(0, Arm{k, n}.Rate(), func(p float64) bool { return midUpper(k, n, p) < tail })
	}
	if k < n {
		hi = boundary(Arm{k, n}.Rate(), 1, func(p float64) bool { return midUpper(k, n, p) < 1-tail })
	}
	return lo, hi
}

// midUpper returns P(X > k) + ½P(X = k) for X of n at share p.
func midUpper(k, n int, p float64) float64 {
	return (binomialUpper(k, n, p) + binomialUpper(k+1, n, p)) / 2
}

// binomialUpper returns P(X ≥ k) for X of n at share p (Abramowitz and Stegun,
// Handbook of Mathematical Functions, 1964, 26.5.24).
func binomialUpper(k, n int, p float64) float64 {
	switch {
	case k <= 0:
		return 1
	case k > n:
		return 0
	}
	return betaCDF(p, float64(k), float64(n-k+1))
}

// AtMost returns the probability of k or fewer in n at share p (Abramowitz and
// Stegun, Handbook of Mathematical Functions, 1964, 26.5.24).
func AtMost(k, n int, p float64) float64 {
	if k < 0 {
		return 0
	}
	if k >= n {
		return 1
	}
	return betaCDF(1-p, float64(n-k), float64(k+1))
}

// Poisson returns the exact interval at level conf of a rate of which k events
// were seen in exposure t.
//
// F. Garwood, Fiducial limits for the Poisson distribution, Biometrika 28
// (1936), 437–442, by gamma quantiles.
func Poisson(k int, t, conf float64) (lo, hi float64) {
	if t <= 0 {
		return 0, math.Inf(1)
	}
	tail := (1 - conf) / 2
	if k > 0 {
		lo = mathext.GammaIncRegInv(float64(k), tail) / t
	}
	return lo, mathext.GammaIncRegCompInv(float64(k+1), tail) / t
}

// PoissonRatio returns the exact two-sided p-value of k1 events in exposure t1
// against k2 in t2, given their sum.
//
// J. Przyborowski and H. Wilenski, Homogeneity of results in testing samples
// from Poisson series, Biometrika 31 (1940), 313–323.
func PoissonRatio(k1 int, t1 float64, k2 int, t2 float64) float64 {
	return binomialLaw(k1+k2, t1/(t1+t2)).twoSided(k1)
}

// ProbGreater returns the posterior probability that a's share exceeds b's,
// under independent priors Beta(½, ½).
//
// H. Jeffreys, Theory of Probability, 3rd edition (1961), for the prior; the
// integral of one density times the other's distribution function is taken by
// Simpson's rule in θ, where p = sin²θ.
func ProbGreater(a, b Arm) float64 {
	pa, qa := float64(a.K)+0.5, float64(a.N-a.K)+0.5
	pb, qb := float64(b.K)+0.5, float64(b.N-b.K)+0.5
	scale := math.Ln2 - logBeta(pa, qa)
	f := func(theta float64) float64 {
		sin, cos := math.Sincos(theta)
		density := math.Exp(scale + xlogy(2*pa-1, sin) + xlogy(2*qa-1, cos))
		return density * betaCDF(min(1, sin*sin), pb, qb)
	}
	// A standard deviation in θ is about 1/(2√n): eight of them hold everything.
	middle := math.Asin(math.Sqrt(pa / (pa + qa)))
	half := 8 / math.Sqrt(pa+qa)
	return min(1, simpson(max(0, middle-half), min(math.Pi/2, middle+half), 2000, f))
}

// simpson integrates f over [lo, hi] in an even number of steps.
func simpson(lo, hi float64, steps int, f func(float64) float64) float64 {
	h := (hi - lo) / float64(steps)
	sum := f(lo) + f(hi)
	for i := 1; i < steps; i++ {
		sum += float64(2+2*(i%2)) * f(lo+float64(i)*h)
	}
	return sum * h / 3
}
