package echo

import (
	"bytes"
	"strconv"
)

// usual reports whether an agent may well have meant to edit a source as it
// did: the next number, a plural or a mended word, a longer or shorter path, a
// number rounded or in another unit.
func usual(v, w []byte, ops []op, sh shape) bool {
	switch {
	case sh == number:
		return rounded(v, w) || scaled(v, w) || counted(v, w, 1)
	case counted(v, w, 5):
		return true
	}
	return sh != address && (worded(v, w) || pathed(v, w, ops))
}

// counted reports whether v and w differ in one number alone, which went up or
// down by one, or by a few where it has two digits at most and is a piece of
// its own.
func counted(v, w []byte, few int64) bool {
	i := 0
	for i < len(v) && i < len(w) && v[i] == w[i] {
		i++
	}
	for i > 0 && class[v[i-1]] == digit {
		i--
	}
	a, b := leading(v[i:]), leading(w[i:])
	rest := v[i+len(a):]
	if len(a) == 0 || len(b) == 0 || len(rest) > 0 && class[rest[0]] == letter || !bytes.EqualFold(rest, w[i+len(b):]) {
		return false
	}
	x, errX := strconv.ParseInt(string(a), 10, 64)
	y, errY := strconv.ParseInt(string(b), 10, 64)
	step := int64(1)
	if len(b) <= 2 && (i == 0 || class[w[i-1]] != letter) {
		step = few
	}
	return errX == nil && errY == nil && x-y <= step && y-x <= step
}

func leading(v []byte) []byte {
	n := 0
	for n < len(v) && class[v[n]] == digit {
		n++
	}
	return v[:n]
}

// worded reports whether v and w have the same pieces but for words: a plural,
// another form, letters that changed places, or another word altogether.
func worded(v, w []byte) bool {
	for len(v) > 0 && len(w) > 0 {
		a, b := piece(v), piece(w)
		if !bytes.EqualFold(a, b) && !(isWord(a) && isWord(b) && reworded(a, b)) {
			return false
		}
		v, w = v[len(a):], w[len(b):]
		if len(v) > 0 && len(w) > 0 {
			if v[0] != w[0] {
				return false
			}
			v, w = v[1:], w[1:]
		}
	}
	return len(v) == 0 && len(w) == 0
}

// reworded reports whether one word is another one's beginning, the same but
// for neighbours that changed places, or unlike it.
func reworded(a, b []byte) bool {
	n := min(len(a), len(b))
	if bytes.EqualFold(a[:n-1], b[:n-1]) && len(a) != len(b) {
		return true
	}
	ops := edits(a, b)
	return len(ops) == 1 && ops[0].kind == swap || 2*distance(a, b, n) > n
}

func piece(v []byte) []byte {
	n := 0
	for n < len(v) && alnum(v[n]) {
		n++
	}
	return v[:n]
}

func isWord(v []byte) bool {
	for _, b := range v {
		if class[b] != letter {
			return false
		}
	}
	return len(v) >= 4
}

// pathed reports whether v is w with whole pieces taken out of it or put into
// it, as with paths, names of hosts and files; or with another separator.
func pathed(v, w []byte, ops []op) bool {
	if len(ops) != 1 {
		return false
	}
	o := ops[0]
	switch o.kind {
	case sub:
		return o.n == 1 && !alnum(v[o.at])
	case add:
		return whole(v, o.at, o.n)
	case drop:
		return whole(w, o.at, o.n)
	}
	return false
}

// whole reports whether n bytes of v from at on are one or more pieces with a
// separator of paths or files, or only a separator.
func whole(v []byte, at, n int) bool {
	if at+n > len(v) {
		return false
	}
	part := v[at : at+n]
	if len(piece(part)) == 0 && n == 1 {
		return true
	}
	before := at == 0 || !alnum(v[at-1]) || !alnum(v[at])
	after := at+n == len(v) || !alnum(v[at+n-1]) || !alnum(v[at+n])
	return before && after && bytes.ContainsAny(part, "/.:-_@")
}

// decimal is a number as digits and the power of ten they are to be taken
// times.
type decimal struct {
	digits []byte // neither in front nor behind is a 0
	power  int
}

func decimalOf(v []byte) (d decimal) {
	point := false
	for _, b := range v {
		switch {
		case b == '.':
			point = true
		case class[b] == digit:
			d.digits = append(d.digits, b)
			if point {
				d.power--
			}
		}
	}
	d.digits = bytes.TrimLeft(d.digits, "0")
	trimmed := bytes.TrimRight(d.digits, "0")
	d.power += len(d.digits) - len(trimmed)
	d.digits = trimmed
	return d
}

// scaled reports whether two numbers differ by a power of ten.
func scaled(v, w []byte) bool { return bytes.Equal(decimalOf(v).digits, decimalOf(w).digits) }

// rounded reports whether v is w with fewer digits behind the point, rounded or
// cut to a whole number.
func rounded(v, w []byte) bool {
	x, errX := strconv.ParseFloat(string(v), 64)
	y, errY := strconv.ParseFloat(string(w), 64)
	if errX != nil || errY != nil || bytes.IndexByte(w, '.') < 0 {
		return false
	}
	places := 0
	if i := bytes.IndexByte(bytes.TrimRight(v, "0"), '.'); i >= 0 {
		places = len(bytes.TrimRight(v, "0")) - i - 1
	}
	if places == 0 && x == float64(int64(y)) {
		return true
	}
	near := strconv.FormatFloat(y, 'f', places, 64)
	r, _ := strconv.ParseFloat(near, 64)
	return r == x
}
