package stats

import "slices"

// sure is the level at which a cell is asked to be cleared.
const sure = 0.95

// plan lists the cells that would settle what is open.
func (x *inquiry) plan(e *Explanation, core []item) (all []Cell) {
	rate := e.Inside.Rate()
	whole := e.Whole()
	for _, o := range e.Open {
		other := replaced(whole, o.Condition, x.opposite(o.Condition))
		c := x.cell(other, "tells whether "+o.Condition.String()+" matters", rate, o.Without)
		if o.More > c.Fixed {
			c.PeekSafe = c.PeekSafe + o.More - c.Fixed
			c.Fixed = o.More
		}
		all = append(all, c)
	}
	for _, a := range e.Aliases {
		why := "tells " + a.Of.String() + " from " + a.Instead.String()
		if held := x.f.conjunction(core); x.free(held, a.Instead) {
			all = append(all, x.cell(append(held, x.opposites(a.Instead)...), why, rate, Arm{}))
		}
		if held := swapped(x.f.conjunction(core), a); x.free(held, a.Of) {
			all = append(all, x.cell(append(held, x.opposites(a.Of)...), why, rate, Arm{}))
		}
	}
	for _, i := range e.Implied {
		if !i.Derived && !aliased(e.Aliases, i.Then) {
			all = append(all, x.cell(append(x.f.conjunction(core), x.opposite(i.Then)), "nothing inside ran without "+i.Then.String(), rate, Arm{}))
		}
	}
	return all
}

// free reports whether the factors of moved can be changed while held stays: none
// of held follows from one of them by definition. Nobody can run a graph's size
// with graphs off.
func (x *inquiry) free(held, moved Conjunction) bool {
	for _, h := range held {
		for i := range x.f.columns {
			c := &x.f.columns[i]
			if c.Name == h.Factor && slices.ContainsFunc(moved, func(m Condition) bool { return slices.Contains(c.From, m.Factor) }) {
				return false
			}
		}
	}
	return true
}

// cell asks for the sessions that rule out, in a cell, the rate inside the cause.
func (x *inquiry) cell(c Conjunction, why string, rate float64, seen Arm) Cell {
	rate = min(0.95, max(0.001, rate))
	clean := 0
	if seen.K == 0 {
		clean = seen.N
	}
	return Cell{Conjunction: c, Why: why, Seen: seen,
		Fixed:    max(0, RuleOutN(rate, sure)-clean),
		PeekSafe: max(0, RuleOutPeekSafeN(rate, sure, 0)-clean)}
}

func aliased(all []Alias, c Condition) bool {
	for _, a := range all {
		for _, d := range a.Instead {
			if d == c {
				return true
			}
		}
	}
	return false
}

// replaced returns c with one condition in place of another.
func replaced(c Conjunction, old, by Condition) Conjunction {
	out := make(Conjunction, len(c))
	for i, d := range c {
		out[i] = d
		if d == old {
			out[i] = by
		}
	}
	return out
}

// swapped returns c with the alias in place of what it could stand for.
func swapped(c Conjunction, a Alias) (out Conjunction) {
	for _, d := range c {
		if !aliased([]Alias{{Instead: a.Of}}, d) {
			out = append(out, d)
		}
	}
	return append(out, a.Instead...)
}

func (x *inquiry) opposites(c Conjunction) (all Conjunction) {
	for _, d := range c {
		all = append(all, x.opposite(d))
	}
	return all
}

// opposite returns the nearest condition that excludes c: for a name the level
// that most sessions have beside it, for a number the neighbour on the other side.
func (x *inquiry) opposite(c Condition) Condition {
	for i := range x.f.columns {
		col := &x.f.columns[i]
		for _, it := range col.items {
			if col.Name == c.Factor && x.f.condition(it) == c {
				return x.f.condition(col.opposite(it))
			}
		}
	}
	return c
}

func (c *column) opposite(it item) item {
	last := len(c.levels) - 1
	switch {
	case c.Scale == Nominal:
		best := -1
		for l := range c.levels {
			if l != it.lo && (best < 0 || c.levels[l].n > c.levels[best].n) {
				best = l
			}
		}
		if best < 0 {
			return it
		}
		return item{it.column, best, best}
	case it.lo == it.hi && c.Scale == Graded:
		l := it.lo - 1
		if l < 0 {
			l = min(last, 1)
		}
		return item{it.column, l, l}
	case it.hi == last:
		return item{it.column, 0, it.lo - 1}
	}
	return item{it.column, it.hi + 1, last}
}
