package validate_test

import (
	"fmt"
	"strings"
	"testing"

	"turnwatch/validate"
)

// BenchmarkLargestRead judges 64 KiB, which is as much of one stream as a loop
// reads before it turns to the next: the time for which that stream holds up the
// others.
func BenchmarkLargestRead(b *testing.B) {
	const read = 64 << 10
	const schema = `{"type":"object","properties":{"legs":{"type":"array","uniqueItems":true,"items":{"type":"string","pattern":"^([a-z]+-)*[0-9]+$","maxLength":64}}}}`
	request := `{"model":"m","stream":true,"messages":[{"role":"user","content":"?"}],"tools":[{"type":"function","function":{"name":"f","parameters":` + schema + `}}]}`
	event := func(delta string) string {
		return `data: {"id":"x","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{` + delta + `},"finish_reason":null}]}` + "\n\n"
	}
	args := func(text string) string {
		return event(fmt.Sprintf(`"tool_calls":[{"index":0,"function":{"arguments":"%s"}}]`, text))
	}
	call := event(`"role":"assistant","tool_calls":[{"index":0,"id":"c","type":"function","function":{"name":"f","arguments":"{\"legs\": ["}}]`)
	distinct := func(n int, piece func(string) string) string {
		var all strings.Builder
		for i := range n {
			all.WriteString(piece(fmt.Sprintf(`\"leg-%d\", `, i)))
		}
		return all.String()
	}
	for name, text := range map[string]string{
		"text in small events":       strings.Repeat(event(`"content":" harbour"`), 500),
		"text in one event":          event(`"content":"` + strings.Repeat("harbour lantern ", 4000) + `"`),
		"arguments in small events":  call + distinct(500, args),
		"arguments in one event":     call + args(distinct(4000, func(s string) string { return s })),
		"events that hold only JSON": strings.Repeat(event(`"x":[[[[[[[[{"a":{"b":[1,2,3]}}]]]]]]]]`), 500),
	} {
		b.Run(name, func(b *testing.B) {
			body := []byte(text)[:min(len(text), read)]
			for b.Loop() {
				req, err := validate.NewSchemas(1<<20).ParseRequest("/v1/chat/completions", []byte(request))
				if err != nil {
					b.Fatal(err)
				}
				c := validate.NewChecker(req, validate.Head{Status: 200, ContentType: "text/event-stream"})
				c.Feed(0, body)
			}
		})
	}
}
