package stats

import "math"

// margin is a stratum: its sessions and how many of them are corrupted.
type margin struct{ n, k int }

// chance is the law of how many corrupted sessions fall inside a conjunction when
// outcomes are shuffled within strata.
type chance struct {
	strata  []margin // those with sound sessions and corrupted ones
	factLog []float64
}

func newChance(strata []margin) *chance {
	most := 0
	c := &chance{}
	for _, m := range strata {
		if 0 < m.k && m.k < m.n {
			c.strata = append(c.strata, m)
			most = max(most, m.n)
		}
	}
	c.factLog = make([]float64, most+1)
	for i := range c.factLog {
		c.factLog[i], _ = math.Lgamma(float64(i + 1))
	}
	return c
}

// support is how many sessions a conjunction has: in the one stratum n, else the
// moments of the count of corrupted ones that it expects.
type support struct {
	n              int
	mean, variance float64
}

// add counts n sessions of a stratum.
func (s *support) add(m margin, n int) {
	share := float64(n) / float64(m.n)
	s.n += n
	s.mean += share * float64(m.k)
	s.variance += share * (1 - share) * float64(m.k) * float64(m.n-m.k) / max(1, float64(m.n-1))
}

// logTail returns ln P(X ≥ k): exactly in one stratum, by the binomial law with
// the same mean and variance in several. That is how conjunctions are ranked; what
// a rank is worth comes from shuffling. Up to the mean it is 0.
func (c *chance) logTail(s support, k int) float64 {
	switch {
	case float64(k) <= s.mean:
		return 0
	case s.mean <= 0:
		return math.Inf(-1)
	case len(c.strata) == 1:
		return c.hypergeometricTail(c.strata[0], s.n, k)
	}
	p := 1 - s.variance/s.mean
	n := s.mean / p
	if float64(k) >= n {
		return n * math.Log(p)
	}
	return logBetaCDF(p, float64(k), n-float64(k)+1)
}

// hypergeometricTail sums the tail beyond the mean from its greatest term down.
func (c *chance) hypergeometricTail(m margin, n, k int) float64 {
	if k > min(n, m.k) {
		return math.Inf(-1)
	}
	choose := func(n, k int) float64 { return c.factLog[n] - c.factLog[k] - c.factLog[n-k] }
	first := choose(n, k) + choose(m.n-n, m.k-k) - choose(m.n, m.k)
	total, term := 1.0, 1.0
	for x := k; x < min(n, m.k) && term > 1e-17*total; x++ {
		term *= float64(n-x) * float64(m.k-x) / (float64(x+1) * float64(m.n-m.k-n+x+1))
		total += term
	}
	return first + math.Log(total)
}

// tiniest stands for probabilities too small for a float64.
const tiniest = 1e-300

// never is more corrupted sessions than there are.
const never = math.MaxInt32

// critical returns the least k, from the given one up, whose tail is limit or
// less, never where even most is not enough.
func (c *chance) critical(s support, from, most int, limit float64) int32 {
	most = min(most, s.n)
	enough := func(k int) bool { return c.logTail(s, k) <= limit }
	if s.mean <= 0 || most < from || !enough(most) {
		return never
	}
	if from <= most && enough(from) {
		return int32(from)
	}
	step := 1
	for from+step < most && !enough(from+step) {
		step *= 2
	}
	return int32(least(from+step/2, min(most, from+step), enough))
}

// exactTail returns P(X ≥ k) in several strata too, given the sessions of each; as
// logTail beyond thousands of corrupted ones.
//
// Source: see CMHExact, here one-sided.
func (c *chance) exactTail(n []int, k int) float64 {
	var s support
	cases, l := 0, law{0, make([]float64, 1)}
	for i, m := range c.strata {
		s.add(m, n[i])
		cases += m.k
	}
	if len(c.strata) > 1 && cases > 3000 {
		return max(tiniest, math.Exp(c.logTail(s, k)))
	}
	for i, m := range c.strata {
		l = l.plus(hypergeometric(n[i], m.n-n[i], m.k))
	}
	return max(tiniest, l.upper(k))
}
