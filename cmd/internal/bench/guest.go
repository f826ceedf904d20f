package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"sync/atomic"
	"syscall"
	"time"
)

// Manner is how a guest behaves, or its server.
type Manner string

// The manners.
const (
	Reads   Manner = "read to the end"
	Stalls  Manner = "the client stalled"
	Leaves  Manner = "the client left, and came back"
	Ahead   Manner = "two requests at once"
	CutOff  Manner = "the server cut the answer"
	Chunked Manner = "the request came in chunks"
)

// manners are drawn from; what is named often is frequent.
var manners = []Manner{Reads, Reads, Reads, Reads, Stalls, Leaves, Ahead, CutOff, CutOff, Chunked}

// guest is a client of a Soak. It compares all that it gets, framing included.
type guest struct {
	addr    string
	scripts *scripts
	draw    *rand.Rand
	conn    *net.TCPConn
	buf     []byte

	events atomic.Int64
	bytes  int64
	did    map[Manner]int64
	errors int64
	errs   []string // the first few
	begin  time.Time
	before []string // exchanges on the connection
}

// maxTold is how many errors of a guest are told in words.
const maxTold = 3

func (s Soak) gather(addr string, all *scripts) (crowd []*guest) {
	for i := range s.Clients {
		crowd = append(crowd, &guest{addr: addr, scripts: all, draw: rand.New(rand.NewPCG(s.Seed, uint64(i))), buf: make([]byte, 16<<10), did: map[Manner]int64{}, begin: time.Now()})
	}
	return crowd
}

func (g *guest) tell(e *Endured) {
	e.Events += g.events.Load()
	e.Bytes += g.bytes
	e.Errors += g.errors
	for m, n := range g.did {
		e.Did[m] += n
	}
	e.Told = append(e.Told, g.errs...)
}

// run makes exchanges until ctx ends.
func (g *guest) run(ctx context.Context) {
	defer g.hangUp()
	for ctx.Err() == nil {
		m := manners[g.draw.IntN(len(manners))]
		err := g.exchange(m, g.params())
		if err == nil {
			g.did[m]++
			g.before = append(g.before, string(m))
			continue
		}
		g.errors++
		if len(g.errs) < maxTold {
			g.errs = append(g.errs, fmt.Sprintf("after %v, %s: %v; on the connection before: %q", time.Since(g.begin).Truncate(time.Millisecond), m, err, g.before))
		}
		g.hangUp()
		time.Sleep(retryPause)
	}
}

// params draw an answer.
func (g *guest) params() Params {
	names := Dialects()
	p := Params{Dialect: names[g.draw.IntN(len(names))], Stream: g.draw.IntN(5) > 0, Seed: g.draw.IntN(2)}
	if !p.Stream {
		p.Size = []int{0, 20 << 10, 300 << 10}[g.draw.IntN(3)]
		return p
	}
	p.Events = []int{8, 60, 300, 1500}[g.draw.IntN(4)]
	if p.Events < 1500 && g.draw.IntN(4) == 0 {
		p.Rate = 300
	}
	return p
}

// exchange makes one, or two at once.
func (g *guest) exchange(m Manner, p Params) error {
	script, err := g.scripts.of(p)
	if err != nil {
		return err
	}
	if err := g.dial(m); err != nil {
		return err
	}
	want := script.Wire
	if m == CutOff {
		head := bytes.Index(want, []byte("\r\n\r\n")) + 4
		p.Cut = head + 1 + g.draw.IntN(len(want)-head-1)
		want = want[:p.Cut]
	}
	if _, err := g.conn.Write(g.request(m, p)); err != nil {
		return err
	}
	if m == Leaves {
		defer g.hangUp()
		want = want[:g.draw.IntN(len(want))]
	}
	if err := g.compare(want, m == Stalls); err != nil {
		return fmt.Errorf("%v: %w", p, err)
	}
	g.count(script, len(want))
	switch m {
	case Ahead:
		err = g.compare(script.Wire, false)
		g.count(script, len(script.Wire))
	case CutOff:
		err = g.ended()
	}
	return err
}

// request writes what is sent. There are few requests of a size: what turnwatch
// remembers of them is full soon.
func (g *guest) request(m Manner, p Params) []byte {
	l := Load{Request: []int{256, 2 << 10, 8 << 10, 32 << 10}[g.draw.IntN(4)], Tools: 1 + g.draw.IntN(4)}
	if m == CutOff {
		l.Request = 0
	}
	b := l.request(p)
	switch m {
	case Ahead:
		return append(b, b...)
	case Chunked:
		return inChunks(b, g.draw)
	}
	return b
}

// inChunks frames a request's body anew.
func inChunks(request []byte, draw *rand.Rand) []byte {
	head, body, _ := bytes.Cut(request, []byte("\r\n\r\n"))
	at := bytes.Index(head, []byte("\r\nContent-Length"))
	out := fmt.Appendf(nil, "%s\r\nTransfer-Encoding: chunked\r\n\r\n", head[:at])
	for len(body) > 0 {
		n := min(len(body), 1+draw.IntN(4096))
		out = fmt.Appendf(out, "%x\r\n%s\r\n", n, body[:n])
		body = body[n:]
	}
	return append(out, "0\r\n\r\n"...)
}

func (g *guest) dial(m Manner) error {
	if m == Stalls {
		g.hangUp() // the small window is this exchange's alone
		defer func() {
			if g.conn != nil {
				g.conn.SetReadBuffer(64 << 10)
			}
		}()
	}
	if g.conn != nil {
		return nil
	}
	c, err := net.DialTimeout("tcp", g.addr, 10*time.Second)
	if err == nil {
		g.conn = c.(*net.TCPConn)
	}
	return err
}

func (g *guest) hangUp() {
	if g.conn != nil {
		g.conn.Close()
		g.conn, g.before = nil, nil
	}
}

// silence is how long an answer may pause before it counts as lost.
const silence = 60 * time.Second

// compare reads as many bytes as want has and compares them.
func (g *guest) compare(want []byte, stall bool) error {
	g.conn.SetReadDeadline(time.Now().Add(silence))
	for at, stalls := 0, 0; at < len(want); {
		if stall && stalls < 8 && g.draw.IntN(4) == 0 {
			stalls++
			time.Sleep(time.Duration(g.draw.IntN(100)) * time.Millisecond)
		}
		n, err := g.conn.Read(g.buf[:min(len(g.buf), len(want)-at)])
		if !bytes.Equal(g.buf[:n], want[at:at+n]) {
			return fmt.Errorf("within %d bytes from byte %d: got %q, want %q", n, at, g.buf[:min(n, 200)], want[at:at+min(n, 200)])
		}
		if at += n; err != nil && at < len(want) {
			return fmt.Errorf("after %d of %d bytes: %w", at, len(want), err)
		}
	}
	g.bytes += int64(len(want))
	return nil
}

// ended wants the end of a connection that the server cut.
func (g *guest) ended() error {
	defer g.hangUp()
	n, err := g.conn.Read(g.buf)
	if n > 0 || !errors.Is(err, io.EOF) && !errors.Is(err, syscall.ECONNRESET) {
		return fmt.Errorf("behind the cut: got %q, %v, want the end", g.buf[:n], err)
	}
	return nil
}

// count counts the events within the first n bytes.
func (g *guest) count(s *Script, n int) {
	for _, end := range s.Writes {
		if end <= n && end > len(streamHead) {
			g.events.Add(1)
		}
	}
}
