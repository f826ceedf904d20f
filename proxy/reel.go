package proxy

import (
	"encoding/binary"
	"io"
	"time"

	"turnwatch/proxy/turn"
)

// reel holds what is said in an answer, piece by piece, in buffers that are
// lent, so that keeping a turn allocates nothing and copies each byte once. A
// piece is its length, the microseconds since the one before, and its bytes.
type reel struct {
	budget budget
	from   *buffers
	lent   [][]byte
	size   int // of all pieces
	last   time.Duration
}

// add holds a piece, and reports false, holding nothing any more, once the
// budget is used up.
func (r *reel) add(at time.Duration, p []byte) bool {
	var room [2 * binary.MaxVarintLen64]byte
	head := binary.AppendUvarint(room[:0], uint64(len(p)))
	head = binary.AppendUvarint(head, uint64(max(0, at-r.last)/time.Microsecond))
	r.size, r.last = r.size+len(p), at.Truncate(time.Microsecond)
	if r.write(head) && r.write(p) {
		return true
	}
	r.free()
	return false
}

func (r *reel) write(p []byte) bool {
	for len(p) > 0 {
		last := len(r.lent) - 1
		if last < 0 || len(r.lent[last]) == smallBuffer {
			if !r.budget.take(smallBuffer) {
				return false
			}
			r.lent = append(r.lent, r.from.get(smallBuffer))
			last++
		}
		b := r.lent[last]
		n := min(len(p), smallBuffer-len(b))
		r.lent[last], p = append(b, p[:n]...), p[n:]
	}
	return true
}

// body puts the pieces together, and says when each came.
func (r *reel) body() (body []byte, marks []turn.Mark) {
	body = make([]byte, 0, r.size)
	var at time.Duration
	in := reading{lent: r.lent}
	for {
		n, ok := in.uvarint()
		if !ok {
			return body, marks
		}
		since, _ := in.uvarint()
		at += time.Duration(since) * time.Microsecond
		if len(marks) == 0 || marks[len(marks)-1].At != at {
			marks = append(marks, turn.Mark{Off: len(body), At: at})
		}
		body = in.append(body, int(n))
	}
}

// free gives the buffers back.
func (r *reel) free() {
	for _, b := range r.lent {
		r.from.put(b)
	}
	if n := len(r.lent); n > 0 {
		r.budget.used.Add(-int64(n) * smallBuffer)
	}
	r.lent, r.size, r.last = nil, 0, 0
}

// reading reads buffers one after the other.
type reading struct {
	lent [][]byte
	off  int // in the first
}

// ReadByte makes it what package binary reads from.
func (r *reading) ReadByte() (byte, error) {
	b := r.append(make([]byte, 0, 1), 1)
	if len(b) == 0 {
		return 0, io.EOF
	}
	return b[0], nil
}

func (r *reading) uvarint() (uint64, bool) {
	n, err := binary.ReadUvarint(r)
	return n, err == nil
}

// append appends the next n bytes, or as many as there are.
func (r *reading) append(dst []byte, n int) []byte {
	for n > 0 && len(r.lent) > 0 {
		b := r.lent[0][r.off:]
		if len(b) == 0 {
			r.lent, r.off = r.lent[1:], 0
			continue
		}
		m := min(n, len(b))
		dst, n, r.off = append(dst, b[:m]...), n-m, r.off+m
	}
	return dst
}
