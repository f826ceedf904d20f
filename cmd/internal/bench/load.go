package bench

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Load is how many clients ask for what, and for how long.
type Load struct {
	Params
	Clients int           // connections, each with one request at a time
	Ramp    time.Duration // over which they begin
	Warm    time.Duration // after which it is measured
	For     time.Duration // how long
	Request int           // bytes of a request's body, about
	Tools   int           // that a request declares
	Fresh   bool          // a connection for each request
}

// Seen is what the clients saw within the measurement.
type Seen struct {
	Seconds float64
	Answers int64  // that ended
	Events  int64  // that came; of an answer that does not stream, its end
	Bytes   int64  // of bodies
	Open    int    // answers in progress at the end
	Errors  int64  // answers that failed or differed, at any time
	Error   string `json:",omitempty"` // the first of them
	First   Delays // from the request to the first byte of the answer's body
	Event   Delays // of an event, from the server's write to the client's read
}

// Delays are quantiles in milliseconds.
type Delays struct{ P50, P99 float64 }

func (s *Spread) delays() Delays {
	ms := func(q float64) float64 { return float64(s.quantile(q)) / float64(time.Millisecond) }
	return Delays{ms(.5), ms(.99)}
}

// The phases of a Load.
const (
	warming = iota
	measuring
	draining
)

// run puts the load on addr, calls mark as the measurement begins and ends,
// and returns what the clients saw. Times is what the server fills.
func (l Load) run(addr string, times Times, mark func() error) (*Seen, error) {
	g, err := l.gather(addr, times)
	if err != nil {
		return nil, err
	}
	done := g.start()
	time.Sleep(l.Ramp + l.Warm)
	if err := mark(); err != nil {
		g.end(done)
		return nil, err
	}
	began := time.Now()
	g.phase.Store(measuring)
	time.Sleep(l.For)
	g.phase.Store(draining)
	took, open := time.Since(began), g.busy()
	err = mark()
	g.end(done)
	seen := g.seen(took)
	seen.Open = open
	return seen, err
}

// crowd is the clients of a Load.
type crowd struct {
	l     Load
	all   []*client
	phase atomic.Int32
}

func (l Load) gather(addr string, times Times) (*crowd, error) {
	script, err := build(l.Params)
	if err != nil {
		return nil, err
	}
	g := &crowd{l: l, all: make([]*client, l.Clients)}
	for i := range g.all {
		p := l.Params
		p.Slot = i
		g.all[i] = &client{addr: addr, script: script, request: l.request(p), times: times, slot: i, fresh: l.Fresh, phase: &g.phase}
	}
	return g, nil
}

// request writes a request.
func (l Load) request(p Params) []byte {
	d, tools := dialects[p.Dialect], Tools(l.Tools)
	body := d.request(p, "", tools)
	body = d.request(p, newWords(p.Seed).text(max(0, l.Request-len(body))), tools)
	var b strings.Builder
	fmt.Fprintf(&b, "POST %s HTTP/1.1\r\nHost: llm.test\r\nUser-Agent: turnbench\r\nAccept: */*\r\n", d.path)
	fmt.Fprintf(&b, "Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	return []byte(b.String())
}

// start has the clients begin one after the other. What it returns is closed
// when all have ended.
func (g *crowd) start() (done chan struct{}) {
	var all sync.WaitGroup
	for i, c := range g.all {
		wait := g.l.Ramp * time.Duration(i) / time.Duration(len(g.all))
		all.Go(func() {
			time.Sleep(wait)
			c.run()
		})
	}
	done = make(chan struct{})
	go func() {
		all.Wait()
		close(done)
	}()
	return done
}

// drainTime is how long answers may go on after the measurement.
const drainTime = time.Second

// end has the clients stop.
func (g *crowd) end(done chan struct{}) {
	g.phase.Store(draining)
	select {
	case <-done:
		return
	case <-time.After(drainTime):
	}
	for _, c := range g.all {
		c.cut()
	}
	<-done
}

func (g *crowd) busy() (n int) {
	for _, c := range g.all {
		if c.busy.Load() {
			n++
		}
	}
	return n
}

func (g *crowd) seen(took time.Duration) *Seen {
	s := &Seen{Seconds: took.Seconds()}
	var first, event Spread
	for _, c := range g.all {
		first.merge(&c.first)
		event.merge(&c.event)
		s.Answers += c.answers
		s.Events += c.events
		s.Bytes += c.bytes
		s.Errors += c.errors
		if s.Error == "" && c.err != nil {
			s.Error = c.err.Error()
		}
	}
	s.First, s.Event = first.delays(), event.delays()
	return s
}
