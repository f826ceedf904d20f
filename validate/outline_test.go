package validate

import (
	"fmt"
	"strings"
	"testing"
)

// outlined is the outline of a stream.
func outlined(t *testing.T, events ...string) *Outline {
	t.Helper()
	req, err := ParseRequest("/v1/chat/completions", []byte(`{"stream":true,"messages":[],"tools":[{"type":"function","function":{"name":"f"}},{"type":"function","function":{"name":"g"}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Outline = true
	c := NewChecker(req, Head{Status: 200, ContentType: "text/event-stream"})
	for _, e := range events {
		c.Feed(0, []byte("data: "+e+"\n\n"))
	}
	c.Feed(0, []byte("data: [DONE]\n\n"))
	c.Finish(Complete)
	return c.Outline()
}

func saysText(text string) string {
	return fmt.Sprintf(`{"choices":[{"index":0,"delta":{"content":%q}}]}`, text)
}

func callsTool(name, args string) string {
	return fmt.Sprintf(`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c","type":"function","function":{"name":%q,"arguments":%q}}]}}]}`, name, args)
}

func TestOutlinesAreCompared(t *testing.T) {
	f := func(what string, a, b []string, want Likeness) {
		t.Helper()
		x, y := outlined(t, a...), outlined(t, b...)
		if got := x.Like(y); got != want {
			t.Errorf("%s: got %+v, want %+v", what, got, want)
		}
		if got := y.Like(x); got != want {
			t.Errorf("%s, turned round: got %+v, want %+v", what, got, want)
		}
	}
	one := func(s ...string) []string { return s }
	f("one text in other pieces", one(saysText("hel"), saysText("lo")), one(saysText("hello")), Likeness{true, true, -1})
	f("another letter", one(saysText("grün")), one(saysText("grüm")), Likeness{true, true, 3})
	f("half a character", one(saysText("aü")), one(saysText("aö")), Likeness{true, true, 1})
	f("a shorter text", one(saysText("hell")), one(saysText("hello")), Likeness{true, true, 4})
	f("arguments spelt anew", one(callsTool("f", `{"a":1.0,"b":[1e2]}`)), one(callsTool("f", ` {"b":[100], "a":1}`)), Likeness{true, true, 1})
	f("other arguments", one(callsTool("f", `{"a":1}`)), one(callsTool("f", `{"a":2}`)), Likeness{true, false, 6})
	f("no JSON", one(callsTool("f", `{"a":1`)), one(callsTool("f", `{"a":1}`)), Likeness{true, false, 7})
	f("large numbers", one(callsTool("f", `{"a":9007199254740993}`)), one(callsTool("f", `{"a":9007199254740992}`)), Likeness{true, false, 21})
	f("another tool", one(callsTool("f", `{}`)), one(callsTool("g", `{}`)), Likeness{false, false, 0})
	f("no call", one(callsTool("f", `{}`)), one(saysText("f{}")), Likeness{false, false, -1})
	long := strings.Repeat("abcdefgh ", 1000)
	f("far behind", one(saysText(long+"x")), one(saysText(long+"y")), Likeness{true, true, outlineText})
}

func TestOutlineIsMadeOnDemandAlone(t *testing.T) {
	c := NewChecker(&Request{}, Head{Status: 200})
	c.Finish(Complete)
	if o := c.Outline(); o != nil {
		t.Errorf("got %+v, want none", o)
	}
}
