package stats

import "math"

// Newcombe returns the interval at level conf of a's share less b's, made of
// both Wilson intervals.
//
// R. G. Newcombe, Interval estimation for the difference between independent
// proportions, Statistics in Medicine 17 (1998), 873–890, method 10.
func Newcombe(a, b Arm, conf float64) (lo, hi float64) {
	if a.N == 0 || b.N == 0 {
		return -1, 1
	}
	pa, pb := a.Rate(), b.Rate()
	la, ua := WilsonAt(a.K, a.N, conf)
	lb, ub := WilsonAt(b.K, b.N, conf)
	return pa - pb - math.Hypot(pa-la, ub-pb), pa - pb + math.Hypot(ua-pa, pb-lb)
}

// AgrestiCaffo returns the interval at level conf of a's share less b's, after
// one corrupted and one sound session more in each arm.
//
// A. Agresti and B. Caffo, Simple and effective confidence intervals for
// proportions and differences of proportions, The American Statistician 54
// (2000), 280–288.
func AgrestiCaffo(a, b Arm, conf float64) (lo, hi float64) {
	na, nb := float64(a.N+2), float64(b.N+2)
	pa, pb := float64(a.K+1)/na, float64(b.K+1)/nb
	half := twoSidedZ(conf) * math.Sqrt(pa*(1-pa)/na+pb*(1-pb)/nb)
	return max(-1, pa-pb-half), min(1, pa-pb+half)
}

// MiettinenNurminen returns the interval at level conf of a's share less b's:
// the differences that the score test does not reject.
//
// O. Miettinen and M. Nurminen, Comparative analysis of two rates, Statistics in
// Medicine 4 (1985), 213–226, with the variance times N/(N−1).
func MiettinenNurminen(a, b Arm, conf float64) (lo, hi float64) {
	if a.N == 0 || b.N == 0 {
		return -1, 1
	}
	seen, z := a.Rate()-b.Rate(), twoSidedZ(conf)
	lo = boundary(-1, seen, func(d float64) bool { return differenceZ(a, b, d) > z })
	hi = boundary(seen, 1, func(d float64) bool { return differenceZ(a, b, d) > -z })
	return lo, hi
}

// differenceZ is the score statistic of the difference d.
func differenceZ(a, b Arm, d float64) float64 {
	na, nb := float64(a.N), float64(b.N)
	pb := restricted(a, b, d)
	pa := min(1, max(0, pb+d))
	variance := (pa*(1-pa)/na + pb*(1-pb)/nb) * (na + nb) / (na + nb - 1)
	off := a.Rate() - b.Rate() - d
	if variance <= 0 {
		if off == 0 {
			return 0
		}
		return math.Copysign(math.Inf(1), off)
	}
	return off / math.Sqrt(variance)
}

// restricted returns the maximum likelihood share of b when a's is d above it:
// the root of a cubic, in the trigonometric form of Miettinen and Nurminen's
// appendix 1.
func restricted(a, b Arm, d float64) float64 {
	na, nb, xb := float64(a.N), float64(b.N), float64(b.K)
	n, x := na+nb, float64(a.K+b.K)
	c2 := (na+2*nb)*d - n - x
	c1 := (nb*d-n-2*xb)*d + x
	c0 := xb * d * (1 - d)
	third := c2 / (3 * n)
	q := third*third*third - c1*c2/(6*n*n) + c0/(2*n)
	p := math.Copysign(math.Sqrt(max(0, third*third-c1/(3*n))), q)
	angle := math.Pi / 2
	if p != 0 {
		angle = math.Acos(max(-1, min(1, q/(p*p*p))))
	}
	root := 2*p*math.Cos((math.Pi+angle)/3) - third
	return min(1, min(1-d, max(0, max(-d, root))))
}
