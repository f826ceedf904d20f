package proxy_test

import (
	"fmt"
	"strings"
	"testing"

	"turnwatch/proxy"
	"turnwatch/proxy/turn"
)

// asked is a request for a chat completion with an id and more fields.
func asked(id, body string, fields ...string) string {
	lines := append([]string{"POST /v1/chat/completions HTTP/1.1", "Host: x", "X-Request-Id: " + id, fmt.Sprintf("Content-Length: %d", len(body))}, fields...)
	return head(lines...) + body
}

// saying answers with a text that streams.
func saying(text string) string {
	return head("HTTP/1.1 200 OK", "Content-Type: text/event-stream", "Transfer-Encoding: chunked") +
		chunked(fmt.Sprintf("data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":%q}}]}\n\n", text)+
			"data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n", 50)
}

// recorded sends a request and returns its turn once it is recorded.
func recorded(t *testing.T, up *upstream, p *relay, seen *recorder, id, body, answer string, fields ...string) turn.Turn {
	t.Helper()
	c := p.dial()
	ask(up, c, asked(id, body, fields...)).send(answer)
	c.read(answer)
	c.close()
	return seen.of(t, id)
}

// TestTurnsOfOneConversationAreOneSession, also when another begins alike and
// comes from the same client.
func TestTurnsOfOneConversationAreOneSession(t *testing.T) {
	seen, up := newRecorder(), listen(t, "tcp")
	p := start(t, up, proxy.Config{}, seen)
	first := `{"messages":[{"role":"user","content":"q"}]}`
	next := func(answer, more string) string {
		return strings.Replace(first, `}]}`, fmt.Sprintf(`}, {"content":[{"type":"text","text":%q}],"role":"assistant"}, {"role":"user","content":%q}]}`, answer, more), 1)
	}
	a1 := recorded(t, up, p, seen, "a1", first, saying("one"))
	b1 := recorded(t, up, p, seen, "b1", first, saying("two"))
	b2 := recorded(t, up, p, seen, "b2", next("two", "go on"), saying("x"))
	a2 := recorded(t, up, p, seen, "a2", next("one", "go on"), saying("x"))
	a2again := recorded(t, up, p, seen, "a2again", next("one", "go on"), saying("y"))
	branch := recorded(t, up, p, seen, "branch", next("one", "or rather"), saying("x"))
	f := func(name string, got turn.Turn, session string, n int) {
		t.Helper()
		if got.Session != session || got.Number != n {
			t.Errorf("%s: got %s, %d, want %s, %d", name, got.Session, got.Number, session, n)
		}
	}
	if a1.Session == "" || a1.Session == b1.Session {
		t.Errorf("first turns: got sessions %q and %q, want two", a1.Session, b1.Session)
	}
	f("first", a1, a1.Session, 1)
	f("first of the other", b1, b1.Session, 1)
	f("second of the other", b2, b1.Session, 2)
	f("second", a2, a1.Session, 2)
	f("second again", a2again, a1.Session, 2)
	f("branch", branch, a1.Session+".1", 2)
}

// TestRequestMayNameTheAnswerThatItFollows instead of repeating it.
func TestRequestMayNameTheAnswerThatItFollows(t *testing.T) {
	seen, up := newRecorder(), listen(t, "tcp")
	p := start(t, up, proxy.Config{}, seen)
	n := 0
	f := func(body, answer string) turn.Turn {
		t.Helper()
		n++
		id := fmt.Sprint(n)
		c := p.dial()
		ask(up, c, strings.Replace(asked(id, body), "/v1/chat/completions", "/v1/responses", 1)).send(answer)
		c.read(answer)
		c.close()
		return seen.of(t, id)
	}
	streams := func(id string) string {
		return events + chunked(`data: {"type":"response.created","response":{"id": "resp_`+id+`","object":"response"}}`+"\n\n", 20)
	}
	one := f(`{"input":"q"}`, streams("1"))
	other := f(`{"input":"q"}`, streams("2"))
	next := f(`{"input":"more","previous_response_id":"resp_1"}`, streams("3"))
	last := f(`{"previous_response_id":"resp_3","input":[{"type":"function_call_output","call_id":"c","output":"4"}]}`, streams("4"))
	branch := f(`{"input":"or rather","previous_response_id":"resp_1"}`, streams("5"))
	for _, tc := range []struct {
		got  turn.Turn
		want string
		n    int
	}{{one, one.Session, 1}, {other, other.Session, 1}, {next, one.Session, 2}, {last, one.Session, 3}, {branch, one.Session + ".1", 2}} {
		if tc.got.Session != tc.want || tc.got.Number != tc.n {
			t.Errorf("request %s: got %s, %d, want %s, %d", tc.got.RequestID, tc.got.Session, tc.got.Number, tc.want, tc.n)
		}
	}
	if one.Session == other.Session || one.Session == "" {
		t.Errorf("first turns: got sessions %q and %q, want two", one.Session, other.Session)
	}
}

// TestSessionMayBeNamed by a field of the head or by the request itself.
func TestSessionMayBeNamed(t *testing.T) {
	seen, up := newRecorder(), listen(t, "tcp")
	p := start(t, up, proxy.Config{}, seen)
	own := start(t, up, proxy.Config{Sessions: proxy.SessionConfig{Headers: []string{"x-case"}}}, seen)
	n := 0
	f := func(p *relay, body, want string, number int, fields ...string) {
		t.Helper()
		n++
		got := recorded(t, up, p, seen, fmt.Sprint(n), body, saying("x"), fields...)
		if got.Conversation != want {
			t.Errorf("%v %s: the client's own name: got %q, want %q", fields, body, got.Conversation, want)
		}
		if want == "" && !strings.Contains(strings.Join(fields, " ")+body, got.Session) && got.Number == number {
			return
		}
		if got.Session != want || got.Number != number {
			t.Errorf("%v %s: got %s, %d, want %s, %d", fields, body, got.Session, got.Number, want, number)
		}
	}
	const chat = `{"messages":[{"role":"user","content":"q"}]`
	f(p, chat+`}`, "s-1", 1, "X-Session-Id: s-1")
	f(p, chat+`}`, "s-1", 1, "x-session-ID: s-1")
	f(p, chat+`,"x":1,"session_id":"no"}`, "s-2", 1, "X-Smg-Routing-Key: k", "Session_Id: s-2")
	f(p, chat+`,"conversation":{"id":"c-1"}}`, "c-1", 1)
	f(p, chat+`,"metadata":{"user_id":"user_u_session_s"}}`, "", 1)
	f(p, chat+`}`, "", 1, "X-Session-Id: "+strings.Repeat("x", 1000))
	f(p, chat+`}`, "", 1, "X-Session-Id: caf\xe9")
	f(p, chat+`}`, "", 1, "X-Session-Id:", "X-Case: c")
	f(p, `{}`, "", 0, "X-Case: c")
	f(p, `{}`, "s-1", 2, "X-Session-Id: s-1")
	f(own, chat+`}`, "c", 1, "X-Session-Id: s-1", "X-Case: c")
}

// TestSessionOfALargeRequestIsFound, though it is read only in the end.
func TestSessionOfALargeRequestIsFound(t *testing.T) {
	seen, up := newRecorder(), listen(t, "tcp")
	p := start(t, up, proxy.Config{}, seen)
	first := `{"messages":[{"role":"user","content":"` + strings.Repeat("x", 2<<20) + `"}`
	one := recorded(t, up, p, seen, "one", first+`]}`, saying("a"))
	two := recorded(t, up, p, seen, "two", first+`,{"role":"assistant","content":"a"},{"role":"user","content":"more"}]}`, saying("b"))
	if one.Session == "" || two.Session != one.Session || two.Number != 2 {
		t.Errorf("got %s, %d after %s, %d", two.Session, two.Number, one.Session, one.Number)
	}
}
