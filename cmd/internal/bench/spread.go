package bench

import (
	"math"
	"math/bits"
	"slices"
	"time"
)

// Spread counts durations by their size, so finely that a quantile is off by 3%
// at most. Its zero value is empty; it is not safe for concurrent use.
type Spread struct {
	n     [40 * parts]uint32
	total uint64
}

// parts is into how many a doubling is divided.
const parts = 32

// add counts a duration.
func (s *Spread) add(d time.Duration) {
	v := uint64(max(0, d))
	i := int(v)
	if v >= parts {
		e := bits.Len64(v) - 6
		i = min((e+1)*parts+int(v>>e)-parts, len(s.n)-1)
	}
	s.n[i]++
	s.total++
}

// merge adds what o counted.
func (s *Spread) merge(o *Spread) {
	for i, n := range o.n {
		s.n[i] += n
	}
	s.total += o.total
}

// quantile is the duration that a share of all does not exceed.
func (s *Spread) quantile(q float64) time.Duration {
	var seen uint64
	for i, n := range s.n {
		if seen += uint64(n); n > 0 && float64(seen) >= q*float64(s.total) {
			if i < parts {
				return time.Duration(i)
			}
			return time.Duration(parts+i%parts) << (i/parts - 1)
		}
	}
	return 0
}

// Median is the middle one of several numbers.
func Median(v []float64) float64 {
	if len(v) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(v))
	if n := len(s); n%2 == 0 {
		return (s[n/2-1] + s[n/2]) / 2
	}
	return s[len(s)/2]
}

// Interval holds the median of what v was drawn from with 95% confidence or
// more, whatever its distribution, where v has 6 numbers or more; else it is
// what v spans.
func Interval(v []float64) (lo, hi float64) {
	if len(v) == 0 {
		return 0, 0
	}
	s := slices.Sorted(slices.Values(v))
	out, tail, ways := 0, 0.0, 1.0 // binomial: how often so few of n lie below the median
	for k := 0; k < len(s)/2; k++ {
		if tail += ways; 2*tail > math.Ldexp(0.05, len(s)) {
			break
		}
		out = k
		ways = ways * float64(len(s)-k) / float64(k+1)
	}
	return s[out], s[len(s)-1-out]
}
