package proxy

import "io"

// tunnel passes on an answer that switches protocols, and then bytes both ways
// until either side ends. Half a tunnel is none: the server is never left with
// a connection that is closed on one side only.
func (x *exchange) tunnel() error {
	x.unattend()
	end := headEnd(x.buf[:x.n])
	x.out = append(x.head.append(x.out[:0], x.buf[:end], false), x.buf[end:x.n]...)
	x.answered = true
	if err := x.toClient(x.out); err != nil {
		return err
	}
	x.c.raw = true
	x.c.whenGone(nil) // what the client sent before it left is still passed on
	down := make(chan struct{})
	go func() {
		defer close(down)
		io.Copy(x.c.Conn, x.up.Conn)
		x.c.Conn.Close()
	}()
	x.copyUp()
	x.up.Close()
	<-down
	x.ended = true
	return nil
}

// copyUp copies what the client sends, first what came behind its request.
func (x *exchange) copyUp() {
	buf := x.s.buffers.get(relayPiece)
	defer x.s.buffers.put(buf)
	buf = buf[:cap(buf)]
	for {
		n, err := x.c.Read(buf)
		if n > 0 {
			if _, err := x.up.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}
