package validate

import (
	"encoding/binary"
	"math/bits"
)

// replay notices a piece of text that repeats all the text before it.
type replay struct {
	bytes int // of the pieces
	parts int // pieces
	last  byte

	// What was read of them: all, whenever it is asked for.
	sum   sum
	rich  bool // enough for a piece to be compared with it
	runes int
	seen  [4]uint64 // which bytes occurred
}

// again says how a piece relates to the text before it.
type again uint8

const (
	other again = iota
	same        // the piece is that text
	grown       // the piece begins with it, or is a line or phrase that may be said twice
)

// A text must be this long, and of this many different bytes, to be compared:
// shorter ones and rulers repeat themselves.
const (
	minReplay    = 16
	minDifferent = 10
	manyParts    = 3 // of so many a piece of its own is seldom made up
)

// fits reports whether a piece is long enough to repeat the text before it,
// and that long enough to be compared.
func (r *replay) fits(p []byte) bool { return len(p) >= r.bytes && r.bytes >= minReplay }

// again says whether a piece that fits repeats the text before it, all of which was read.
func (r *replay) again(p []byte) again {
	var alone sum
	if r.rich {
		alone.write(p[:r.bytes])
	}
	switch {
	case !r.rich || alone != r.sum:
		return other
	case len(p) == r.bytes && (r.parts >= manyParts || inWord[r.last]*inWord[p[0]] > 0):
		return same
	}
	return grown
}

// add appends a piece, which is read later.
func (r *replay) add(p []byte) {
	if len(p) > 0 {
		r.bytes, r.parts, r.last = r.bytes+len(p), r.parts+1, p[len(p)-1]
	}
}

// read reads what was appended, cut anywhere.
func (r *replay) read(p []byte) {
	const few = 64 // most texts are rich after so many
	for q := p; len(q) > 0 && !r.rich; q = q[min(len(q), few):] {
		r.look(q[:min(len(q), few)])
	}
	r.sum.write(p)
}

func (r *replay) look(p []byte) {
	for _, b := range p {
		r.seen[b>>6] |= 1 << (b & 63)
		if b&0xC0 != 0x80 {
			r.runes++
		}
	}
	different := 0
	for _, w := range r.seen {
		different += bits.OnesCount64(w)
	}
	r.rich = r.runes >= minReplay && different >= minDifferent
}

// sum is a hash of a text that comes in pieces, cut anywhere.
type sum struct {
	hash uint64 // of eight bytes at a time
	word uint64 // those that are not eight yet
	n    int
}

func (s *sum) write(p []byte) {
	for ; len(p) > 0 && s.n%8 > 0; p = p[1:] {
		s.add(p[0])
	}
	for ; len(p) >= 8; p = p[8:] {
		s.mix(binary.LittleEndian.Uint64(p))
		s.n += 8
	}
	for _, b := range p {
		s.add(b)
	}
}

func (s *sum) add(b byte) {
	s.word |= uint64(b) << (s.n % 8 * 8)
	if s.n++; s.n%8 == 0 {
		s.mix(s.word)
		s.word = 0
	}
}

func (s *sum) mix(word uint64) {
	const odd = 0x9E3779B97F4A7C15 // 2^64 over the golden ratio
	s.hash = (s.hash ^ word) * odd
	s.hash ^= s.hash >> 32
}
