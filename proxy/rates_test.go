package proxy_test

import (
	"fmt"
	"strings"
	"testing"

	"turnwatch/proxy"
	"turnwatch/proxy/turn"
	"turnwatch/validate"
)

// TestSwallowedTextIsToldOnceTheModelIsKnown: until then it is a signal, since
// a model might spend a token on each character.
func TestSwallowedTextIsToldOnceTheModelIsKnown(t *testing.T) {
	seen := newRecorder()
	up := listen(t, "tcp")
	p := start(t, up, proxy.Config{}, seen)
	n := 0
	say := func(tokens int) turn.Turn {
		n++
		id := fmt.Sprintf("r%d", n)
		body := `{"model":"m","tools":[{"type":"function","function":{"name":"f"}}],"messages":[{"role":"user","content":"Go on."}]}`
		request := head("POST /v1/chat/completions HTTP/1.1", "Host: x", "X-Request-Id: "+id, fmt.Sprintf("Content-Length: %d", len(body))) + body
		text := strings.Repeat("I will look at the next file of them now. ", 4)
		answer := fmt.Sprintf(`{"choices":[{"index":0,"message":{"content":"%s"},"finish_reason":"stop"}],"usage":{"prompt_tokens":200,"completion_tokens":%d}}`, text, tokens)
		answer = head("HTTP/1.1 200 OK", "Content-Type: application/json", fmt.Sprintf("Content-Length: %d", len(answer))) + answer
		relayed(t, up, p, request, answer, answer, 0, false)
		return seen.of(t, id)
	}
	if got := say(150); got.Outcome != validate.Clean || !got.Suspect {
		t.Errorf("unknown: got %s, suspect %v, want clean and suspect", got.Outcome, got.Suspect)
	}
	for range 40 {
		if got := say(44); got.Outcome != validate.Clean {
			t.Fatalf("got %s %v, want clean", got.Outcome, told(got))
		}
	}
	if got := say(130); got.Outcome != validate.Corrupted || told(got)[0] != "swallowed_text" {
		t.Errorf("known: got %s %v, want corrupted swallowed_text", got.Outcome, told(got))
	}
}

// TestWordsOfAnOpenConversationAreASignal, once turns that are over show that
// such hits are no chance.
func TestWordsOfAnOpenConversationAreASignal(t *testing.T) {
	seen := newRecorder()
	up := listen(t, "tcp")
	p := start(t, up, proxy.Config{}, seen)
	put := func(id, prompt string) string {
		body := `{"model":"m","messages":[{"role":"user","content":"` + prompt + `"}]}`
		return head("POST /v1/chat/completions HTTP/1.1", "Host: x", "X-Request-Id: "+id, fmt.Sprintf("Content-Length: %d", len(body))) + body
	}
	say := func(text string) string {
		body := `{"choices":[{"index":0,"message":{"content":"` + text + `"},"finish_reason":"stop"}]}`
		return head("HTTP/1.1 200 OK", "Content-Type: application/json", fmt.Sprintf("Content-Length: %d", len(body))) + body
	}
	c := p.dial()
	s := ask(up, c, put("open", "Where is ORD-48213-77, in pod-9931-xk?"))
	for i := range 60 {
		id := fmt.Sprintf("r%d", i)
		relayed(t, up, p, put(id, fmt.Sprintf("Where is XYZ-%05d?", i)), say("There."), say("There."), 0, false)
		if got := seen.of(t, id); got.Suspect {
			t.Fatalf("%s: got signals %v", id, got.Signals)
		}
	}
	leak := say("It is ORD-48213-77, in pod-9931-xk.")
	relayed(t, up, p, put("leak", "Where is my order?"), leak, leak, 0, false)
	if got := seen.of(t, "leak"); got.Outcome != validate.Clean || len(got.Signals) != 1 || got.Signals[0].Kind != validate.ForeignContent {
		t.Errorf("got %s, signals %v, want clean and one of foreign_content", got.Outcome, got.Signals)
	}
	s.send(leak)
	c.read(leak)
	if got := seen.of(t, "open"); got.Suspect {
		t.Errorf("its own words: got signals %v", got.Signals)
	}
}
