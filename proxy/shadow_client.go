package proxy

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"slices"
	"strconv"
	"time"

	"turnwatch/proxy/turn"
	"turnwatch/validate"
)

// errAnswerTooLarge is an answer of an arm beyond its bound.
var errAnswerTooLarge = errors.New("the answer is larger than is read of an arm's")

// call is one exchange with an arm.
type call struct {
	*arm
	m    *mirror
	o    *observer
	body []byte
	up   *upConn
	end  time.Time // of all patience
	buf  []byte    // what was read and not yet judged: buf[:n]
	n    int
	read int64 // bytes of the answer
	head answerHead
	over bool // the answer has come to its end
	keep bool // the connection may serve again
}

// exchange sends a request to the arm, judges the answer and settles the mirror's part.
func (a *arm) exchange(j job) {
	c := &call{arm: a, m: j.m, body: override(j.m.body, a.Set), end: time.Now().Add(a.sh.now().Timeout)}
	j.m.sum()
	j.m.digest(j.i, c.body)
	c.o = a.observe(j.m, c.body)
	err := c.play()
	if j.m.ctx.Err() != nil && !c.over {
		c.o.tell(TurnTags.End)
		c.o.free()
		a.drop(j, a.givenUp())
		return
	}
	c.note(err)
	c.judged(j, err)
}

// observe begins to watch the arm's turn.
func (a *arm) observe(m *mirror, body []byte) *observer {
	s := a.sh.s
	o := &observer{s: s, path: m.path, spare: &a.sh.budget, t: turn.Turn{V: turn.Version, ID: turn.NewID(), Time: time.Now(), Arm: a.Arm,
		Path: m.path, Model: m.pair.Model, Stream: m.pair.Stream, Trace: m.trace.Beside()}, mirror: m}
	id, _ := find(m.asked.block, "x-request-id")
	o.t.RequestID = clip(string(id))
	if o.kept = s.keep(m.head(a, len(body))); o.kept != nil {
		o.kept.keepBody(body, len(body), false)
	}
	o.taggedBy(a.Tags)
	o.guarded(func() { o.read(body) })
	return o
}

// read reads what the request allows. The conversation is the live turn's concern.
func (o *observer) read(body []byte) {
	req, err := o.s.schemas.ParseRequest(o.path, body)
	if err != nil {
		o.give(validate.ReasonRequestMalformed, "")
		return
	}
	req.TokenRate, req.Outline = o.s.rates.Of(req.Model), true
	o.req = req
	o.compare(body)
}

// play makes the exchange. One that breaks holds nothing any more.
func (c *call) play() error {
	defer c.close()
	whole := false
	defer func() {
		if !whole {
			c.o.tell(TurnTags.End)
			c.o.free()
		}
	}()
	err := c.relay()
	whole = true
	return err
}

// relay makes the exchange, as far as the arm lets it.
func (c *call) relay() error {
	if err := c.connect(); err != nil {
		return err
	}
	defer context.AfterFunc(c.m.ctx, func() { c.up.Close() })()
	if err := c.send(); err != nil {
		return err
	}
	c.buf = c.sh.s.buffers.get(relayPiece)
	c.buf = c.buf[:cap(c.buf)]
	if err := c.readHead(); err != nil {
		return err
	}
	return c.readBody()
}

func (c *call) connect() (err error) {
	if c.up = c.arm.up.get(); c.up == nil {
		c.up, err = c.arm.up.dial(c.m.ctx)
	}
	return err
}

// send sends the request. An arm that does not take it is not waited for longer than
// for an answer.
func (c *call) send() error {
	limit := time.Now().Add(c.sh.now().FirstByteTimeout)
	if limit.After(c.end) {
		limit = c.end
	}
	c.up.SetWriteDeadline(limit)
	bufs := net.Buffers{c.m.head(c.arm, len(c.body)), c.body}
	if _, err := bufs.WriteTo(c.up.Conn); err != nil {
		return &stageError{stageWrite, err}
	}
	c.up.SetWriteDeadline(time.Time{})
	return nil
}

// next reads more of the answer behind buf[:n], within the limits.
func (c *call) next(silence time.Duration, at stage) error {
	left := time.Until(c.end)
	c.up.within(max(1, min(silence, left)))
	n, err := c.up.Read(c.buf[c.n:])
	if c.read == 0 && n > 0 {
		c.o.begun(time.Now())
	}
	c.n += n
	if c.read += int64(n); c.read > c.sh.now().MaxAnswer {
		return errAnswerTooLarge
	}
	switch {
	case n > 0:
		return nil
	case errors.Is(err, os.ErrDeadlineExceeded) && left <= silence:
		return context.DeadlineExceeded
	case errors.Is(err, os.ErrDeadlineExceeded):
		return &stageError{at, err}
	}
	return err
}

// readHead reads heads until the final one.
func (c *call) readHead() error {
	for {
		end := headEnd(c.buf[:c.n])
		if end == 0 {
			if err := c.more(); err != nil {
				return err
			}
			continue
		}
		if err := c.head.parse(c.buf[:end]); err != nil {
			return serverFault(err)
		}
		if c.head.final() {
			c.o.head(&c.head)
			c.o.kept.head(c.buf[:end])
			c.o.tell(func(t TurnTags) { t.Head(c.buf[:end]) })
			c.n = copy(c.buf, c.buf[end:c.n])
			return nil
		}
		c.n = copy(c.buf, c.buf[end:c.n])
	}
}

// more reads more of a head, which finds room.
func (c *call) more() error {
	if err := neverAHead(c.buf[:c.n], 0); err != nil {
		return serverFault(err)
	}
	if c.n == len(c.buf) {
		c.buf = append(make([]byte, 0, 2*len(c.buf)), c.buf...)
		c.buf = c.buf[:cap(c.buf)]
	}
	err := c.next(c.sh.now().FirstByteTimeout, stageFirstByte)
	if at := (*stageError)(nil); err == nil || errors.As(err, &at) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, errAnswerTooLarge) {
		return err
	}
	return &stageError{stageHead, err}
}

// readBody reads the body to its end, and has it judged.
func (c *call) readBody() error {
	f := c.head.framing(false)
	closing := f.kind == closedBody
	for c.over = f.kind == noBody; !c.over; {
		before := f
		n, done, err := f.pass(c.buf[:c.n])
		c.o.data(time.Since(c.o.first), &before, c.buf[:n])
		c.keep = done && n == c.n
		if c.n = 0; err != nil {
			return &stageError{stageBody, err}
		}
		if c.over = done; done {
			break
		}
		if err := c.next(c.sh.now().IdleTimeout, stageIdle); err == io.EOF && closing {
			c.over = true
		} else if err != nil {
			return err
		}
	}
	c.keep = (c.keep || f.kind == noBody && c.n == 0) && !closing && !c.head.close && !c.head.http10 && !c.head.doubtful()
	return nil
}

// close gives the connection back, or closes it.
func (c *call) close() {
	c.sh.s.buffers.put(c.buf)
	c.buf = nil
	switch {
	case c.up == nil:
	case c.keep && c.m.ctx.Err() == nil:
		c.arm.up.put(c.up)
	default:
		c.up.Close()
	}
}

// note lets the arm's health know.
func (c *call) note(err error) {
	switch s := c.head.status; {
	case err != nil:
		c.health.bad(time.Now(), reason(err))
	case s >= 500 || s == 429 || s == 401 || s == 403 || s == 404:
		c.health.bad(time.Now(), failStatus+" "+strconv.Itoa(s))
	default:
		c.health.good()
	}
}

// judged makes the verdict, and settles the part once the turn has its tags.
func (c *call) judged(j job, err error) {
	o := c.o
	how := validate.Complete
	if !c.over {
		how = validate.ServerCut
		if timedOut(err) {
			how = validate.ProxyCut
		}
	}
	o.ends(how, int64(len(c.body)))
	o.judgeArm()
	c.spend(c.read, tokensOf(&o.t))
	state, why := turn.Paired, ""
	if err != nil {
		state, why = turn.Failed, reason(err)
	}
	c.sh.s.finish.tagged(o, func() {
		p := partOf(o, state, why)
		if o.t.Status == 0 {
			p = part{side: turn.Side{State: state, Why: why}}
		}
		j.m.settle(j.i, p)
	})
}

// timedOut reports whether it was we who lost patience.
func timedOut(err error) bool {
	return slices.Contains([]string{failTimeout, failTooLarge, string(stageFirstByte), string(stageIdle)}, reason(err))
}

func tokensOf(t *turn.Turn) int64 {
	if t.Usage == nil {
		return 0
	}
	return t.Usage.PromptTokens + t.Usage.CompletionTokens
}

// judgeArm makes the verdict of an arm's turn.
func (o *observer) judgeArm() {
	o.guarded(o.verdict)
	if o.reason != "" {
		o.unverified(o.reason)
	}
	o.spared("what was said in a turn is lost", o.keepSaid)
	o.free()
}
