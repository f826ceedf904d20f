package stats

import "math"

// CUSUM watches a share for a rise from P0 to P1, 0 < P0 < P1 < 1, turn by turn.
//
// E. S. Page, Continuous inspection schemes, Biometrika 41 (1954), 100–115; for
// Bernoulli turns M. R. Reynolds and Z. G. Stoumbos, A CUSUM chart for monitoring
// a proportion when inspecting continuously, Journal of Quality Technology 31
// (1999), 87–108.
type CUSUM struct {
	P0, P1 float64

	sum, greatest float64
}

// Add takes the next turn and returns the sum; an alarm is raised where it reaches
// the height chosen by RunLength.
func (c *CUSUM) Add(corrupted bool) float64 {
	c.sum = max(0, c.sum+logRatio(corrupted, c.P0, c.P1))
	c.greatest = max(c.greatest, c.sum)
	return c.sum
}

// Greatest returns the greatest sum so far.
func (c *CUSUM) Greatest() float64 { return c.greatest }

func logRatio(corrupted bool, p0, p1 float64) float64 {
	if corrupted {
		return math.Log(p1 / p0)
	}
	return math.Log1p(-p1) - math.Log1p(-p0)
}

// ShiryaevRoberts watches a share for a rise from P0 to P1, 0 < P0 < P1 < 1, turn by
// turn or session by session: its unit is what Add is told of. An alarm at A comes
// after A units or more on average for every share up to P0, with nothing to
// calibrate: P0 is best an upper bound of a learning window (Prior.Sequence). Where
// many watch, A times their number makes one alarm of any in A units. After an
// alarm or a change of configuration start a new one.
//
// S. W. Roberts, A comparison of some control chart procedures, Technometrics 8
// (1966), 411–430; the bound for composite shares from J. Shin, A. Ramdas and A.
// Rinaldo, E-detectors: a nonparametric framework for sequential change
// detection, New England Journal of Statistics in Data Science 2 (2024), 229–260: M = (M+1)·LR.
type ShiryaevRoberts struct {
	P0, P1 float64

	value, greatest float64
}

// Add takes the next turn and returns the statistic, which stays finite.
func (s *ShiryaevRoberts) Add(corrupted bool) float64 {
	s.value = min(math.MaxFloat64/4, (s.value+1)*math.Exp(logRatio(corrupted, s.P0, s.P1)))
	s.greatest = max(s.greatest, s.value)
	return s.value
}

// Resume goes on from a value that an earlier one had, with the same P0 and P1.
func (s *ShiryaevRoberts) Resume(value float64) { s.value, s.greatest = value, max(s.greatest, value) }

// Value returns the statistic as it stands, 0 before the first turn.
func (s *ShiryaevRoberts) Value() float64 { return s.value }

// Greatest returns the greatest value so far.
func (s *ShiryaevRoberts) Greatest() float64 { return s.greatest }

// cells bounds the grid of RunLength, fineness the steps of it that a sound turn
// takes.
const (
	cells    = 2000
	fineness = 16
)

// RunLength returns after how many turns on average a CUSUM from p0 to p1 reaches
// height when the share is p, 0 < p < 1.
//
// D. Brook and D. A. Evans, An approach to the probability distribution of CUSUM
// run length, Biometrika 59 (1972), 539–549, on a grid of which a sound turn takes
// a whole number of steps, or one now and then where it takes off too little.
func RunLength(p0, p1, height, p float64) float64 {
	sound := -logRatio(false, p0, p1)
	down := int(min(fineness, max(1, cells*sound/height)))
	step := max(sound/float64(down), height/cells)
	n := max(1, int(math.Ceil(height/step)))
	up := min(n, max(1, int(math.Round(logRatio(true, p0, p1)/step))))
	return brookEvans(n, up, down, p, (1-p)*min(1, sound/step))
}

// brookEvans returns how long a walk from 0 takes to n or beyond, when it goes up
// and down by so much with the probabilities rise and fall, never below 0.
func brookEvans(n, up, down int, rise, fall float64) float64 {
	// Row i says: (rise+fall)·L(i) = 1 + rise·L(i+up) + fall·L(max(0, i−down)).
	width := down + up + 1
	rows, sums := make([]float64, n*width), make([]float64, n)
	at := func(i, j int) *float64 { return &rows[i*width+j-i+down] }
	for i := range n {
		sums[i] = 1
		*at(i, i) += rise + fall
		*at(i, max(0, i-down)) -= fall
		if i+up < n {
			*at(i, i+up) -= rise
		}
	}
	for i := range n { // elimination needs no pivots: the rows dominate
		for k := i + 1; k <= min(n-1, i+down); k++ {
			f := *at(k, i) / *at(i, i)
			if f == 0 {
				continue
			}
			for j := i; j <= min(n-1, i+up); j++ {
				*at(k, j) -= f * *at(i, j)
			}
			sums[k] -= f * sums[i]
		}
	}
	for i := n - 1; i >= 0; i-- {
		for j := i + 1; j <= min(n-1, i+up); j++ {
			sums[i] -= *at(i, j) * sums[j]
		}
		sums[i] /= *at(i, i)
	}
	return sums[0]
}
