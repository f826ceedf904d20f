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
