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

// backlog holds pieces of an answer that were passed on and are not judged
// yet, with the times at which they came. The zero value is empty.
type backlog struct {
	buf  []byte
	last int // what the latest piece takes
}

// pieceHead is what stands in front of a piece: its length and its time.
const pieceHead = 4 + 8

// add adds pieces, and returns those that found no room.
func (l *backlog) add(b *buffers, at time.Duration, pieces [][]byte) [][]byte {
	for i, p := range pieces {
		if l.last = pieceHead + len(p); len(l.buf)+l.last > tinyBuffer {
			return pieces[i:]
		}
		if l.buf == nil {
			l.buf = b.get(tinyBuffer)
		}
		l.buf = binary.LittleEndian.AppendUint32(l.buf, uint32(len(p)))
		l.buf = binary.LittleEndian.AppendUint64(l.buf, uint64(at))
		l.buf = append(l.buf, p...)
	}
	return nil
}

// full reports whether there is no room for another piece like the latest.
func (l *backlog) full() bool { return l.buf != nil && len(l.buf)+l.last > tinyBuffer }

// each calls f with every piece, in order.
func (l *backlog) each(f func(at time.Duration, p []byte)) {
	for b := l.buf; len(b) > 0; {
		n := pieceHead + int(binary.LittleEndian.Uint32(b))
		f(time.Duration(binary.LittleEndian.Uint64(b[4:])), b[pieceHead:n])
		b = b[n:]
	}
}

// free gives the memory back and leaves the backlog empty.
func (l *backlog) free(b *buffers) {
	b.put(l.buf)
	l.buf = nil
}
