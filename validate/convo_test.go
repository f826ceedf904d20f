package validate

import (
	"hash/maphash"
	"testing"
	"time"
)

// TestAnswerIsKnownAgainInTheNextRequest, whether it streamed or not.
func TestAnswerIsKnownAgainInTheNextRequest(t *testing.T) {
	seed := maphash.MakeSeed()
	next, err := new(Request).Converse(seed, []byte(`{"messages":[{"role":"user","content":"q"},
		{"role":"assistant","content":"Let me \"see\".","tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{\"a\": [1]}"}}]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	f := func(contentType, body string, want bool) {
		t.Helper()
		req, err := ParseRequest("/v1/chat/completions", []byte(`{"messages":[{"role":"user","content":"q"}],"tools":[{"type":"function","function":{"name":"f"}}]}`))
		if err != nil {
			t.Fatal(err)
		}
		req.Seed = seed
		c := NewChecker(req, Head{Status: 200, ContentType: contentType})
		c.Feed(time.Millisecond, []byte(body))
		c.Finish(Complete)
		said := c.Said()
		if len(said) != 1 || (said[0] == next.Turns[1].Own) != want {
			t.Errorf("%s: got %x, the request says %x, want them to be the same: %v", body, said, next.Turns[1].Own, want)
		}
	}
	f("application/json", `{"choices":[{"index":0,"finish_reason":"tool_calls","message":{"role":"assistant","content":"\n\nLet me \u0022see\".",
		"reasoning_content":"hm","tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{\"a\":[1]}"}}]}}]}`, true)
	stream := func(args string) string {
		return `data: {"choices":[{"index":0,"delta":{"role":"assistant","content":"Let me"}}]}` + "\n\n" +
			`data: {"choices":[{"index":0,"delta":{"content":" \"see"}}]}` + "\n\n" +
			`data: {"choices":[{"index":0,"delta":{"content":"\".\n"}}]}` + "\n\n" +
			`data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"f","arguments":"{\"a\":"}}]}}]}` + "\n\n" +
			`data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"` + args + `"}}]}}]}` + "\n\n" +
			`data: {"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}` + "\n\ndata: [DONE]\n\n"
	}
	f("text/event-stream", stream("[1]}"), true)
	f("text/event-stream", stream("[2]}"), false)
}

// TestAnswerIsNotHashedUnasked.
func TestAnswerIsNotHashedUnasked(t *testing.T) {
	c := NewChecker(&Request{}, Head{Status: 200, ContentType: "application/json"})
	c.Feed(0, []byte(`{"choices":[{"message":{"content":"a"}}]}`))
	if c.Finish(Complete); c.Said() != nil {
		t.Errorf("hashes: got %x, want none", c.Said())
	}
}
