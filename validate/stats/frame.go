package stats

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// frame is a Table made ready for the search: factors that are known and vary,
// as columns of few levels.
type frame struct {
	columns []column
	cells   []tally
	of      []int32 // the frame's cell of each cell of the table
	left    []Left
}

// column is a factor with the level of every cell. Levels of Ordinal and Graded
// ones ascend.
type column struct {
	Factor
	levels []level
	code   []int8 // of each cell; −1 where it is not known
	items  []item
}

// level is a name, or all numbers from low to high.
type level struct {
	name      string
	low, high float64
	n         int // sessions searched
}

// item is a condition as the search sees it: levels lo to hi of a column.
type item struct{ column, lo, hi int }

// The bounds of a search: factors that vary, levels of one, and conjunctions of up
// to three conditions. Where those would be more, numbers are cut to fewer levels.
const (
	mostFactors      = 32
	mostNames        = 64
	mostNumbers      = 32
	mostConjunctions = 300_000
)

// newFrame cuts the table's numbers to as many levels as the search can bear,
// knowing nothing of outcomes.
func newFrame(t *Table) *frame {
	for numbers := mostNumbers; ; numbers /= 2 {
		f := &frame{}
		for i := range t.factors {
			f.add(t, i, numbers)
		}
		if numbers <= 4 || sum(f.conjunctions(3)) <= mostConjunctions {
			f.merge(t)
			return f
		}
	}
}

// add makes a column of a factor, unless there is nothing to compare.
func (f *frame) add(t *Table, i, numbers int) {
	c, recode := column{Factor: t.factors[i]}, []int8(nil)
	if c.Scale == Nominal {
		recode = c.names(t, i)
	} else {
		recode = c.numbers(t, i, numbers)
	}
	c.code = make([]int8, len(t.cells))
	known := 0
	for j := range t.cells {
		c.code[j] = -1
		if old := t.codes[j*len(t.factors)+i]; old >= 0 {
			c.code[j] = recode[old]
			known += int(t.cells[j].n)
		}
	}
	c.makeItems(len(f.columns))
	switch {
	case known == 0:
		f.left = append(f.left, Left{c.Name, "not known"})
	case c.varying() == 1 && (known == t.searched().N || len(c.items) == 0):
		f.left = append(f.left, Left{c.Name, "the same in all sessions"})
	case len(f.columns) == mostFactors:
		f.left = append(f.left, Left{c.Name, fmt.Sprintf("%d factors before it vary too", mostFactors)})
	default:
		f.columns = append(f.columns, c)
	}
	if dropped := len(t.levels[i].text) - len(c.levels); c.Scale == Nominal && dropped > 0 {
		f.left = append(f.left, Left{c.Name, fmt.Sprintf("%d levels of the fewest sessions", dropped)})
	}
}

// varying counts the levels that occur.
func (c *column) varying() (n int) {
	for _, l := range c.levels {
		if l.n > 0 {
			n++
		}
	}
	return n
}

// searched returns the sessions that are not New.
func (t *Table) searched() (all Arm) {
	for _, c := range t.cells {
		all.N += int(c.n)
		all.K += int(c.k)
	}
	return all
}

// counts returns how many sessions have each level of a factor.
func (t *Table) counts(i int) []int {
	n := make([]int, len(t.levels[i].text))
	for j, c := range t.cells {
		if code := t.codes[j*len(t.factors)+i]; code >= 0 {
			n[code] += int(c.n)
		}
	}
	return n
}

// names keeps the most frequent levels, in order of their names, and returns
// their numbers by the table's.
func (c *column) names(t *Table, i int) []int8 {
	text, n := t.levels[i].text, t.counts(i)
	order := ascending(len(text), func(a, b int) int { return cmp.Or(cmp.Compare(n[b], n[a]), cmp.Compare(text[a], text[b])) })
	order = order[:min(len(order), mostNames)]
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(text[a], text[b]) })
	recode := make([]int8, len(text))
	for j := range recode {
		recode[j] = -1
	}
	for j, old := range order {
		recode[old] = int8(j)
		c.levels = append(c.levels, level{name: text[old], n: n[old]})
	}
	return recode
}

// ascending returns 0 to n−1 in the order of compare.
func ascending(n int, compare func(a, b int) int) []int {
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, compare)
	return order
}

// numbers joins neighbours until there are few levels, the least number staying
// alone, and returns their numbers by the table's.
func (c *column) numbers(t *Table, i, most int) []int8 {
	d, n := &t.levels[i], t.counts(i)
	order := ascending(len(d.low), func(a, b int) int { return cmp.Compare(d.low[a], d.low[b]) })
	recode, room := make([]int8, len(d.low)), 0
	for _, old := range order {
		room += n[old]
	}
	for j, old := range order {
		rest := most - len(c.levels) // levels that may still begin
		if j < 2 || len(order)-j <= rest || rest > 0 && max(n[old], c.levels[len(c.levels)-1].n)*rest >= room {
			c.levels = append(c.levels, level{low: d.low[old], high: d.high[old]})
		}
		l := &c.levels[len(c.levels)-1]
		l.n, l.high = l.n+n[old], d.high[old]
		recode[old] = int8(len(c.levels) - 1)
		room -= n[old]
	}
	return recode
}

// makeItems lists the conditions that some sessions meet and others do not.
func (c *column) makeItems(at int) {
	last := len(c.levels) - 1
	for l := range c.levels {
		if c.Scale == Nominal || c.Scale == Graded && c.levels[l].low == c.levels[l].high {
			c.items = append(c.items, item{at, l, l})
		}
	}
	if c.Scale == Nominal {
		return
	}
	for l := 1; l <= last; l++ {
		if c.Scale == Ordinal || l < last {
			c.items = append(c.items, item{at, l, last})
		}
	}
	for l := range last {
		if c.Scale == Ordinal || l > 0 {
			c.items = append(c.items, item{at, 0, l})
		}
	}
}

// conjunctions counts those of each number of conditions, up to so many.
func (f *frame) conjunctions(depth int) []float64 {
	ways := make([]float64, depth+1)
	ways[0] = 1
	for _, c := range f.columns {
		for d := depth; d > 0; d-- {
			ways[d] += ways[d-1] * float64(len(c.items))
		}
	}
	ways[0] = 0
	return ways
}

func sum(xs []float64) (s float64) {
	for _, x := range xs {
		s += x
	}
	return s
}

// merge joins cells that no column tells apart any more.
func (f *frame) merge(t *Table) {
	type key struct {
		stratum, boot int32
		codes         string
	}
	index, text := make(map[key]int32), make([]byte, 0, 64)
	f.of = make([]int32, len(t.cells))
	for j, c := range t.cells {
		text = text[:0]
		for _, col := range f.columns {
			text = append(text, byte(col.code[j]))
		}
		k := key{c.stratum, c.boot, string(text)}
		at, ok := index[k]
		if !ok {
			at = int32(len(f.cells))
			index[k] = at
			f.cells = append(f.cells, tally{stratum: c.stratum, boot: c.boot})
			for i := range f.columns {
				f.columns[i].code[at] = f.columns[i].code[j] // at ≤ j: in place
			}
		}
		f.cells[at].n += c.n
		f.cells[at].k += c.k
		f.of[j] = at
	}
	for i := range f.columns {
		f.columns[i].code = f.columns[i].code[:len(f.cells)]
	}
}

// condition tells an item in the words of its factor. A lower bound of an Ordinal
// factor's whole numbers lies just above what it excludes.
func (f *frame) condition(it item) Condition {
	c := &f.columns[it.column]
	low, high := c.levels[it.lo], c.levels[it.hi]
	switch {
	case c.Scale == Nominal:
		return Condition{c.Name, "=", low.name}
	case c.Scale == Graded && it.lo == it.hi && low.low == low.high:
		return Condition{c.Name, "=", number(low.low)}
	case it.hi == len(c.levels)-1:
		return Condition{c.Name, "≥", number(c.bound(it.lo))}
	}
	return Condition{c.Name, "≤", number(high.high)}
}

func (c *column) bound(l int) float64 {
	low := c.levels[l].low
	if below := c.levels[l-1].high; c.Scale == Ordinal && below == math.Trunc(below) && low == math.Trunc(low) {
		return below + 1
	}
	return low
}

// holds reports whether a cell meets all items.
func (f *frame) holds(cell int32, items []item) bool {
	for _, it := range items {
		if code := int(f.columns[it.column].code[cell]); code < it.lo || code > it.hi {
			return false
		}
	}
	return true
}

// split parts the cells that meet all items from the others.
func (f *frame) split(cells []int32, items []item) (inside, outside []int32) {
	for _, c := range cells {
		if f.holds(c, items) {
			inside = append(inside, c)
		} else {
			outside = append(outside, c)
		}
	}
	return inside, outside
}

// arm counts the sessions of cells.
func (f *frame) arm(cells []int32) (a Arm) {
	for _, c := range cells {
		a.N += int(f.cells[c].n)
		a.K += int(f.cells[c].k)
	}
	return a
}

// all returns the cells that have sessions to search.
func (f *frame) all() (cells []int32) {
	for i, c := range f.cells {
		if c.n > 0 {
			cells = append(cells, int32(i))
		}
	}
	return cells
}
