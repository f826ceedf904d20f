package validate

import (
	"encoding/binary"

	"turnwatch/validate/wire"
)

// track remembers where in the body, or in the arguments, each byte of a
// decoded text stands, without the text: a few bytes for each stretch that was
// taken as it is, and for each escape.
type track struct {
	buf []byte
	dec int64 // decoded bytes so far
	at  int64 // where the last stretch begins

	last struct { // where the latest answer to find was: most come in order
		buf, dec, at int64
	}
}

// maxTrack bounds the memory of a track. What comes later is told as the place
// at which it was full.
const maxTrack = 256 << 10

// stretch adds n decoded bytes that begin at offset at; an escape's all stand
// at that offset.
func (t *track) stretch(n int, at int64, escape bool) {
	t.dec += int64(n)
	if len(t.buf) > maxTrack || n == 0 {
		return
	}
	head := uint64(n) << 1
	if escape {
		head |= 1
	}
	t.buf = binary.AppendUvarint(t.buf, head)
	t.buf = binary.AppendVarint(t.buf, at-t.at)
	t.at = at
}

// add adds a piece of text that begins at offset at and was decoded to piece;
// odds are the escapes that do not follow from it.
func (t *track) add(piece []byte, at int64, escaped bool, odds []wire.Odd) {
	if !escaped && len(odds) == 0 {
		t.stretch(len(piece), at, false)
		return
	}
	from := 0
	flush := func(to int) {
		t.stretch(to-from, at, false)
		at += int64(to - from)
		from = to
	}
	for pos := 0; pos < len(piece) || len(odds) > 0; {
		switch {
		case len(odds) > 0 && odds[0].Pos == pos:
			flush(pos)
			t.stretch(odds[0].Dec, at, true)
			at, from, pos = at+int64(odds[0].Raw), pos+odds[0].Dec, pos+odds[0].Dec
			odds = odds[1:]
		case pos >= len(piece):
			odds = nil
		case short(piece[pos]):
			flush(pos)
			t.stretch(1, at, true)
			pos++
			at, from = at+2, pos
		default:
			pos++
		}
	}
	flush(len(piece))
}

// find is where byte i of the text stands.
func (t *track) find(i int64) int64 {
	l := &t.last
	if i < l.dec {
		l.buf, l.dec, l.at = 0, 0, 0
	}
	at := l.at
	for b := t.buf[l.buf:]; len(b) > 0; {
		head, n := binary.Uvarint(b)
		gap, m := binary.Varint(b[n:])
		b = b[n+m:]
		at = l.at + gap
		size, escape := int64(head>>1), head&1 != 0
		switch {
		case i < l.dec+size && escape:
			return at
		case i < l.dec+size:
			return at + i - l.dec
		case len(b) == 0 && !escape:
			return at + size - 1
		}
		l.buf, l.dec, l.at = l.buf+int64(n+m), l.dec+size, at
	}
	return at
}
