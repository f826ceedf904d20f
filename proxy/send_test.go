package proxy

import (
	"net"
	"testing"
	"time"
)

// TestSenderThatIsLateCostsNoConnection: what has sent a request's body may be
// told so by a busy machine long after the answer.
func TestSenderThatIsLateCostsNoConnection(t *testing.T) {
	near, far := net.Pipe()
	defer near.Close()
	defer far.Close()
	done := make(chan error, 1)
	x := &exchange{c: &clientConn{sock: near}, up: &upConn{sock: far}, ended: true}
	x.body.pending = done
	late := time.AfterFunc(4*sendGrace, func() { done <- nil })
	defer late.Stop()
	if !x.finishBody(true) {
		t.Error("the connection is not used again, though all of the request went out")
	}
}
