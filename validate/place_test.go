package validate

import (
	"fmt"
	"strings"
	"testing"
)

// TestFindingKnowsItsPlace: which event with output its byte is in, and how
// many tokens the server had reported by then.
func TestFindingKnowsItsPlace(t *testing.T) {
	const call = `"tool_calls":[{"index":0,"id":%s,"type":"function","function":{"name":%s,"arguments":%q}}]`
	event := func(delta string, tokens int) string {
		usage := "null"
		if tokens > 0 {
			usage = fmt.Sprintf(`{"prompt_tokens":9,"completion_tokens":%d}`, tokens)
		}
		return fmt.Sprintf(`data: {"choices":[{"index":0,"delta":{%s},"finish_reason":null}],"usage":%s}`+"\n\n", delta, usage)
	}
	f := func(continuous bool, delta, tokens, deltas int64) {
		t.Helper()
		n := func(tokens int) int {
			if continuous {
				return tokens
			}
			return 0
		}
		stream := event(`"role":"assistant","content":""`, n(1)) + event(`"content":"I "`, n(1)) + event(`"content":"look."`, n(2)) +
			event(fmt.Sprintf(call, `"call_1"`, `"get"`, ""), n(9)) + event(fmt.Sprintf(call, "null", "null", `{"a"`), n(12)) +
			event(fmt.Sprintf(call, "null", "null", `: 1}}`), n(13)) + event(fmt.Sprintf(call, "null", "null", ` `), n(14)) +
			`data: {"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}` + "\n\n" +
			`data: {"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":17}}` + "\n\ndata: [DONE]\n\n"
		for _, size := range []int{1, 7, len(stream)} {
			req, err := ParseRequest("/v1/chat/completions", []byte(`{"model":"m","messages":[],"stream":true,"tools":[{"type":"function","function":{"name":"get"}}]}`))
			if err != nil {
				t.Fatal(err)
			}
			c := NewChecker(req, Head{Status: 200, ContentType: "text/event-stream"})
			for rest := stream; rest != ""; rest = rest[min(size, len(rest)):] {
				c.Feed(0, []byte(rest[:min(size, len(rest))]))
			}
			v := c.Finish(Complete)
			if len(v.Findings) == 0 || !strings.HasPrefix(string(v.Findings[0].Kind), "args") {
				t.Fatalf("findings: got %+v", v.Findings)
			}
			if got := v.Findings[0]; got.Delta != delta || got.Tokens != tokens || v.Deltas != deltas {
				t.Errorf("in pieces of %d: got delta %d of %d, %d tokens, want %d of %d, %d", size, got.Delta, v.Deltas, got.Tokens, delta, deltas, tokens)
			}
		}
	}
	f(false, 5, 0, 6)
	f(true, 5, 13, 6)
}
