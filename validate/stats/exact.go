package stats

import "math"

// table returns the law of a's corrupted count given both margins.
func table(a, b Arm) law { return hypergeometric(a.N, b.N, a.K+b.K) }

// Fisher returns the exact two-sided p-value for equal shares, given the
// margins: all tables no more probable than the one seen.
//
// R. A. Fisher, The logic of inductive inference, Journal of the Royal
// Statistical Society 98 (1935), 39–54; two-sided by probability as in J. O.
// Irwin, Metron 12 (1935), 83–94.
func Fisher(a, b Arm) float64 { return table(a, b).twoSided(a.K) }

// FisherGreater returns the exact one-sided p-value for "a's share is the
// greater". Source: see Fisher.
func FisherGreater(a, b Arm) float64 { return table(a, b).upper(a.K) }

// FisherMidP returns FisherGreater with half the probability of the table seen:
// nearly exact, and less cautious.
//
// H. O. Lancaster, Significance tests in discrete distributions, Journal of the
// American Statistical Association 56 (1961), 223–234.
func FisherMidP(a, b Arm) float64 {
	l := table(a, b)
	return max(0, l.upper(a.K)-l.at(a.K)/2)
}

// OddsRatio returns the conditional maximum likelihood odds ratio of a to b and
// its exact interval at level conf. It is +Inf where b has none and 0 where a
// has none; where neither or both have all, nothing is known: 1 in [0, +Inf].
//
// J. Cornfield, A statistical problem arising from retrospective studies,
// Proceedings of the Third Berkeley Symposium 4 (1956), 135–148; A. Agresti,
// Categorical Data Analysis, 2nd edition (2002).
func OddsRatio(a, b Arm, conf float64) (ratio, lo, hi float64) {
	return table(a, b).odds(a.K, conf)
}

// MinAttainable returns the least one-sided Fisher p-value that a subset of
// support out of n can have when cases of the n are corrupted.
//
// R. E. Tarone, A modified Bonferroni method for discrete data, Biometrics 46
// (1990), 515–522: that with all of the lesser number inside.
func MinAttainable(n, cases, support int) float64 {
	l := hypergeometric(support, n-support, cases)
	return l.at(l.hi())
}

// McNemar returns the exact two-sided p-value of b pairs in which only the first
// was corrupted against c in which only the second was.
//
// Q. McNemar, Note on the sampling error of the difference between correlated
// proportions or percentages, Psychometrika 12 (1947), 153–157; exact by the
// binomial at ½.
func McNemar(b, c int) float64 { return min(1, 2*binomialUpper(max(b, c), b+c, 0.5)) }

// McNemarGreater returns the exact one-sided p-value for "the first is corrupted
// more often". Source: see McNemar.
func McNemarGreater(b, c int) float64 { return binomialUpper(b, b+c, 0.5) }

// McNemarMidP returns McNemar with the probability of what was seen counted once
// instead of twice.
//
// M. W. Fagerland, S. Lydersen and P. Laake, The McNemar test for binary
// matched-pairs data: mid-p and asymptotic are better than exact conditional, BMC
// Medical Research Methodology 13 (2013) 91.
func McNemarMidP(b, c int) float64 {
	if b+c == 0 {
		return 1
	}
	if b == c {
		return max(0, 1-binomialLaw(b+c, 0.5).at(b)/2)
	}
	k := max(b, c)
	return min(1, 2*midUpper(k, b+c, 0.5))
}

// CMHExact returns the exact two-sided p-value for equal shares within every
// stratum, the conditional odds ratio common to them, and its exact interval at
// level conf.
//
// M. W. Birch, The detection of partial association, Journal of the Royal
// Statistical Society B 26 (1964), 313–324; the law of the sum as in C. R. Mehta,
// N. R. Patel and R. Gray, Journal of the American Statistical Association 80
// (1985), 969–973.
func CMHExact(strata [][2]Arm, conf float64) (p, ratio, lo, hi float64) {
	sum, seen := law{0, make([]float64, 1)}, 0
	for _, s := range strata {
		sum = sum.plus(table(s[0], s[1]))
		seen += s[0].K
	}
	ratio, lo, hi = sum.odds(seen, conf)
	return sum.twoSided(seen), ratio, lo, hi
}

// CMH returns the statistic and the p-value of the test for equal shares within
// every stratum, without continuity correction, and the common odds ratio, +Inf
// where its denominator is nought, 1 where nothing is known.
//
// W. G. Cochran, Biometrics 10 (1954), 417–451; N. Mantel and W. Haenszel,
// Statistical aspects of the analysis of data from retrospective studies of
// disease, Journal of the National Cancer Institute 22 (1959), 719–748.
func CMH(strata [][2]Arm) (chi2, p, ratio float64) {
	var diff, variance, up, down float64
	for _, s := range strata {
		a, b := s[0], s[1]
		n, bad := float64(a.N+b.N), float64(a.K+b.K)
		if n < 2 {
			continue
		}
		diff += float64(a.K) - float64(a.N)*bad/n
		variance += float64(a.N) * float64(b.N) / n * bad / n * (n - bad) / (n - 1)
		up += float64(a.K) * float64(b.N-b.K) / n
		down += float64(b.K) * float64(a.N-a.K) / n
	}
	if variance == 0 {
		return 0, 1, 1
	}
	chi2, ratio = diff*diff/variance, 1
	if up+down > 0 {
		ratio = up / down
	}
	return chi2, math.Erfc(math.Sqrt(chi2 / 2)), ratio
}
