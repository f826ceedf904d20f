package stats

import (
	"cmp"
	"math"
	"slices"
)

// deepest is how many conditions a block compares exhaustively, kept how many of
// its best conjunctions are extended by one more.
const (
	deepest = 3
	kept    = 200
)

// fewest is how many corrupted sessions make a pattern.
const fewest = 3

// search compares conjunctions over some cells of a frame.
type search struct {
	f      *frame
	cells  []int32 // by stratum; strata in which all or none are corrupted say nothing and are left out
	bounds []int   // where the cells of each stratum end
	chance *chance
	cases  int
	tried  int

	sessions  []int32 // of each cell
	corrupted []int32

	blocks   []block
	supports []support // of all conjunctions of all blocks
	k        []int32   // corrupted sessions of each, as counted last
	room     [2][]int32

	top    []leader
	ln     []float64 // of counts
	lnMean []float64 // of what is expected of each conjunction
	share  []float64 // by number of conditions, the logarithm of how many conjunctions share its part of the error
}

// block is a set of columns: its conjunctions take one item of each.
type block struct {
	columns []int
	first   int // of its conjunctions, the last column's item changing fastest
	count   int
}

// hit is a conjunction with its count.
type hit struct {
	items []item
	n, k  int
	log   float64 // of its p-value times the conjunctions that share its part of the error
}

// newSearch prepares to compare conjunctions of up to depth conditions.
func newSearch(f *frame, cells []int32, depth int) *search {
	s := &search{f: f}
	most := 1.0
	for _, ways := range f.conjunctions(deepest + 1) {
		most = max(most, ways) // so that a condition more never comes cheaper
		s.share = append(s.share, math.Log(most))
	}
	s.informative(cells)
	columns := make([]int, 0, deepest)
	s.combine(columns, depth)
	last := s.blocks[len(s.blocks)-1]
	s.supports = make([]support, last.first+last.count)
	s.k = make([]int32, len(s.supports))
	begin := 0
	for i, end := range s.bounds {
		s.count(s.cells[begin:end], s.sessions[begin:end])
		for j, n := range s.k {
			s.supports[j].add(s.chance.strata[i], int(n))
		}
		begin = end
	}
	s.logarithms()
	return s
}

func (s *search) logarithms() {
	s.lnMean, s.ln = make([]float64, len(s.supports)), make([]float64, s.cases+1)
	for i, u := range s.supports {
		s.tried += int(bit(u.mean > 0))
		s.lnMean[i] = math.Log(u.mean)
	}
	for i := range s.ln {
		s.ln[i] = math.Log(float64(i))
	}
}

// informative takes the cells of strata that have corrupted and sound sessions.
func (s *search) informative(cells []int32) {
	s.cells = slices.Clone(cells)
	slices.SortStableFunc(s.cells, func(a, b int32) int { return cmp.Compare(s.f.cells[a].stratum, s.f.cells[b].stratum) })
	var strata []margin
	all, out := s.cells, s.cells[:0]
	for len(all) > 0 {
		end := 0
		for end < len(all) && s.f.cells[all[end]].stratum == s.f.cells[all[0]].stratum {
			end++
		}
		if a := s.f.arm(all[:end]); 0 < a.K && a.K < a.N {
			out = append(out, all[:end]...)
			s.bounds = append(s.bounds, len(out))
			strata = append(strata, margin{a.N, a.K})
			s.cases += a.K
		}
		all = all[end:]
	}
	s.cells, s.chance = out, newChance(strata)
	for _, c := range s.cells {
		s.sessions = append(s.sessions, s.f.cells[c].n)
		s.corrupted = append(s.corrupted, s.f.cells[c].k)
	}
}

// combine makes the blocks, those of fewer columns first.
func (s *search) combine(columns []int, depth int) {
	for d := 1; d <= depth; d++ {
		s.choose(columns, 0, d)
	}
}

func (s *search) choose(columns []int, from, more int) {
	if more == 0 {
		s.blocks = append(s.blocks, s.newBlock(columns))
		return
	}
	for c := from; c < len(s.f.columns); c++ {
		s.choose(append(columns, c), c+1, more-1)
	}
}

func (s *search) newBlock(columns []int) block {
	b := block{columns: slices.Clone(columns), count: 1}
	for _, c := range columns {
		b.count *= len(s.f.columns[c].items)
	}
	if len(s.blocks) > 0 {
		before := s.blocks[len(s.blocks)-1]
		b.first = before.first + before.count
	}
	return b
}

// count sums the weights of cells into s.k.
func (s *search) count(cells, weights []int32) {
	for _, b := range s.blocks {
		s.countBlock(b, cells, weights)
	}
}

// countBlock sums by level, and then makes items of the levels, column by column.
func (s *search) countBlock(b block, cells, weights []int32) {
	size := 1
	for _, c := range b.columns {
		size *= len(s.f.columns[c].levels)
	}
	s.room[0] = grown(s.room[0], size)
	s.fill(b, s.room[0], cells, weights)
	outer := 1
	for _, c := range b.columns {
		col := &s.f.columns[c]
		inner := size / (outer * len(col.levels))
		if col.Scale != Nominal { // of names, items are levels
			size = outer * len(col.items) * inner
			s.room[1] = grown(s.room[1], size)
			col.expand(s.room[0], s.room[1], outer, inner)
			s.room[0], s.room[1] = s.room[1], s.room[0]
		}
		outer *= len(col.items)
	}
	copy(s.k[b.first:b.first+b.count], s.room[0])
}

// grown returns a slice of that length, its content undefined.
func grown(s []int32, n int) []int32 {
	if cap(s) < n {
		return make([]int32, n)
	}
	return s[:n]
}

// fill sums the weights by level of up to three columns, the last changing fastest.
func (s *search) fill(b block, grid, cells, weights []int32) {
	clear(grid)
	var codes [deepest][]int8
	var sizes [deepest]int
	for i, c := range b.columns {
		codes[i], sizes[i] = s.f.columns[c].code, len(s.f.columns[c].levels)
	}
	switch len(b.columns) {
	case 1:
		for i, c := range cells {
			if x := codes[0][c]; x >= 0 {
				grid[x] += weights[i]
			}
		}
	case 2:
		for i, c := range cells {
			if x, y := codes[0][c], codes[1][c]; x|y >= 0 {
				grid[int(x)*sizes[1]+int(y)] += weights[i]
			}
		}
	case 3:
		for i, c := range cells {
			if x, y, z := codes[0][c], codes[1][c], codes[2][c]; x|y|z >= 0 {
				grid[(int(x)*sizes[1]+int(y))*sizes[2]+int(z)] += weights[i]
			}
		}
	}
}

// expand turns sums by level into sums by item, along the axis between outer and
// inner.
func (c *column) expand(from, to []int32, outer, inner int) {
	wide, items := len(c.levels)*inner, len(c.items)*inner
	for o := range outer {
		levels, out := from[o*wide:(o+1)*wide], to[o*items:(o+1)*items]
		for i := inner; i < wide; i++ { // up to and with each level
			levels[i] += levels[i-inner]
		}
		for j, it := range c.items {
			row := out[j*inner : (j+1)*inner]
			copy(row, levels[it.hi*inner:])
			if it.lo > 0 {
				for x := range row {
					row[x] -= levels[(it.lo-1)*inner+x]
				}
			}
		}
	}
}

// items returns the conditions of a conjunction.
func (s *search) items(b block, id int) []item {
	all, rest := make([]item, len(b.columns)), id-b.first
	for i := len(all) - 1; i >= 0; i-- {
		items := s.f.columns[b.columns[i]].items
		all[i] = items[rest%len(items)]
		rest /= len(items)
	}
	return all
}

// best returns what separates best: the least p-value times the number of
// conjunctions of as many conditions, among equals the fewest conditions, among
// those the factors that stand first. So each number of conditions has an equal
// part of the error, and a condition more has to pay for the choice that it gives.
//
// Source: P. Westfall, S. Kropf and L. Finos, Weighted FWE-controlling methods in
// high-dimensional situations, IMS Lecture Notes 47 (2004), 143–154.
func (s *search) best() (best hit) {
	s.count(s.cells, s.corrupted)
	for _, b := range s.blocks {
		best = s.better(b, best)
	}
	e := newExtension(s)
	places := make([]int32, len(s.cells))
	for i := range places {
		places[i] = int32(i)
	}
	for _, l := range s.leaders() {
		best = e.best(l, places, best)
	}
	return best
}

// better returns what separates best of a block, if it does better than the best so
// far. All must have been counted.
func (s *search) better(b block, best hit) hit {
	for id := b.first; id < b.first+b.count; id++ {
		k, u := int(s.k[id]), s.supports[id]
		if k < fewest || float64(k) <= u.mean {
			continue
		}
		log := s.chance.logTail(u, k) + s.share[len(b.columns)]
		if best.items == nil || less(log, best.log) {
			best = hit{s.items(b, id), u.n, k, log}
		}
	}
	return best
}

// less reports whether a is less by more than rounding.
func less(a, b float64) bool { return a < b-1e-9*(1+math.Abs(b)) }

// leader is one of the conjunctions whose extensions are compared.
type leader struct {
	id    int
	block int
	score float64
}

// leaders returns the best conjunctions of as many conditions as a block has at
// most, by how far their counts lie above what is expected: the logarithm of a
// Poisson likelihood ratio.
func (s *search) leaders() []leader {
	last := s.blocks[len(s.blocks)-1]
	if len(last.columns) < deepest || len(s.f.columns) == deepest {
		return nil
	}
	s.top = s.top[:0]
	for i := range s.blocks {
		if len(s.blocks[i].columns) == deepest {
			s.lead(i)
		}
	}
	return s.top
}

// lead enters the conjunctions of a block.
func (s *search) lead(i int) {
	b := &s.blocks[i]
	for id := b.first; id < b.first+b.count; id++ {
		k, mean := s.k[id], s.supports[id].mean
		if k < fewest || float64(k) <= mean {
			continue
		}
		score := float64(k)*(s.ln[k]-s.lnMean[id]-1) + mean
		if len(s.top) < kept || score > s.top[0].score {
			s.top = push(s.top, leader{id, i, score})
		}
	}
}

// led returns the conditions of a leader.
func (s *search) led(l leader) []item { return s.items(s.blocks[l.block], l.id) }

// push adds l to a heap whose least is first, and drops that beyond kept.
func push(heap []leader, l leader) []leader {
	if len(heap) == kept {
		heap[0] = l
		for i := 0; ; {
			least := i
			for c := 2*i + 1; c <= 2*i+2 && c < kept; c++ {
				if heap[c].score < heap[least].score {
					least = c
				}
			}
			if least == i {
				return heap
			}
			heap[i], heap[least] = heap[least], heap[i]
			i = least
		}
	}
	heap = append(heap, l)
	for i := len(heap) - 1; i > 0 && heap[i].score < heap[(i-1)/2].score; i = (i - 1) / 2 {
		heap[i], heap[(i-1)/2] = heap[(i-1)/2], heap[i]
	}
	return heap
}
