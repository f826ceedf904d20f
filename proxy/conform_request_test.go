package proxy_test

import (
	"bufio"
	"encoding/hex"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httputil"
	"net/textproto"
	"slices"
	"strings"
	"sync"
	"testing"

	"turnwatch/proxy"
)

// TestRequestPassesUnchanged: what the client writes is what the server
// reads, and nothing is added.
func TestRequestPassesUnchanged(t *testing.T) {
	const host = "Host: sglang:30000"
	for _, tc := range []struct{ name, request string }{
		{"plain", head("GET / HTTP/1.1", host)},
		{"absolute form", head("GET http://other.example:81/x?y=z HTTP/1.1", "Host: other.example:81")},
		{"asterisk form", head("OPTIONS * HTTP/1.1", host)},
		{"path kept as it is", head("GET //a/../b/./c%2Fd%zz;p=1//?q HTTP/1.1", host)},
		{"odd bytes in the query", head("GET /x?a={\"b\":[1]}&c=<d>|e^f`g\\h&&=&i='j'%00+k HTTP/1.1", host)},
		{"obs-text in the target", head("GET /caf\xc3\xa9\xff HTTP/1.1", host)},
		{"fragment", head("GET /x#y HTTP/1.1", host)},
		{"long target", head("GET /"+strings.Repeat("x", 16<<10)+" HTTP/1.1", host)},
		{"unknown method", head("BREW /pot HTTP/1.1", host)},
		{"method in lower case", head("get / HTTP/1.1", host)},
		{"method of odd characters", head("M-SEARCH!#$%&'*+.^_`|~ / HTTP/1.1", host)},
		{"TRACE", head("TRACE / HTTP/1.1", host)},
		{"Host empty", head("GET / HTTP/1.1", "Host:", "X-A: 1")},
		{"Host not first, in odd case", head("GET / HTTP/1.1", "X-A: 1", "hOsT:   x.example  ", "X-B: 2")},
		{"names in odd case, repeated, in order", head("GET / HTTP/1.1", host, "x-B: 1", "COOKIE: a=1", "X-a: 1", "cookie: b=2", "X-b: 1")},
		{"every token character in a name", head("GET / HTTP/1.1", host, "!#$%&'*+-.^_`|~09azAZ: x")},
		{"obs-text, empty values, space around them", head("GET / HTTP/1.1", host, "X-A: caf\xe9\xff", "X-B:", "X-C:   ", "X-D:\td \t")},
		{"fields that a proxy likes to add", head("GET / HTTP/1.1", host, "Via: 1.0 a", "X-Forwarded-For: b", "Forwarded: for=c", "User-Agent:", "Accept: */*")},
		{"Trailer announced by nobody", head("GET / HTTP/1.1", host, "Trailer: X")},
		{"credentials", head("GET / HTTP/1.1", host, "Authorization: Bearer x", "Proxy-Authorization: Basic y")},
		{"length zero", head("POST / HTTP/1.1", host, "Content-Length: 0")},
		{"POST without a body", head("POST / HTTP/1.1", host)},
		{"body without a type", head("POST / HTTP/1.1", host, "Content-Length: 3") + "abc"},
		{"length first, in odd case", head("POST / HTTP/1.1", "cONTENT-length:3", host) + "abc"},
		{"GET with a body", head("GET / HTTP/1.1", host, "Content-Length: 3") + "abc"},
		{"DELETE with a body", head("DELETE / HTTP/1.1", host, "Content-Length: 3") + "abc"},
		{"multipart", head("POST / HTTP/1.1", host, "Content-Type: multipart/form-data; boundary=b", "Content-Length: 13") + "--b\r\nnot\r\n--b"},
		{"form", head("POST / HTTP/1.1", host, "Content-Type: application/x-www-form-urlencoded", "Content-Length: 7") + "a=1&%zz"},
		{"every byte in a body", head("POST / HTTP/1.1", host, "Content-Length: 256") + allBytes()},
		{"a body that looks like a request", head("POST / HTTP/1.1", host, "Content-Length: 40") + "GET /smuggled HTTP/1.1\r\nHost: sglang\r\n\r\n"},
		{"a turn", head("POST /v1/chat/completions HTTP/1.1", host, "Content-Length: 30") + `{"model":"m", "messages": [] }`},
	} {
		t.Run(tc.name, func(t *testing.T) { reaches(t, tc.request, tc.request) })
	}
}

// TestRequestLosesHopByHopFields: Connection, what it names, and the fields
// that never go further.
func TestRequestLosesHopByHopFields(t *testing.T) {
	f := func(name string, fields []string, want ...string) {
		t.Run(name, func(t *testing.T) {
			start := []string{"POST / HTTP/1.1", "Host: x", "Content-Length: 2"}
			reaches(t, head(append(start, fields...)...)+"{}", head(append(start, want...)...)+"{}")
		})
	}
	f("Connection: keep-alive", []string{"Connection: keep-alive", "X-A: 1"}, "X-A: 1")
	f("what Connection names", []string{"X-Hop: 1", "X-A: 2", "connection: x-hop , ,\tX-Hip", "x-HIP: 3", "X-HOP: 4", "X-Hops: 5"}, "X-A: 2", "X-Hops: 5")
	f("a short name in Connection", []string{"Connection: X1", "X1: 1", "X2: 2"}, "X2: 2")
	f("two Connection lines", []string{"Connection: X-A", "X-A: 1", "X-B: 2", "X-C: 3", "Connection: X-B"}, "X-C: 3")
	f("Keep-Alive", []string{"Keep-Alive: 5"})
	f("Proxy-Connection", []string{"proxy-connection: keep-alive"})
	f("TE", []string{"TE: trailers", "Connection: TE"})
	f("Upgrade that Connection does not name", []string{"Upgrade: h2c", "X-A: 1"}, "X-A: 1")
	f("an expectation that is not met here stays", []string{"expect: X-Fast", "X-A: 1"}, "expect: X-Fast", "X-A: 1")
	f("Connection cannot take Host and framing away", []string{"Connection: host, content-length"})
}

// TestEmptyLinesBeforeARequestAreSkipped, as RFC 9112 2.2 asks of robust servers.
func TestEmptyLinesBeforeARequestAreSkipped(t *testing.T) { reaches(t, "\r\n\r\n"+get, get) }

// TestConnectionCloseOfTheClientIsKept: it is answered, then closed, while the
// server's connection lives on.
func TestConnectionCloseOfTheClientIsKept(t *testing.T) {
	up := listen(t, "tcp")
	p := start(t, up, proxy.Config{})
	c := p.dial()
	c.send(head("GET / HTTP/1.1", "Connection: Close", "Host: x"))
	s := up.accept()
	s.read(head("GET / HTTP/1.1", "Host: x"))
	s.send(empty)
	c.read(empty)
	c.ends(fin)
	again(t, up, p.dial())
	if got := up.accepted(); got != 1 {
		t.Errorf("connections to the server: got %d, want 1", got)
	}
}

// reaches sends a request whole and byte by byte. The server must read want
// and nothing more.
func reaches(t *testing.T, request, want string) {
	t.Helper()
	for _, size := range []int{0, 1} {
		up := listen(t, "tcp")
		c := start(t, up, proxy.Config{}).dial()
		c.sendPieces(request, size)
		s := up.next()
		s.read(want)
		s.send(empty)
		c.read(empty)
		s.quiet()
		again(t, up, c)
	}
}

// TestChunkedRequestPassesWithItsBody: head and body are the client's; only
// the framing may have become a Content-Length.
func TestChunkedRequestPassesWithItsBody(t *testing.T) {
	fields := []string{"POST /v1/chat/completions HTTP/1.1", "Host: x", "x-A: 1", "Transfer-Encoding: chunked", "X-a: 2"}
	for _, tc := range []struct{ name, body, want string }{
		{"one chunk", "2\r\n{}\r\n0\r\n\r\n", "{}"},
		{"many chunks, extensions, spellings", "1;a=\"b\"\r\n{\r\n0B\r\n0123456789}\r\n000;x\r\n\r\n", "{0123456789}"},
		{"empty", "0\r\n\r\n", ""},
		{"trailers", "2\r\n{}\r\n0\r\nX-T: 1\r\nx-t:\r\n\r\n", "{}"},
		{"like framing", "5\r\n0\r\n\r\n\r\n0\r\n\r\n", "0\r\n\r\n"},
		{"1 MiB less 1", chunked(pattern(1<<20-1), 9999), pattern(1<<20 - 1)},
		{"1 MiB", chunked(pattern(1<<20), 65536), pattern(1 << 20)},
		{"1 MiB and 1", chunked(pattern(1<<20+1), 1<<20), pattern(1<<20 + 1)},
		{"8 MiB", chunked(pattern(8<<20), 100_000), pattern(8 << 20)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			up := listen(t, "tcp")
			c := start(t, up, proxy.Config{}).dial()
			c.sendPieces(head(fields...)+tc.body, max(1, len(tc.body)/100))
			s := up.next()
			lines, body := readRequest(t, s)
			if want := slices.Delete(slices.Clone(fields), 3, 4); !slices.Equal(lines, want) {
				t.Errorf("head less framing: got %q, want %q", lines, want)
			}
			if body != tc.want {
				t.Errorf("body: got %s, want %s", clip(body), clip(tc.want))
			}
			s.send(empty)
			c.read(empty)
			again(t, up, c)
		})
	}
}

// TestBodyOfKnownLengthPassesAtEverySize: buffered or streamed makes no difference.
func TestBodyOfKnownLengthPassesAtEverySize(t *testing.T) {
	for _, path := range []string{"/v1/chat/completions", "/v1/files"} {
		for _, n := range []int{0, 1, 1<<20 - 1, 1 << 20, 1<<20 + 1, 8 << 20} {
			t.Run(fmt.Sprintf("%s/%d", path[4:], n), func(t *testing.T) {
				request := head("POST "+path+" HTTP/1.1", "Host: x", fmt.Sprintf("Content-Length: %d", n)) + pattern(n)
				up := listen(t, "tcp")
				c := start(t, up, proxy.Config{}).dial()
				c.send(request)
				s := up.next()
				s.read(request)
				s.send(empty)
				c.read(empty)
				again(t, up, c)
			})
		}
	}
}

// readRequest returns the lines of a request's head, less its framing, and
// its decoded body.
func readRequest(t *testing.T, s *peer) (lines []string, body string) {
	t.Helper()
	all := strings.Split(strings.TrimSuffix(s.until("\r\n\r\n"), "\r\n\r\n"), "\r\n")
	framing := http.Header{}
	for _, line := range all {
		name, value, _ := strings.Cut(line, ":")
		switch name = textproto.CanonicalMIMEHeaderKey(name); name {
		case "Content-Length", "Transfer-Encoding":
			framing.Add(name, strings.TrimSpace(value))
		default:
			lines = append(lines, line)
		}
	}
	if len(framing) != 1 {
		t.Fatalf("framing: got %v, want one of Content-Length and Transfer-Encoding", framing)
	}
	b, err := readBody(s, framing)
	if err != nil {
		t.Fatalf("body: got %v after %s", err, clip(string(b)))
	}
	return lines, string(b)
}

func readBody(s *peer, framing http.Header) ([]byte, error) {
	if n := framing.Get("Content-Length"); n != "" {
		var length int64
		if _, err := fmt.Sscan(n, &length); err != nil {
			return nil, err
		}
		return io.ReadAll(io.LimitReader(s, length))
	}
	br := bufio.NewReader(s)
	b, err := io.ReadAll(httputil.NewChunkedReader(br))
	if err == nil {
		for line := "x"; line != "\r\n" && err == nil; { // trailers
			line, err = br.ReadString('\n')
		}
	}
	return b, err
}

// chunked frames s in chunks of at most n bytes.
func chunked(s string, n int) string {
	var b strings.Builder
	for len(s) > 0 {
		k := min(n, len(s))
		fmt.Fprintf(&b, "%x\r\n%s\r\n", k, s[:k])
		s = s[k:]
	}
	return b.String() + "0\r\n\r\n"
}

// pattern is n letters and digits none of which could stand elsewhere
// unnoticed.
func pattern(n int) string { return patterns()[:n] }

var patterns = sync.OnceValue(func() string {
	b := make([]byte, 16<<20)
	rand.NewChaCha8([32]byte{}).Read(b)
	return hex.EncodeToString(b)
})

// bodyOf reads a request's head from c and returns a reader of its body.
func bodyOf(c io.Reader, isChunked bool) (io.Reader, error) {
	br := bufio.NewReaderSize(c, 64<<10)
	for line := ""; line != "\r\n"; {
		var err error
		if line, err = br.ReadString('\n'); err != nil {
			return nil, err
		}
	}
	if isChunked {
		return httputil.NewChunkedReader(br), nil
	}
	return br, nil
}
