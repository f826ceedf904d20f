package proxy_test

import (
	"bufio"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"turnwatch/proxy"
)

const (
	hostX  = "Host: x"
	post11 = "POST / HTTP/1.1"
	get11  = "GET / HTTP/1.1"
	coded  = "Transfer-Encoding: chunked"
	five   = "Content-Length: 5"
	hello  = "5\r\nhello\r\n0\r\n\r\n"
)

// hostile is a request that two readers might understand differently.
type hostile struct{ name, request string }

// TestRequestWithTwoLengthsIsRefused: one that may end at more than one place.
func TestRequestWithTwoLengthsIsRefused(t *testing.T) {
	refusedAll(t, []hostile{
		{"length and chunks", head(post11, hostX, five, coded) + hello},
		{"chunks and length", head(post11, hostX, coded, five) + hello},
		{"length zero and chunks", head(post11, hostX, "Content-Length: 0", coded) + hello},
		{"two lengths", head(post11, hostX, five, "Content-Length: 6") + "hello!"},
		{"two lengths alike", head(post11, hostX, five, five) + "hello"},
		{"lengths in one line", head(post11, hostX, "Content-Length: 5, 5") + "hello"},
		{"length +5", head(post11, hostX, "Content-Length: +5") + "hello"},
		{"length -5", head(post11, hostX, "Content-Length: -5") + "hello"},
		{"length 0x5", head(post11, hostX, "Content-Length: 0x5") + "hello"},
		{"length 5 5", head(post11, hostX, "Content-Length: 5 5") + "hello"},
		{"length 5;", head(post11, hostX, "Content-Length: 5;") + "hello"},
		{"length 5.0", head(post11, hostX, "Content-Length: 5.0") + "hello"},
		{"length of a vertical tab", head(post11, hostX, "Content-Length: \v5") + "hello"},
		{"length empty", head(post11, hostX, "Content-Length:") + "hello"},
		{"length beyond 64 bits", head(post11, hostX, "Content-Length: 18446744073709551621") + "hello"},
		{"length beyond 63 bits", head(post11, hostX, "Content-Length: 9223372036854775808") + "hello"},

		{"coding gzip", head(post11, hostX, "Transfer-Encoding: gzip") + "hello"},
		{"coding gzip, chunked", head(post11, hostX, "Transfer-Encoding: gzip, chunked") + hello},
		{"coding chunked, gzip", head(post11, hostX, "Transfer-Encoding: chunked, gzip") + hello},
		{"coding chunked, chunked", head(post11, hostX, "Transfer-Encoding: chunked, chunked") + hello},
		{"two codings alike", head(post11, hostX, coded, coded) + hello},
		{"two codings", head(post11, hostX, coded, "Transfer-Encoding: identity") + hello},
		{"coding xchunked", head(post11, hostX, "Transfer-Encoding: xchunked") + hello},
		{"coding chunked;x", head(post11, hostX, "Transfer-Encoding: chunked;x=1") + hello},
		{"coding in quotes", head(post11, hostX, "Transfer-Encoding: \"chunked\"") + hello},
		{"coding with a vertical tab", head(post11, hostX, "Transfer-Encoding:\vchunked") + hello},
		{"coding identity", head(post11, hostX, "Transfer-Encoding: identity") + "hello"},
		{"coding empty", head(post11, hostX, "Transfer-Encoding:") + hello},
		{"coding in HTTP/1.0", head("POST / HTTP/1.0", hostX, coded) + hello},
	})
}

// TestRequestWithBadChunksIsRefused.
func TestRequestWithBadChunksIsRefused(t *testing.T) {
	body := func(s string) string { return head(post11, hostX, coded) + s }
	refusedAll(t, []hostile{
		{"chunk size empty", body("\r\nhello\r\n0\r\n\r\n")},
		{"chunk size of an extension only", body(";x\r\nhello\r\n0\r\n\r\n")},
		{"chunk size negative", body("-5\r\nhello\r\n0\r\n\r\n")},
		{"chunk size +5", body("+5\r\nhello\r\n0\r\n\r\n")},
		{"chunk size 0x5", body("0x5\r\nhello\r\n0\r\n\r\n")},
		{"chunk size 5g", body("5g\r\nhello\r\n0\r\n\r\n")},
		{"chunk size 5_0", body("5_0\r\nhello\r\n0\r\n\r\n")},
		{"chunk size with a space before it", body(" 5\r\nhello\r\n0\r\n\r\n")},
		{"chunk size with a space behind it", body("5 \r\nhello\r\n0\r\n\r\n")},
		{"chunk size with a space within", body("0 5\r\nhello\r\n0\r\n\r\n")},
		{"chunk size beyond 64 bits", body("10000000000000005\r\nhello\r\n0\r\n\r\n")},
		{"chunk size of 64 bits, negative", body("fffffffffffffffb\r\nhello\r\n0\r\n\r\n")},
		{"chunk longer than its size", body("5\r\nhello!\r\n0\r\n\r\n")},
		{"chunk shorter than its size", body("6\r\nhello\r\n0\r\n\r\n")},
		{"chunk without an end", body("5\r\nhello0\r\n\r\n")},
		{"bare LF behind a chunk size", body("5\nhello\r\n0\r\n\r\n")},
		{"bare LF behind a chunk extension", body("5;a\nhello\r\n0\r\n\r\n")},
		{"bare CR in a chunk extension", body("5;a\rb\r\nhello\r\n0\r\n\r\n")},
		{"NUL in a chunk extension", body("5;a\x00b\r\nhello\r\n0\r\n\r\n")},
		{"bare LF behind a chunk", body("5\r\nhello\n0\r\n\r\n")},
		{"bare LF behind the last chunk", body("5\r\nhello\r\n0\n\r\n")},
		{"bare LF at the very end", body("5\r\nhello\r\n0\r\n\n")},
		{"bare LF in a trailer", body("0\r\nX-A: 1\nX-B: 2\r\n\r\n")},
		{"bare CR in a trailer", body("0\r\nX-A: 1\rX-B: 2\r\n\r\n")},
	})
}

// TestRequestWithABadFieldIsRefused: line ends, folds, control characters,
// names, and Host.
func TestRequestWithABadFieldIsRefused(t *testing.T) {
	refusedAll(t, []hostile{
		{"bare LF everywhere", "GET / HTTP/1.1\nHost: x\n\n"},
		{"bare LF behind the start line", "GET / HTTP/1.1\nHost: x\r\n\r\n"},
		{"bare LF behind a field", "GET / HTTP/1.1\r\nHost: x\nX-A: 1\r\n\r\n"},
		{"bare LF at the head's end", "GET / HTTP/1.1\r\nHost: x\r\n\n"},
		{"bare LF in the target", line("GET /a\nb HTTP/1.1")},
		{"bare CR in the start line", line("GET /a\rb HTTP/1.1")},
		{"bare CR in a field", head(get11, hostX, "X-A: 1\rTransfer-Encoding: chunked")},
		{"two CR", "GET / HTTP/1.1\r\nHost: x\r\r\n\r\n"},
		{"folded field", head(get11, hostX, "X-A: 1", " folded")},
		{"folded field, with a tab", head(get11, hostX, "X-A: 1", "\tfolded")},
		{"folded first field", head(get11, " X-A: 1", hostX)},
		{"folded coding", head(post11, hostX, "Transfer-Encoding:", " chunked") + hello},
		{"NUL in a value", head(get11, hostX, "X-A: a\x00b")},
		{"NUL in a name", head(get11, hostX, "X\x00A: a")},
		{"NUL in the target", line("GET /a\x00b HTTP/1.1")},
		{"NUL in the method", line("G\x00ET / HTTP/1.1")},
		{"space before the colon", head(post11, hostX, "Content-Length : 5") + "hello"},
		{"tab before the colon", head(post11, hostX, "Transfer-Encoding\t: chunked") + hello},
		{"space in a name", head(get11, hostX, "X A: 1")},
		{"name that is no token", head(get11, hostX, "X(A): 1")},
		{"name with obs-text", head(get11, hostX, "X\xe9: 1")},
		{"no name", head(get11, hostX, ": 1")},
		{"no colon", head(get11, hostX, "X-A")},
		{"no Host", head(get11, "X-A: 1")},
		{"two Hosts", head(get11, hostX, "Host: y")},
		{"two Hosts alike", head(get11, hostX, "host: x")},
	})
}

// TestRequestWithABadStartIsRefused.
func TestRequestWithABadStartIsRefused(t *testing.T) {
	refusedAll(t, []hostile{
		{"version 2.0", line("GET / HTTP/2.0")},
		{"version 0.9", line("GET / HTTP/0.9")},
		{"no version", line("GET /")},
		{"the preface of HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"},
		{"version in lower case", line("GET / http/1.1")},
		{"version with a tail", line("GET / HTTP/1.1x")},
		{"version of many digits", line("GET / HTTP/1.10")},
		{"another protocol", line("GET / HTTX/1.1")},
		{"space behind the version", line("GET / HTTP/1.1 ")},
		{"space before the method", line(" GET / HTTP/1.1")},
		{"two spaces", line("GET  / HTTP/1.1")},
		{"two spaces before the version", line("GET /  HTTP/1.1")},
		{"tab for a space", line("GET\t/ HTTP/1.1")},
		{"space in the target", line("GET /a b HTTP/1.1")},
		{"no target", line("GET HTTP/1.1")},
		{"method that is no token", line("G@T / HTTP/1.1")},
		{"method with obs-text", line("G\xe9T / HTTP/1.1")},
		{"TLS on a plain port", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n"},
	})
}

// line is a request of the given start line.
func line(s string) string { return s + "\r\nHost: x\r\n\r\n" }

// refusedAll holds each request to the rule: 400 or its like, the connection
// is closed, and the server has not seen a byte.
func refusedAll(t *testing.T, requests []hostile) {
	for _, h := range requests {
		t.Run(h.name, func(t *testing.T) {
			for _, size := range []int{0, 1} {
				refused(t, h.request, size)
			}
		})
	}
}

// refused sends a request in pieces. One of them may already find the
// connection closed.
func refused(t *testing.T, request string, size int) {
	t.Helper()
	up := listen(t, "tcp")
	c := start(t, up, proxy.Config{}).dial()
	for rest := request; len(rest) > 0; {
		n := len(rest)
		if size > 0 {
			n = min(size, n)
		}
		if _, err := io.WriteString(c.conn, rest[:n]); err != nil {
			break
		}
		rest = rest[n:]
	}
	got, _ := c.rest()
	resp, err := http.ReadResponse(bufio.NewReader(strings.NewReader(got)), nil)
	if err != nil {
		t.Fatalf("client: got %s, want an answer", clip(got))
	}
	if !slices.Contains([]int{400, 501, 505}, resp.StatusCode) {
		t.Errorf("status: got %d, want 400 or its like", resp.StatusCode)
	}
	if n := strings.Count(got, "HTTP/1.1 "); n != 1 {
		t.Errorf("client: got %d answers, want 1: %s", n, clip(got))
	}
	up.untouched()
}

// TestRequestThatTurnsBadWhileItStreams has partly reached the server: it
// must not look complete there.
func TestRequestThatTurnsBadWhileItStreams(t *testing.T) {
	for _, bad := range []string{"5\nhello\r\n0\r\n\r\n", "-1\r\n", "5\r\nhello!\r\n0\r\n\r\n", "zz\r\n\r\n0\r\n\r\n"} {
		up := listen(t, "tcp")
		c := start(t, up, proxy.Config{}).dial()
		good := chunked(pattern(2<<20), 1<<20)
		c.send(head("POST /v1/files HTTP/1.1", "Host: x", "Transfer-Encoding: chunked") + strings.TrimSuffix(good, "0\r\n\r\n"))
		s := up.next()
		s.until("\r\n\r\n")
		c.send(bad + get)
		got, _ := s.rest()
		if strings.HasSuffix(got, "0\r\n\r\n") || strings.Contains(got, "/v1/models") {
			t.Errorf("%q: the server got a body that looks complete: %s", bad, clip(got))
		}
		c.rest()
	}
}

// TestLengthMayNotBeNamedAway: a body without its framing is a request of its own.
func TestLengthMayNotBeNamedAway(t *testing.T) {
	for _, framing := range []string{"Content-Length: 5\r\nConnection: content-length", "Connection: close, Content-Length\r\nContent-Length: 5"} {
		up := listen(t, "tcp")
		c := start(t, up, proxy.Config{}).dial()
		c.send(head("POST / HTTP/1.1", "Host: x", framing) + "hello")
		up.next().read(head("POST / HTTP/1.1", "Host: x", "Content-Length: 5") + "hello")
	}
}

// TestAnswerWithTwoReadingsIsRefused: the client gets a 502 of ours and not a
// byte of it, and the connection to the server is closed.
func TestAnswerWithTwoReadingsIsRefused(t *testing.T) {
	const ok, none = "HTTP/1.1 200 OK", "Content-Length: 0"
	for _, tc := range []struct{ name, answer string }{
		{"length and chunks", head(ok, five, coded) + hello},
		{"chunks and length", head(ok, coded, five) + hello},
		{"two lengths", head(ok, five, "Content-Length: 6") + "hello!"},
		{"two lengths alike", head(ok, five, five) + "hello"},
		{"lengths in one line", head(ok, "Content-Length: 5, 5") + "hello"},
		{"length +5", head(ok, "Content-Length: +5") + "hello"},
		{"length -5", head(ok, "Content-Length: -5") + "hello"},
		{"length 0x5", head(ok, "Content-Length: 0x5") + "hello"},
		{"length 5 5", head(ok, "Content-Length: 5 5") + "hello"},
		{"length empty", head(ok, "Content-Length:") + "hello"},
		{"length beyond 64 bits", head(ok, "Content-Length: 18446744073709551621") + "hello"},
		{"length and chunks without a body", head("HTTP/1.1 304 x", five, coded)},
		{"coding gzip", head(ok, "Transfer-Encoding: gzip") + "hello"},
		{"coding chunked, chunked", head(ok, "Transfer-Encoding: chunked, chunked") + hello},
		{"coding chunked, gzip", head(ok, "Transfer-Encoding: chunked, gzip") + hello},
		{"two codings alike", head(ok, coded, coded) + hello},
		{"coding xchunked", head(ok, "Transfer-Encoding: xchunked") + hello},
		{"coding empty", head(ok, "Transfer-Encoding:") + hello},
		{"coding in HTTP/1.0", head("HTTP/1.0 200 OK", coded) + hello},
		{"bare LF everywhere", "HTTP/1.1 200 OK\nContent-Length: 0\n\n"},
		{"bare LF behind the status line", "HTTP/1.1 200 OK\nContent-Length: 0\r\n\r\n"},
		{"bare LF behind a field", "HTTP/1.1 200 OK\r\nContent-Length: 0\nX-A: 1\r\n\r\n"},
		{"bare LF at the head's end", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\n"},
		{"bare CR in a field", head(ok, none, "X-A: 1\rX-B: 2")},
		{"bare CR in the status line", head("HTTP/1.1 200 O\rK", none)},
		{"NUL in a value", head(ok, none, "X-A: a\x00b")},
		{"NUL in the status line", head("HTTP/1.1 200 O\x00K", none)},
		{"folded field", head(ok, none, "X-A: 1", " folded")},
		{"folded first field", head(ok, "\tfolded", none)},
		{"space before the colon", head(ok, "Content-Length : 5") + "hello"},
		{"name that is no token", head(ok, none, "X(A): 1")},
		{"no name", head(ok, none, ": 1")},
		{"no colon", head(ok, none, "X-A")},
		{"status of two digits", head("HTTP/1.1 20 OK", none)},
		{"status of four digits", head("HTTP/1.1 2000 OK", none)},
		{"status of letters", head("HTTP/1.1 2OO OK", none)},
		{"status below 100", head("HTTP/1.1 099 OK", none)},
		{"two spaces", head("HTTP/1.1  200 OK", none)},
		{"version 2.0", head("HTTP/2.0 200 OK", none)},
		{"version 0.9", "<html>hello</html>\r\n\r\n"},
		{"another protocol", head("ICY 200 OK", none)},
		{"version in lower case", head("http/1.1 200 OK", none)},
		{"empty line first", "\r\n" + head(ok, none)},
		{"another protocol, and silence", "SSH-2.0-server\r\n"},
		{"control characters, and silence", "HTTP/1.1 200 OK\r\nX-A: \x01\x02"},
		{"letters, and silence", strings.Repeat("A", 300)},
		{"more than 64 KiB, and silence", "HTTP/1.1 200 OK\r\nX-A: " + strings.Repeat("a", 64<<10)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for _, size := range []int{0, 1} {
				up := listen(t, "tcp")
				c := start(t, up, proxy.Config{}).dial()
				s := ask(up, c, get)
				go io.WriteString(pieces{s, size}, tc.answer)
				failed(t, c, "502", "head")
				s.rest()
				again(t, up, c)
			}
		})
	}
}

// pieces writes what it is given in pieces, until that is no longer possible.
type pieces struct {
	*peer
	size int
}

func (p pieces) Write(b []byte) (int, error) {
	step := p.size
	if step < 1 {
		step = len(b)
	}
	for i := 0; i < len(b); i += step {
		if n, err := p.conn.Write(b[i:min(len(b), i+step)]); err != nil {
			return i + n, err
		}
	}
	return len(b), nil
}

// TestAnswerThatTurnsBadIsCut before the byte that does it.
func TestAnswerThatTurnsBadIsCut(t *testing.T) {
	good := head("HTTP/1.1 200 OK", "Transfer-Encoding: chunked") + "5\r\nhello\r\n"
	for _, bad := range []string{"\r\n", "-5\r\n", "+5\r\n", "0x5\r\n", " 5\r\n", "5 \r\nhello\r\n", "g\r\n", ";a\r\n",
		"10000000000000005\r\n", "fffffffffffffffb\r\n", "5\nhello\r\n", "5;a\nhello\r\n", "5;a\x00\r\nhello\r\n", "5\r\nhello!\r\n",
		"5\r\nhello\n0\r\n\r\n", "0\n\r\n", "0\r\n\n", "0\r\nX-A: 1\nX-B: 2\r\n\r\n", "0\r\nX-A: 1\r\rX-B: 2\r\n\r\n"} {
		for _, size := range []int{0, 1} {
			up := listen(t, "tcp")
			c := start(t, up, proxy.Config{}).dial()
			s := ask(up, c, get)
			s.send(good)
			c.read(good)
			go io.WriteString(pieces{s, size}, bad+"0\r\n\r\n")
			got, _ := c.rest()
			if !strings.HasPrefix(bad, got) || len(got) == len(bad) || strings.HasSuffix(got, "\r\n\r\n") {
				t.Errorf("%q: got %q, want at most what is before the bad byte", bad, got)
			}
			s.rest()
		}
	}
}
