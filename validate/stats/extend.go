package stats

import (
	"math/bits"
	"slices"
)

// extension counts, for each item of each column, the sessions that meet it and
// all conditions of a leader.
type extension struct {
	s     *search
	first []int // of the items of each column
	sums  []int32
	level [][]int32  // sums by level, of each column
	met   [][]uint64 // by item, a bit for each place: the cell there meets it
	all   []uint64
	rows  []int8 // the levels of the cell at each place, a stride of as many as there are columns
}

func newExtension(s *search) *extension {
	e := &extension{s: s, first: make([]int, len(s.f.columns)), level: make([][]int32, len(s.f.columns))}
	total := 0
	for c := range s.f.columns {
		e.first[c] = total
		total += len(s.f.columns[c].items)
		e.level[c] = make([]int32, len(s.f.columns[c].levels))
	}
	e.sums = make([]int32, total)
	e.index()
	return e
}

// count sums the weights of the places whose cells meet items, by item.
func (e *extension) count(items []item, places, weights []int32) {
	e.clear()
	for i, at := range places {
		if e.holds(int(at), items) {
			e.add(int(at), weights[i])
		}
	}
	e.expand()
}

func (e *extension) holds(at int, items []item) bool {
	row := e.rows[at*len(e.level):]
	for _, it := range items {
		if code := int(row[it.column]); code < it.lo || code > it.hi {
			return false
		}
	}
	return true
}

func (e *extension) clear() {
	for c := range e.level {
		clear(e.level[c])
	}
}

// add counts the cell at a place.
func (e *extension) add(at int, weight int32) {
	n := len(e.level)
	for c, code := range e.rows[at*n : (at+1)*n] {
		if code >= 0 {
			e.level[c][code] += weight
		}
	}
}

// expand makes sums by item of the sums by level.
func (e *extension) expand() {
	for c := range e.level {
		col := &e.s.f.columns[c]
		col.expand(e.level[c], e.sums[e.first[c]:], 1, 1)
	}
}

// index notes which cells meet which items.
func (e *extension) index() {
	words := (len(e.s.cells) + 63) / 64
	e.all = make([]uint64, words)
	e.met = make([][]uint64, len(e.sums))
	for _, cell := range e.s.cells {
		for c := range e.s.f.columns {
			e.rows = append(e.rows, e.s.f.columns[c].code[cell])
		}
	}
	for c := range e.s.f.columns {
		for i, it := range e.s.f.columns[c].items {
			e.met[e.first[c]+i] = e.meeting(it, words)
		}
	}
}

func (e *extension) meeting(it item, words int) []uint64 {
	set, code := make([]uint64, words), e.s.f.columns[it.column].code
	for at, cell := range e.s.cells {
		if x := int(code[cell]); x >= it.lo && x <= it.hi {
			set[at/64] |= 1 << (at % 64)
		}
	}
	return set
}

// supports returns the sessions of each extension.
func (e *extension) supports(items []item) []support {
	for w := range e.all {
		e.all[w] = ^uint64(0)
	}
	for _, it := range items {
		col := e.s.f.columns[it.column]
		for w, bits := range e.met[e.first[it.column]+slices.Index(col.items, it)] {
			e.all[w] &= bits
		}
	}
	all := make([]support, len(e.sums))
	begin := 0
	for i, end := range e.s.bounds {
		e.clear()
		e.between(begin, end)
		e.expand()
		for j, n := range e.sums {
			all[j].add(e.s.chance.strata[i], int(n))
		}
		begin = end
	}
	return all
}

// between adds the sessions of the places from begin to end that are in all.
func (e *extension) between(begin, end int) {
	for w := begin / 64; w*64 < end; w++ {
		for set := e.all[w]; set != 0; set &= set - 1 {
			if at := w*64 + bits.TrailingZeros64(set); at >= begin && at < end {
				e.add(at, e.s.sessions[at])
			}
		}
	}
}

// free reports whether no item is of column c.
func free(items []item, c int) bool {
	for _, it := range items {
		if it.column == c {
			return false
		}
	}
	return true
}

// best returns the extension of a leader that separates best, if it does better
// than the best so far.
func (e *extension) best(l leader, places []int32, best hit) hit {
	items := e.s.led(l)
	supports := e.supports(items)
	e.count(items, places, e.s.corrupted)
	for c := range e.s.f.columns {
		if !free(items, c) {
			continue
		}
		for i, it := range e.s.f.columns[c].items {
			j := e.first[c] + i
			k, u := int(e.sums[j]), supports[j]
			log := e.s.chance.logTail(u, k) + e.s.share[len(items)+1]
			if k >= fewest && float64(k) > u.mean && less(log, best.log) {
				best = hit{append(items[:len(items):len(items)], it), u.n, k, log}
			}
		}
	}
	return best
}
