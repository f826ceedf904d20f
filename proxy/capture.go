package proxy

import (
	"io"
	"sync/atomic"
	"time"
	"unsafe"

	"turnwatch/proxy/turn"
)

// capture holds the bytes of one message, with their times of arrival, for a
// judge that comes later. All captures together stay within a budget, and each
// within a part of it. A nil capture holds nothing and is free already.
type capture struct {
	budget *budget
	buf    []byte
	marks  []turn.Mark
	taken  int64     // of the budget
	length int64     // of all of it, as it was announced; 0, or less: it was not
	lost   turn.Drop // why it holds nothing any more; empty while it does
}

// captureShare is which part of all that may be held one message may be: the
// largest must leave room for the judge of others.
const captureShare = 4

// budget bounds the bytes that are held: to a part of all that there may be.
type budget struct {
	max  *atomic.Int64
	used *atomic.Int64
	part int64
}

func newBudget(max int64, used *atomic.Int64) budget {
	b := budget{max: new(atomic.Int64), used: used, part: 1}
	b.max.Store(max)
	return b
}

// share is a budget of the same bytes that may take one part in n of them.
func (b budget) share(n int64) budget {
	b.part *= n
	return b
}

func (b *budget) take(n int64) bool {
	if b.used.Add(n) > b.max.Load()/b.part {
		b.used.Add(-n)
		return false
	}
	return true
}

// hold begins a capture.
func (s *Server) hold() *capture { return &capture{budget: &s.budget} }

// add holds p, which arrived at the given time. It reports false, and holds
// nothing any more, once the message is too large or the budget is used up.
func (c *capture) add(at time.Duration, p []byte) bool {
	if c.lost != "" || !c.grow(len(c.buf)+len(p)) {
		return false
	}
	if n := len(c.marks); n == 0 || c.marks[n-1].At != at {
		if !c.take(int(unsafe.Sizeof(turn.Mark{}))) {
			return false
		}
		c.marks = append(c.marks, turn.Mark{Off: len(c.buf), At: at})
	}
	c.buf = append(c.buf, p...)
	return true
}

// grow makes room for a message of need bytes, or gives up.
func (c *capture) grow(need int) bool {
	old := cap(c.buf)
	if need <= old {
		return true
	}
	most := int(c.budget.max.Load() / captureShare)
	if need > most {
		return c.lose(turn.DropTooLarge)
	}
	size := max(need, min(2*old, most), 4<<10)
	if c.length <= 8*int64(need) { // who announces much and sends little takes little
		size = max(size, min(int(c.length), most))
	}
	if !c.take(size) { // both are there for a moment
		return false
	}
	c.buf = append(make([]byte, 0, size), c.buf...)
	c.budget.used.Add(-int64(old))
	c.taken -= int64(old)
	return true
}

// take counts n more bytes, or gives up.
func (c *capture) take(n int) bool {
	if !c.budget.take(int64(n)) {
		return c.lose(turn.DropJudgeMemory)
	}
	c.taken += int64(n)
	return true
}

// lose gives up on the message.
func (c *capture) lose(why turn.Drop) bool {
	c.free()
	c.lost = why
	return false
}

// free gives the bytes back.
func (c *capture) free() {
	if c != nil {
		c.budget.used.Add(-c.taken)
		c.buf, c.marks, c.taken = nil, nil, 0
	}
}

// reader reads what was held, a piece that arrived at once at a time, and
// tells by at when.
func (c *capture) reader(at *time.Duration) io.Reader { return &captureReader{c: c, at: at} }

type captureReader struct {
	c   *capture
	off int
	at  *time.Duration
}

func (r *captureReader) Read(p []byte) (int, error) {
	if r.off == len(r.c.buf) {
		return 0, io.EOF
	}
	for len(r.c.marks) > 1 && r.c.marks[1].Off <= r.off {
		r.c.marks = r.c.marks[1:]
	}
	end := len(r.c.buf)
	if len(r.c.marks) > 1 {
		end = r.c.marks[1].Off
	}
	*r.at = r.c.marks[0].At
	n := copy(p, r.c.buf[r.off:end])
	r.off += n
	return n, nil
}
