package echo

import (
	"bytes"
	"slices"
)

// hasNumber reports whether a number occurs, however many zeros stand behind
// its point and whether or not commas, or points, part its thousands.
func (s *Source) hasNumber(v []byte) bool {
	v = bytes.TrimRight(bytes.TrimLeft(v, "+-$"), "%")
	if s.find(v, digits) {
		return true
	}
	whole, part, _ := bytes.Cut(bytes.ReplaceAll(v, []byte(","), nil), []byte("."))
	part = bytes.TrimRight(part, "0")
	return s.written(whole, '.', part) ||
		len(whole) > 3 && s.written(parted(whole, ','), '.', part) ||
		s.written(parted(whole, '.'), ',', part)
}

// written reports whether a number occurs that is written so, or with one or two
// zeros more. Where it is not even the beginning of anything, they are not there.
func (s *Source) written(whole []byte, point byte, part []byte) bool {
	begun := false
	border := func(s *Source, from, to int) bool {
		begun = true
		return digits(s, from, to)
	}
	long := slices.Concat(whole, []byte{point}, part, []byte("00"))
	for zeros := range 3 {
		n := len(long) - 2 + zeros
		if len(part)+zeros == 0 {
			n-- // nor is there a point
		}
		if begun = n == 0; s.find(long[:n], border) {
			return true
		}
		if !begun {
			break
		}
	}
	return false
}

// parted puts a mark between the thousands of a whole number.
func parted(v []byte, mark byte) []byte {
	var b []byte
	for i := range v {
		if i > 0 && (len(v)-i)%3 == 0 {
			b = append(b, mark)
		}
		b = append(b, v[i])
	}
	return b
}
