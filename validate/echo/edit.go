package echo

import (
	"slices"
	"strconv"
)

// kind is what was done to a source to make a value.
type kind string

const (
	keep   kind = ""
	sub    kind = "sub"    // other bytes stand in the place of n
	drop   kind = "del"    // n bytes of the source are missing in front of at
	add    kind = "ins"    // n bytes are new
	swap   kind = "swap"   // two neighbours changed places
	splice kind = "splice" // the end of another source begins
)

// op is one of the edits that make a value of a source.
type op struct {
	kind kind
	at   int // byte of the value
	n    int
}

// spell writes edits as sub@4,del@7+2; skipped is how far the value they count
// in lies within the whole one.
func spell(ops []op, skipped int) string {
	var b []byte
	for _, o := range ops {
		if len(b) > 0 {
			b = append(b, ',')
		}
		b = append(append(b, o.kind...), '@')
		b = strconv.AppendInt(b, int64(o.at+skipped), 10)
		if o.n > 1 {
			b = strconv.AppendInt(append(b, '+'), int64(o.n), 10)
		}
	}
	return string(b)
}

// distance is how many edits make w of v: bytes replaced, dropped, added, and
// neighbours swapped, each byte edited once; most+1 if it takes more than
// most. Case does not count. Both are at most maxToken+most long.
func distance(v, w []byte, most int) int {
	if most < 0 || len(v)-len(w) > most || len(w)-len(v) > most {
		return most + 1
	}
	var rows [3][2*maxToken + 1]uint8
	two, one, row := &rows[0], &rows[1], &rows[2]
	far := uint8(most + 1)
	for j := 0; j <= min(most+1, len(w)); j++ {
		one[j] = uint8(j)
	}
	for i := 1; i <= len(v); i++ {
		lo, hi := max(1, i-most), min(len(w), i+most)
		row[lo-1] = far
		if lo == 1 {
			row[0] = uint8(min(i, most+1))
		}
		least := row[lo-1]
		for j := lo; j <= hi; j++ {
			a, b := lower(v[i-1]), lower(w[j-1])
			d := one[j-1]
			if a != b {
				d++
			}
			if j < i+most {
				d = min(d, one[j]+1)
			}
			d = min(d, row[j-1]+1)
			if i > 1 && j > 1 && a != b && a == lower(w[j-2]) && b == lower(v[i-2]) {
				d = min(d, two[j-2]+1)
			}
			row[j] = min(d, far)
			least = min(least, row[j])
		}
		if least >= far {
			return int(far)
		}
		two, one, row = one, row, two
	}
	return int(one[len(w)])
}

// edits are those that make v of w, in the order of v. There is at least one.
func edits(v, w []byte) []op {
	n, m := len(v), len(w)
	d := make([]int, (n+1)*(m+1))
	cell := func(i, j int) *int { return &d[i*(m+1)+j] }
	for i := range n + 1 {
		for j := range m + 1 {
			*cell(i, j) = cheapest(v, w, i, j, cell)
		}
	}
	var ops []op
	for i, j := n, m; i > 0 || j > 0; {
		o := step(v, w, i, j, cell)
		switch o.kind {
		case keep, sub:
			i, j = i-1, j-1
		case drop:
			j--
		case add:
			i--
		case swap:
			i, j = i-2, j-2
		}
		if o.at = i; o.kind != keep {
			ops = append(ops, o)
		}
	}
	slices.Reverse(ops)
	if ops = join(ops); len(ops) == 0 {
		return []op{{sub, 0, 0}} // only the case differs
	}
	return ops
}

func cheapest(v, w []byte, i, j int, cell func(i, j int) *int) int {
	if i == 0 || j == 0 {
		return i + j
	}
	best := *cell(i-1, j-1)
	if lower(v[i-1]) != lower(w[j-1]) {
		best++
	}
	best = min(best, *cell(i, j-1)+1, *cell(i-1, j)+1)
	if swapped(v, w, i, j) {
		best = min(best, *cell(i-2, j-2)+1)
	}
	return best
}

func swapped(v, w []byte, i, j int) bool {
	return i > 1 && j > 1 && lower(v[i-1]) == lower(w[j-2]) && lower(v[i-2]) == lower(w[j-1]) && lower(v[i-1]) != lower(w[j-1])
}

// step is the last of the edits that make v[:i] of w[:j].
func step(v, w []byte, i, j int, cell func(i, j int) *int) op {
	here := *cell(i, j)
	switch {
	case i > 0 && j > 0 && lower(v[i-1]) == lower(w[j-1]) && here == *cell(i-1, j-1):
		return op{kind: keep}
	case swapped(v, w, i, j) && here == *cell(i-2, j-2)+1:
		return op{kind: swap, n: 1}
	case i > 0 && j > 0 && here == *cell(i-1, j-1)+1:
		return op{kind: sub, n: 1}
	case j > 0 && here == *cell(i, j-1)+1:
		return op{kind: drop, n: 1}
	}
	return op{kind: add, n: 1}
}

// join makes one edit of neighbouring ones of a kind.
func join(ops []op) (all []op) {
	for _, o := range ops {
		if n := len(all); n > 0 && all[n-1].kind == o.kind && o.kind != swap {
			last := &all[n-1]
			if o.kind == drop && o.at == last.at || o.kind != drop && o.at == last.at+last.n {
				last.n++
				continue
			}
		}
		all = append(all, o)
	}
	return all
}
