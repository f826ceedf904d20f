package stats

// extension counts, for each item of each column, the sessions that meet it and
// all conditions of a leader.
type extension struct {
	s     *search
	first []int // of the items of each column
	sums  []int32
	level [][]int32 // sums by level, of each column
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
	return e
}

// count sums the weights of the cells that meet items, by item.
func (e *extension) count(items []item, cells, weights []int32) {
	for c := range e.level {
		clear(e.level[c])
	}
	for i, cell := range cells {
		if !e.s.f.holds(cell, items) {
			continue
		}
		for c := range e.level {
			if code := e.s.f.columns[c].code[cell]; code >= 0 {
				e.level[c][code] += weights[i]
			}
		}
	}
	for c := range e.level {
		col := &e.s.f.columns[c]
		col.expand(e.level[c], e.sums[e.first[c]:], 1, 1)
	}
}

// supports returns the sessions of each extension.
func (e *extension) supports(items []item) []support {
	all := make([]support, len(e.sums))
	begin := 0
	for i, end := range e.s.bounds {
		e.count(items, e.s.cells[begin:end], e.s.sessions[begin:end])
		for j, n := range e.sums {
			all[j].add(e.s.chance.strata[i], int(n))
		}
		begin = end
	}
	return all
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

// best returns the extension of a leader that separates best.
func (e *extension) best(l leader) (best hit) {
	items := e.s.led(l)
	supports := e.supports(items)
	e.count(items, e.s.cells, e.s.corrupted)
	for c := range e.s.f.columns {
		if !free(items, c) {
			continue
		}
		for i, it := range e.s.f.columns[c].items {
			j := e.first[c] + i
			k, u := int(e.sums[j]), supports[j]
			if log := e.s.chance.logTail(u, k); k >= fewest && less(log, best.log) {
				best = hit{append(items[:len(items):len(items)], it), u.n, k, log}
			}
		}
	}
	return best
}
