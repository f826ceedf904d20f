// Package echo says how what a model wrote relates to what it was given.
// Agents copy: identifiers, paths, numbers, dates and names go from messages
// and results of tools into arguments and sentences. A server that damages a
// token on the way leaves a value that is valid in every respect and almost,
// but not quite, a copy.
//
// A [Source] is an index over the bytes of a request: which grams of four
// bytes occur in which of 64 blocks. It answers where a value occurs without
// reading the request again; a few values in a short one are looked for as it
// stands. For a value that does not occur, it reads the request once for the
// tokens that look most like it. What an agent may well have meant, the next
// number, another day, a plural, a shortened path, is told from what nobody
// means. [Habits] remember which parameters are copied at all.
//
// Nothing here is proof. A match is evidence with a background rate.
package echo

import "slices"

// How is how a value relates to a source.
type How uint8

// The ways. Plain values are those of which nothing can be said but whether
// they occur.
const (
	Exact   How = iota // it occurs, or only its case differs
	Near               // one token of the source is almost the same, and no usual edit explains it
	Absent             // it does not occur, and looks like an identifier that nobody makes up
	Other              // it does not occur, and that means nothing by itself
	Unknown            // looking for it would have taken too long
)

// Match is what a source says of a value.
type Match struct {
	How  How
	Edit string // how it differs from that token, of Near: sub@4,del@7+2
	At   int    // byte of the value at which it parts from the source; 0 for Exact
}

// Value is something that a model wrote and may have copied.
type Value struct {
	Text   []byte
	Number bool // it is a number of JSON
}

// maxValue is how long a value may be that is looked for, and maxToken how
// long one that is held against every token of the source.
const (
	maxValue = 4 << 10
	maxToken = 96
)

// Telling reports whether it means something that a value occurs in a source:
// that of a digit or a short word is chance.
func Telling(v Value) bool {
	digits, rest := 0, 0
	for _, b := range v.Text {
		switch class[b] {
		case digit:
			digits++
		case letter, wide:
			rest++
		}
	}
	if rest == 0 {
		return digits >= 3
	}
	return digits+rest >= 4
}

// Idle reports whether all that can be said of a value is whether it occurs, and
// that is chance: it need not be looked for.
func Idle(v Value) bool {
	if Telling(v) {
		return false
	}
	sh := shapeOf(v.Text)
	return v.Number || sh == plain || sh == number
}

// Judge says how each value relates to the source, in matches that are valid
// until the next call.
func (s *Source) Judge(values []Value) []Match {
	if len(values) > maxLooked {
		s.looks = 0
	}
	s.matches = slices.Grow(s.matches[:0], len(values))[:len(values)]
	clear(s.matches)
	all := s.matches
	var open []*query
	for i, v := range values {
		switch found := len(v.Text) == 0 || len(v.Text) <= maxValue && s.has(v); {
		case len(v.Text) > maxValue || s.effort < 0:
			all[i].How = Unknown
			continue
		case found:
			continue
		}
		all[i].How = Other
		if q := newQuery(v, &all[i]); q != nil && len(open) < maxOpen {
			open = append(open, q)
		}
	}
	if len(open) > 0 {
		s.nearest(open)
	}
	return all
}

// maxOpen bounds the values of one turn that are held against every token.
const maxOpen = 16

// has reports whether a value occurs, in any way that it may be spelled.
func (s *Source) has(v Value) bool {
	if v.Number || shapeOf(v.Text) == number {
		return s.hasNumber(v.Text)
	}
	if s.find(v.Text, words) {
		return true
	}
	if len(v.Text) >= minHash && allHex(v.Text) && s.find(v.Text, hashes) {
		return true
	}
	for _, spelled := range spellings(v.Text) {
		if s.find(spelled, words) {
			return true
		}
	}
	return false
}
