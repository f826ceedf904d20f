package validate

import (
	"fmt"
	"hash/maphash"
	"strings"
	"testing"
)

// BenchmarkUnary is all that judging takes of an answer that does not stream,
// to a request of 4 KiB with a tool: its parts together, and what reads the
// request alone.
func BenchmarkUnary(b *testing.B) {
	said := strings.Repeat("the river meets a harbor while morning light falls over quiet stones and ", 56)
	request := fmt.Appendf(nil, `{"model":"m","messages":[{"role":"user","content":"%s ZRH SFO"}],"stream":false,"tools":[{"type":"function","function":{"name":"search_flights","description":"Search for flights.","parameters":{"type":"object","properties":{"from":{"type":"string"},"to":{"type":"string"},"class":{"type":"string","enum":["economy","business"]},"legs":{"type":"array","items":{"type":"string"}}},"required":["from","to"]}}}]}`, said)
	answer := []byte(`{"id":"4f9d1c0b7e6a4d2f8c3b5a1908e7d6f2","object":"chat.completion","created":1795965975,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"` + said[:256] + `","reasoning_content":null,"tool_calls":[{"id":"call_7f3a9c1e5b2d4f608a1c","index":0,"type":"function","function":{"name":"search_flights","arguments":"{\"from\": \"ZRH\", \"to\": \"SFO\", \"class\": \"economy\", \"legs\": [\"silver\", \"north\"]}"}}]},"logprobs":null,"finish_reason":"tool_calls","matched_stop":null}],"usage":{"prompt_tokens":812,"total_tokens":900,"completion_tokens":88,"prompt_tokens_details":null}}`)
	seed, schemas, echoes := maphash.MakeSeed(), NewSchemas(1<<20), NewEchoes(8<<20)
	parse := func() *Request {
		r, err := schemas.ParseRequest("/v1/chat/completions", request)
		if err != nil {
			b.Fatal(err)
		}
		return r
	}
	judge := func(r *Request) {
		c := NewChecker(r, Head{200, "application/json"})
		c.Feed(0, answer)
		if v := c.Finish(Complete); v.Outcome != Clean {
			b.Fatal(v)
		}
		r.Free()
		c.Free()
	}
	parsed := parse()
	for name, f := range map[string]func(){
		"request":  func() { parse() },
		"converse": func() { parsed.Converse(seed, request) },
		"answer":   func() { judge(parse()) },
		"echo":     func() { r := parse(); echoes.Keep(r, request); judge(r) },
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				f()
			}
		})
	}
}
