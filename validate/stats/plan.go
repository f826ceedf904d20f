package stats

import (
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/mathext"
)

// RuleOutN returns how many sessions without a corrupted one rule out the share p
// at level conf, when their number is fixed in advance: (1−p)^n ≤ 1−conf.
//
// J. A. Hanley and A. Lippman-Hand, If nothing goes wrong, is everything all
// right?, Journal of the American Medical Association 249 (1983), 1743–1745.
func RuleOutN(p, conf float64) int {
	return ceil(math.Log1p(-conf) / math.Log1p(-p))
}

// ceil rounds up, but not for what rounding errors add.
func ceil(x float64) int { return int(math.Ceil(x - 1e-9)) }

// RuleOutPeekSafeN returns how many sessions, k of them corrupted, rule out the
// share p at level conf, however often one looks: the least n at which
// Prior.LogEBelow rejects.
func RuleOutPeekSafeN(p, conf float64, k int) int {
	limit := -math.Log1p(-conf)
	enough := func(n int) bool { return n >= k && Prior{}.LogEBelow(k, n, p) >= limit }
	hi := k + 1
	for !enough(hi) {
		hi *= 2
	}
	return least(k, hi, enough)
}

// least returns the least n in (lo, hi] that is enough, if enough stays true.
func least(lo, hi int, enough func(int) bool) int {
	for hi-lo > 1 {
		if mid := lo + (hi-lo)/2; enough(mid) {
			hi = mid
		} else {
			lo = mid
		}
	}
	return hi
}

// Miss returns the probability that n sessions show nothing of a share p.
func Miss(p float64, n int) float64 { return math.Exp(xlog1my(float64(n), p)) }

// Power returns the probability that FisherGreater is alpha or less when the
// shares are p1 in n1 sessions and p2 in n2. The shares may be 0.
//
// By enumeration of all tables: J. T. Casagrande, M. C. Pike and P. G. Smith, The
// power function of the "exact" test for comparing two binomial distributions,
// Applied Statistics 27 (1978), 176–180.
func Power(p1, p2 float64, n1, n2 int, alpha float64) (power float64) {
	first, second := binomialLaw(n1, p1), binomialLaw(n2, p2)
	tails := make([]float64, n1+2) // P(X1 ≥ x)
	for x := n1; x >= 0; x-- {
		tails[x] = tails[x+1] + first.at(x)
	}
	least := 0 // what the first arm must show to reject; more in the second, more
	for x := second.lo; x <= second.hi(); x++ {
		weight := second.at(x)
		if weight < 1e-16 {
			continue
		}
		for least <= n1 && FisherGreater(Arm{least, n1}, Arm{x, n2}) > alpha {
			least++
		}
		power += weight * tails[least]
	}
	return min(1, power)
}

// NormalN returns the sessions an arm by the normal approximation, two-sided: a
// first guess, not a whole number.
//
// J. L. Fleiss, B. Levin and M. C. Paik, Statistical Methods for Rates and
// Proportions, 3rd edition (2003), chapter 4.
func NormalN(p1, p2, power, alpha float64) float64 {
	mean := (p1 + p2) / 2
	both := twoSidedZ(1-alpha) * math.Sqrt(2*mean*(1-mean))
	apart := mathext.NormalQuantile(power) * math.Sqrt(p1*(1-p1)+p2*(1-p2))
	return (both + apart) * (both + apart) / ((p1 - p2) * (p1 - p2))
}

// FixedN returns the sessions in each arm, fixed in advance, at which FisherGreater
// tells the share p1 from the smaller p2 at level alpha with the power wanted.
// Power goes up and down a little from one n to the next: the least n near a
// crossing is taken. Beyond 5,000 it is NormalN with a correction for continuity,
// within a percent; it is 0 where p1 is not the greater. Source: see Power.
func FixedN(p1, p2, power, alpha float64) int {
	if p1 <= p2 {
		return 0
	}
	if n := corrected(NormalN(p1, p2, power, 2*alpha), p1-p2); n > 5_000 {
		return ceil(n)
	}
	enough := func(n int) bool { return Power(p1, p2, n, n, alpha) >= power }
	hi := 8
	for !enough(hi) {
		hi *= 2
	}
	found := least(0, hi, enough)
	for n := found - 1; n >= max(1, found-int(3/p1)); n-- {
		if enough(n) {
			found = n
		}
	}
	return found
}

// corrected returns n with the correction for continuity that makes it serve
// Fisher's test.
//
// J. T. Casagrande, M. C. Pike and P. G. Smith, An improved approximate formula for
// calculating sample sizes for comparing two binomial distributions, Biometrics 34
// (1978), 483–486, as J. L. Fleiss, A. Tytun and H. K. Ury, Biometrics 36 (1980),
// 343–346 give it: n/4·(1 + √(1 + 4/(n·d)))².
func corrected(n, d float64) float64 {
	root := 1 + math.Sqrt(1+4/(n*d))
	return n / 4 * root * root
}

// PeekSafeN returns how many sessions in each arm Blocks takes, looked at after
// every pair, to tell the shares p1 and p2 apart at level alpha in a share power
// of runs: of 4,000 runs simulated from the seed, or 0 if limit pairs do not do.
// Source: see Blocks.
func PeekSafeN(p1, p2, power, alpha float64, limit int, seed uint64) int {
	random := rand.New(rand.NewPCG(seed, 1))
	return within(power, limit, func() int { return stop(p1, p2, -math.Log(alpha), limit, random) })
}

// within returns after how many steps a share power of 4,000 runs has stopped, 0
// if that is beyond the limit.
func within(power float64, limit int, run func() int) int {
	const runs = 4000
	stops := make([]int, runs)
	for i := range stops {
		stops[i] = run()
	}
	slices.Sort(stops)
	n := stops[min(runs-1, ceil(power*runs)-1)]
	if n > limit {
		return 0
	}
	return n
}

// stop returns after how many pairs E reaches the bound, limit+1 if not within
// the limit.
func stop(p1, p2, bound float64, limit int, random *rand.Rand) int {
	var s Blocks
	for n := 1; n <= limit; n++ {
		a, b := Arm{N: 1}, Arm{N: 1}
		if random.Float64() < p1 {
			a.K = 1
		}
		if random.Float64() < p2 {
			b.K = 1
		}
		if s.block(a, b); s.log >= bound {
			return n
		}
	}
	return limit + 1
}

// ProofN returns how many turns it takes, looked at after each, until
// Prior.LogEAbove rejects at level alpha that a share p0 or less is wrong, in a
// share power of runs in which p is: of 4,000 runs simulated from the seed, or 0
// if limit turns do not do. Source: see Prior.LogEAbove.
func ProofN(p, p0, power, alpha float64, limit int, seed uint64) int {
	random := rand.New(rand.NewPCG(seed, 2))
	return within(power, limit, func() int { return proof(p, p0, -math.Log(alpha), limit, random) })
}

// proof returns after how many turns the E-value reaches the bound, limit+1 if
// not within the limit. It rises with a wrong turn alone.
func proof(p, p0, bound float64, limit int, random *rand.Rand) int {
	n, wrong := 0, 0
	for {
		n += 1 + int(math.Log(1-random.Float64())/math.Log1p(-p))
		if n > limit {
			return limit + 1
		}
		if wrong++; (Prior{}).LogEAbove(wrong, n, p0) >= bound {
			return n
		}
	}
}
