package echo

import (
	"encoding/binary"
	"math"
	"math/bits"
)

// Source is an index over the bytes of a request, which are JSON. It is not
// for concurrent use.
type Source struct {
	text   []byte
	memory *Memory
	ready  bool // the chunks are those of the text
	chunks []chunk
	room   []uint64
	effort int // bytes that may still be compared
	looks  int // … before there is an index

	matches []Match
}

// Bounds of the effort for one request: bytes compared.
const (
	minEffort     = 1 << 20
	effortPerByte = 8
)

// chunk is the index of a stretch of the text: for each class of grams, in which
// of the 64 blocks one of them begins.
type chunk struct {
	from, block int
	rows        []uint64
}

const (
	gram      = 4
	chunkSize = 16 << 10
	minBlock  = 32
	perRow    = 24 // bytes of text for each row
	minRows   = 16
)

// Reset makes s an index over text, which must not change while s is used. What
// m remembers of it is not indexed again; m may be nil. The index is made when
// it is needed first: short values are looked for without it, and a few in a
// text that is short.
func (s *Source) Reset(text []byte, m *Memory) {
	clear(s.chunks)
	s.text, s.memory, s.ready, s.chunks, s.effort = text, m, false, s.chunks[:0], minEffort+effortPerByte*len(text)
	if s.looks = 0; len(text) < chunkSize {
		s.looks = maxLooks * len(text)
	}
}

// index makes the index, unless it is there.
func (s *Source) index() {
	if s.ready {
		return
	}
	text, m := s.text, s.memory
	s.ready, s.room = true, s.room[:0]
	for from := 0; from < len(text); from += chunkSize {
		left := len(text) - from
		c := chunk{from: from, block: blockFor(left)}
		if m != nil && left >= chunkSize+gram-1 {
			c.recall(text, m)
		} else {
			c.rows = s.rows(rowsFor(left))
			c.index(text)
		}
		s.chunks = append(s.chunks, c)
	}
}

// rows returns n empty rows.
func (s *Source) rows(n int) []uint64 {
	if cap(s.room)-len(s.room) < n {
		s.room = make([]uint64, 0, max(n, chunkSize/perRow))
	}
	from := len(s.room)
	s.room = s.room[:from+n]
	clear(s.room[from:])
	return s.room[from : from+n : from+n]
}

// recall takes the index of a whole chunk from memory, or makes it for all.
func (c *chunk) recall(text []byte, m *Memory) {
	key := m.key(text, c.from)
	if c.rows = m.get(key); c.rows == nil {
		c.rows = make([]uint64, rowsFor(chunkSize))
		c.index(text)
		m.put(key, c.rows)
	}
}

// Held is how many bytes s takes beside the text.
func (s *Source) Held() (n int) {
	for i := range s.chunks {
		n += 8*len(s.chunks[i].rows) + 48
	}
	return n
}

func rowsFor(n int) int {
	n = min(n, chunkSize)
	return max(minRows, n/perRow)
}

func blockFor(n int) int { return max(minBlock, (min(n, chunkSize)+63)/64) }

// index notes the grams of the chunk. One that begins in it may end behind it.
func (c *chunk) index(text []byte) {
	end := min(c.from+chunkSize, len(text))
	for b := 0; c.from+b*c.block < end; b++ {
		from := c.from + b*c.block
		to := min(from+c.block, end) + gram - 1
		part := text[from:min(to, len(text))]
		bit := uint64(1) << b
		for ; len(part) >= 8; part = part[4:] { // four grams at a time
			w := binary.LittleEndian.Uint64(part)
			c.rows[slot(mix(uint32(w)), len(c.rows))] |= bit
			c.rows[slot(mix(uint32(w>>8)), len(c.rows))] |= bit
			c.rows[slot(mix(uint32(w>>16)), len(c.rows))] |= bit
			c.rows[slot(mix(uint32(w>>24)), len(c.rows))] |= bit
		}
		for ; len(part) >= gram; part = part[1:] {
			c.rows[slot(hash(part), len(c.rows))] |= bit
		}
	}
}

// hash hashes the gram that p begins with, small letters and capitals alike. That
// other bytes become alike too costs a look at the text.
func hash(p []byte) uint32 { return mix(binary.LittleEndian.Uint32(p)) }

func mix(gram uint32) uint32 {
	const golden = 2654435761 // the golden ratio of 2³²
	return (gram | fold&math.MaxUint32) * golden
}

// slot is the row of n that a hash belongs to.
func slot(h uint32, n int) int { return int(uint64(h) * uint64(n) >> 32) }

// border says whether what stands at both ends of an occurrence leaves it whole.
type border func(s *Source, from, to int) bool

// find reports whether v occurs, whatever the case of its letters.
func (s *Source) find(v []byte, ok border) bool {
	if len(v) == 0 {
		return false
	}
	if len(v) < gram {
		return s.short(v, ok)
	}
	if !s.ready {
		if found, sure := s.look(v, ok); sure {
			return found
		}
		s.index()
	}
	for i := range s.chunks {
		for m := s.blocks(i, v); m != 0; m &= m - 1 {
			c := &s.chunks[i]
			from := c.from + bits.TrailingZeros64(m)*c.block
			if s.scan(v, from, min(from+c.block, c.from+chunkSize), ok) {
				return true
			}
		}
	}
	return false
}

// maxLooks is how many times a short text is gone through before it is indexed,
// which takes about as long, and maxLooked for how many values.
const (
	maxLooks  = 3
	maxLooked = 8
)

// atOnce is how much of a text is gone through before what is in front of it: what
// was said last is copied most.
const atOnce = 512

// short is find for a value that has no gram. Found or not, it counts as if all
// of the text had been gone through.
func (s *Source) short(v []byte, ok border) bool {
	to := len(s.text) - len(v) + 1
	s.effort -= max(0, to)
	for ; to > 0 && s.effort >= 0; to -= atOnce {
		if s.seek(v, max(0, to-atOnce), to, ok) {
			return true
		}
	}
	return false
}

// look does without an index what find does, as long as that is cheaper, and
// reports whether it was.
func (s *Source) look(v []byte, ok border) (found, sure bool) {
	effort := s.effort
	s.effort = s.looks
	for to := len(s.text); to > 0 && !found && s.effort > 0; to -= atOnce {
		found = s.scan(v, max(0, to-atOnce), to, ok)
	}
	s.looks, s.effort = s.effort, effort
	return found, found || s.looks > 0
}

// blocks are those of chunk i in which an occurrence of v may begin: each of its
// grams is in the block or, as v may reach into it, in the next one.
func (s *Source) blocks(i int, v []byte) uint64 {
	c := &s.chunks[i]
	m := c.rows[slot(hash(v), len(c.rows))]
	if len(v) > c.block {
		v = v[:c.block]
	}
	for j := 1; j+gram <= len(v) && m != 0; j++ {
		g := hash(v[j:])
		here := c.rows[slot(g, len(c.rows))]
		next := here >> 1
		if i+1 < len(s.chunks) {
			n := &s.chunks[i+1]
			next |= n.rows[slot(g, len(n.rows))] & 1 << 63
		}
		m &= here | next
	}
	return m
}

// scan looks for an occurrence of v that begins in text[from:to].
func (s *Source) scan(v []byte, from, to int, ok border) bool {
	to = min(to, len(s.text)-len(v)+1)
	if s.effort -= max(0, to-from); s.effort < 0 {
		return false
	}
	return s.seek(v, from, to, ok)
}

// seek is scan of a stretch that was counted, and in which v has room.
func (s *Source) seek(v []byte, from, to int, ok border) bool {
	for front := frontOf(v); s.effort >= 0; from++ {
		if from = front.next(s.text, from, to); from >= to {
			break
		}
		n := common(s.text[from:from+len(v)], v)
		if s.effort -= n; n == len(v) && ok(s, from, from+n) {
			return true
		}
	}
	return false
}

// front is the first bytes of what is looked for, at most three, each of them
// in all bytes of a word, and what of a byte counts: not what tells small
// letters from capitals.
type front struct{ each, mask [3]uint64 }

const (
	ones = 0x0101010101010101
	high = 0x8080808080808080
	fold = 0x2020202020202020
)

func frontOf(v []byte) (f front) {
	for i := range min(len(v), len(f.each)) {
		f.each[i], f.mask[i] = uint64(v[i])*ones, ^uint64(fold)
	}
	return f
}

// frontBytes are those that at looks at.
const frontBytes = 8 + 2

// at marks in which of the first eight bytes of p the front may begin: the
// lowest byte that is marked is one; those above it may not be.
func (f *front) at(p []byte) uint64 {
	differ := (binary.LittleEndian.Uint64(p)^f.each[0])&f.mask[0] |
		(binary.LittleEndian.Uint64(p[1:])^f.each[1])&f.mask[1] |
		(binary.LittleEndian.Uint64(p[2:])^f.each[2])&f.mask[2]
	return (differ - ones) &^ differ & high
}

// next is the first place in text[from:to] that may begin with the front, or
// to: sixteen of them are looked at together. A match of other bytes that differ
// as letters do costs a look.
func (f *front) next(text []byte, from, to int) int {
	for ; from < to && from+8+frontBytes <= len(text); from += 16 {
		p := text[from : from+8+frontBytes]
		if low, up := f.at(p[:frontBytes]), f.at(p[8:]); low|up != 0 {
			n := bits.TrailingZeros64(low) / 8 // 8 if there is none
			if low == 0 {
				n += bits.TrailingZeros64(up) / 8
			}
			return min(to, from+n)
		}
	}
	for ; from < to && (uint64(text[from])*ones^f.each[0])&f.mask[0] != 0; from++ {
	}
	return from
}

// common is how many bytes a and b, equally long, have in common at their
// front, whatever the case.
func common(a, b []byte) int {
	for i := range a {
		if a[i] != b[i] && lower(a[i]) != lower(b[i]) {
			return i
		}
	}
	return len(a)
}

func lower(b byte) byte {
	if b >= 'A' && b <= 'Z' {
		return b | 0x20
	}
	return b
}

// words is the border of words and identifiers: their pieces are whole.
func words(s *Source, from, to int) bool {
	if from > 0 && alnum(s.text[from]) && alnum(s.text[from-1]) && joined(s.text, from) && !s.escaped(from-1) {
		return false
	}
	return to <= from || to >= len(s.text) || !alnum(s.text[to-1]) || !alnum(s.text[to]) || !joined(s.text, to)
}

// anywhere is no border.
func anywhere(*Source, int, int) bool { return true }

// minHash is how long a hash is at least when it is cut short.
const minHash = 7

// hashes is the border of hashes that are cut short.
func hashes(s *Source, from, to int) bool {
	return words(s, from, from) && to < len(s.text) && hex(s.text[to])
}

// digits is the border of numbers: no digit goes on, whether or not there is
// a point between.
func digits(s *Source, from, to int) bool {
	at := func(i int) byte {
		if i < 0 || i >= len(s.text) {
			return ' '
		}
		return s.text[i]
	}
	isDigit := func(b byte) bool { return class[b] == digit }
	before, after := at(from-1), at(to)
	return (!isDigit(before) || s.escaped(from-1)) && !isDigit(after) &&
		!((before == '.' || before == ',') && isDigit(at(from-2))) && !((after == '.' || after == ',') && isDigit(at(to+1)))
}

// escaped reports whether the byte at i is the letter of an escape.
func (s *Source) escaped(i int) bool {
	switch s.text[i] {
	case 'n', 't', 'r', 'b', 'f':
		return i > 0 && s.text[i-1] == '\\'
	}
	for n := 1; n <= 4 && i >= 5-n; n++ { // the last digit of \u0000
		if s.text[i] > 'f' {
			return false
		}
	}
	return i >= 5 && s.text[i-4] == 'u' && s.text[i-5] == '\\'
}
