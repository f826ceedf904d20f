package proxy

import (
	"sync/atomic"
	"time"
)

// lag tells how far a loop is behind with what has come, and belongs to it. A
// server's bytes may have waited since the last time that the kernel had no more
// to tell than the loop can take at once.
type lag struct {
	limit  time.Duration // negative: none
	all    *behind
	caught time.Time // when nothing waited
	late   time.Time // since when it is behind; zero: it is not
}

// lagTime is how long a loop must have been behind, so that no stall of the
// machine counts, and for how long it counts as such.
const lagTime = time.Second

// round notes a round of the loop, which took n of the events that it can take
// at once.
func (l *lag) round(n, most int, began, ended time.Time) {
	if n < most {
		l.caught = began
	}
	switch {
	case l.limit < 0 || ended.Sub(l.caught) <= l.limit:
		l.late = time.Time{}
	case l.late.IsZero():
		l.late = ended
	case ended.Sub(l.late) >= lagTime:
		l.all.at.Store(ended.UnixNano())
	}
}

// behind tells whether any loop is.
type behind struct{ at atomic.Int64 } // when one was last found to be

func (b *behind) now(t time.Time) bool { return t.UnixNano()-b.at.Load() < int64(lagTime) }
