package stats

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mathext"
)

// Boschloo returns the one-sided p-value for "a's share is the greater" that
// orders tables by Fisher's p-value and takes the worst common share: exact and
// never above FisherGreater. It costs in the order of N².
//
// R. D. Boschloo, Raised conditional level of significance for the 2×2-table
// when testing the equality of two probabilities, Statistica Neerlandica 24
// (1970), 1–35.
func Boschloo(a, b Arm) float64 {
	limit := FisherGreater(a, b) * (1 + likely)
	return worst(a, b, func(l law, _ int) float64 {
		var tail float64
		for x := l.hi(); x >= l.lo; x-- {
			if next := tail + l.at(x); next <= limit {
				tail = next
				continue
			}
			break
		}
		return tail
	})
}

// Barnard returns the one-sided p-value for "a's share is the greater" that
// orders tables by the pooled Wald statistic and takes the worst common share.
// It costs in the order of N².
//
// G. A. Barnard, Significance tests for 2×2 tables, Biometrika 34 (1947),
// 123–138; the statistic as in S. Suissa and J. J. Shuster, Journal of the Royal
// Statistical Society A 148 (1985), 317–327.
func Barnard(a, b Arm) float64 {
	limit := pooledZ(a, b)
	limit -= math.Abs(limit) * likely
	return worst(a, b, func(l law, s int) float64 {
		for x := l.lo; x <= l.hi(); x++ {
			if pooledZ(Arm{x, a.N}, Arm{s - x, b.N}) >= limit {
				return l.upper(x)
			}
		}
		return 0
	})
}

// pooledZ is the difference in units of its deviation under a common share.
func pooledZ(a, b Arm) float64 {
	p := Arm{a.K + b.K, a.N + b.N}.Rate()
	if p == 0 || p == 1 || a.N == 0 || b.N == 0 {
		return 0
	}
	return (a.Rate() - b.Rate()) / math.Sqrt(p*(1-p)*(1/float64(a.N)+1/float64(b.N)))
}

// worst returns the greatest probability, over the common share, of the tables
// that tail says are as extreme: given s corrupted in all, it returns their
// probability under the conditional law.
func worst(a, b Arm, tail func(l law, s int) float64) float64 {
	n := a.N + b.N
	if n == 0 {
		return 1
	}
	extreme := make([]float64, n+1)
	choose := make([]float64, n+1)
	for s := range extreme {
		extreme[s] = tail(hypergeometric(a.N, b.N, s), s)
		choose[s] = -math.Log(float64(n+1)) - logBeta(float64(s+1), float64(n-s+1))
	}
	return min(1, peak(0, math.Pi/2, max(400, 4*n), func(theta float64) (p float64) {
		sin, cos := math.Sincos(theta)
		for s, e := range extreme {
			if e > 0 {
				p += e * math.Exp(choose[s]+xlogy(float64(2*s), sin)+xlogy(float64(2*(n-s)), cos))
			}
		}
		return p
	}))
}

// enumerable bounds how many tables are gone through.
const enumerable = 5e6

// FreemanHalton returns the p-value for equal shares in all arms, given the
// margins: all tables no more probable than the one seen. Beyond five million
// tables it returns Pearson's chi-squared approximation.
//
// G. H. Freeman and J. H. Halton, Note on an exact treatment of contingency,
// goodness of fit and other problems of significance, Biometrika 38 (1951),
// 141–149; K. Pearson, Philosophical Magazine 50 (1900), 157–175.
func FreemanHalton(arms []Arm) float64 {
	arms = slices.DeleteFunc(slices.Clone(arms), func(a Arm) bool { return a.N == 0 })
	var all Arm
	tables := 1.0
	for i, a := range arms {
		all.K, all.N = all.K+a.K, all.N+a.N
		if i > 0 {
			tables *= float64(a.N + 1)
		}
	}
	switch {
	case len(arms) < 2 || all.K == 0 || all.K == all.N:
		return 1
	case min(tables, compositions(all.K, len(arms)), compositions(all.N-all.K, len(arms))) > enumerable:
		return pearson(arms, all.Rate())
	}
	return freemanHalton(arms, all)
}

// compositions returns in how many ways k falls into so many arms.
func compositions(k, arms int) float64 {
	ways := 1.0
	for i := 1; i < arms; i++ {
		ways *= float64(k+i) / float64(i)
	}
	return ways
}

func freemanHalton(arms []Arm, all Arm) float64 {
	var seen float64
	ways := make([][]float64, len(arms)) // logarithms of binomial coefficients
	room := make([]int, len(arms)+1)     // sessions in the arms from i on
	for i := len(arms) - 1; i >= 0; i-- {
		ways[i] = make([]float64, arms[i].N+1)
		for k := range arms[i].N {
			ways[i][k+1] = ways[i][k] + math.Log(float64(arms[i].N-k)/float64(k+1))
		}
		seen += ways[i][arms[i].K]
		room[i] = room[i+1] + arms[i].N
	}
	var extreme, total float64
	var walk func(i, left int, w float64)
	walk = func(i, left int, w float64) {
		if i == len(arms) {
			p := math.Exp(w - seen)
			total += p
			if w <= seen+likely {
				extreme += p
			}
			return
		}
		for k := max(0, left-room[i+1]); k <= min(left, arms[i].N); k++ {
			walk(i+1, left-k, w+ways[i][k])
		}
	}
	walk(0, all.K, 0)
	if math.IsInf(total, 1) {
		return math.SmallestNonzeroFloat64
	}
	return min(1, extreme/total)
}

// pearson returns the chi-squared p-value for share p in all arms.
func pearson(arms []Arm, p float64) float64 {
	var chi2 float64
	for _, a := range arms {
		d := float64(a.K) - float64(a.N)*p
		chi2 += d * d / (float64(a.N) * p * (1 - p))
	}
	return mathext.GammaIncRegComp(float64(len(arms)-1)/2, chi2/2)
}
