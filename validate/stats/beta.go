package stats

import (
	"math"

	"gonum.org/v1/gonum/mathext"
)

// largeCounts is from where on gonum's incomplete beta function is not asked: its
// continued fraction ends after 300 steps, and takes as many as the square root of
// the parameters near the mean.
const largeCounts = 3000

// betaCDF returns I_x(a, b), the probability of x or less under Beta(a, b).
func betaCDF(x, a, b float64) float64 {
	switch {
	case x <= 0:
		return 0
	case x >= 1:
		return 1
	case a+b < largeCounts:
		return mathext.RegIncBeta(a, b, x)
	case x > (a+1)/(a+b+2):
		return -math.Expm1(logBetaTail(1-x, b, a))
	}
	return math.Exp(logBetaTail(x, a, b))
}

// logBetaCDF returns ln I_x(a, b), also of what is too small for a float64.
func logBetaCDF(x, a, b float64) float64 {
	switch {
	case x >= 1:
		return 0
	case x > (a+1)/(a+b+2):
		return math.Log(betaCDF(x, a, b))
	}
	return logBetaTail(x, a, b)
}

// logBetaTail returns ln I_x(a, b) for x up to about the mean: density by Loader,
// continued fraction by Lentz.
//
// NIST Digital Library of Mathematical Functions, 8.17.22; W. J. Lentz, Applied
// Optics 15 (1976), 668–671.
func logBetaTail(x, a, b float64) float64 {
	const tiny, exact = 1e-300, 1e-16
	c, d := 1.0, 1/away(1-(a+b)*x/(a+1), tiny)
	f := d
	for m := 1.0; m < 1e7; m++ {
		even := m * (b - m) * x / ((a + 2*m - 1) * (a + 2*m))
		d, c = 1/away(1+even*d, tiny), away(1+even/c, tiny)
		f *= d * c
		odd := -(a + m) * (a + b + m) * x / ((a + 2*m) * (a + 2*m + 1))
		d, c = 1/away(1+odd*d, tiny), away(1+odd/c, tiny)
		f *= d * c
		if math.Abs(d*c-1) < exact {
			break
		}
	}
	return logBetaPower(x, a, b) - math.Log(a) + math.Log(f)
}

// away keeps a divisor from 0.
func away(x, tiny float64) float64 {
	if math.Abs(x) < tiny {
		return tiny
	}
	return x
}

// logBetaPower returns ln(x^a·(1−x)^b/B(a, b)). Its terms are as large as the counts
// and cancel to little: the deviations of a and b from what x expects are summed
// instead.
//
// C. Loader, Fast and accurate computation of binomial probabilities (2000).
func logBetaPower(x, a, b float64) float64 {
	n := a + b
	rest := gammaRest(n) - gammaRest(a) - gammaRest(b)
	return rest + math.Log(a/(2*math.Pi)*(b/n))/2 - deviance(a, n, x) - deviance(b, n, 1-x)
}

// gammaRest is stirlingRest of small arguments too.
func gammaRest(x float64) float64 {
	if x >= stirling {
		return stirlingRest(x)
	}
	gamma, _ := math.Lgamma(x)
	return gamma - ((x-0.5)*math.Log(x) - x + math.Log(2*math.Pi)/2)
}

// deviance returns k·ln(k/(n·p)) + n·p − k, by its series where k is near n·p.
func deviance(k, n, p float64) float64 {
	mean := n * p
	off := -math.FMA(n, p, -k) // k − n·p, rounded once
	if v := off / (k + mean); math.Abs(v) < 0.1 {
		sum, term, square := off*v, 2*k*v, v*v
		for j := 3.0; ; j += 2 {
			term *= square
			if next := sum + term/j; next != sum {
				sum = next
				continue
			}
			return sum
		}
	}
	return k*math.Log(k/mean) - off
}
