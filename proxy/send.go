package proxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"sync/atomic"
	"time"
)

// wholeBody is the largest request body that is read before it is sent. A
// larger one streams through.
const wholeBody = 1 << 20

// asyncBody is the smallest body that is sent by a goroutine of its own: less
// fits into the socket's buffer, and a server may answer before it has read
// more.
const asyncBody = 32 << 10

// errClientBody is a request whose body did not come as its head announced.
var errClientBody = errors.New("the client did not send the body that it announced")

// body is the body of a request on its way to the server.
type body struct {
	src     io.Reader // nil: there is none, or it was read whole
	whole   []byte
	kept    bool  // whole is kept for evidence, and given back there
	length  int64 // -1: chunked
	judged  *capture
	sent    int64      // bytes of it that went to the server
	pending chan error // set while a goroutine sends
	short   bool       // not all of it came, or went out

	begun  time.Time    // when it began to
	doneIn atomic.Int64 // how long it took, once it has ended
}

// free gives the whole body back, once.
func (b *body) free(to *buffers) {
	if !b.kept {
		to.put(b.whole)
	}
	b.whole = nil
}

// sentFor tells how long the whole body has been on its way to the server: the
// time that the wait for an answer is counted from.
func (b *body) sentFor() time.Duration {
	took := b.doneIn.Load()
	if b.pending == nil {
		return math.MaxInt64
	}
	if took == 0 {
		return 0
	}
	return time.Since(b.begun) - time.Duration(took)
}

// readBody takes the request's body from the client, from fasthttp if it is
// chunked: whole when it is small.
func (x *exchange) readBody() error {
	x.body.length = x.c.guard.fields.length // -1: chunked, or there is none
	src := x.ctx.RequestBodyStream()
	if x.body.length > 0 {
		src = knownBody{x.c}
	}
	if src == nil {
		x.body.length = 0
		return nil
	}
	if x.body.length <= wholeBody && !x.expected {
		return x.readWhole(src)
	}
	x.stream(src)
	return nil
}

// knownBody reads a body of known length, which fasthttp does not know of.
type knownBody struct{ c *clientConn }

func (b knownBody) Read(p []byte) (int, error) {
	if b.c.guard.state != guardBody {
		return 0, io.EOF
	}
	return b.c.Read(p)
}

// stream makes the body pass through as it comes.
func (x *exchange) stream(src io.Reader) {
	x.body.src = src
	if x.watch != nil {
		x.body.judged = x.watch.streams(x.body.length)
	}
}

// readWhole reads a small body. What proves to be larger, because it is
// chunked, goes on as a stream with the part that was read at its front. An announced
// length alone takes no memory: room for all of it is made once a large buffer is full.
func (x *exchange) readWhole(src io.Reader) error {
	buf := x.s.buffers.get(int(min(max(x.body.length, smallBuffer), largeBuffer)))
	for len(buf) <= wholeBody {
		if len(buf) == cap(buf) {
			buf = x.widen(buf)
		}
		n, err := src.Read(buf[len(buf):cap(buf)])
		if buf = buf[:len(buf)+n]; err == io.EOF {
			x.body.whole = buf
			return x.checkLength()
		}
		if err != nil {
			return errClientBody // fasthttp's words may quote the request
		}
		if int64(len(buf)) == x.body.length {
			x.body.whole = buf
			return nil
		}
	}
	x.stream(io.MultiReader(&sliceReader{buf}, src))
	return nil
}

// widen makes room for the rest of a body, all of it where that is announced.
func (x *exchange) widen(buf []byte) []byte {
	wider := append(x.s.buffers.get(int(max(x.body.length, 2*int64(cap(buf))))), buf...)
	x.s.buffers.put(buf)
	return wider
}

func (x *exchange) checkLength() error {
	if x.body.length < 0 {
		x.body.length = int64(len(x.body.whole))
	}
	if int64(len(x.body.whole)) != x.body.length {
		return errClientBody
	}
	return nil
}

// sliceReader is a reader of b that io.MultiReader does not copy.
type sliceReader struct{ b []byte }

func (r *sliceReader) Read(p []byte) (int, error) {
	if len(r.b) == 0 {
		return 0, io.EOF
	}
	n := copy(p, r.b)
	r.b = r.b[n:]
	return n, nil
}

// appendHead appends the request's head as the server gets it.
func (x *exchange) appendHead(dst []byte, expect bool) []byte {
	r := &x.req
	dst = append(append(dst, r.method...), ' ')
	dst = append(append(dst, r.target...), ' ')
	dst = append(append(dst, r.version...), "\r\n"...)
	hop := hopOf(r.fields, &x.c.guard.fields)
	hop.expect = expect || !x.c.guard.fields.expect // what is met here ends here
	var length []byte
	if x.c.guard.fields.chunked && x.body.src == nil && !expect {
		length = strconv.AppendInt([]byte("Content-Length: "), x.body.length, 10)
		length = append(length, "\r\n"...)
	}
	return append(hop.appendFields(dst, r.fields, length), "\r\n"...)
}

// connect gets a connection to the server, which is closed once the client
// leaves.
func (x *exchange) connect() error {
	if x.up = x.s.up.get(); x.up == nil {
		if err := x.dial(); err != nil {
			return err
		}
	}
	x.c.whenGone(x.up.hang)
	return nil
}

// dial opens one. A client that leaves ends the dial.
func (x *exchange) dial() (err error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	x.c.whenGone(cancel)
	x.up, err = x.s.up.dial(ctx)
	return err
}

// send sends the head, if it has not gone already, and the body. What does not
// fit into a socket's buffer is sent beside the wait for the answer, which may
// come first.
func (x *exchange) send() error {
	if x.expected {
		x.sendBody()
		return nil
	}
	head := x.appendHead(x.s.buffers.get(relayPiece), false)
	defer func() { x.s.buffers.put(head) }()
	if x.body.src == nil && len(head)+len(x.body.whole) <= cap(head) {
		x.body.sent = int64(len(x.body.whole))
		return x.write(append(head, x.body.whole...), nil)
	}
	if x.body.src == nil && len(x.body.whole) < asyncBody {
		x.body.sent = int64(len(x.body.whole))
		return x.write(head, x.body.whole)
	}
	if err := x.write(head, nil); err != nil {
		return err
	}
	x.sendBody()
	return nil
}

// sendBody begins to send the body; finishBody waits for its end.
func (x *exchange) sendBody() {
	done := make(chan error, 1)
	x.body.pending, x.body.begun = done, time.Now()
	go func() {
		defer func() {
			if p := recover(); p != nil { // fasthttp's reader, if anything
				done <- fmt.Errorf("send the request's body: %v", p)
			}
		}()
		err := x.copyBody()
		x.body.doneIn.Store(int64(time.Since(x.body.begun)))
		if errors.Is(err, errClientBody) {
			x.up.Close() // half a request must not look like a whole one, nor be waited for
		}
		done <- err
	}()
}

func (x *exchange) copyBody() error {
	if x.body.src == nil {
		x.body.sent = int64(len(x.body.whole))
		return x.write(x.body.whole, nil)
	}
	if x.body.length < 0 {
		return x.copyChunked()
	}
	return x.copyFixed()
}

// streamPiece is how much of a large body is in memory at a time. It is more
// than fasthttp's buffer, so that its reads go past that.
const streamPiece = largeBuffer

// copyFixed streams a body of known length.
func (x *exchange) copyFixed() error {
	buf := x.s.buffers.get(streamPiece)[:streamPiece]
	defer x.s.buffers.put(buf)
	for x.body.sent < x.body.length {
		n, rerr := x.body.src.Read(buf)
		if err := x.pass(buf[:n]); err != nil {
			return err
		}
		if rerr != nil && x.body.sent < x.body.length {
			return errClientBody
		}
	}
	return nil
}

// copyChunked streams a body of unknown length, in chunks of our own.
func (x *exchange) copyChunked() error {
	const room = 10 // for a size of up to 8 digits and its CRLF
	buf := x.s.buffers.get(streamPiece)[:streamPiece]
	defer x.s.buffers.put(buf)
	for {
		n, rerr := x.body.src.Read(buf[room : streamPiece-2])
		if n > 0 {
			size := strconv.AppendInt(nil, int64(n), 16)
			at := room - 2 - len(size)
			copy(buf[at:], size)
			copy(buf[room-2:], "\r\n")
			copy(buf[room+n:], "\r\n")
			x.keep(buf[room : room+n])
			if err := x.write(buf[at:room+n+2], nil); err != nil {
				return err
			}
		}
		if rerr == io.EOF {
			return x.write([]byte("0\r\n\r\n"), nil)
		}
		if rerr != nil {
			return errClientBody
		}
	}
}

func (x *exchange) pass(b []byte) error {
	x.keep(b)
	return x.write(b, nil)
}

// keep keeps the judge's copy of a body that streams.
func (x *exchange) keep(b []byte) {
	x.body.sent += int64(len(b))
	if x.body.judged != nil {
		x.body.judged.add(0, b)
	}
}

// write writes a and b in one call.
func (x *exchange) write(a, b []byte) error {
	if len(b) > 0 { // to copy them costs less than to tell the kernel of two
		a = append(append(x.s.buffers.get(len(a)+len(b)), a...), b...)
		defer x.s.buffers.put(a)
	}
	if _, err := x.up.Write(a); err != nil {
		return &stageError{stageWrite, err}
	}
	return nil
}

// sendGrace is how long the sender may take to report its end once the exchange
// has failed. After a whole answer it may take reportTime: on a busy machine it is a
// while until it learns that its last write has gone, and a connection that is
// closed meanwhile costs the client its next request.
const (
	sendGrace  = 20 * time.Millisecond
	reportTime = 10 * time.Second
)

// lingerTime and lingerBytes bound what is still read of a request's body
// after its answer has ended.
const (
	lingerTime  = time.Second
	lingerBytes = 64 << 20
)

// linger reads what comes of a request's body until then, so that the client can
// read its answer before its connection is reset.
func (x *exchange) linger(until time.Time) {
	if x.body.src != nil {
		x.c.sock.SetReadDeadline(until)
		io.CopyN(io.Discard, x.body.src, lingerBytes)
	}
}

// senderFault returns how the goroutine that sends the body has ended, if one
// did. It gives it so long to do so.
func (x *exchange) senderFault(within time.Duration) (ended bool, err error) {
	if x.body.pending == nil {
		return true, nil
	}
	select {
	case err = <-x.body.pending:
		x.body.pending, x.body.short = nil, err != nil
		return true, err
	case <-time.After(within):
		return false, nil
	}
}

// finishBody waits for the goroutine that sends the body, if one does, and
// reports whether all of it went out. After an early answer the rest is not
// wanted any more.
func (x *exchange) finishBody(answered bool) bool {
	within := sendGrace
	if x.ended {
		within = reportTime
	}
	if ended, _ := x.senderFault(within); ended {
		return !x.body.short
	}
	x.up.Close()
	deadline := time.Now()
	if answered {
		deadline = deadline.Add(lingerTime)
	}
	x.c.sock.SetReadDeadline(deadline)
	<-x.body.pending
	x.body.pending, x.body.short = nil, true
	if answered {
		x.linger(deadline)
	}
	return false
}
