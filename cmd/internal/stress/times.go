package stress

import (
	"math/rand/v2"
	"slices"
)

// Times are times in milliseconds, of which a sample is kept.
type Times struct {
	all    int
	sample []float64
}

// sampled bounds a sample: enough for a 99th percentile.
const sampled = 4096

// add takes in a time. Which are kept is chance: each with the same probability.
//
// J. S. Vitter, Random sampling with a reservoir, ACM Transactions on Mathematical
// Software 11 (1985), 37–57, algorithm R.
func (t *Times) add(ms float64) {
	t.all++
	if len(t.sample) < sampled {
		t.sample = append(t.sample, ms)
	} else if i := rand.IntN(t.all); i < sampled {
		t.sample[i] = ms
	}
}

// join adds the sample of others: right where both are of about as many, or whole.
func (t *Times) join(o Times) {
	t.all += o.all
	t.sample = append(t.sample, o.sample...)
}

// At returns the time that a share of all does not exceed, 0 where there is none.
func (t *Times) At(share float64) float64 {
	if len(t.sample) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(t.sample))
	return sorted[min(len(sorted)-1, int(share*float64(len(sorted))))]
}
