package wire

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"
)

// Odd is a piece of a raw text that takes another number of bytes when it is
// decoded. Escapes of one letter (\" \\ \b \f \n \r \t) are not noted: they
// follow from the decoded byte.
type Odd struct{ Pos, Raw, Dec int }

// Joiner decodes the pieces of one text, which may part a surrogate pair.
type Joiner struct {
	half uint16
	Odds []Odd // of the last piece; Pos counts in what that piece was decoded to
}

// Pending reports whether the last piece ended with the first half of a pair.
func (j *Joiner) Pending() bool { return j.half != 0 }

// Append appends the decoded piece to dst. A half pair becomes U+FFFD once it
// is known to stay alone.
func (j *Joiner) Append(dst []byte, t Text) []byte {
	j.Odds = j.Odds[:0]
	if !t.Escaped && j.half == 0 {
		return append(dst, t.Raw...)
	}
	base := len(dst)
	for raw := t.Raw; len(raw) > 0; {
		if n := run(raw); n > 0 {
			dst = j.lone(dst, base)
			dst, raw = append(dst, raw[:n]...), raw[n:]
			continue
		}
		if raw[1] != 'u' {
			dst = j.lone(dst, base)
			if raw[1] == '/' {
				j.odd(len(dst)-base, 2, 1)
			}
			dst, raw = append(dst, unescape[raw[1]]), raw[2:]
			continue
		}
		dst = j.unit(dst, base, unit(raw[2:6]))
		raw = raw[6:]
	}
	return dst
}

// run is how many bytes stand in front of the next backslash.
func run(raw []byte) int {
	const near = 16 // further off it is worth a call
	for i, b := range raw[:min(len(raw), near)] {
		if b == '\\' {
			return i
		}
	}
	if n := bytes.IndexByte(raw, '\\'); n >= 0 {
		return n
	}
	return len(raw)
}

func (j *Joiner) odd(pos, raw, dec int) { j.Odds = append(j.Odds, Odd{pos, raw, dec}) }

// lone writes U+FFFD for a half pair that nothing followed.
func (j *Joiner) lone(dst []byte, base int) []byte {
	if j.half == 0 {
		return dst
	}
	j.half = 0
	j.odd(len(dst)-base, 0, 3)
	return append(dst, "\uFFFD"...)
}

// unit decodes one \uXXXX.
func (j *Joiner) unit(dst []byte, base int, u uint16) []byte {
	if j.half != 0 && u >= 0xDC00 && u <= 0xDFFF {
		r := utf16.DecodeRune(rune(j.half), rune(u))
		j.half = 0
		j.odd(len(dst)-base, 6, 4)
		return utf8.AppendRune(dst, r)
	}
	dst = j.lone(dst, base)
	if u >= 0xD800 && u <= 0xDBFF {
		j.half = u
		j.odd(len(dst)-base, 6, 0)
		return dst
	}
	was := len(dst)
	dst = utf8.AppendRune(dst, rune(u)) // a low half alone becomes U+FFFD
	j.odd(was-base, 6, len(dst)-was)
	return dst
}

func unit(h []byte) (u uint16) {
	for _, b := range h {
		u = u<<4 | uint16(hexDigit[b]-1)
	}
	return u
}
