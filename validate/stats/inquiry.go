package stats

import (
	"cmp"
	"math"
	"slices"
)

// inquiry is one call of Explain.
type inquiry struct {
	Options
	t     *Table
	f     *frame
	cells []int32 // that no cause explains yet
}

// next searches for one cause more, enters it and takes its sessions out; it
// reports whether there was one.
func (x *inquiry) next(r *Result) bool {
	first := len(r.Causes) == 0
	s := newSearch(x.f, x.cells, deepest)
	if first {
		r.Tried = s.tried
	}
	if s.cases == 0 || len(s.blocks) == 0 {
		return false
	}
	h := s.best()
	if len(h.items) == 0 {
		return false
	}
	p, made := x.familyWise(s, h)
	if first {
		r.P, r.Permutations = p, made
	}
	if p > x.Alpha {
		if first && x.Seen {
			r.Nearest = x.nearest(s, h, p)
		}
		return false
	}
	e, core := x.explanation(s, h, p)
	inside, rest := x.f.split(x.cells, core)
	x.cells = rest
	r.Unexplained -= x.f.arm(inside).K
	r.Causes = append(r.Causes, *e)
	return true
}

// familyWise returns the p-value of a hit corrected for all that were compared,
// and the permutations it took.
func (x *inquiry) familyWise(s *search, h hit) (p float64, made int) {
	p, settled := x.bounded(s.raw(h.items), math.Exp(s.share[len(h.items)])*(deepest+1))
	if settled {
		return p, 0
	}
	q, made := newShuffle(s, h.log, x.Seed).p(x.Permutations, x.Alpha)
	return min(p, q), made
}

// bounded returns Bonferroni's bound, and whether permutations could show no less.
func (x *inquiry) bounded(raw, comparisons float64) (p float64, settled bool) {
	p = min(1, raw*comparisons)
	return p, p*float64(x.Permutations+1) <= 1
}

// raw returns the exact one-sided p-value of a conjunction within strata.
func (s *search) raw(items []item) float64 {
	n, k, begin := make([]int, len(s.bounds)), 0, 0
	for i, end := range s.bounds {
		inside, _ := s.f.split(s.cells[begin:end], items)
		a := s.f.arm(inside)
		n[i], k, begin = a.N, k+a.K, end
	}
	return s.chance.exactTail(n, k)
}

// nearest describes what came nearest where nothing separates.
func (x *inquiry) nearest(s *search, h hit, p float64) *Explanation {
	e := &Explanation{Conjunction: x.f.conjunction(h.items), Raw: s.raw(h.items), P: p}
	inside, outside := x.f.split(x.cells, h.items)
	e.Inside, e.Outside = x.f.arm(inside), x.f.arm(outside)
	e.Boots = x.boots(h.items)
	e.Next = []Cell{x.cell(e.Conjunction, "shows whether there is anything to it", e.Inside.Rate(), Arm{})}
	return e
}

// explanation makes a hit minimal and describes it. It returns the conditions that
// select the sessions inside.
func (x *inquiry) explanation(s *search, h hit, p float64) (*Explanation, []item) {
	slices.SortFunc(h.items, func(a, b item) int { return cmp.Compare(a.column, b.column) })
	core, open, earned := x.minimal(h.items)
	e := &Explanation{P: p, Earned: earned}
	if len(core) > 0 {
		core, e.Earned = x.narrowed(x.shortest(s, x.widened(core)), earned)
		e.Conjunction = x.f.conjunction(core)
	} else {
		core = h.items
	}
	inside, outside := x.f.split(x.cells, core)
	e.Inside, e.Outside = x.f.arm(inside), x.f.arm(outside)
	e.Raw = s.raw(core)
	for _, it := range open {
		e.Open = append(e.Open, x.open(h.items, it))
	}
	e.Similar = x.similar(core)
	e.Aliases, e.Implied = x.aliases(s, core), x.implied(core)
	e.Boots, e.Fresh = x.boots(core), x.fresh(core)
	e.Next = x.plan(e, core)
	return e, core
}

// minimal takes out, one by one, the conditions that do not earn their place.
func (x *inquiry) minimal(items []item) (core, open []item, earned []float64) {
	core = slices.Clone(items)
	for len(core) > 0 {
		p := make([]float64, len(core))
		for i := range core {
			p[i] = x.earned(core, i)
		}
		p = Holm(p)
		worst := 0
		for i := range p {
			if p[i] >= p[worst] {
				worst = i
			}
		}
		if p[worst] <= x.Alpha {
			return core, open, p
		}
		open = append(open, core[worst])
		core = slices.Delete(core, worst, worst+1)
	}
	return nil, open, nil
}

// widened moves each threshold outwards as far as the sessions between are not
// significantly cleaner: a narrower one has to earn its place too, among as many as
// there are.
func (x *inquiry) widened(core []item) []item {
	core = slices.Clone(core)
	for i, it := range core {
		around := x.f.columns[it.column].around(it)
		for _, wider := range around {
			core[i] = wider
			cells, _ := x.f.split(x.cells, core)
			if p := x.among(cells, it); p*float64(len(around)) > x.Alpha {
				break
			}
			core[i] = it
		}
	}
	return core
}

// divides is the share of the error that may narrow a cause for nothing.
const divides = 0.2

// narrowed adds conditions that separate within core, beyond doubt: two causes that
// share a condition are best told from all else by that condition alone. The other
// one is found among the sessions that are left.
func (x *inquiry) narrowed(core []item, earned []float64) ([]item, []float64) {
	for len(core) <= deepest {
		it, p := x.within(core)
		if p > divides*x.Alpha {
			break
		}
		at, _ := slices.BinarySearchFunc(core, it, func(a, b item) int { return cmp.Compare(a.column, b.column) })
		core = slices.Insert(slices.Clone(core), at, it)
		earned = slices.Insert(slices.Clone(earned), min(at, len(earned)), p)
	}
	return core, earned
}

// within returns the condition on another factor that separates best among the
// sessions of core, and its p-value, corrected for all that there are. It is one of
// names: a rate that rises with a number inside is still of one cause.
func (x *inquiry) within(core []item) (item, float64) {
	inside, _ := x.f.split(x.cells, core)
	s := newSearch(x.f, inside, 1)
	if s.cases == 0 {
		return item{}, 1
	}
	s.count(s.cells, s.corrupted)
	var best hit
	for _, b := range s.blocks {
		if c := b.columns[0]; free(core, c) && x.f.columns[c].Scale == Nominal {
			best = s.better(b, best)
		}
	}
	if best.items == nil {
		return item{}, 1
	}
	return best.items[0], x.among(inside, best.items[0])
}

// around returns the items of the same direction that hold more levels than it,
// the widest first.
func (c *column) around(it item) (all []item) {
	last := len(c.levels) - 1
	if c.Scale == Nominal {
		return nil
	}
	if it.hi == last {
		for l := 1; l < it.lo; l++ {
			all = append(all, item{it.column, l, last})
		}
	}
	if it.lo == 0 {
		for l := last - 1; l > it.hi; l-- {
			all = append(all, item{it.column, 0, l})
		}
	}
	return all
}

// without returns the items but the one at i.
func without(items []item, i int) []item {
	return slices.Delete(slices.Clone(items), i, i+1)
}

// earned returns the p-value of a condition: among the sessions that meet the
// others, those that meet it are not corrupted more often than the rest.
func (x *inquiry) earned(items []item, i int) float64 {
	cells, _ := x.f.split(x.cells, without(items, i))
	return x.among(cells, items[i])
}

// among returns the p-value of one condition among cells, corrected for every other
// that could have stood in its place, as it was chosen among them.
func (x *inquiry) among(cells []int32, it item) float64 {
	s := newSearch(x.f, cells, 1)
	if s.cases == 0 {
		return 1
	}
	one := []item{it}
	p, settled := x.bounded(s.raw(one), float64(s.tried))
	if settled {
		return p
	}
	q, _ := newShuffle(s, s.log(one), x.Seed+1).p(x.Permutations, x.Alpha)
	return min(p, q)
}

// log returns the number by which a conjunction is ranked.
func (s *search) log(items []item) float64 {
	var u support
	k, begin := 0, 0
	for i, end := range s.bounds {
		inside, _ := s.f.split(s.cells[begin:end], items)
		a := s.f.arm(inside)
		u.add(s.chance.strata[i], a.N)
		k, begin = k+a.K, end
	}
	return s.chance.logTail(u, k) + s.share[len(items)]
}

// conjunction tells items in words.
func (f *frame) conjunction(items []item) Conjunction {
	all := make(Conjunction, len(items))
	for i, it := range items {
		all[i] = f.condition(it)
	}
	return all
}

// open describes a condition of the whole that has not earned its place.
func (x *inquiry) open(whole []item, it item) Open {
	i := slices.Index(whole, it)
	parent, _ := x.f.split(x.cells, without(whole, i))
	with, rest := x.f.split(parent, whole[i:i+1])
	o := Open{Condition: x.f.condition(it), With: x.f.arm(with), Without: x.f.arm(rest), P: x.earned(whole, i)}
	correction := float64(len(whole)) * max(1, o.P/FisherGreater(o.With, o.Without))
	enough := func(m int) bool {
		return FisherGreater(o.With, Arm{o.Without.K, o.Without.N + m})*correction <= x.Alpha
	}
	if most := 100 * (o.With.N + o.Without.N); enough(most) {
		o.More = least(0, most, enough)
	}
	return o
}

// similar returns the conditions with a higher or lower threshold that would
// explain as much: between both nothing tells them apart.
func (x *inquiry) similar(core []item) (all []string) {
	for i, it := range core {
		col := &x.f.columns[it.column]
		for _, other := range col.items {
			same := slices.Contains(col.around(it), other) || slices.Contains(col.around(other), it)
			if same && x.alike(core, i, other) {
				all = append(all, x.f.condition(other).String())
			}
		}
	}
	return all
}

// alike reports whether the sessions between both thresholds leave open which it
// is: those of a wider one are not cleaner than the core, those that a narrower
// one leaves out no more corrupted than what is outside.
func (x *inquiry) alike(core []item, i int, other item) bool {
	parent, _ := x.f.split(x.cells, without(core, i))
	mine, rest := x.f.split(parent, core[i:i+1])
	if wider, _ := x.f.split(rest, []item{other}); len(wider) > 0 {
		return FisherGreater(x.f.arm(mine), x.f.arm(wider)) > x.Alpha
	}
	_, narrower := x.f.split(mine, []item{other})
	_, outside := x.f.split(x.cells, core)
	return FisherGreater(x.f.arm(narrower), x.f.arm(outside)) > x.Alpha
}
