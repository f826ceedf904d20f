package proxy_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"turnwatch/proxy"
)

// failed reads an answer of ours: the status, the stage, and a body in the
// shape that OpenAI's clients understand.
func failed(t *testing.T, c *peer, status string, stages ...string) {
	t.Helper()
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatalf("client: got no answer of ours: %v", err)
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("client: got %v in the body %q", err, body)
	}
	if got := fmt.Sprint(resp.StatusCode); got != status {
		t.Fatalf("status: got %s with %s, want %s", got, body, status)
	}
	var answer struct {
		Error map[string]any `json:"error"`
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		t.Errorf("body: got %q, want JSON: %v", body, err)
	}
	for _, key := range []string{"message", "type", "param", "code"} {
		if _, ok := answer.Error[key]; !ok {
			t.Errorf("body: got %s, want error.%s", body, key)
		}
	}
	if got := answer.Error["message"]; got == "" || got == nil {
		t.Errorf("error.message: got %v, want words", got)
	}
	mark := resp.Header.Get("X-Turnwatch-Error")
	for _, stage := range stages {
		if strings.Contains(mark, stage) && strings.Contains(string(body), stage) {
			return
		}
	}
	if len(stages) > 0 || mark == "" {
		t.Errorf("stage: got x-turnwatch-error %q and %s, want %v in both", mark, body, stages)
	}
}

// TestServerThatCannotBeReachedIs502, which names the stage, and the client's
// connection goes on.
func TestServerThatCannotBeReachedIs502(t *testing.T) {
	plain := listen(t, "tcp")
	closedURL := dead(t)
	for _, tc := range []struct{ stage, url string }{
		{"resolve", "http://no..such..name:80"},
		{"connect", closedURL},
		{"connect", "unix:" + filepath.Join(t.TempDir(), "none")},
		{"tls", strings.Replace(plain.url, "http:", "https:", 1)},
	} {
		t.Run(tc.stage+" "+tc.url[:5], func(t *testing.T) {
			if tc.stage == "tls" {
				go func() { plain.accept().send("HTTP/1.1 400 this is not TLS\r\n\r\n") }()
			}
			c := startOn(t, "tcp", proxy.Config{Upstream: tc.url}).dial()
			c.send(post)
			failed(t, c, "502", tc.stage)
			if tc.stage != "tls" {
				c.send(get)
				failed(t, c, "502", tc.stage)
			}
		})
	}
}

// TestLongRequestIsToldToo that its server cannot be reached: its client, which
// still sends, is not reset before it has read that. A machine that stands still
// meanwhile costs a trial.
func TestLongRequestIsToldToo(t *testing.T) {
	url := dead(t)
	p := startOn(t, "tcp", proxy.Config{Upstream: url})
	trial := func() (string, error) {
		c, err := p.connect()
		if err != nil {
			return "", err
		}
		defer c.Close()
		_, sent := io.WriteString(c, head("POST /v1/files HTTP/1.1", "Host: x", "Content-Length: 8388608")+pattern(8<<20))
		got, err := io.ReadAll(c)
		return string(got), errors.Join(sent, err)
	}
	for begin := time.Now(); time.Since(begin) < patience; {
		got, err := trial()
		if err == nil && strings.HasPrefix(got, "HTTP/1.1 502 ") {
			if !strings.Contains(got, "\r\nConnection: close\r\n") {
				t.Errorf("got %s, want it to say that the connection is closed", clip(got))
			}
			return
		}
		t.Logf("got %s, %v", clip(got), err)
	}
	t.Error("no client got to know")
}

// TestClientThatWaitsWithItsBodyIsToldToo, and that nobody will take it.
func TestClientThatWaitsWithItsBodyIsToldToo(t *testing.T) {
	url := dead(t)
	c := startOn(t, "tcp", proxy.Config{Upstream: url}).dial()
	c.send(head("POST / HTTP/1.1", "Host: x", "Expect: 100-continue", "Content-Length: 5"))
	if got, _ := c.rest(); !strings.HasPrefix(got, "HTTP/1.1 502 ") || !strings.Contains(got, "\r\nConnection: close\r\n") {
		t.Errorf("got %s, want 502 and that the connection is closed", clip(got))
	}
}

// TestServerThatFailsBeforeItsHeadIs502: nothing of what it said passes.
func TestServerThatFailsBeforeItsHeadIs502(t *testing.T) {
	for _, sent := range []string{"", "H", "HTTP/1.1 200 OK", "HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\nX-A: 1\r\n", "HTTP/1.1 200 OK\r\nX-A: 1\r\n\r"} {
		for _, how := range []string{"FIN", "RST"} {
			t.Run(fmt.Sprintf("%s after %d bytes", how, len(sent)), func(t *testing.T) {
				up := listen(t, "tcp")
				c := start(t, up, proxy.Config{}).dial()
				s := ask(up, c, post)
				s.send(sent)
				leave(s, how)
				failed(t, c, "502", "head")
				again(t, up, c)
			})
		}
	}
}

// TestServerThatFailsAfterAnInterimAnswer is told like one before its head.
func TestServerThatFailsAfterAnInterimAnswer(t *testing.T) {
	up := listen(t, "tcp")
	c := start(t, up, proxy.Config{}).dial()
	s := ask(up, c, post)
	s.send(head("HTTP/1.1 103 x"))
	c.read(head("HTTP/1.1 103 x"))
	s.fin()
	failed(t, c, "502", "head")
}

// TestServerThatLeavesWhileItIsWrittenTo: a long body breaks off.
func TestServerThatLeavesWhileItIsWrittenTo(t *testing.T) {
	up := listen(t, "tcp")
	c := start(t, up, proxy.Config{}).dial()
	c.send(head("POST /v1/files HTTP/1.1", "Host: x", "Content-Length: 67108864"), pattern(2<<20))
	s := up.next()
	s.until("\r\n\r\n")
	s.rst()
	go io.CopyN(c.conn, &zeros{new(atomic.Int64)}, 62<<20)
	failed(t, c, "502", "write", "head")
	c.rest()
}

func leave(p *peer, how string) {
	p.t.Helper()
	switch how {
	case "FIN":
		p.fin()
	case "RST":
		p.rst()
	case "half-close":
		p.halfClose()
	}
}

// TestCutAnswerIsCutForTheClientToo: it has every byte that came, no final
// chunk, and the end of its connection.
func TestCutAnswerIsCutForTheClientToo(t *testing.T) {
	ok, long := head("HTTP/1.1 200 OK", "Transfer-Encoding: chunked"), head("HTTP/1.1 200 OK", "Content-Length: 10")
	for _, tc := range []struct{ name, sent string }{
		{"before the first chunk", ok},
		{"in a chunk size", ok + "5\r\nhello\r\n1"},
		{"in a chunk", ok + "5\r\nhel"},
		{"behind a chunk", ok + "5\r\nhello"},
		{"between chunks", ok + "5\r\nhello\r\n"},
		{"in the final chunk", ok + "5\r\nhello\r\n0\r\n"},
		{"in a trailer", ok + "5\r\nhello\r\n0\r\nX-A: 1\r\n"},
		{"in the last CRLF", ok + "5\r\nhello\r\n0\r\n\r"},
		{"short of its length", long + "hello"},
		{"before its first byte", long},
	} {
		for _, how := range []string{"FIN", "RST"} {
			for _, network := range []string{"tcp", "tls", "unix"} {
				t.Run(tc.name+", "+how+", "+network, func(t *testing.T) {
					up := listen(t, "tcp")
					c := startOn(t, network, proxy.Config{Upstream: up.url}).dial()
					s := ask(up, c, post)
					s.send(tc.sent)
					c.read(tc.sent)
					leave(s, how)
					c.ends()
				})
			}
		}
	}
}

// TestResetOfABodyWithoutFramingIsReset: a mere end would look complete.
func TestResetOfABodyWithoutFramingIsReset(t *testing.T) {
	for _, network := range []string{"tcp", "tls"} {
		up := listen(t, "tcp")
		c := startOn(t, network, proxy.Config{Upstream: up.url}).dial()
		s := ask(up, c, post)
		s.send(head("HTTP/1.1 200 OK") + "half")
		c.read(head("HTTP/1.1 200 OK") + "half")
		s.rst()
		c.ends(rst, torn)
	}
}

// TestTimeoutsOfTheServer, which are off unless set.
func TestTimeoutsOfTheServer(t *testing.T) {
	const short = 60 * time.Millisecond
	t.Run("no first byte", func(t *testing.T) {
		t.Parallel()
		up := listen(t, "tcp")
		p := start(t, up, proxy.Config{FirstByteTimeout: unhurried})
		c := p.dial()
		s := ask(up, c, post)
		failed(t, c, "504")
		s.ends()
		again(t, up, p.dial())
	})
	t.Run("silent after the first byte of the head", func(t *testing.T) {
		up := listen(t, "tcp")
		c := start(t, up, proxy.Config{IdleTimeout: short}).dial()
		s := ask(up, c, post)
		s.send("HTTP/1.1 200")
		failed(t, c, "504")
		s.ends()
	})
	t.Run("silent in the middle", func(t *testing.T) {
		up := listen(t, "tcp")
		c := start(t, up, proxy.Config{IdleTimeout: short, FirstByteTimeout: patience}).dial()
		s := ask(up, c, post)
		s.send(encoded("gzip")[:150])
		c.read(encoded("gzip")[:150])
		c.ends()
		s.ends()
	})
	t.Run("a slow answer is not a silent one", func(t *testing.T) {
		t.Parallel()
		up := listen(t, "tcp")
		c := start(t, up, proxy.Config{IdleTimeout: unhurried, FirstByteTimeout: unhurried}).dial()
		s := ask(up, c, post)
		s.send(head("HTTP/1.1 200 OK", "Content-Length: 25"))
		slowly(25, func(i int) { s.send(pattern(25)[i : i+1]) })
		c.read(head("HTTP/1.1 200 OK", "Content-Length: 25") + pattern(25))
	})
	t.Run("a long request does not eat the time for the first byte", func(t *testing.T) {
		t.Parallel()
		up := listen(t, "tcp")
		c := start(t, up, proxy.Config{FirstByteTimeout: unhurried}).dial()
		request := head("POST /v1/files HTTP/1.1", "Host: x", "Content-Length: 2097152")
		c.send(request, pattern(2 << 20)[:2<<20-25])
		slowly(25, func(i int) { c.send(pattern(2 << 20)[2<<20-25+i:][:1]) })
		s := up.next()
		s.read(request + pattern(2<<20))
		s.send(empty)
		c.read(empty)
	})
}

// unhurried is a timeout that what comes slowly takes longer than altogether, and
// that a machine with much to do does not take between two bytes.
const unhurried = 5 * time.Second

// slowly does n things within 6 s.
func slowly(n int, do func(i int)) {
	tick := time.NewTicker(6 * time.Second / time.Duration(n))
	defer tick.Stop()
	for i := range n {
		<-tick.C
		do(i)
	}
}

// TestSilentServerIsWaitedFor: before its first byte and in its answer.
func TestSilentServerIsWaitedFor(t *testing.T) {
	t.Parallel()
	const silence = 6 * time.Second
	up := listen(t, "tcp")
	p := start(t, up, proxy.Config{})
	before, within := p.dial(), p.dial()
	first := ask(up, before, post)
	second := ask(up, within, post)
	second.send(encoded("br")[:150])
	within.read(encoded("br")[:150])
	<-time.After(silence)
	first.send(encoded("br"))
	before.read(encoded("br"))
	second.send(encoded("br")[150:])
	within.read(encoded("br")[150:])
}
