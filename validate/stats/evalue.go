package stats

import (
	"math"
	"slices"
)

// Prior is the beta distribution over which an E-value averages: it says where
// the power goes, never whether the answer is valid. The zero Prior is
// Beta(½, ½).
type Prior struct{ A, B float64 }

func (w Prior) parameters() (a, b float64) {
	if w.A <= 0 || w.B <= 0 {
		return 0.5, 0.5
	}
	return w.A, w.B
}

// logMean returns the logarithm of the likelihood of k in n averaged over the
// prior.
func (w Prior) logMean(k, n int) float64 {
	a, b := w.parameters()
	return logBeta(a+float64(k), b+float64(n-k)) - logBeta(a, b)
}

func logLikelihood(k, n int, p float64) float64 {
	return xlogy(float64(k), p) + xlog1my(float64(n-k), p)
}

// Sequence returns an interval that covers the true share at all times together
// with probability at least conf, however often one looks.
//
// H. Robbins, Statistical methods related to the law of the iterated logarithm,
// Annals of Mathematical Statistics 41 (1970), 1397–1409: the shares p with
// B(a+k, b+n−k)/B(a, b) < p^k·(1−p)^(n−k)/(1−conf); as a
// confidence sequence in S. R. Howard, A. Ramdas, J. McAuliffe and J. Sekhon,
// Time-uniform, nonparametric, nonasymptotic confidence sequences, Annals of
// Statistics 49 (2021), 1055–1080.
func (w Prior) Sequence(k, n int, conf float64) (lo, hi float64) {
	lo, hi = 0, 1
	if n == 0 {
		return lo, hi
	}
	seen, mean, limit := Arm{k, n}.Rate(), w.logMean(k, n), -math.Log1p(-conf)
	rejected := func(p float64) bool { return mean-logLikelihood(k, n, p) >= limit }
	if k > 0 {
		lo = boundary(0, seen, rejected)
	}
	if k < n {
		hi = boundary(seen, 1, func(p float64) bool { return !rejected(p) })
	}
	return lo, hi
}

// LogE returns the E-value against "the share is p0".
//
// Source: see Sequence, which is the set of p0 with E < 1/α.
func (w Prior) LogE(k, n int, p0 float64) float64 {
	return w.logMean(k, n) - logLikelihood(k, n, p0)
}

// LogEBelow returns the E-value against "the share is p0 or more": it rules out
// p0. The prior is cut to shares below p0, so that E stays a supermartingale for
// every share from p0 up.
//
// A. Ramdas, J. Ruf, M. Larsson and W. Koolen, Admissible anytime-valid sequential
// inference must rely on nonnegative martingales, arXiv 2009.03167 (2020); the
// mixture over a one-sided prior as in H. Robbins and D. Siegmund,
// The expected sample size of some tests of power one, Annals of Statistics 2
// (1974), 415–436.
func (w Prior) LogEBelow(k, n int, p0 float64) float64 {
	if n == 0 {
		return 0
	}
	a, b := w.parameters()
	cut := logBetaCDF(p0, a+float64(k), b+float64(n-k)) - logBetaCDF(p0, a, b)
	return w.LogE(k, n, p0) + cut
}

// LogEAbove returns the E-value against "the share is p0 or less". Source: see
// LogEBelow, of which it is the mirror.
func (w Prior) LogEAbove(k, n int, p0 float64) float64 {
	a, b := w.parameters()
	return Prior{b, a}.LogEBelow(n-k, n, 1-p0)
}

// LogEUniversal returns the E-value against equal shares in two arms whose order
// of arrival is unknown: each arm averaged over w, against the best common share.
// Blocks needs half the sessions but their order.
//
// L. Wasserman, A. Ramdas and S. Balakrishnan, Universal inference, Proceedings
// of the National Academy of Sciences 117 (2020), 16880–16890.
func (w Prior) LogEUniversal(a, b Arm) float64 {
	all := Arm{a.K + b.K, a.N + b.N}
	return w.logMean(a.K, a.N) + w.logMean(b.K, b.N) - logLikelihood(all.K, all.N, all.Rate())
}

// AnytimeP returns the p-value that holds at every look, from the greatest
// logarithm an E-process has reached.
//
// J. Ville, Étude critique de la notion de collectif (1939); as a p-value
// in G. Shafer, A. Shen, N. Vereshchagin and V. Vovk, Test martingales, Bayes
// factors and p-values, Statistical Science 26 (2011), 84–101.
func AnytimeP(greatest float64) float64 { return math.Exp(-max(0, greatest)) }

// EBH tells which hypotheses to reject so that at most a share alpha of the
// rejected is expected to be true, whatever the dependence of the E-values.
//
// R. Wang and A. Ramdas, False discovery rate control with e-values, Journal of
// the Royal Statistical Society B 84 (2022), 822–852: the k greatest,
// for the greatest k at which the k-th is n/(k·alpha) or more.
func EBH(logE []float64, alpha float64) []bool {
	sorted := slices.Sorted(slices.Values(logE))
	slices.Reverse(sorted)
	least := math.Inf(1)
	for i, e := range sorted {
		if e >= math.Log(float64(len(logE))/(alpha*float64(i+1))) {
			least = e
		}
	}
	reject := make([]bool, len(logE))
	for i, e := range logE {
		reject[i] = e >= least && !math.IsInf(least, 1) || math.IsInf(e, 1)
	}
	return reject
}
