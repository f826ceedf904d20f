package proxy_test

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"turnwatch/proxy"
)

// TestClientThatLeavesEndsTheServersWork: the server sees its connection
// closed, altogether and at once, however and whenever the client goes.
func TestClientThatLeavesEndsTheServersWork(t *testing.T) {
	for _, network := range []string{"tcp", "tls", "unix"} {
		for _, when := range []string{"before the first byte", "in a silent stream"} {
			for _, how := range []string{"FIN", "RST", "half-close"} {
				if network == "unix" && how == "RST" {
					continue // unix sockets know no reset
				}
				t.Run(network+", "+when+", "+how, func(t *testing.T) {
					up := listen(t, "tcp")
					p := startOn(t, network, proxy.Config{Upstream: up.url})
					soon(t, func() time.Duration { return hangUp(up, p, when, how) })
				})
			}
		}
	}
}

// soon holds 20 trials to their bars. Some of them may be held up by what else
// the machine does, so that a series that is late gets another chance, as long as
// patience lasts; a relay that is late never makes one.
func soon(t *testing.T, trial func() time.Duration) {
	t.Helper()
	const trials, median, worst = 20, 2 * time.Millisecond, 50 * time.Millisecond
	took := make([]time.Duration, trials)
	for begin := time.Now(); time.Since(begin) < patience; {
		for i := range took {
			took[i] = trial()
		}
		slices.Sort(took)
		t.Logf("median %v, worst %v", took[trials/2], took[trials-1])
		if took[trials/2] <= median && took[trials-1] <= worst {
			return
		}
	}
	t.Errorf("until the server knew: got median %v and worst %v, want at most %v and %v", took[trials/2], took[trials-1], median, worst)
}

// hangUp lets one client leave and returns after how long its server saw the
// connection closed: both ways, or it might go on writing into it.
func hangUp(up *upstream, p *relay, when, how string) time.Duration {
	up.t.Helper()
	c := p.dial()
	defer c.close()
	s := ask(up, c, post)
	if when == "in a silent stream" {
		s.send(encoded("gzip")[:150])
		c.read(encoded("gzip")[:150])
	}
	p.watchesOne()
	begin := time.Now()
	leave(c, how)
	took := s.ends().Sub(begin)
	s.refused()
	return took
}

// watchesOne waits until there is one client alone, and it is watched. A guest whose request
// was there before it was waited for is not, until it has proved to stay: on a busy machine,
// or one with a single processor, that is most of them.
func (r *relay) watchesOne() {
	r.t.Helper()
	for begin := time.Now(); r.Stats().Clients.Load() != 1 || r.Watched() != 1; time.Sleep(20 * time.Microsecond) {
		if time.Since(begin) > patience {
			r.t.Fatalf("clients: got %d, %d watched, want one that is", r.Stats().Clients.Load(), r.Watched())
		}
	}
}

// TestClientThatLeavesAtAnOddMoment is noticed as well.
func TestClientThatLeavesAtAnOddMoment(t *testing.T) {
	for _, how := range []string{"FIN", "RST", "half-close"} {
		t.Run(how+" behind a second request", func(t *testing.T) {
			up := listen(t, "tcp")
			c := start(t, up, proxy.Config{}).dial()
			c.send(post + get)
			s := up.next()
			s.read(post)
			leave(c, how)
			s.ends()
			up.untouched()
		})
		t.Run(how+" in a long request", func(t *testing.T) {
			up := listen(t, "tcp")
			c := start(t, up, proxy.Config{}).dial()
			c.send(head("POST /v1/files HTTP/1.1", "Host: x", "Content-Length: 8388608") + pattern(2<<20))
			s := up.next()
			s.until("\r\n\r\n")
			leave(c, how)
			s.rest()
			s.refused()
		})
		t.Run(how+" in a chunked request", func(t *testing.T) {
			up := listen(t, "tcp")
			c := start(t, up, proxy.Config{}).dial()
			c.send(head("POST /v1/files HTTP/1.1", "Host: x", "Transfer-Encoding: chunked"), fmt.Sprintf("%x\r\n", 8<<20), pattern(2<<20))
			s := up.next()
			s.until("\r\n\r\n")
			leave(c, how)
			if got, _ := s.rest(); strings.HasSuffix(got, "0\r\n\r\n") {
				t.Errorf("server: got a body that looks complete: %s", clip(got))
			}
		})
		t.Run(how+" in a short request", func(t *testing.T) {
			up := listen(t, "tcp")
			p := start(t, up, proxy.Config{})
			c := p.dial()
			c.send(post[:len(post)-1])
			leave(c, how)
			again(t, up, p.dial())
			up.untouched()
		})
		t.Run(how+" while the server writes", func(t *testing.T) {
			up := listen(t, "tcp")
			c := start(t, up, proxy.Config{}).deaf()
			s := ask(up, c, post)
			s.send(head("HTTP/1.1 200 OK", "Content-Length: 1073741824"))
			var sent atomic.Int64
			go io.Copy(s.conn, &zeros{&sent})
			standsStill(&sent)
			leave(c, how)
			s.ends()
		})
	}
}

// zeros has no end. It counts what was taken of it.
type zeros struct{ taken *atomic.Int64 }

func (z *zeros) Read(b []byte) (int, error) {
	z.taken.Add(int64(len(b)))
	return len(b), nil
}

// TestClientsThatLeaveHarmNobodyElse: while some leave at any moment, others
// use the connections that come free. No one gets an error or a stranger's bytes.
func TestClientsThatLeaveHarmNobodyElse(t *testing.T) {
	const workers, rounds = 8, 250
	url := echo(t)
	p := startOn(t, "tcp", proxy.Config{Upstream: url})
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for i := range rounds {
				id := fmt.Sprintf("%d-%d", w, i)
				if w%2 == 0 {
					if err := leaveEarly(p, id); err != nil {
						t.Error(err)
					}
				} else if err := askEcho(p, id); err != nil {
					t.Errorf("%s: %v", id, err)
				}
			}
		})
	}
	wg.Wait()
}

func leaveEarly(p *relay, id string) error {
	c, err := p.connect()
	if err != nil {
		return err
	}
	fmt.Fprintf(c, "GET /%s HTTP/1.1\r\nHost: x\r\n\r\n", id)
	time.Sleep(time.Duration(rand.IntN(1500)) * time.Microsecond)
	if rand.IntN(2) == 0 {
		c.(*net.TCPConn).SetLinger(0)
	}
	return c.Close()
}

func askEcho(p *relay, id string) error {
	c, err := p.connect()
	if err != nil {
		return err
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(patience))
	br := bufio.NewReader(c)
	for k := range 3 {
		fmt.Fprintf(c, "GET /%s-%d HTTP/1.1\r\nHost: x\r\n\r\n", id, k)
		resp, err := http.ReadResponse(br, nil)
		if err != nil {
			return err
		}
		body, err := io.ReadAll(resp.Body)
		if want := fmt.Sprintf("/%s-%d", id, k); err != nil || resp.StatusCode != 200 || string(body) != want {
			return fmt.Errorf("got %d %q %v, want 200 %q", resp.StatusCode, body, err, want)
		}
	}
	return nil
}

// echo is a server that answers with the path, after up to a millisecond.
func echo(t *testing.T) (url string) {
	ln, url := bind(t, "tcp")
	srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(time.Duration(rand.IntN(1000)) * time.Microsecond)
		io.WriteString(w, r.URL.Path)
	})}
	var wg sync.WaitGroup
	wg.Go(func() { srv.Serve(ln) })
	t.Cleanup(func() { srv.Close(); wg.Wait() })
	return url
}

// TestClientThatSaysItIsDoneLeaves: close_notify ends a TLS client's side, with
// no FIN below it.
func TestClientThatSaysItIsDoneLeaves(t *testing.T) {
	for _, when := range []string{"before the first byte", "in a silent stream"} {
		t.Run(when, func(t *testing.T) {
			up := listen(t, "tcp")
			c := startOn(t, "tls", proxy.Config{Upstream: up.url}).dial()
			s := ask(up, c, post)
			if when == "in a silent stream" {
				s.send(encoded("gzip")[:150])
				c.read(encoded("gzip")[:150])
			}
			if err := c.conn.(*tls.Conn).CloseWrite(); err != nil {
				t.Fatal(err)
			}
			s.ends()
			c.close()
		})
	}
}

// TestTLSClientMayAskAheadOfItsAnswer: what it sends meanwhile is kept.
func TestTLSClientMayAskAheadOfItsAnswer(t *testing.T) {
	up := listen(t, "tcp")
	c := startOn(t, "tls", proxy.Config{Upstream: up.url}).dial()
	s := ask(up, c, get)
	c.send(get + get)
	for range 2 {
		s.send(empty)
		c.read(empty)
		s.read(get)
	}
	s.send(empty)
	c.read(empty)
}

// TestTLSClientMayAskAheadInPieces: what comes while an answer is made stands
// behind what had come before.
func TestTLSClientMayAskAheadInPieces(t *testing.T) {
	up := listen(t, "tcp")
	c := startOn(t, "tls", proxy.Config{Upstream: up.url}).dial()
	c.send(get)
	s := up.next()
	s.read(get)
	for n := range len(post) - 1 {
		c.send(post[:n+1])
		s.send(empty)
		c.read(empty)
		c.send(post[n+1:] + get[:7])
		s.read(post)
		c.send(get[7:])
		s.send(empty)
		c.read(empty)
		s.read(get)
	}
	s.send(empty)
	c.read(empty)
}
