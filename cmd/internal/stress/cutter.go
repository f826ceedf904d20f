package stress

import (
	"context"
	"errors"
	"sync/atomic"
	"time"
)

// Abort says when a client leaves before the end of an answer. The zero Abort
// never does.
type Abort struct {
	Share   Share         // of the turns that are cut off
	After   time.Duration // since the request was sent
	Jitter  time.Duration // up to so much later
	Tokens  int           // events with output, about one token each; 0: the time decides
	Prefill bool          // leave before the answer begins, or not at all
	Retries int           // times that the turn is asked for again, and cut off again but for the last; 0 goes on to the next turn
}

// errCut is why an exchange ended that we cut off on purpose.
var errCut = errors.New("cut off on purpose")

// cutter ends one exchange when it is time to. A nil one never does.
type cutter struct {
	Abort
	delay  time.Duration
	cancel context.CancelCauseFunc
	timer  *time.Timer
	began  atomic.Bool  // the answer did
	struck atomic.Int32 // when it was cut off, before or after that; 0: it was not
}

const (
	inPrefill = iota + 1
	inDecode
)

// begin is called when the request is about to be sent.
func (c *cutter) begin() {
	if c != nil && c.Tokens == 0 {
		c.timer = time.AfterFunc(c.delay, c.strike)
	}
}

func (c *cutter) strike() {
	when := int32(inPrefill)
	if c.began.Load() {
		when = inDecode
	}
	if c.Prefill && when == inDecode {
		return
	}
	if c.struck.CompareAndSwap(0, when) {
		c.cancel(errCut)
	}
}

// answered is told that the answer began.
func (c *cutter) answered() {
	if c != nil {
		c.began.Store(true)
	}
}

// said is told how many events came.
func (c *cutter) said(events int) {
	if c != nil && c.Tokens > 0 && events >= c.Tokens {
		c.strike()
	}
}

// end stops what may still strike and tells when the exchange was cut off: in
// prefill, in decode, or "".
func (c *cutter) end() string {
	if c == nil {
		return ""
	}
	if c.timer != nil {
		c.timer.Stop()
	}
	return [...]string{"", "prefill", "decode"}[c.struck.Load()]
}
