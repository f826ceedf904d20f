package proxy

import (
	"bytes"
	"cmp"
	"time"

	"turnwatch/proxy/turn"
	"turnwatch/validate"
)

// kept is what was said in a turn, kept for sinks until it is known that the
// turn is not corrupted. A nil kept keeps nothing. It belongs to whoever the
// observer belongs to.
type kept struct {
	s      *Server
	max    int    // bytes of a body
	taken  int64  // of the budget, for what is held outside of long and answer
	whole  []byte // the request's body, lent by buffers
	long   *capture
	answer reel
	said   turn.Capture
}

// keepShare is which part of the memory for judging may be taken when more is
// to be kept: the rest is the judge's alone.
const keepShare = 2

// keep begins to keep a turn, if that was asked for.
func (s *Server) keep(head []byte) *kept {
	if s.cfg.Capture == 0 {
		return nil
	}
	most := cmp.Or(s.captured.Load(), s.cfg.Capture)
	k := &kept{s: s, max: int(most), answer: reel{budget: s.budget.share(keepShare), from: &s.buffers}}
	k.said.Request.Head, k.said.Request.Lost = k.copy(head), turn.DropEvidenceMemory
	return k
}

// copy copies a head, if there is room.
func (k *kept) copy(head []byte) []byte {
	if !k.take(len(head)) {
		return nil
	}
	return bytes.Clone(head)
}

func (k *kept) take(n int) bool {
	if !k.answer.budget.take(int64(n)) {
		return false
	}
	k.taken += int64(n)
	return true
}

// request keeps a body that was read whole. It takes the buffer over where a
// copy would be little smaller, and reports whether it did.
func (k *kept) request(body []byte) (took bool) {
	if k == nil {
		return false
	}
	took = cap(body) < 2*len(body)
	size := len(body)
	if took {
		size = cap(body)
	}
	return k.keepBody(body, size, took)
}

// keepBody keeps a body, for which size is taken: the buffer itself or a copy.
func (k *kept) keepBody(body []byte, size int, itself bool) (took bool) {
	r := &k.said.Request
	switch {
	case len(body) > k.max:
		r.Lost = turn.DropTooLarge
	case !k.take(size):
	case itself:
		k.whole, r.Body, r.Lost = body, body, ""
		return true
	default:
		r.Body, r.Lost = append(make([]byte, 0, size), body...), ""
	}
	return false
}

// head keeps the answer's.
func (k *kept) head(head []byte) {
	if k != nil {
		k.said.Answer.Head = k.copy(head)
	}
}

// add keeps the next bytes of the answer's body.
func (k *kept) add(at time.Duration, p []byte) {
	if k == nil || k.said.Answer.Lost != "" {
		return
	}
	a := &k.said.Answer
	switch {
	case k.answer.size+len(p) > k.max:
		a.Lost = turn.DropTooLarge
		k.answer.free()
	case !k.answer.add(at, p):
		a.Lost = turn.DropEvidenceMemory
	}
}

// free gives everything back.
func (k *kept) free() {
	if k == nil {
		return
	}
	k.answer.free()
	k.long.free()
	k.s.buffers.put(k.whole)
	k.s.budget.used.Add(-k.taken)
	*k = kept{s: k.s, answer: k.answer}
}

// lends reports whether the sinks are shown what was said: in a corrupted turn,
// and in a client's that one of them wants to look at again.
func (o *observer) lends() bool {
	return o.t.Outcome == validate.Corrupted || o.s.cfg.Lend != nil && o.t.Arm == turn.Live && o.s.cfg.Lend(&o.t)
}

// lend shows the bytes of such a turn to the sinks, and gives those of any
// other back.
func (o *observer) lend() {
	k := o.kept
	if k == nil {
		return
	}
	if !o.lends() {
		k.free()
		return
	}
	if o.reqBody != nil {
		k.stream(o.reqBody)
		o.reqBody = nil
	}
	k.wind()
	k.said.Answer.Coding = o.encoding
	if k.said.Request.Lost == turn.DropEvidenceMemory || k.said.Answer.Lost == turn.DropEvidenceMemory {
		o.s.stats.Drop(turn.DropEvidenceMemory)
	}
	o.t.Capture = &k.said
}

// wind puts the answer together, if there is room for it once more.
func (k *kept) wind() {
	a := &k.said.Answer
	switch {
	case a.Lost != "":
	case k.take(k.answer.size):
		a.Body, a.Marks = k.answer.body()
	default:
		a.Lost = turn.DropEvidenceMemory
	}
	k.answer.free()
}

// stream keeps a request that streamed through, as the judge held it.
func (k *kept) stream(c *capture) {
	k.long = c
	r := &k.said.Request
	switch {
	case c.lost == turn.DropJudgeMemory:
		r.Lost = turn.DropEvidenceMemory
	case c.lost != "", len(c.buf) > k.max:
		r.Lost = turn.DropTooLarge
	default:
		r.Body, r.Lost = c.buf, ""
	}
}

// unlend takes back what lend showed.
func (o *observer) unlend() {
	o.t.Capture = nil
	o.kept.free()
}
