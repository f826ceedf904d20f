package proxy

import (
	"syscall"
	"time"

	"github.com/valyala/fasthttp"

	"turnwatch/validate"
)

// expectWait bounds the wait for a server's word on an expectation: one that
// never says 100 still gets the body (RFC 9110 §10.1.1).
const expectWait = time.Second

// expectLook is how often it is looked meanwhile whether the client waits at
// all.
const expectLook = 10 * time.Millisecond

// expect passes a request's head on with its Expect: 100-continue, so that the
// server decides whether the body is wanted. It returns 100 when it is; other
// answers have gone to the client already.
func (s *Server) expect(ctx *fasthttp.RequestCtx) int {
	c := ctx.Conn().(*clientConn)
	defer func() {
		if p := recover(); p != nil {
			c.x.broke(p)
		}
		if !c.begun {
			c.x = exchange{}
			c.swallowNext(ctx, true)
		}
	}()
	x := s.exchange(ctx, c)
	err := x.askServer()
	if err == nil && x.expected && !c.swallow {
		err = x.sendContinue()
	}
	if c.begun = err == nil && x.expected; c.begun {
		return fasthttp.StatusContinue
	}
	if err == nil {
		x.unasked()
		err = x.answer()
	}
	x.conclude(err)
	return fasthttp.StatusExpectationFailed
}

// sendContinue tells the client to send the body, for the server that said nothing. fasthttp
// would, but where it cannot nobody learns of it and ends the exchange.
func (x *exchange) sendContinue() error {
	x.c.swallow = true
	return x.toClient([]byte("HTTP/1.1 100 Continue\r\n\r\n"))
}

// unasked notes that the body of the request will not be sent: the server's
// connection, which may still wait for it, serves nobody else, and what the
// request allows stays unknown.
func (x *exchange) unasked() {
	x.body.short = true
	if x.watch == nil {
		return
	}
	x.watch.calls(x)
	why := validate.ReasonRequestMalformed
	if x.head.status >= 300 {
		why = validate.ReasonUpstreamError
	}
	x.watch.give(why, "")
}

// askServer sends the head and waits for the first answer to it. When it was
// 100, or none came in time, the body may be sent.
func (x *exchange) askServer() error {
	if err := x.connect(); err != nil {
		return err
	}
	if err := x.write(x.appendHead(nil, true), nil); err != nil {
		return err
	}
	return x.readWord(time.Now().Add(expectWait))
}

// readWord reads the server's first head and no further. It gives up at the
// deadline, and at once when the client does not wait for it.
func (x *exchange) readWord(deadline time.Time) error {
	end, err := x.headEnd()
	for ; end == 0 && err == nil; end, err = x.headEnd() {
		err := x.readMore(expectLook)
		if err == nil {
			continue
		}
		x.c.swallow = x.bodyBegun() // it needs no 100 of ours
		x.expected = x.timedOut && (x.c.swallow || time.Now().After(deadline))
		if x.timedOut = x.timedOut && !x.expected; x.expected {
			return nil
		}
		if !x.timedOut {
			return err
		}
	}
	if err != nil {
		return err
	}
	if err := x.parseHead(end); err != nil {
		return err
	}
	if x.head.status != 100 {
		return nil
	}
	x.expected = true
	x.c.swallow = true // fasthttp's 100: the client gets the server's
	return x.interim(end)
}

// bodyBegun reports whether bytes of the body have come.
func (x *exchange) bodyBegun() bool {
	g := &x.c.guard
	if g.state != guardBody || g.body != g.begun || len(x.c.held) > 0 {
		return true
	}
	sc, _ := x.c.sock.(syscall.Conn)
	p, err := newPeek(sc)
	return err == nil && !p.nothing()
}
