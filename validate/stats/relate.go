package stats

import "slices"

// mostAliases bounds the aliases named.
const mostAliases = 8

// equals returns conjunctions of no more conditions that select the same sessions,
// those of fewer first.
func (x *inquiry) equals(s *search, core []item) (all [][]item) {
	own, _ := x.f.split(s.cells, core)
	a := x.f.arm(own)
	s.count(s.cells, s.corrupted)
	for _, b := range s.blocks {
		for id := b.first; id < b.first+b.count && len(b.columns) <= len(core); id++ {
			if s.supports[id].n == a.N && int(s.k[id]) == a.K {
				all = append(all, s.items(b, id))
			}
		}
	}
	all = append(all, x.swaps(core)...)
	return slices.DeleteFunc(all, func(items []item) bool { return !x.same(core, items) })
}

// shortest returns what selects the same sessions as core by the fewest conditions.
func (x *inquiry) shortest(s *search, core []item) []item {
	if all := x.equals(s, core); len(all) > 0 && len(all[0]) < len(core) {
		return all[0]
	}
	return core
}

// aliases returns what else selects the same sessions by no more conditions.
func (x *inquiry) aliases(s *search, core []item) (all []Alias) {
	seen := [][]int{columnsOf(core)}
	for _, items := range x.equals(s, core) {
		names := columnsOf(items)
		known := slices.ContainsFunc(seen, func(c []int) bool { return covers(names, c) })
		if known || len(all) == mostAliases {
			continue
		}
		seen = append(seen, names)
		all = append(all, Alias{Of: x.f.conjunction(minus(core, items)), Instead: x.f.conjunction(minus(items, core))})
	}
	return all
}

// swaps returns the conjunctions that differ from core in one condition.
func (x *inquiry) swaps(core []item) (all [][]item) {
	if len(core) <= deepest {
		return nil // the search has them
	}
	for i := range core {
		for c := range x.f.columns {
			if !free(core, c) {
				continue
			}
			for _, it := range x.f.columns[c].items {
				all = append(all, append(without(core, i), it))
			}
		}
	}
	return all
}

func columnsOf(items []item) []int {
	all := make([]int, len(items))
	for i, it := range items {
		all[i] = it.column
	}
	return all
}

// covers reports whether all of b are in a.
func covers(a, b []int) bool {
	for _, v := range b {
		if !slices.Contains(a, v) {
			return false
		}
	}
	return true
}

// minus returns the items of a that are not in b.
func minus(a, b []item) []item {
	return slices.DeleteFunc(slices.Clone(a), func(it item) bool { return slices.Contains(b, it) })
}

// same reports whether both select the same sessions.
func (x *inquiry) same(a, b []item) bool {
	for _, c := range x.cells {
		if x.f.holds(c, a) != x.f.holds(c, b) {
			return false
		}
	}
	return true
}

// implied returns, of each factor that core does not name, the narrowest condition
// that all sessions inside meet and others do not.
func (x *inquiry) implied(core []item) (all []Implication) {
	inside, outside := x.f.split(x.cells, core)
	for c := range x.f.columns {
		if !free(core, c) {
			continue
		}
		if it, ok := x.narrowest(c, inside, outside); ok {
			premise := x.premise(core, it)
			all = append(all, Implication{x.f.conjunction(premise), x.f.condition(it), x.derived(premise, it)})
		}
	}
	return all
}

// narrowest returns the condition of column c that all of inside meet and fewest,
// but not all, of outside.
func (x *inquiry) narrowest(c int, inside, outside []int32) (best item, ok bool) {
	fewest := len(outside)
	for _, it := range x.f.columns[c].items {
		met, not := x.f.split(inside, []item{it})
		if len(not) > 0 || len(met) == 0 {
			continue
		}
		if others, _ := x.f.split(outside, []item{it}); len(others) < fewest {
			best, fewest, ok = it, len(others), true
		}
	}
	return best, ok
}

// premise returns the fewest conditions of core that imply it.
func (x *inquiry) premise(core []item, it item) []item {
	for size := 1; size < len(core); size++ {
		for set := range 1 << len(core) {
			var part []item
			for i := range core {
				if set>>i&1 == 1 {
					part = append(part, core[i])
				}
			}
			if len(part) != size {
				continue
			}
			met, _ := x.f.split(x.cells, part)
			if _, not := x.f.split(met, []item{it}); len(not) == 0 {
				return part
			}
		}
	}
	return core
}

// derived reports whether a premise follows from its conclusion's factor by
// definition.
func (x *inquiry) derived(premise []item, it item) bool {
	for _, p := range premise {
		if slices.Contains(x.f.columns[p.column].From, x.f.columns[it.column].Name) {
			return true
		}
	}
	return false
}

// boots counts the boots inside and outside a conjunction.
func (x *inquiry) boots(core []item) (b Boots) {
	var constant, varying []item
	for _, it := range core {
		if x.constant(it.column) {
			constant = append(constant, it)
			b.Constant = append(b.Constant, x.f.columns[it.column].Name)
		} else {
			varying = append(varying, it)
		}
	}
	exposed, _ := x.f.split(x.cells, varying)
	inside, outside := x.f.split(exposed, constant)
	in, out := x.byBoot(inside), x.byBoot(outside)
	b.Known, b.Inside, b.Outside, b.P = in.N+out.N > 0, in.N, out.N, 1
	if b.Tested = min(in.N, out.N) >= enoughBoots; b.Tested {
		b.P = FisherGreater(in, out)
	}
	return b
}

// constant reports whether a column never changes within a boot.
func (x *inquiry) constant(c int) bool {
	level := make(map[int32]int8)
	for _, cell := range x.f.all() {
		boot, code := x.f.cells[cell].boot, x.f.columns[c].code[cell]
		if seen, ok := level[boot]; boot >= 0 && ok && seen != code {
			return false
		}
		level[boot] = code
	}
	return true
}

// byBoot counts the boots that ran cells, and those with a corrupted session there.
func (x *inquiry) byBoot(cells []int32) (a Arm) {
	bad := make(map[int32]bool)
	for _, c := range cells {
		if t := x.f.cells[c]; t.boot >= 0 {
			bad[t.boot] = bad[t.boot] || t.k > 0
		}
	}
	for _, b := range bad {
		a.N++
		a.K += int(bit(b))
	}
	return a
}

// mostOutside bounds how many sessions outside a block of fresh ones takes.
const mostOutside = 20

// fresh asks the sessions that were kept from the search.
func (x *inquiry) fresh(core []item) *Confirmation {
	if len(x.t.fresh) == 0 {
		return nil
	}
	inside, outside := x.f.split(x.cells, core)
	in, out := max(1, x.f.arm(inside).N), max(1, x.f.arm(outside).N)
	s := Blocks{NA: max(1, min(mostOutside, in/out)), NB: max(1, min(mostOutside, out/in))}
	c := &Confirmation{}
	for _, f := range x.t.fresh {
		bad := f&1 == 1
		arm, add := &c.Outside, s.AddB
		if x.f.holds(x.f.of[f>>1], core) {
			arm, add = &c.Inside, s.AddA
		}
		add(bad)
		arm.N++
		arm.K += int(bit(bad))
	}
	c.LogE, c.P = s.LogE(), s.P()
	if c.Inside.Rate() <= c.Outside.Rate() {
		c.LogE, c.P = min(0, c.LogE), 1 // the E-value has no side of its own
	}
	return c
}
