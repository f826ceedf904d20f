package proxy

import (
	"bytes"
	"fmt"
	"testing"
)

// frames reads b as a chunked body, cut into pieces of the given size, and
// returns how far it came, the data, and how it ended.
func frames(b []byte, size int) (n int, data []byte, end string) {
	f := framing{kind: chunkedBody}
	for n < len(b) {
		piece := b[n:min(n+size, len(b))]
		before := f
		k, done, err := f.pass(piece)
		for rest := piece[:k]; len(rest) > 0; {
			var pieces [][]byte
			pieces, rest = before.split(make([][]byte, 0, 1+size%3), rest)
			data = append(data, bytes.Join(pieces, nil)...)
		}
		if n += k; done || err != nil {
			return n, data, fmt.Sprint(done, err)
		}
	}
	return n, data, "open"
}

// FuzzFraming: a chunked body is the same however it is cut.
func FuzzFraming(f *testing.F) {
	for _, s := range []string{"", "0\r\n\r\n", "5\r\nhello\r\n0\r\n\r\n", "5;a=b\r\nhello\r\n0\r\nX: 1\r\n\r\n", "5 \r\n", "x\r\n", "5\nhello", "00000005\r\nhello\r\n",
		"ffffffffffffffffff\r\n", "1\r\naX\r\n", "0\r\nX: 1\n\r\n"} {
		f.Add([]byte(s), 1)
	}
	f.Fuzz(func(t *testing.T, b []byte, size int) {
		size = max(1, size%17)
		n, data, end := frames(b, max(1, len(b)))
		n2, data2, end2 := frames(b, size)
		if n != n2 || !bytes.Equal(data, data2) || end != end2 {
			t.Errorf("whole: %d %q %s; in pieces of %d: %d %q %s", n, data, end, size, n2, data2, end2)
		}
	})
}

// requests reads b as what a client sends, cut into pieces of the given size,
// and tells what the guard made of it.
func requests(b []byte, size int) string {
	var g guard
	out := ""
	for len(b) > 0 {
		piece := b[:min(size, len(b))]
		n, ended := 0, false
		var err error
		if g.state == guardBody {
			n, err = g.takeBody(piece)
		} else if n, ended, err = g.takeHead(piece); ended {
			out += fmt.Sprintf("%q %s ", g.head, g.summary(nil))
			g.head = nil
		}
		if err != nil {
			return out + "refused"
		}
		b = b[n:]
	}
	return fmt.Sprint(out, g.state, g.body)
}

// FuzzGuard: requests are the same however they are cut, and what is refused
// is refused in each case.
func FuzzGuard(f *testing.F) {
	for _, s := range []string{"GET / HTTP/1.1\r\nHost: x\r\n\r\n", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nabGET / HTTP/1.0\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n", "\r\nGET / HTTP/1.1\nHost: x\r\n\r\n", "GET / HTTP/1.1\r\n a: b\r\n",
		"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", "GET / HTTP/9.9\r\n"} {
		f.Add([]byte(s), 1)
	}
	f.Fuzz(func(t *testing.T, b []byte, size int) {
		size = max(1, size%17)
		if whole, pieces := requests(b, max(1, len(b))), requests(b, size); whole != pieces {
			t.Errorf("whole: %s; in pieces of %d: %s", whole, size, pieces)
		}
	})
}

// FuzzAnswerHead: a head that is taken goes on as a head that is taken, with
// the same framing.
func FuzzAnswerHead(f *testing.F) {
	for _, s := range []string{"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: x\r\nX: 1\r\n\r\n", "HTTP/1.0 204 \r\n\r\n", "HTTP/1.1 101 x\r\nUpgrade: a\r\nConnection: upgrade\r\n\r\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		end := headEnd(b)
		var h, again answerHead
		if end == 0 || h.parse(b[:end]) != nil {
			return
		}
		out := h.append(nil, b[:end], false)
		if headEnd(out) != len(out) {
			t.Fatalf("%q goes on as %q, which is no head", b[:end], out)
		}
		if err := again.parse(out); err != nil || again.framing(false) != h.framing(false) || again.status != h.status {
			t.Errorf("%q goes on as %q: %v", b[:end], out, err)
		}
	})
}
