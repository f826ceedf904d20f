package validate

import (
	"encoding/binary"

	"turnwatch/validate/wire"
)

// clock remembers a number that only rises along the body, such as when its
// bytes arrived, as far as findings may need it: a few bytes for each piece that
// was worth keeping.
type clock struct {
	buf  []byte // for each piece: how far its end lies behind the last one's, and how much higher its number is
	off  int64  // end of the last piece in buf
	at   int64  // its number
	kept struct {
		len     int
		off, at int64
	}
}

// maxClock bounds the memory of a clock. Later pieces count as the last one.
const maxClock = 256 << 10

// note adds the piece that ends at offset off.
func (c *clock) note(off, at int64) {
	if len(c.buf) > maxClock {
		return
	}
	at = max(at, c.at)
	c.buf = binary.AppendUvarint(c.buf, uint64(off-c.off))
	c.buf = binary.AppendUvarint(c.buf, uint64(at-c.at))
	c.off, c.at = off, at
}

// keep keeps the pieces noted so far.
func (c *clock) keep() { c.kept.len, c.kept.off, c.kept.at = len(c.buf), c.off, c.at }

// drop forgets the pieces since the last keep.
func (c *clock) drop() { c.buf, c.off, c.at = c.buf[:c.kept.len], c.kept.off, c.kept.at }

// when is the number of the piece with the byte at off.
func (c *clock) when(off int64) int64 {
	var end, at uint64
	for b := c.buf; len(b) > 0; {
		d, n := binary.Uvarint(b)
		t, m := binary.Uvarint(b[n:])
		b = b[n+m:]
		if end, at = end+d, at+t; int64(end) > off {
			break
		}
	}
	return int64(at)
}

// place says where in an answer its events stand, counted in outputs and in
// tokens: what joins a finding to the step of the server that made it.
type place struct {
	outputs        int64 // events with output so far
	order, reports clock // outputs, and the tokens that the server reported, by the events' ends
}

// note counts the event that ends at offset end. What it holds is kept only if
// a finding may lie in it.
func (p *place) note(end int64, output bool, u *Usage, worth bool) {
	if output {
		p.outputs++
	}
	p.order.note(end, p.outputs)
	if u != nil {
		p.reports.note(end, u.CompletionTokens)
	}
	if worth {
		p.order.keep()
		p.reports.keep()
		return
	}
	p.order.drop()
	p.reports.drop()
}

// held is how many bytes it keeps.
func (p *place) held() int { return cap(p.order.buf) + cap(p.reports.buf) }

// trail remembers where in the body each byte of a call's arguments came
// from: a few bytes for each piece, and for each escape whose length does not
// follow from the decoded byte.
type trail struct {
	buf []byte
	at  int64 // where the last piece begins in the body
}

const (
	hasOdds  = 1
	verbatim = 2
)

// add notes a piece of arguments, n bytes when decoded, that begins at offset
// at of the body. A verbatim piece has no escapes.
func (t *trail) add(at int64, n int, raw bool, odds []wire.Odd) {
	head := uint64(n) << 2
	if raw {
		head |= verbatim
	}
	if len(odds) > 0 {
		head |= hasOdds
	}
	t.buf = binary.AppendUvarint(t.buf, head)
	t.buf = binary.AppendUvarint(t.buf, uint64(at-t.at))
	t.at = at
	if len(odds) == 0 {
		return
	}
	t.buf = binary.AppendUvarint(t.buf, uint64(len(odds)))
	pos := 0
	for _, o := range odds {
		t.buf = binary.AppendUvarint(t.buf, uint64(o.Pos-pos))
		t.buf = append(t.buf, byte(o.Raw), byte(o.Dec))
		pos = o.Pos
	}
}

// next reads one piece from b.
func (t *trail) next(b []byte) (rest []byte, n int, at int64, raw bool, odds []wire.Odd) {
	num := func() int64 {
		v, size := binary.Uvarint(b)
		b = b[size:]
		return int64(v)
	}
	head := num()
	at = num()
	if head&hasOdds != 0 {
		odds = make([]wire.Odd, num())
		pos := 0
		for i := range odds {
			pos += int(num())
			odds[i] = wire.Odd{Pos: pos, Raw: int(b[0]), Dec: int(b[1])}
			b = b[2:]
		}
	}
	return b, int(head >> 2), at, head&verbatim != 0, odds
}

// find is the offset in the body of byte i of the arguments. What lies behind
// them maps to their last byte.
func (t *trail) find(args []byte, i int64) int64 {
	if i >= int64(len(args)) {
		i = int64(len(args)) - 1
	}
	var start int64
	var at int64
	for b := t.buf; len(b) > 0; {
		rest, n, delta, raw, odds := t.next(b)
		at += delta
		if i < start+int64(n) {
			return at + within(args[start:start+int64(n)], int(i-start), raw, odds)
		}
		start, b = start+int64(n), rest
	}
	return at
}

// within is where byte i of a decoded piece begins in its raw text.
func within(piece []byte, i int, raw bool, odds []wire.Odd) int64 {
	if raw {
		return int64(i)
	}
	pos, off := 0, int64(0)
	for pos <= i {
		for len(odds) > 0 && odds[0].Pos == pos && odds[0].Dec == 0 {
			off, odds = off+int64(odds[0].Raw), odds[1:]
		}
		if len(odds) > 0 && odds[0].Pos == pos {
			if i < pos+odds[0].Dec {
				return off
			}
			off, pos, odds = off+int64(odds[0].Raw), pos+odds[0].Dec, odds[1:]
			continue
		}
		if pos == i {
			break
		}
		if off++; short(piece[pos]) {
			off++
		}
		pos++
	}
	return off
}

// short reports whether a byte is escaped by a backslash and one letter.
func short(b byte) bool {
	switch b {
	case '"', '\\', '\b', '\f', '\n', '\r', '\t':
		return true
	}
	return false
}
