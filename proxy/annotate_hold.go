package proxy

import (
	"slices"
	"time"
)

// copyHeld holds an answer that does not stream until it is judged, and passes
// it on with the verdict in its head. When it proves too large or too slow, and
// when it breaks off, it passes as it is.
func (x *exchange) copyHeld(f, before framing, end, n int, done bool) error {
	first := x.buf[end:x.n]
	plain := x.c.guard.http10 && f.kind == chunkedBody
	x.note.held = x.head.append(nil, x.buf[:end], plain)
	x.note.body = len(x.note.held)
	x.watch.tell(func(t TurnTags) { t.Head(x.buf[:end]) })
	ok := x.keepBody(before, first[:n], plain)
	if x.ended = done; done {
		x.extra = n < len(first)
		return x.tellHeld()
	}
	x.n = 0
	for deadline := time.Now().Add(x.s.cfg.Annotate.HoldTime); ok; {
		read, err := x.read(x.heldWait(deadline))
		if read > 0 {
			before, b := f, x.buf[:read]
			n, done, bad := f.pass(b)
			ok = x.keepBody(before, b[:n], plain)
			switch {
			case bad != nil:
				return x.giveUp(noteCut, &stageError{stageBody, bad})
			case done:
				x.ended, x.extra = true, n < len(b)
				return x.tellHeld()
			}
		}
		switch {
		case err == nil:
		case x.closedWell(&f, err):
			x.ended = true
			return x.tellHeld()
		case x.timedOut && !time.Now().Before(deadline):
			x.timedOut = false
			return x.goOn(noteSlow, f, plain)
		case x.timedOut:
			return x.giveUp(noteCut, stageIdle.silence(x.s.cfg.IdleTimeout))
		default:
			return x.giveUp(noteCut, &stageError{stageBody, err})
		}
	}
	return x.goOn(noteLarge, f, plain)
}

// heldWait is how long the server may now be silent.
func (x *exchange) heldWait(deadline time.Time) time.Duration {
	wait := max(time.Until(deadline), time.Millisecond)
	if idle := x.s.cfg.IdleTimeout; idle > 0 {
		wait = min(wait, idle)
	}
	return wait
}

// keepBody judges and holds the next bytes of the body. It reports false when
// no more may be held.
func (x *exchange) keepBody(f framing, b []byte, plain bool) bool {
	n := x.note
	x.s.stats.BytesOut.Add(int64(len(b)))
	n.held = appendBody(n.held, f, b, plain)
	x.late.give(f, b)
	if len(n.held)-n.body > int(x.s.cfg.Annotate.HoldBytes) {
		return false
	}
	if more := int64(cap(n.held)) - n.took; more > 0 {
		if !x.s.budget.take(more) {
			return false
		}
		n.took += more
	}
	return true
}

// letGo writes what is held, and gives its room back.
func (x *exchange) letGo(fields []byte) error {
	n := x.note
	n.held = slices.Insert(n.held, n.body-2, fields...)
	x.answered, x.note = true, nil
	_, err := x.c.write(n.held)
	x.s.budget.used.Add(-n.took)
	if err != nil {
		return errClientGone
	}
	return nil
}

// tellHeld passes on the whole answer with the verdict.
func (x *exchange) tellHeld() error {
	x.said(true)
	var fields []byte
	if r, ok := x.remark(); ok {
		fields = r.fields()
	}
	err := x.letGo(fields)
	x.ended = err == nil
	return err
}

// giveUp passes on what there is of an answer that broke off.
func (x *exchange) giveUp(why string, err error) error {
	x.s.notes.add(why, 1)
	if gone := x.letGo(nil); gone != nil {
		return gone
	}
	return err
}

// goOn passes on what there is, and the rest as it comes.
func (x *exchange) goOn(why string, f framing, plain bool) error {
	x.s.notes.add(why, 1)
	if err := x.letGo(nil); err != nil {
		return err
	}
	return x.copyBytes(f, plain)
}
