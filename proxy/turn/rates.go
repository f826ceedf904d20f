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
	seen [rateWindow]float64 // the latest, round and round
	n    int                 // of all
	now  float64
	last uint64 // use, of those that are counted
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
	m.seen[m.n%rateWindow] = spent
	m.n++
	all := slices.Clone(m.seen[:min(m.n, rateWindow)])
	mid := median(all)
	for i, x := range all {
		all[i] = max(x-mid, mid-x)
	}
	m.now = max(least, mid+spread*median(all)+room)
}

// median sorts all and returns the one in the middle.
func median(all []float64) float64 {
	slices.Sort(all)
	return all[len(all)/2]
}
