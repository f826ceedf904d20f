package stats

import (
	"cmp"
	"slices"
)

// Bonferroni returns p-values adjusted for as many looks as there are.
//
// C. E. Bonferroni, Pubblicazioni del R. Istituto Superiore di Scienze Economiche
// e Commerciali di Firenze 8 (1936), 3–62.
func Bonferroni(p []float64) []float64 {
	return adjusted(p, false, func(int) float64 { return float64(len(p)) })
}

// Holm returns p-values adjusted so that the chance of any false rejection is
// bounded, whatever the dependence.
//
// S. Holm, A simple sequentially rejective multiple test procedure, Scandinavian
// Journal of Statistics 6 (1979), 65–70.
func Holm(p []float64) []float64 {
	return adjusted(p, false, func(rank int) float64 { return float64(len(p) - rank) })
}

// Hochberg returns p-values adjusted as by Holm but from the greatest down, for
// independent tests.
//
// Y. Hochberg, A sharper Bonferroni procedure for multiple tests of significance,
// Biometrika 75 (1988), 800–802.
func Hochberg(p []float64) []float64 {
	return adjusted(p, true, func(rank int) float64 { return float64(len(p) - rank) })
}

// BenjaminiHochberg returns p-values adjusted so that the expected share of false
// rejections is bounded, for independent tests.
//
// Y. Benjamini and Y. Hochberg, Controlling the false discovery rate, Journal of
// the Royal Statistical Society B 57 (1995), 289–300.
func BenjaminiHochberg(p []float64) []float64 {
	return adjusted(p, true, func(rank int) float64 { return float64(len(p)) / float64(rank+1) })
}

// BenjaminiYekutieli is BenjaminiHochberg whatever the dependence.
//
// Y. Benjamini and D. Yekutieli, The control of the false discovery rate in
// multiple testing under dependency, Annals of Statistics 29 (2001), 1165–1188,
// theorem 1.3.
func BenjaminiYekutieli(p []float64) []float64 {
	var harmonic float64
	for i := range p {
		harmonic += 1 / float64(i+1)
	}
	return adjusted(p, true, func(rank int) float64 { return harmonic * float64(len(p)) / float64(rank+1) })
}

// adjusted multiplies each p-value by the factor of its rank, at most to 1, and
// keeps the order: upwards from the least, or (down) from the greatest down.
func adjusted(p []float64, down bool, factor func(rank int) float64) []float64 {
	order := make([]int, len(p))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int { return cmp.Compare(p[i], p[j]) })
	out := make([]float64, len(p))
	for rank, i := range order {
		out[i] = min(1, factor(rank)*p[i])
	}
	for rank := 1; rank < len(order) && !down; rank++ {
		out[order[rank]] = max(out[order[rank]], out[order[rank-1]])
	}
	for rank := len(order) - 2; rank >= 0 && down; rank-- {
		out[order[rank]] = min(out[order[rank]], out[order[rank+1]])
	}
	return out
}

// Tarone returns the least number K such that no more than K hypotheses can reach
// alpha/K at all, given their least attainable p-values: those are tested at
// alpha/K, the others need no correction.
//
// R. E. Tarone, A modified Bonferroni method for discrete data, Biometrics 46
// (1990), 515–522.
func Tarone(least []float64, alpha float64) int {
	for k := 1; ; k++ {
		testable := 0
		for _, p := range least {
			if p <= alpha/float64(k) {
				testable++
			}
		}
		if testable <= k {
			return k
		}
	}
}
