package stats

import "math"

// likely is how much more probable a table may look by rounding alone and still
// count as no more probable than the one seen; R's fisher.test has the same.
const likely = 1e-7

// law is the distribution of a count: log[i] is ln P(X = lo+i).
type law struct {
	lo  int
	log []float64
}

// newLaw normalises weights given by their logarithms, in place.
func newLaw(lo int, log []float64) law {
	top := math.Inf(-1)
	for _, w := range log {
		top = max(top, w)
	}
	var sum float64
	for _, w := range log {
		sum += math.Exp(w - top)
	}
	shift := top + math.Log(sum)
	for i := range log {
		log[i] -= shift
	}
	return law{lo, log}
}

// hypergeometric returns the law of how many of s are in the first n1, the
// others being in the other n2.
func hypergeometric(n1, n2, s int) law {
	lo, hi := max(0, s-n2), min(s, n1)
	log := make([]float64, hi-lo+1)
	for x := lo; x < hi; x++ {
		up := float64(s-x) * float64(n1-x)
		down := float64(x+1) * float64(n2-s+x+1)
		log[x-lo+1] = log[x-lo] + math.Log(up/down)
	}
	return newLaw(lo, log)
}

// binomialLaw returns the law of n trials at share p.
func binomialLaw(n int, p float64) law {
	if p <= 0 {
		return law{0, make([]float64, 1)}
	}
	if p >= 1 {
		return law{n, make([]float64, 1)}
	}
	log, odds := make([]float64, n+1), math.Log(p)-math.Log1p(-p)
	for x := range n {
		log[x+1] = log[x] + math.Log(float64(n-x)/float64(x+1)) + odds
	}
	return newLaw(0, log)
}

// hi is the greatest value with positive probability.
func (l law) hi() int { return l.lo + len(l.log) - 1 }

// at returns P(X = x).
func (l law) at(x int) float64 {
	if x < l.lo || x > l.hi() {
		return 0
	}
	return math.Exp(l.log[x-l.lo])
}

// upper returns P(X ≥ x).
func (l law) upper(x int) (p float64) {
	if x <= l.lo {
		return 1
	}
	for i := l.hi(); i >= x; i-- {
		p += l.at(i)
	}
	return min(1, p)
}

// lower returns P(X ≤ x).
func (l law) lower(x int) (p float64) {
	if x >= l.hi() {
		return 1
	}
	for i := l.lo; i <= x; i++ {
		p += l.at(i)
	}
	return min(1, p)
}

// twoSided returns the probability of all that is no more probable than x.
func (l law) twoSided(x int) (p float64) {
	limit := l.log[x-l.lo] + likely
	for _, w := range l.log {
		if w <= limit {
			p += math.Exp(w)
		}
	}
	return min(1, p)
}

// mean returns the expectation of X.
func (l law) mean() (m float64) {
	for i, w := range l.log {
		m += float64(l.lo+i) * math.Exp(w)
	}
	return m
}

// tilt returns the law whose odds ratio is e^theta times this one's.
func (l law) tilt(theta float64) law {
	log := make([]float64, len(l.log))
	for i, w := range l.log {
		log[i] = w + float64(i)*theta
	}
	return newLaw(l.lo, log)
}

// plus returns the law of the sum with an independent count.
func (l law) plus(m law) law {
	sum := make([]float64, len(l.log)+len(m.log)-1)
	for i, v := range l.log {
		for j, w := range m.log {
			sum[i+j] += math.Exp(v + w)
		}
	}
	for i, p := range sum {
		sum[i] = math.Log(p)
	}
	return newLaw(l.lo+m.lo, sum)
}

// widest bounds the logarithm of an odds ratio that is searched for.
const widest = 600

// odds returns the conditional maximum likelihood odds ratio at x and its exact
// interval.
func (l law) odds(x int, conf float64) (ratio, lo, hi float64) {
	if len(l.log) == 1 {
		return 1, 0, math.Inf(1)
	}
	ratio, lo, hi = math.Inf(1), 0, math.Inf(1)
	tail := (1 - conf) / 2
	solve := func(left func(law) bool) float64 {
		return math.Exp(boundary(-widest, widest, func(t float64) bool { return left(l.tilt(t)) }))
	}
	if x > l.lo {
		lo = solve(func(m law) bool { return m.upper(x) < tail })
	} else {
		ratio = 0
	}
	if x < l.hi() {
		hi = solve(func(m law) bool { return m.lower(x) > tail })
	}
	if x > l.lo && x < l.hi() {
		ratio = solve(func(m law) bool { return m.mean() < float64(x) })
	}
	return ratio, lo, hi
}
