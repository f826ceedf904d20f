package proxy

import (
	"io"
	"time"
)

// attendance is a TLS client that is read from while its answer is made. Its
// close_notify is bytes to the socket, of which the watcher learns nothing.
type attendance struct {
	c     *clientConn
	done  chan struct{}
	early []byte // a byte of the next request, if it came
}

// attend begins to read from a TLS client. A plain one needs none of it, and
// one whose request still streams is read from already.
func (x *exchange) attend() {
	if x.c.Conn == x.c.sock || x.body.src != nil {
		return
	}
	a := &attendance{c: x.c, done: make(chan struct{})}
	x.attended = a
	go a.run()
}

func (a *attendance) run() {
	defer close(a.done)
	var b [1]byte
	n, err := a.c.Conn.Read(b[:])
	if a.early = b[:n]; err == io.EOF {
		a.c.leave()
	}
}

// unattend ends it. The connection may then be read from by others.
func (x *exchange) unattend() {
	a := x.attended
	if a == nil {
		return
	}
	x.attended = nil
	a.c.sock.SetReadDeadline(time.Unix(1, 0))
	<-a.done
	a.c.sock.SetReadDeadline(time.Time{})
	a.c.holdMore(a.early)
}
