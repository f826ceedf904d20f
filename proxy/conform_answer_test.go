package proxy_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"

	"turnwatch/proxy"
)

const (
	get   = "GET /v1/models HTTP/1.1\r\nHost: sglang:30000\r\n\r\n"
	empty = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
)

// head writes an answer's head: a status line and field lines.
func head(lines ...string) string { return strings.Join(lines, "\r\n") + "\r\n\r\n" }

// TestAnswerPassesUnchanged: what the server writes is what the client reads,
// framing and all, and nothing is added.
func TestAnswerPassesUnchanged(t *testing.T) {
	const ok, chunked, none = "HTTP/1.1 200 OK", "Transfer-Encoding: chunked", "Content-Length: 0"
	for _, tc := range []struct{ name, answer string }{
		{"fixed length", head(ok, "Content-Length: 2") + "ok"},
		{"length zero", head(ok, none)},
		{"length with leading zeros", head(ok, "Content-Length: 002") + "ok"},
		{"chunk boundaries", head(ok, chunked) + "1\r\na\r\n2\r\nbc\r\n3\r\ndef\r\n0\r\n\r\n"},
		{"chunk sizes in any spelling", head(ok, chunked) + "0000a\r\n0123456789\r\nA\r\n0123456789\r\n000\r\n\r\n"},
		{"chunk extensions", head(ok, chunked) + "3;a;b=c;d=\"e;f\"\r\nabc\r\n0;last=1\r\n\r\n"},
		{"chunked and empty", head(ok, chunked) + "0\r\n\r\n"},
		{"trailers", head(ok, chunked, "Trailer: X-Sum") + "1\r\na\r\n0\r\nX-Sum: 1\r\nx-SUM:2\r\nX-Empty:\r\n\r\n"},
		{"a body that looks like framing", head(ok, chunked) + "5\r\n0\r\n\r\n\r\n0\r\n\r\n"},
		{"a body that looks like a head", head(ok, "Content-Length: 38") + "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"},
		{"every byte in a body", head(ok, "Content-Length: 256") + allBytes()},
		{"names in odd case, repeated, in order", head(ok, "sEt-COOKIE: a=1", "X-B: 2", "SET-cookie: b=2", "X-A: 1", "set-cookie: a=1", "cOnTeNt-LeNgTh: 0")},
		{"coding in odd case", head(ok, "tRANSFER-eNCODING: Chunked") + "1\r\na\r\n0\r\n\r\n"},
		{"coding with space around it", head(ok, "Transfer-Encoding: \t chunked \t") + "1\r\na\r\n0\r\n\r\n"},
		{"names of every token character", head(ok, "!#$%&'*+-.^_`|~09azAZ: x", none)},
		{"obs-text", head(ok, "X-Name: caf\xe9 \xff\x80", none)},
		{"empty values", head(ok, "X-Empty:", "X-Spaces:   ", "X-Tab:\t", none)},
		{"space around values", head(ok, "X-A:a", "X-B:   b \t ", "X-C:\tc", "X-D: d\te", none)},
		{"many fields", head(ok, strings.Repeat("X-N: 1\r\n", 500)+none)},
		{"reason phrase", head("HTTP/1.1 299 Quite  Right: caf\xe9!", none)},
		{"empty reason phrase", head("HTTP/1.1 200 ", none)},
		{"unknown status", head("HTTP/1.1 599 Odd", none)},
		{"error with a body", head("HTTP/1.1 429 Too Many Requests", "Retry-After: 1", "Content-Length: 2") + "{}"},
		{"redirect to the server itself", head("HTTP/1.1 307 x", "Location: http://127.0.0.1:30000/v1/", none)},
		{"challenge", head("HTTP/1.1 401 x", "WWW-Authenticate: Basic realm=\"a, b\"", none)},
		{"fields that a proxy likes to add", head(ok, "Date: yesterday", "Server: uvicorn", "Via: 1.0 x", "X-Forwarded-For: y", "date: today", none)},
		{"no content", head("HTTP/1.1 204 No Content")},
		{"no content, with a type", head("HTTP/1.1 204 No Content", "Content-Type: text/plain")},
		{"not modified, with the length of what was not sent", head("HTTP/1.1 304 Not Modified", "ETag: \"x\"", "Content-Length: 1234")},
		{"not modified, as if chunked", head("HTTP/1.1 304 Not Modified", "Transfer-Encoding: chunked")},
		{"events", head(ok, "content-type: text/event-stream; charset=utf-8", chunked) + "c\r\ndata: {}\r\n\r\n\r\n10\r\ndata: [DONE]\r\n\r\n\r\n0\r\n\r\n"},
		{"gzip", encoded("gzip")},
		{"br", encoded("br")},
		{"zstd", encoded("zstd")},
	} {
		t.Run(tc.name, func(t *testing.T) { passes(t, get, tc.answer, tc.answer) })
	}
}

// TestAnswerToHeadHasNoBody: whatever its head says.
func TestAnswerToHeadHasNoBody(t *testing.T) {
	const ask = "HEAD /health HTTP/1.1\r\nHost: x\r\n\r\n"
	for _, framing := range []string{"Content-Length: 1234", "Transfer-Encoding: chunked", "Content-Type: text/plain"} {
		t.Run(framing, func(t *testing.T) {
			answer := head("HTTP/1.1 200 OK", framing)
			passes(t, ask, answer, answer)
		})
	}
}

// TestAnswerLosesHopByHopFields: Connection, what it names, and the fields
// that never go further.
func TestAnswerLosesHopByHopFields(t *testing.T) {
	f := func(name string, fields []string, want ...string) {
		t.Run(name, func(t *testing.T) {
			const body = "2\r\nok\r\n0\r\n\r\n"
			start := []string{"HTTP/1.1 200 OK", "Transfer-Encoding: chunked"}
			passes(t, get, head(append(start, fields...)...)+body, head(append(start, want...)...)+body)
		})
	}
	f("Connection: close", []string{"Connection: close", "X-A: 1"}, "X-A: 1")
	f("Connection: keep-alive", []string{"X-A: 1", "connection:Keep-Alive"}, "X-A: 1")
	f("what Connection names", []string{"X-Hop: 1", "X-A: 2", "Connection: x-hop , ,\tX-Hip", "x-HIP: 3", "X-HOP: 4", "X-Hops: 5"}, "X-A: 2", "X-Hops: 5")
	f("two Connection lines", []string{"Connection: X-A", "X-A: 1", "X-B: 2", "X-C: 3", "Connection: X-B"}, "X-C: 3")
	f("Keep-Alive", []string{"Keep-Alive: timeout=5"})
	f("Proxy-Connection", []string{"Proxy-Connection: keep-alive"})
	f("Upgrade offered", []string{"Upgrade: h2c", "Connection: upgrade", "X-A: 1"}, "X-A: 1")
	f("Connection cannot take the framing away", []string{"Connection: transfer-encoding"})
}

// TestEncodingIsTheClientsBusiness: Accept-Encoding goes on as it came, and
// nothing is added where there is none.
func TestEncodingIsTheClientsBusiness(t *testing.T) {
	for _, field := range []string{"Accept-Encoding: gzip;q=0.5, br , zstd, *;q=0", "accept-encoding: identity", "Accept-Encoding:", "X-None: 1"} {
		ask := head("GET / HTTP/1.1", "Host: x", field)
		passes(t, ask, encoded("gzip"), encoded("gzip"))
	}
}

// passes lets a server answer a request, whole and byte by byte. The client
// must read want and nothing more, and its connection must still serve.
func passes(t *testing.T, ask, answer, want string) {
	t.Helper()
	for _, size := range []int{0, 1} {
		up := listen(t, "tcp")
		c := start(t, up, proxy.Config{}).dial()
		c.send(ask)
		s := up.next()
		s.read(ask)
		s.sendPieces(answer, size)
		c.read(want)
		again(t, up, c)
	}
}

// again proves that the client's connection is where it should be: at the
// start of an answer.
func again(t *testing.T, up *upstream, c *peer) {
	t.Helper()
	const ask = "GET /again HTTP/1.1\r\nHost: x\r\n\r\n"
	c.quiet()
	c.send(ask)
	s := up.next()
	s.read(ask)
	s.send(empty)
	c.read(empty)
}

func allBytes() string {
	b := make([]byte, 256)
	for i := range b {
		b[i] = byte(i)
	}
	return string(b)
}

// encoded is an answer whose body is compressed, in chunks of 50 bytes.
func encoded(coding string) string {
	body := compress(coding, []byte("data: {\"choices\":[]}\n\n"+pattern(3000)))
	return head("HTTP/1.1 200 OK", "Content-Type: text/event-stream", "Content-Encoding: "+coding,
		"Transfer-Encoding: chunked") + chunked(string(body), 50)
}

// compress encodes b. Nothing of it can fail in memory.
func compress(coding string, b []byte) []byte {
	var out bytes.Buffer
	var w io.WriteCloser
	switch coding {
	case "gzip":
		w = gzip.NewWriter(&out)
	case "br":
		w = brotli.NewWriter(&out)
	case "zstd":
		w, _ = zstd.NewWriter(&out, zstd.WithEncoderConcurrency(1))
	}
	w.Write(b)
	w.Close()
	return out.Bytes()
}
