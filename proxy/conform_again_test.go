package proxy_test

import (
	"strconv"
	"strings"
	"testing"

	"turnwatch/proxy"
)

// sort is an exchange of one sort: what is asked, what of it goes on, what the
// server answers, and what of that the client gets.
type sort struct{ name, asked, on, answer, got string }

func sorts() []sort {
	const turn, said = `{"model":"m","messages":[]}`, "2\r\n{}\r\n0\r\nX-T: 1\r\n\r\n"
	same := func(name, asked, answer string) sort { return sort{name, asked, asked, answer, answer} }
	post := func(path, body string, more ...string) string {
		return head(append([]string{"POST " + path + " HTTP/1.1", "Host: x", "Content-Length: " + strconv.Itoa(len(body))}, more...)...) + body
	}
	chunked := head("POST /c HTTP/1.1", "Host: x", "Transfer-Encoding: chunked") + "5\r\nhello\r\n0\r\n\r\n"
	last := "Content-Length: 2\r\n\r\nok"
	return []sort{
		same("no body", get, encoded("gzip")),
		same("a body", post("/a", "hello"), head("HTTP/1.1 200 OK", "Content-Length: 2")+"ok"),
		same("a long body", post("/l", strings.Repeat("a", 40_000)), head("HTTP/1.1 200 OK", "Content-Length: 2")+"ok"),
		same("a body that streams", post("/s", strings.Repeat("a", 1<<20+1)), head("HTTP/1.1 200 OK", "Content-Length: 2")+"ok"),
		{"chunks", chunked, post("/c", "hello"), empty, empty},
		same("HEAD", head("HEAD / HTTP/1.1", "Host: x"), head("HTTP/1.1 200 OK", "Content-Length: 9")),
		same("a turn", post("/v1/chat/completions", turn), head("HTTP/1.1 200 OK", "Content-Type: application/json", "Transfer-Encoding: chunked")+said),
		same("an expectation", post("/e", "hello", "Expect: 100-continue"), head("HTTP/1.1 100 Continue")+empty),
		{"the last on its connection", get, get, "HTTP/1.1 200 OK\r\nConnection: close\r\n" + last, "HTTP/1.1 200 OK\r\n" + last},
	}
}

// TestExchangesOfOneConnectionShareNothing: each sort of exchange passes after
// each other, and after itself, as it does alone.
func TestExchangesOfOneConnectionShareNothing(t *testing.T) {
	up := listen(t, "tcp")
	server := start(t, up, proxy.Config{})
	for _, first := range sorts() {
		for _, then := range sorts() {
			c := server.dial()
			for _, e := range []sort{first, then, first} {
				c.name = first.name + ", then " + then.name + ": " + e.name
				c.send(e.asked)
				s := up.next()
				s.read(e.on)
				s.send(e.answer)
				c.read(e.got)
			}
			c.quiet()
			c.fin()
		}
	}
}
