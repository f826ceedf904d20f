package turn

import (
	"slices"
	"sync"

	"turnwatch/validate"
)

// Bounds of Rates: models, the latest turns of each, and how many of those
// must be there.
const (
	maxModels  = 256
	rateWindow = 64
	enoughSeen = 16
)

// Rates learns from turns of text alone how many tokens each model spends on
// text, so that tokens spent on what is not there stand out. Its zero value is
// ready; it may be used concurrently.
type Rates struct {
	mu     sync.Mutex
	models map[string]*rate
	uses   uint64 // of models, over all
}

// rate is what is known of a model.
type rate struct {
	seen   [rateWindow]float64 // the latest, round and round
	sorted [rateWindow]float64 // the same
	n      int                 // of all
	now    float64
	last   uint64 // use, of those that are counted
}

// Of returns the rate that the model's turns do not exceed, for
// Request.TokenRate.
func (r *Rates) Of(model string) float64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	m := r.models[model]
	if m == nil {
		return validate.CautiousRate
	}
	if r.used(m); m.n < enoughSeen {
		return validate.CautiousRate
	}
	return m.now
}

func (r *Rates) used(m *rate) {
	r.uses++
	m.last = r.uses
}

// model returns what is known of the model. One that is new takes the place of
// that which was not used for longest, where there is no other.
func (r *Rates) model(name string) *rate {
	m := r.models[name]
	if m != nil {
		return m
	}
	if len(r.models) >= maxModels {
		delete(r.models, r.oldest())
	}
	if r.models == nil {
		r.models = map[string]*rate{}
	}
	m = new(rate)
	r.models[name] = m
	return m
}

func (r *Rates) oldest() (name string) {
	least := r.uses
	for n, m := range r.models {
		if m.last <= least {
			name, least = n, m.last
		}
	}
	return name
}

// Learn takes in a turn. One that anything else is wrong with than its tokens
// is left out; one whose tokens seem too many is not, since for a model that
// thinks in secret all do.
func (r *Rates) Learn(model string, v *validate.Verdict) {
	spent := v.Spent.Rate()
	if spent == 0 || v.Outcome != validate.Clean && v.Outcome != validate.Corrupted {
		return
	}
	for i := range v.Findings {
		if k := v.Findings[i].Kind; k != validate.SwallowedText && k != validate.EmptyTurn {
			return
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	m := r.model(model)
	r.used(m)
	m.add(spent)
}

// add takes in one more. What is told of them is their median and how far they
// lie from it, which a third of odd ones cannot move far; texts of different
// kinds differ, so it is never less than least.
func (m *rate) add(spent float64) {
	const spread, room, least = 4, 0.05, 0.8
	all := m.sorted[:min(m.n, rateWindow)]
	old := &m.seen[m.n%rateWindow]
	if len(all) == rateWindow {
		i, _ := slices.BinarySearch(all, *old)
		all = slices.Delete(all, i, i+1)
	}
	i, _ := slices.BinarySearch(all, spent)
	all = slices.Insert(all, i, spent) // within sorted
	*old = spent
	m.n++
	m.now = max(least, all[len(all)/2]+spread*deviation(all)+room)
}

// deviation is the median of how far all, which are sorted, lie from their own.
func deviation(all []float64) (d float64) {
	at := len(all) / 2
	mid, below, above := all[at], all[:at], all[at+1:]
	for range at {
		switch {
		case len(above) == 0 || len(below) > 0 && mid-below[len(below)-1] < above[0]-mid:
			d, below = mid-below[len(below)-1], below[:len(below)-1]
		default:
			d, above = above[0]-mid, above[1:]
		}
	}
	return d
}
