package proxy

import (
	"errors"
	"io"
	"os"
	"syscall"
	"time"

	"github.com/valyala/fasthttp"

	"turnwatch/validate"
)

// exchange is one request and its answer, on one connection of a client and
// one of the server. It belongs to the goroutine that serves the client.
type exchange struct {
	s    *Server
	c    *clientConn
	ctx  *fasthttp.RequestCtx
	req  request
	up   *upConn
	body body

	buf  []byte // what was read of the answer and not yet passed on: buf[:n]
	n    int
	seen int    // bytes of buf in which no head ends
	out  []byte // a head on its way to the client
	head answerHead

	begin    time.Time
	expected bool      // the head has gone with its Expect, and the client may send the body
	watch    *observer // nil: the request is no turn
	late     backlog   // what watch is still to be given of the answer
	note     *note     // nil: the client is told nothing beside the answer

	failed   bool        // the answer is ours: it says what went wrong
	closing  bool        // and that the connection is closed
	answered bool        // the final head has gone to the client
	ended    bool        // its body too, to the end that the framing names
	extra    bool        // the server sent more than that
	attended *attendance // of a TLS client
	timedOut bool        // one of our timeouts ended the wait for the server

	proof *proof        // nil: the bytes are not compared
	added time.Duration // to the request of a turn
	reads sampler       // of the body of its answer
}

// relay makes the whole exchange. An error that is returned before the answer
// has begun is still to be told to the client.
func (x *exchange) relay() error {
	if err := x.readBody(); err != nil {
		x.body.short = true
		return err
	}
	if !x.expected {
		if err := x.connect(); err != nil {
			return err
		}
	}
	var w stopwatch
	if x.watch != nil {
		w = stopwatchOf(x.begin)
	}
	if err := x.send(); err != nil && !x.answerWaits() {
		return err
	}
	x.added = w.time()
	x.judgeRequest()
	return x.answer()
}

// answerWaits reports whether the server, though it takes no more of the
// request, has answered it: that is then the answer.
func (x *exchange) answerWaits() bool {
	x.up.within(sendGrace)
	defer x.up.within(0)
	n, _ := x.readOnce()
	x.came(n)
	return x.n > 0
}

// came notes that so many bytes of a head have come.
func (x *exchange) came(n int) {
	if x.n == 0 && n > 0 && x.watch != nil {
		x.watch.begun(x.begin.Add(time.Since(x.begin)))
	}
	x.n += n
}

// relayPiece is how much of an answer is read at a time.
const relayPiece = 16 << 10

// answer passes the answer on, from its first byte to its last.
func (x *exchange) answer() error {
	x.attend()
	if err := x.readHead(); err != nil {
		return err
	}
	if x.head.status == 101 || x.head.status/100 == 2 && x.req.isConnect {
		if x.body.sentFor() == 0 { // its sender still reads from the client
			return serverFault(errSwitchEarly)
		}
		return x.tunnel()
	}
	return x.copyAnswer(x.head.framing(x.req.isHead))
}

// readHead reads heads until the final one. Interim ones are passed on as they
// come.
func (x *exchange) readHead() error {
	for {
		end, err := x.headEnd()
		if err != nil {
			return err
		}
		if end == 0 {
			if err := x.readMore(x.firstByteLimit()); err != nil {
				return err
			}
			continue
		}
		if err := x.parseHead(end); err != nil {
			return err
		}
		if x.head.final() {
			return nil
		}
		if err := x.interim(end); err != nil {
			return err
		}
	}
}

// headEnd finds the end of the head in buf, or 0 while it is still to come. It
// looks at each byte once.
func (x *exchange) headEnd() (int, error) {
	from := max(0, x.seen-3)
	if end := headEnd(x.buf[from:x.n]); end > 0 {
		x.seen = 0
		return from + end, nil
	}
	if err := neverAHead(x.buf[:x.n], x.seen); err != nil {
		return 0, serverFault(err)
	}
	x.seen = x.n
	return 0, nil
}

func (x *exchange) parseHead(end int) error {
	if end > maxHead {
		return serverFault(errHeadTooLarge)
	}
	err := x.head.parse(x.buf[:end])
	if err == nil && x.head.status == 101 && !x.c.guard.fields.upgrade {
		err = errSwitch
	}
	if err != nil {
		return serverFault(err)
	}
	return nil
}

// interim passes on a 1xx, which an HTTP/1.0 client does not know.
func (x *exchange) interim(end int) error {
	x.out = x.head.append(x.out[:0], x.buf[:end], false)
	x.n = copy(x.buf, x.buf[end:x.n])
	if x.c.guard.http10 {
		return nil
	}
	return x.toClient(x.out)
}

// firstByteLimit is how long the server may still be silent before its answer.
func (x *exchange) firstByteLimit() time.Duration {
	if x.n > 0 {
		return x.s.cfg.IdleTimeout
	}
	return x.s.cfg.FirstByteTimeout
}

// readMore reads more of a head.
func (x *exchange) readMore(limit time.Duration) error {
	if x.n > 0 && x.n == len(x.buf) {
		if x.n >= maxHead {
			return serverFault(errHeadTooLarge)
		}
		larger := append(make([]byte, 0, maxHead+relayPiece), x.buf...)
		x.s.buffers.put(x.buf)
		x.buf = larger[:cap(larger)]
	}
	n, err := x.read(limit)
	x.came(n)
	switch {
	case n > 0:
		return nil
	case x.timedOut && x.n == 0:
		return stageFirstByte.silence(limit)
	case x.timedOut:
		return stageIdle.silence(limit)
	case err == io.EOF && x.n == 0:
		return &stageError{stageHead, errEmptyAnswer}
	}
	return &stageError{stageHead, err}
}

// read reads from the server into buf[n:]. Its silence is bounded only if asked
// for, and is none while it is still being sent the request.
func (x *exchange) read(limit time.Duration) (int, error) {
	for wait := limit; ; wait = limit - x.body.sentFor() {
		x.up.within(wait)
		n, err := x.readOnce()
		x.timedOut = n == 0 && errors.Is(err, os.ErrDeadlineExceeded)
		if !x.timedOut || x.body.sentFor() >= limit {
			return n, err
		}
	}
}

// readOnce waits with an empty hand where it can.
func (x *exchange) readOnce() (n int, err error) {
	if x.n == 0 && x.up.lean != nil {
		x.buf, n, err = x.up.lean.read(x.buf)
		return n, err
	}
	if x.buf == nil {
		x.buf = x.s.buffers.get(relayPiece)
		x.buf = x.buf[:cap(x.buf)]
	}
	return x.up.Read(x.buf[x.n:])
}

// copyAnswer passes on the final head with what has come of the body, then the
// rest as it is read.
func (x *exchange) copyAnswer(f framing) error {
	end := headEnd(x.buf[:x.n])
	first := x.buf[end:x.n]
	plain := x.c.guard.http10 && f.kind == chunkedBody
	before := f
	n, done, err := f.pass(first)
	if err != nil {
		return serverFault(err)
	}
	if x.watch != nil {
		x.watch.head(&x.head)
		x.late = backlog{o: x.watch, from: &x.s.buffers, first: x.watch.first}
		x.watch.kept.head(x.buf[:end])
	}
	if x.note = x.annotates(f); x.note != nil {
		return x.copyNoted(f, before, end, n, done)
	}
	x.prove(first, plain)
	x.out = x.head.append(x.s.buffers.get(relayPiece), x.buf[:end], plain)
	x.answered = true
	if x.proof != nil {
		x.proof.head = len(x.out)
	}
	x.s.stats.BytesOut.Add(int64(n))
	x.out = appendBody(x.out, before, first[:n], plain)
	x.said(done || f.kind == noBody)
	err = x.toClient(x.out)
	x.s.buffers.put(x.out)
	var at time.Duration // since the first byte
	if x.watch != nil {
		at = time.Since(x.watch.first)
		x.s.stats.firstByte.add(x.added + at)
		x.watch.tell(func(t TurnTags) { t.Head(x.buf[:end]) })
	}
	if x.out = nil; err != nil {
		return err
	}
	x.late.giveAt(at, before, first[:n])
	if x.ended = done || f.kind == noBody; x.ended {
		x.extra = n < len(first)
		return nil
	}
	return x.copyBytes(f, plain)
}

// appendBody appends the bytes of a body as the client gets them.
func appendBody(dst []byte, f framing, b []byte, plain bool) []byte {
	if !plain {
		return append(dst, b...)
	}
	return f.data(dst, b)
}

// copyBytes is the inner loop: each read is written before the next, and
// judged after it was written.
func (x *exchange) copyBytes(f framing, plain bool) error {
	x.n = 0 // from here on a read is passed on whole
	if !plain && x.note == nil {
		if carried, err := x.carry(&f); carried {
			return err
		}
	}
	for {
		n, err := x.read(x.s.cfg.IdleTimeout)
		if n > 0 {
			x.proof.took(x.buf[:n])
			if done, err := x.passOn(&f, x.buf[:n], plain); done || err != nil {
				return err
			}
		}
		if err == nil {
			continue
		}
		if x.ended = x.closedWell(&f, err); x.ended {
			return nil
		}
		if x.timedOut {
			return stageIdle.silence(x.s.cfg.IdleTimeout)
		}
		return &stageError{stageBody, err}
	}
}

// closedWell reports whether a read's error is the end of an answer that ends
// with its connection. The reset of a connection is told once: after its sender
// was, a reader gets an end like any other.
func (x *exchange) closedWell(f *framing, err error) bool {
	if err != io.EOF || f.kind != closedBody {
		return false
	}
	_, sent := x.senderFault(sendGrace)
	return !errors.Is(sent, syscall.ECONNRESET)
}

// passOn writes one read to the client, then has it judged. What is not
// framing goes no further.
func (x *exchange) passOn(f *framing, b []byte, plain bool) (done bool, err error) {
	if x.note != nil {
		return x.passNoted(f, b)
	}
	w := x.reads.next(x.watch != nil)
	before := *f
	n, done, bad := f.pass(b)
	x.s.stats.BytesOut.Add(int64(n))
	x.said(done)
	if plain {
		x.out = appendBody(x.out[:0], before, b[:n], true)
		err = x.toClient(x.out)
	} else {
		err = x.toClient(b[:n])
	}
	if err != nil {
		return false, err
	}
	w.lap(&x.s.stats.chunk)
	x.late.give(before, b[:n])
	w.lap(&x.s.stats.judgeChunk)
	if bad != nil {
		return false, &stageError{stageBody, bad}
	}
	x.ended, x.extra = done, n < len(b)
	return done, nil
}

// said notes that the server has said all: its connection is clean, and need not
// end with a client that leaves as soon as it has the last byte.
func (x *exchange) said(all bool) {
	if all && x.body.pending == nil {
		x.c.whenGone(nil)
	}
}

// errClientGone is a client that left before the end of its answer.
var errClientGone = errors.New("the client has left")

func (x *exchange) toClient(b []byte) error {
	if len(b) == 0 {
		return nil
	}
	n, err := x.c.write(b)
	if err != nil {
		return errClientGone
	}
	x.proof.gave(b[:n])
	return nil
}

// judgeRequest reads what the request allows, while the server works on it. It
// is the last to need the request.
func (x *exchange) judgeRequest() {
	if x.watch != nil {
		x.watch.calls(x)
		x.watch.request(x.body.whole)
		x.watch.mirrorRequest(x)
		if x.body.src == nil {
			x.body.kept = x.watch.kept.request(x.body.whole)
		}
	}
	x.req.free(&x.s.buffers)
	if x.body.pending == nil {
		x.body.free(&x.s.buffers)
	}
}

// unsent reads what was asked in a turn that no server got, so that its record
// says it. The client knows by now.
func (x *exchange) unsent() {
	if o := x.watch; o != nil && x.body.whole != nil && o.req == nil && o.reason == "" {
		o.calls(x)
		o.reason = validate.ReasonNoAnswer // first: what is read now changes no reason
		o.guarded(func() { o.parse(x.body.whole) })
	}
}

// release ends the exchange: the connection to the server is pooled if it is
// certain to be clean, else closed. It returns whether the client's may serve
// another request.
func (x *exchange) release() (keep bool) {
	defer func() {
		x.req.free(&x.s.buffers)
		x.s.buffers.put(x.buf)
		x.body.free(&x.s.buffers)
	}()
	x.unattend()
	if x.up == nil {
		x.c.whenGone(nil)
		if x.failed {
			x.linger(time.Now().Add(lingerTime))
		}
		return x.failed && !x.closing && !x.body.short && !x.c.gone() && !x.c.guard.http10 && !x.c.guard.fields.close
	}
	sent := x.finishBody(x.answered || x.failed)
	x.c.whenGone(nil)
	framed := x.ended && x.head.status != 101 && !x.head.doubtful() && x.head.framing(x.req.isHead).kind != closedBody
	keep = sent && !x.c.gone() && !x.c.guard.http10
	clean := sent && framed && !x.extra && !x.c.guard.http10 && !x.head.close && !x.head.http10
	if clean && !x.up.isShut() {
		x.s.up.put(x.up)
	} else {
		x.up.Close()
	}
	if x.answered && !x.ended && (x.head.framing(false).kind == closedBody || x.c.guard.http10) {
		x.c.reset()
	}
	return keep && (framed || x.failed) && !x.closing && !x.c.guard.fields.close
}

// ending says how the answer ended.
func (x *exchange) ending(err error) validate.Ending {
	switch {
	case x.ended:
		return validate.Complete
	case x.s.cutting.Load() || x.timedOut:
		return validate.ProxyCut
	case x.failed && !clientsFault(err):
		return validate.ServerCut
	case x.c.gone() || errors.Is(err, errClientGone) || clientsFault(err):
		return validate.ClientGone
	}
	return validate.ServerCut
}
