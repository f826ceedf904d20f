package echo

import (
	"bytes"
	"strconv"
)

// usual reports whether an agent may well have meant to edit a source as it
// did: the next number or version, a plural or a mended word, a longer or
// shorter path, a number rounded or in another unit.
func usual(v, w []byte, ops []op, sh shape) bool {
	if sh == number {
		return rounded(v, w) || scaled(v, w) || counted(v, w, 1) || later(v, w)
	}
	return counted(v, w, 5) || sh != address && (worded(v, w) || pathed(v, w, ops) || extended(v, w))
}

// counted reports whether v and w differ in one number alone, which went up or
// down by one, by a few where it has two digits at most and is a piece of its
// own, or from one round number to another; or which is a version.
func counted(v, w []byte, few int64) bool {
	i := 0
	for i < len(v) && i < len(w) && v[i] == w[i] {
		i++
	}
	for i > 0 && class[v[i-1]] == digit {
		i--
	}
	a, b := leading(v[i:]), leading(w[i:])
	if len(a) == 0 || len(b) == 0 {
		return false
	}
	if bytes.EqualFold(v[i+len(a):], w[i+len(b):]) && apart(v[i+len(a):]) {
		return stepped(a, b, few, i == 0 || class[w[i-1]] != letter)
	}
	return numbered(v[i:], w[i:])
}

// apart reports whether a number that rest follows is no part of a key: a word
// may follow it.
func apart(rest []byte) bool { return len(letters(rest)) == 0 || len(letters(rest)) >= 4 }

func stepped(a, b []byte, few int64, alone bool) bool {
	x, errX := strconv.ParseInt(string(a), 10, 64)
	y, errY := strconv.ParseInt(string(b), 10, 64)
	step := int64(1)
	switch {
	case bytes.HasSuffix(a, []byte("00")) && bytes.HasSuffix(b, []byte("00")):
		step = 1 << 40
	case len(b) <= 2 && alone:
		step = few
	}
	return errX == nil && errY == nil && x-y <= step && y-x <= step
}

// numbered reports whether v and w begin with two versions, of small numbers
// between points, and are the same behind them.
func numbered(v, w []byte) bool {
	a, b := dotted(v), dotted(w)
	if bytes.IndexByte(a, '.') < 0 && bytes.IndexByte(b, '.') < 0 || !bytes.EqualFold(v[len(a):], w[len(b):]) {
		return false
	}
	for _, part := range bytes.Split(append(append(bytes.Clone(a), '.'), b...), []byte(".")) {
		if len(part) > 2 {
			return false
		}
	}
	return true
}

// dotted is the digits and points that v begins with.
func dotted(v []byte) []byte {
	n := 0
	for n < len(v) && (class[v[n]] == digit || v[n] == '.' && n+1 < len(v) && class[v[n+1]] == digit) {
		n++
	}
	return v[:n]
}

func leading(v []byte) []byte {
	n := 0
	for n < len(v) && class[v[n]] == digit {
		n++
	}
	return v[:n]
}

// letters is the letters that v begins with.
func letters(v []byte) []byte {
	n := 0
	for n < len(v) && class[v[n]] == letter {
		n++
	}
	return v[:n]
}

// worded reports whether v and w are the same but for words: a plural, another
// form, letters that changed places, or another word altogether.
func worded(v, w []byte) bool {
	for len(v) > 0 && len(w) > 0 {
		a, b := letters(v), letters(w)
		if !bytes.EqualFold(a, b) && !reworded(a, b) {
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
// for neighbours that changed places or a letter that is or is not doubled, or
// unlike it.
func reworded(a, b []byte) bool {
	n := min(len(a), len(b))
	switch {
	case n < 3:
		return false
	case bytes.EqualFold(a[:n-1], b[:n-1]) && len(a) != len(b):
		return true
	case n < 4:
		return false
	}
	if ops := edits(a, b); len(ops) == 1 && (ops[0].kind == swap || doubled(a, b, ops[0])) {
		return true
	}
	return 2*distance(a, b, n) > n
}

// doubled reports whether an edit only doubles a letter, or undoes that.
func doubled(a, b []byte, o op) bool {
	if o.kind == drop {
		a = b
	}
	return o.n == 1 && (o.kind == drop || o.kind == add) && (o.at > 0 && a[o.at-1] == a[o.at] || o.at+1 < len(a) && a[o.at+1] == a[o.at])
}

// extended reports whether v and w differ in what kind of file they name.
func extended(v, w []byte) bool {
	i, j := bytes.LastIndexByte(v, '.'), bytes.LastIndexByte(w, '.')
	return i > 0 && i == j && bytes.EqualFold(v[:i], w[:j]) && len(letters(v[i+1:])) == len(v)-i-1 && len(letters(w[j+1:])) == len(w)-j-1
}

// later reports whether v and w are moments, in seconds or milliseconds since
// 1970, that whole minutes lie between.
func later(v, w []byte) bool {
	x, errX := strconv.ParseInt(string(v), 10, 64)
	y, errY := strconv.ParseInt(string(w), 10, 64)
	minute := int64(60)
	if len(v) == 13 {
		minute *= 1000
	}
	return errX == nil && errY == nil && len(v) == len(w) && (len(v) == 10 || len(v) == 13) && v[0] == '1' && (x-y)%minute == 0
}

func piece(v []byte) []byte {
	n := 0
	for n < len(v) && alnum(v[n]) {
		n++
	}
	return v[:n]
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
	if errX != nil || errY != nil {
		return false
	}
	if bytes.IndexByte(w, '.') < 0 {
		return int64(x) == int64(y) // it was computed further
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
