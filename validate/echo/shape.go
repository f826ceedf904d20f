package echo

import (
	"bytes"
	"unicode"
	"unicode/utf8"
)

// What bytes are.
const (
	other  = iota
	digit  // 0 to 9
	letter // of ASCII
	wide   // part of a character beyond ASCII
	joiner // stands within identifiers, paths, dates and addresses
)

var class = newClass()

func newClass() (t [256]uint8) {
	for b := range t {
		switch {
		case b >= '0' && b <= '9':
			t[b] = digit
		case b >= 'a' && b <= 'z', b >= 'A' && b <= 'Z':
			t[b] = letter
		case b >= 0x80:
			t[b] = wide
		}
	}
	for _, b := range []byte("-_./:@+~#") {
		t[b] = joiner
	}
	return t
}

// alnum reports whether a byte is part of a piece of a token.
func alnum(b byte) bool { return class[b]-digit <= wide-digit }

// joined reports whether two bytes that are parts of pieces, those in front of and at
// i, belong to one. A piece of ASCII ends where another script begins, for Chinese and
// Japanese put no space around an identifier and Korean hangs its particles on it; so
// it does at quotes and points beyond ASCII. Latin letters go on with a word (Müller),
// and not with digits. It is inlined.
func joined(v []byte, i int) bool { return v[i-1]|v[i] < utf8.RuneSelf || goesOn(v, i) }

// goesOn is joined where one of the two is beyond ASCII.
func goesOn(v []byte, i int) bool {
	r := rune(utf8.RuneError)
	switch a, b := class[v[i-1]], class[v[i]]; {
	case a == b:
		return true
	case a == letter:
		r, _ = utf8.DecodeRune(v[i:])
	case b == letter:
		r, _ = utf8.DecodeLastRune(v[:i])
	}
	return unicode.In(r, unicode.Latin, unicode.Mn)
}

// shape is what a value looks like.
type shape uint8

const (
	plain   shape = iota // words, sentences, code
	number               // digits, a point, a sign, commas between thousands
	date                 // a date or a time of day
	version              // numbers between points, addresses of machines
	token                // an identifier: letters and digits mixed
	address              // of mail
	opaque               // an identifier that nobody makes up
)

// shapeOf says what a value looks like.
func shapeOf(v []byte) shape {
	if len(v) == 0 || len(v) > maxToken {
		return plain
	}
	digits, letters, ats := 0, 0, 0
	for _, b := range v {
		switch class[b] {
		case digit:
			digits++
		case letter:
			letters++
		case joiner:
			if b == '@' {
				ats++
			}
		case other:
			if b != ',' && b != '$' && b != '%' {
				return plain
			}
		default:
			return plain
		}
	}
	switch {
	case ats == 1 && letters > 0 && bytes.IndexByte(v, '/') < 0 && bytes.IndexByte(v, ':') < 0:
		return address
	case digits == 0:
		return plain
	case isDate(v):
		return date
	case letters == 0:
		return digitsOnly(v)
	case isVersion(v):
		return version
	case isOpaque(v):
		return opaque
	}
	return token
}

// digitsOnly tells what without letters is.
func digitsOnly(v []byte) shape {
	body := bytes.TrimLeft(v, "+-$")
	body = bytes.TrimRight(body, "%")
	points, commas := bytes.Count(body, []byte(".")), bytes.Count(body, []byte(","))
	for _, b := range body {
		if class[b] != digit && b != '.' && b != ',' {
			return token
		}
	}
	switch {
	case points <= 1 && (commas == 0 || thousands(body)):
		return number
	case commas == 0:
		return version
	}
	return token
}

// thousands reports whether each comma stands in front of three digits.
func thousands(v []byte) bool {
	whole, _, _ := bytes.Cut(v, []byte("."))
	for i, part := range bytes.Split(whole, []byte(",")) {
		if len(part) == 0 || len(part) > 3 || i > 0 && len(part) != 3 {
			return false
		}
	}
	return true
}

// isVersion reports whether v is numbers between points, one letter in front
// or a word behind them allowed.
func isVersion(v []byte) bool {
	if class[v[0]] == letter && len(v) > 1 {
		v = v[1:]
	}
	core := v
	for i, b := range v {
		if class[b] != digit && b != '.' {
			core = v[:i]
			break
		}
	}
	points := bytes.Count(core, []byte("."))
	return points >= 1 && class[core[0]] == digit && len(core) <= 15 && (len(core) == len(v) || v[len(core)] == '-' || v[len(core)] == '+')
}

// isDate reports whether v reads as a date, a time of day, or both.
func isDate(v []byte) bool {
	if len(v) < 4 {
		return false
	}
	groups, marks := 0, 0
	run := 0
	for i, b := range v {
		switch {
		case class[b] == digit:
			if run++; run == 1 {
				groups++
			}
			continue
		case b == '-' || b == '/' || b == ':':
			marks++
		case b == '.' || b == '+':
		case (b == 'T' || b == 't') && i > 0 && run > 0, (b == 'Z' || b == 'z') && i == len(v)-1:
		default:
			return false
		}
		if run > 4 && b != 'Z' && b != 'z' && b != '+' {
			return false
		}
		run = 0
	}
	return marks >= 1 && groups >= 2 && groups <= 8 && plausible(v)
}

// plausible reports whether the groups of digits may be those of a date: a year
// and two more, or an hour and minutes.
func plausible(v []byte) bool {
	if len(v) >= 8 && (v[4] == '-' || v[4] == '/') && (v[0] == '1' || v[0] == '2') {
		return true
	}
	if i := bytes.IndexByte(v, ':'); i == 1 || i == 2 {
		return len(v) >= i+3
	}
	return len(v) >= 8 && len(v) <= 10 && bytes.Count(v, []byte("/")) == 2
}

// isOpaque reports whether a piece of v is long and switches between letters
// and digits as keys and hashes do.
func isOpaque(v []byte) bool {
	for len(v) > 0 {
		p := piece(v)
		turns, digits, foreign := 0, 0, false
		for i, b := range p {
			if class[b] == digit {
				digits++
			}
			if i > 0 && class[b] != class[p[i-1]] {
				turns++
			}
			foreign = foreign || !hex(b)
		}
		if len(p) >= 6 && digits >= 3 && (turns >= 3 || turns == 2 && !foreign) {
			return true
		}
		v = v[min(len(p)+1, len(v)):]
	}
	return false
}

// IsText reports whether a value is words rather than one token: its tokens
// are to be looked at.
func IsText(v []byte) bool {
	if len(v) > maxToken {
		return true
	}
	for _, b := range v {
		if b == ' ' || b == '\t' || b == '\r' || b == '\n' {
			return true
		}
	}
	return false
}
