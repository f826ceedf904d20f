package proxy

import (
	"errors"
	"io"
	"runtime/debug"
	"time"

	"github.com/valyala/fasthttp"

	"turnwatch/proxy/turn"
	"turnwatch/validate"
)

// handle relays one request. fasthttp calls it once the request's head has
// come, and part of its body.
func (s *Server) handle(ctx *fasthttp.RequestCtx) {
	c := ctx.Conn().(*clientConn)
	keep := false
	defer func() {
		if p := recover(); p != nil {
			c.x.broke(p)
		}
		c.swallowNext(ctx, !keep)
		c.x = exchange{}
		c.begun = false
	}()
	if !c.begun {
		s.exchange(ctx, c)
	}
	keep = c.x.conclude(c.x.relay())
}

// broke ends an exchange that panicked. Only its own connections pay for it.
func (x *exchange) broke(p any) {
	x.s.log.Error("the relay broke on a request, whose connections are closed", "panic", p, "stack", string(debug.Stack()))
	x.abandon()
}

// exchange begins one: that of the connection, which has one at a time.
func (s *Server) exchange(ctx *fasthttp.RequestCtx, c *clientConn) *exchange {
	s.stats.Requests.Add(1)
	s.stats.Streams.Add(1)
	x := &c.x
	*x = exchange{} // in place: a literal with the rest in it is made on the stack, which has no room for it
	x.s, x.c, x.ctx, x.begin = s, c, ctx, time.Now()
	x.req = c.takeRequest() // not above: what breaks here must find its server
	if !s.cfg.RelayOnly && validate.Judged(string(x.req.method), string(x.req.path())) {
		x.watch = s.observe(x)
	}
	return x
}

// conclude ends the exchange: a failure that can still be told is told, and
// the turn goes to the finisher.
func (x *exchange) conclude(err error) (keep bool) {
	if err != nil && !x.answered {
		err = x.fail(err)
		x.unsent()
	}
	keep = x.release()
	x.s.stats.BytesIn.Add(x.body.sent)
	x.proved()
	how := x.ending(err)
	if err != nil {
		x.s.count(how, err)
	}
	if o := x.watch; o != nil {
		x.late.end()
		x.watch = nil // from here on it may be another turn's
		o.done(how, x.body.sent)
	}
	x.s.stats.Streams.Add(-1) // last: a Shutdown says how many it cut
	return keep
}

// count counts an exchange that went wrong.
func (s *Server) count(how validate.Ending, err error) {
	var at *stageError
	switch {
	case how == validate.ClientGone:
		s.stats.ClientsGone.Add(1)
	case errors.As(err, &at):
		s.stats.UpstreamError(string(at.stage))
	}
}

// abandon ends an exchange that cannot be concluded.
func (x *exchange) abandon() {
	x.c.whenGone(nil)
	if x.up != nil {
		x.up.Close()
	}
	x.c.sock.Close()
	x.unattend()
	if x.body.pending != nil {
		<-x.body.pending
	}
	if x.note != nil {
		x.s.budget.used.Add(-x.note.took)
	}
	x.late.drop()
	if x.watch != nil {
		x.watch.tell(TurnTags.End)
		x.watch.left()
		x.watch.free()
		x.watch.mirror.lost()
		x.s.stats.Drop(turn.DropCheckerPanic)
	}
	x.s.stats.Streams.Add(-1)
}

// swallowNext makes the answer that fasthttp is about to write go nowhere: the
// client has had one. With its head flushed at once and an empty body it is
// exactly one Write, also while a pipelined request waits.
func (c *clientConn) swallowNext(ctx *fasthttp.RequestCtx, closing bool) {
	ctx.Response.Reset()
	ctx.Response.ImmediateHeaderFlush = true
	ctx.Response.SetBodyStream(nothing{}, 0)
	if closing {
		ctx.SetConnectionClose()
	}
	c.swallow = true
}

type nothing struct{}

func (nothing) Read([]byte) (int, error) { return 0, io.EOF }
