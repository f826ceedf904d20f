package proxy

import (
	"encoding/binary"
	"time"
)

// promptly is how much of an answer is judged as soon as it was passed on.
// What follows is judged a few events at a time: what the judge knows of a
// stream has left the processor's caches when the stream's next event comes,
// and fetching it takes several times as long as judging. It is also what a
// server sends before it falls silent, and nothing is held for a silent stream.
const promptly = 1 << 10

// enough is how much must come at once to be judged at once.
const enough = tinyBuffer / 2

// backlog gives the observer of a turn what its answer brings, some of it later.
// It holds reads as they came, framing included, and belongs to who passes them
// on: what is put aside touches nothing of the turn or its judge.
type backlog struct {
	o     *observer // nil: nobody judges, and nothing is held
	from  *buffers
	first time.Time // times are counted from here
	seen  int       // bytes that came
	f     framing   // before the first read that is held
	last  int       // what the latest takes
	buf   []byte
}

// pieceHead is what stands in front of a read: its length and its time.
const pieceHead = 4 + 8

// give has a read judged, at once or together with those behind it. f is the
// framing before it.
func (l *backlog) give(f framing, b []byte) {
	if l.o != nil {
		l.giveAt(time.Since(l.first), f, b)
	}
}

// giveAt is give for who knows when the read had come.
func (l *backlog) giveAt(at time.Duration, f framing, b []byte) {
	if l.o == nil || len(b) == 0 {
		return
	}
	if l.seen > promptly && len(b) < enough && l.add(at, f, b) {
		return
	}
	l.seen += len(b)
	l.settle()
	l.o.data(at, &f, b)
}

// add holds a read, unless it finds no room.
func (l *backlog) add(at time.Duration, f framing, b []byte) bool {
	if l.last = pieceHead + len(b); len(l.buf)+l.last > tinyBuffer {
		return false
	}
	if l.buf == nil {
		l.buf, l.f = l.from.get(tinyBuffer), f
	}
	l.buf = binary.LittleEndian.AppendUint32(l.buf, uint32(len(b)))
	l.buf = binary.LittleEndian.AppendUint64(l.buf, uint64(at))
	l.buf = append(l.buf, b...)
	return true
}

// full reports whether there is no room for another read like the latest.
func (l *backlog) full() bool { return l.buf != nil && len(l.buf)+l.last > tinyBuffer }

// settle has everything judged that is held.
func (l *backlog) settle() {
	held := l.buf
	l.buf = nil // whatever breaks, it is not judged twice
	for b := held; len(b) > 0; {
		n := pieceHead + int(binary.LittleEndian.Uint32(b))
		l.o.data(time.Duration(binary.LittleEndian.Uint64(b[4:])), &l.f, b[pieceHead:n])
		b = b[n:]
	}
	l.from.put(held)
}

// end settles, and gives nobody anything from then on.
func (l *backlog) end() {
	if l.o != nil {
		l.o.guarded(l.settle)
	}
	l.o = nil
}

// drop gives up what is held.
func (l *backlog) drop() {
	l.from.put(l.buf)
	*l = backlog{}
}
