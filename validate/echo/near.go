package echo

import (
	"bytes"
	"math"
	"math/bits"
)

// query is a value that does not occur in the source and is held against the
// source's tokens.
type query struct {
	m       *Match
	v       []byte // without the joiners around it
	skipped int    // of those in front
	shape   shape
	most    int    // edits that are looked for
	has     uint64 // which bytes it has, by setOf
	windows int    // that it was held against

	best, next int    // edits to the most similar source, and to another one
	source     []byte // the most similar one
	head, tail end    // the longest that are whole ends of a piece in the source
}

// end is a beginning or an end of a value that the source holds.
type end struct {
	n    int
	from []byte // the run of the source that has it
}

func newQuery(v Value, m *Match) *query {
	sh := shapeOf(v.Text)
	if v.Number {
		sh = number
	}
	body := bytes.TrimLeft(v.Text, "-_./:@+~#$")
	skipped := len(v.Text) - len(body)
	body = bytes.TrimRight(body, "-_./:@+~#%")
	if sh == plain || sh == date || sh == version || len(body) == 0 || len(body) > maxToken {
		return nil
	}
	q := &query{m: m, v: body, skipped: skipped, shape: sh}
	q.most, q.has = min(5, (len(body)+2)/3), setOf(body)
	q.best, q.next = q.most+1, q.most+1
	return q
}

// weigh estimates from below how many bits it takes to guess each byte of a
// token: a letter of a word counts little.
func weigh(v []byte, sh shape) []float64 {
	const ofDigit, ofLetter, ofWord = 3.3, 4, 1.5
	all := make([]float64, len(v))
	for at := 0; at < len(v); {
		p := piece(v[at:])
		each := ofWord
		if hasDigit(p) || sh == address {
			each = ofLetter
		}
		for i, b := range p {
			all[at+i] = each
			if class[b] == digit {
				all[at+i] = ofDigit
			}
		}
		at += len(p) + 1
	}
	return all
}

// nearest holds values against every token of the source that has a digit or
// is an address.
func (s *Source) nearest(all []*query) {
	t := s.text
	for i := 0; i < len(t); i++ {
		if class[t[i]] != digit && t[i] != '@' {
			continue
		}
		from, to := s.run(i)
		for _, q := range all {
			s.effort -= q.hold(t[from:to])
		}
		if i = to; s.effort < 0 {
			break
		}
	}
	for _, q := range all {
		if s.effort < 0 {
			q.m.How = Unknown
			continue
		}
		q.settle()
	}
}

// maxRun bounds the token of the source that is looked at around one byte.
const maxRun = 256

// run is the token around byte i.
func (s *Source) run(i int) (from, to int) {
	t := s.text
	for to = i; to < len(t) && to < i+maxRun && (alnum(t[to]) || class[t[to]] == joiner); to++ {
	}
	for from = i; from > 0 && from > i-maxRun && (alnum(t[from-1]) || class[t[from-1]] == joiner); from-- {
	}
	if from > 0 && t[from-1] == '\\' {
		from += escape(t[from:to])
	}
	return min(from, to), to
}

// escape is how many bytes at the front of what follows a backslash belong to
// the escape.
func escape(b []byte) int {
	switch {
	case len(b) >= 5 && b[0] == 'u' && hex(b[1]) && hex(b[2]) && hex(b[3]) && hex(b[4]):
		return 5
	case len(b) > 0 && bytes.IndexByte([]byte("ntrbf"), b[0]) >= 0:
		return 1
	}
	return 0
}

func hex(b byte) bool { return class[b] == digit || lower(b) >= 'a' && lower(b) <= 'f' }

// hold holds the value against the stretches of a run that are about as long,
// and returns what effort that was.
func (q *query) hold(run []byte) int {
	was := q.windows
	if q.shape == number {
		q.holdNumbers(run)
	} else {
		q.holdTokens(run)
	}
	return len(run) + (q.windows-was)*len(q.v)
}

func (q *query) holdTokens(run []byte) {
	best, at := q.most+1, []byte(nil)
	for i := range run {
		if !alnum(run[i]) || i > 0 && alnum(run[i-1]) && joined(run, i) {
			continue
		}
		q.ends(run, i)
		for e := i + max(1, len(q.v)-q.most); e <= min(len(run), i+len(q.v)+q.most); e++ {
			if !alnum(run[e-1]) || e < len(run) && alnum(run[e]) && joined(run, e) {
				continue
			}
			if d := q.distance(run[i:e], best-1); d < best {
				best, at = d, run[i:e]
			}
		}
	}
	q.take(best, at)
}

// holdNumbers does the same with the numbers in a run.
func (q *query) holdNumbers(run []byte) {
	for i := 0; i < len(run); i++ {
		if class[run[i]] != digit {
			continue
		}
		e, point := i, false
		for e < len(run) && (class[run[e]] == digit || run[e] == '.' && !point && e+1 < len(run) && class[run[e+1]] == digit) {
			point = point || run[e] == '.'
			e++
		}
		whole := (i == 0 || !alnum(run[i-1]) || !joined(run, i)) && (e == len(run) || !alnum(run[e]) || !joined(run, e))
		if w := run[i:e]; whole && len(w) >= len(q.v)-q.most && len(w) <= len(q.v)+q.most {
			q.take(q.distance(w, q.most), w)
		}
		i = e
	}
}

// distance is how many edits away a source is, most+1 if it is more than most.
// Each edit brings or takes one byte at most.
func (q *query) distance(w []byte, most int) int {
	q.windows++
	set := setOf(w)
	if most < 0 || bits.OnesCount64(q.has&^set) > most || bits.OnesCount64(set&^q.has) > most {
		return most + 1
	}
	return distance(q.v, w, most)
}

// setOf is the set of bytes in v, small letters and capitals alike.
func setOf(v []byte) (set uint64) {
	for _, b := range v {
		set |= 1 << (lower(b) & 63)
	}
	return set
}

// take notes a source and how many edits away it is.
func (q *query) take(d int, w []byte) {
	switch {
	case d > q.most || bytes.Equal(w, q.source):
	case d < q.best:
		q.next, q.best, q.source = q.best, d, w
	case d < q.next:
		q.next = d
	}
}

// ends notes how much of the value a run begins with at i, and ends with
// there.
func (q *query) ends(run []byte, i int) {
	n := 0
	for n < len(q.v) && i+n < len(run) && lower(q.v[n]) == lower(run[i+n]) {
		n++
	}
	if n > q.head.n {
		q.head = end{n, run}
	}
	e := i + 1
	for e < len(run) && alnum(run[e]) && joined(run, e) {
		e++
	}
	n = 0
	for n < len(q.v) && n < e && lower(q.v[len(q.v)-1-n]) == lower(run[e-1-n]) {
		n++
	}
	if n > q.tail.n {
		q.tail = end{n, run}
	}
}

// settle says what the value is.
func (q *query) settle() {
	q.m.At = q.skipped + min(q.head.n, len(q.v)-1)
	if q.best <= q.most && q.unique() {
		if ops := edits(q.v, q.source); !q.chance(ops) {
			q.m.At = q.skipped + min(ops[0].at, len(q.v)-1)
			if !usual(q.v, q.source, ops, q.shape) {
				q.m.How, q.m.Edit = Near, spell(ops, q.skipped)
			}
			return
		}
	}
	switch {
	case q.spliced():
		q.m.How, q.m.Edit = Near, spell([]op{{splice, q.head.n, 1}}, q.skipped)
	case q.shape == opaque:
		q.m.How = Absent
	}
}

// unique reports whether no other source is about as similar: where tokens
// come in series, another one of them is no error.
func (q *query) unique() bool {
	if q.shape == number || q.shape == address {
		return q.next > q.best
	}
	return q.next > q.best+1
}

// minBits is how much more it must take to guess the bytes that a value has in
// common with a source than to name the source and the edits: the chance that a
// value which has nothing to do with the request is so similar to some token of
// it is one in eight.
const minBits = 3

// chance reports whether a value may well be as similar to some token of the
// source by chance. Edits are told in any order, by kind, place and length.
func (q *query) chance(ops []op) bool {
	const kinds, lengths = 4, 3
	left := -math.Log2(float64(max(q.windows, 1)))
	bits := weigh(q.v, q.shape)
	for i, o := range ops {
		left += math.Log2(float64(i+1)) - math.Log2(kinds*float64(max(len(q.v), len(q.source))))
		if o.n > 1 {
			left -= math.Log2(lengths)
		}
		if o.kind == sub || o.kind == add {
			clear(bits[o.at : o.at+o.n])
		}
	}
	for _, b := range bits {
		left += b
	}
	return left < minBits
}

// spliced reports whether the value is the beginning of one source and the end
// of another, glued together within a piece: glued between pieces, it is a
// path or a name that was put together.
func (q *query) spliced() bool {
	cut := q.head.n
	if q.shape != opaque && q.shape != token || cut < 4 || q.tail.n < 4 || cut+q.tail.n < len(q.v) || bytes.Equal(q.head.from, q.tail.from) {
		return false
	}
	first := len(q.v) - q.tail.n // the cut is somewhere between
	for i := first; i <= cut; i++ {
		if i == 0 || i == len(q.v) || !alnum(q.v[i-1]) || !alnum(q.v[i]) {
			return false
		}
	}
	return hasDigit(q.v[:first]) && hasDigit(q.v[cut:])
}

func hasDigit(v []byte) bool {
	for _, b := range v {
		if class[b] == digit {
			return true
		}
	}
	return false
}

func allHex(v []byte) bool {
	for _, b := range v {
		if !hex(b) {
			return false
		}
	}
	return true
}
