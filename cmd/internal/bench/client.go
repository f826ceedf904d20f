package bench

import (
	"bufio"
	"bytes"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// client sends one request after the other and compares every answer.
type client struct {
	addr    string
	script  *Script
	request []byte
	times   Times
	slot    int
	fresh   bool
	phase   *atomic.Int32
	busy    atomic.Bool // an answer is in progress

	mu   sync.Mutex
	conn net.Conn
	over bool // the connection was cut by us

	// Of run, and of whoever looks after its end.
	first, event           Spread
	answers, events, bytes int64
	errors                 int64
	err                    error // the first
}

// retryPause is how long a client waits after an error.
const retryPause = 20 * time.Millisecond

// run asks until it is told to stop.
func (c *client) run() {
	var r *bufio.Reader
	for c.phase.Load() != draining {
		last, err := c.once(&r)
		if err != nil {
			c.fail(err)
			time.Sleep(retryPause)
		}
		if last || err != nil || c.fresh {
			c.hangUp()
			r = nil
		}
	}
	c.hangUp()
}

// once makes one exchange. The connection may be the last one's.
func (c *client) once(r **bufio.Reader) (last bool, err error) {
	if err := c.dial(r); err != nil {
		return false, err
	}
	c.busy.Store(true)
	defer c.busy.Store(false)
	return c.ask(*r)
}

func (c *client) dial(r **bufio.Reader) error {
	if *r != nil {
		return nil
	}
	conn, err := net.DialTimeout("tcp", c.addr, 5*time.Second)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over {
		conn.Close()
		return net.ErrClosed
	}
	c.conn, *r = conn, bufio.NewReaderSize(conn, 4<<10)
	return nil
}

// ask sends a request and reads its answer, which may be the last of its
// connection.
func (c *client) ask(r *bufio.Reader) (last bool, err error) {
	began := time.Now()
	if _, err := c.conn.Write(c.request); err != nil {
		return false, err
	}
	m, err := readMessage(r)
	if err != nil {
		return false, fmt.Errorf("read the head of an answer: %w", err)
	}
	if !strings.Contains(m.start, " 200 ") {
		return false, fmt.Errorf("the answer is %q", m.start)
	}
	at := reading{c: c, began: began}
	if err := m.body(r, at.take); err != nil {
		return false, err
	}
	if at.n < len(c.script.Body) {
		return false, fmt.Errorf("the answer ended after %d of %d bytes", at.n, len(c.script.Body))
	}
	if c.phase.Load() == measuring {
		c.answers++
	}
	return m.close, nil
}

// reading is how far a client is in an answer.
type reading struct {
	c     *client
	began time.Time
	n     int // bytes
	event int
}

// take compares the next bytes with what the server sent.
func (at *reading) take(b []byte) error {
	c, want := at.c, at.c.script.Body[at.n:]
	if len(b) > len(want) || !bytes.Equal(b, want[:len(b)]) {
		return fmt.Errorf("the answer differs within %d bytes from byte %d", len(b), at.n)
	}
	counted := c.phase.Load() == measuring
	if at.n == 0 && counted {
		c.first.add(time.Since(at.began))
	}
	at.n += len(b)
	if counted {
		c.bytes += int64(len(b))
	}
	if at.event < len(c.script.Ends) && c.script.Ends[at.event] <= at.n {
		at.events(time.Now(), counted)
	}
	return nil
}

// events counts those that have come whole.
func (at *reading) events(now time.Time, counted bool) {
	c := at.c
	for ; at.event < len(c.script.Ends) && c.script.Ends[at.event] <= at.n; at.event++ {
		if !counted {
			continue
		}
		c.events++
		if d, ok := c.times.since(c.slot, at.event, now); ok {
			c.event.add(d)
		}
	}
}

func (c *client) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over {
		return
	}
	c.errors++
	if c.err == nil {
		c.err = err
	}
}

func (c *client) hangUp() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.conn != nil {
		c.conn.Close()
		c.conn = nil
	}
}

// cut ends an answer in progress.
func (c *client) cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.over = true
	if c.conn != nil {
		c.conn.Close()
	}
}
