package proxy

import (
	"cmp"
	"slices"
	"strconv"
	"sync"

	"turnwatch/proxy/turn"
)

// breakdown counts turns by the configuration and the batch that made them. It
// is bounded: ranges and verdicts are closed sets, fingerprints are capped.
type breakdown struct {
	mu           sync.Mutex
	fingerprints map[string]bool
	n            map[cell]int64
}

// cell is one combination of labels.
type cell struct{ fingerprint, batch, verdict string }

// maxFingerprints is how many configurations have series of their own; those
// that come later share one.
const maxFingerprints = 32

func (b *breakdown) add(t *turn.Turn) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.n == nil {
		b.fingerprints, b.n = map[string]bool{}, map[cell]int64{}
	}
	c := cell{t.Fingerprint, batchRange(t.Tags["batch"].Value), string(t.Outcome)}
	if !b.fingerprints[c.fingerprint] {
		if len(b.fingerprints) >= maxFingerprints {
			c.fingerprint = overflow
		} else {
			b.fingerprints[c.fingerprint] = true
		}
	}
	b.n[c]++
}

// metric is the family of all cells.
func (b *breakdown) metric() Metric {
	b.mu.Lock()
	defer b.mu.Unlock()
	m := Metric{Name: "turnwatch_configured_turns_total", Help: "Turns that were judged, by configuration, range of the batch and verdict."}
	for c, n := range b.n {
		m.Series = append(m.Series, Sample{[]Label{{"turnwatch_fingerprint", c.fingerprint}, {"turnwatch_batch_range", c.batch},
			{"turnwatch_verdict", c.verdict}}, float64(n)})
	}
	slices.SortFunc(m.Series, func(a, b Sample) int {
		return slices.CompareFunc(a.Labels, b.Labels, func(x, y Label) int { return cmp.Compare(x.Value, y.Value) })
	})
	return m
}

// batchRange is the label of a batch size: 1, 2-4, 5-8 and on in powers of
// two, 129+, or unknown.
func batchRange(size string) string {
	n, err := strconv.Atoi(size)
	switch {
	case err != nil || n < 1:
		return "unknown"
	case n == 1:
		return "1"
	case n > 128:
		return "129+"
	}
	lo, hi := 2, 4
	for n > hi {
		lo, hi = hi+1, 2*hi
	}
	return strconv.Itoa(lo) + "-" + strconv.Itoa(hi)
}
