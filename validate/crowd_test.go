package validate

import (
	"fmt"
	"strings"
	"testing"
)

// TestCrowdHidesNoCorruption: where more is found than is kept, what convicts
// is kept before what does not.
func TestCrowdHidesNoCorruption(t *testing.T) {
	var body strings.Builder
	const n = maxFindings + 10
	for i := range n {
		delta, why := `{"content":"The weather in Kyoto is"}`, "length"
		if i == n-1 {
			delta, why = `{"tool_calls":[`+entry(0, "c", "get_weather", `{"city": "Kyoto"}}`)+`]}`, "tool_calls"
		}
		fmt.Fprintf(&body, `data: {"choices":[{"index":%d,"delta":%s,"finish_reason":"%s"}]}`+"\n\n", i, delta, why)
	}
	req, err := ParseRequest("/v1/chat/completions", []byte(strings.Replace(sampleRequest, `"model"`, fmt.Sprintf(`"n":%d,"model"`, n), 1)))
	if err != nil {
		t.Fatal(err)
	}
	c := NewChecker(req, Head{200, "text/event-stream"})
	c.Feed(0, []byte(body.String()+done))
	v := c.Finish(Complete)
	if v.Outcome != Corrupted || len(v.Findings) > maxFindings {
		t.Errorf("got %s with %d findings, want %s", v.Outcome, len(v.Findings), Corrupted)
	}
}
