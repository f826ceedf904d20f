package validate

import (
	"fmt"
	"hash/maphash"
	"strings"
	"testing"
)

// words4K is prose of 4 KiB, asked the request of a turn that holds it.
var (
	words4K = strings.Repeat("the river meets a harbor while morning light falls over quiet stones and ", 56)
	asked   = fmt.Appendf(nil, `{"model":"m","messages":[{"role":"user","content":"%s ZRH SFO"}],"stream":false,"tools":[{"type":"function","function":{"name":"search_flights","description":"Search for flights.","parameters":{"type":"object","properties":{"from":{"type":"string"},"to":{"type":"string"},"class":{"type":"string","enum":["economy","business"]},"legs":{"type":"array","items":{"type":"string"}}},"required":["from","to"]}}}]}`, words4K)
)

// wholeAnswer is an answer that does not stream: 256 bytes of text and a call.
func wholeAnswer() []byte {
	return wholeCall("search_flights", `{\"from\": \"ZRH\", \"to\": \"SFO\"}`)
}

// wholeCall is such an answer whose call has these arguments, as they stand in a
// string of JSON.
func wholeCall(tool, args string) []byte {
	const text = "We found three ways from Zurich to the west coast. A direct one leaves at noon, takes eleven hours and lands in daylight. The other two stop on their way, in Paris or in Dublin, cost less and come in late. Should a seat be held on the direct one for you now?"
	return []byte(`{"id":"4f9d1c0b7e6a4d2f8c3b5a1908e7d6f2","object":"chat.completion","created":1795965975,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"` + text + `","reasoning_content":null,"tool_calls":[{"id":"call_7f3a9c1e5b2d4f608a1c","index":0,"type":"function","function":{"name":"` + tool + `","arguments":"` + args + `"}}]},"logprobs":null,"finish_reason":"tool_calls","matched_stop":null}],"usage":{"prompt_tokens":812,"total_tokens":900,"completion_tokens":88,"prompt_tokens_details":null}}`)
}

// streamAnswer is a stream of 256 events, half of them text and half arguments, of
// 1.5 KiB each.
func streamAnswer() []byte {
	var b strings.Builder
	event := func(delta, finish string) {
		fmt.Fprintf(&b, `data: {"id":"4f9d1c0b7e6a4d2f8c3b5a1908e7d6f2","object":"chat.completion.chunk","created":1795965975,"model":"m","choices":[{"index":0,"delta":{%s},"logprobs":null,"finish_reason":%s,"matched_stop":null}],"usage":null}`+"\n\n", delta, finish)
	}
	words := strings.Fields(words4K)
	piece := func(i int) string { return " " + words[i*7%len(words)] + " " + words[i*5%23] }
	event(`"role":"assistant","content":""`, "null")
	for i := range 127 {
		event(`"content":"`+piece(i)+`"`, "null")
	}
	event(`"tool_calls":[{"id":"call_7f3a9c1e5b2d4f608a1c","index":0,"type":"function","function":{"name":"search_flights","arguments":"{\"from\": \"ZRH\", \"to\": \"SFO\", \"legs\": [\"north"}}]`, "null")
	for i := range 125 {
		end := `\", \"`
		if i%4 > 0 {
			end = ""
		}
		event(`"tool_calls":[{"index":0,"function":{"arguments":"`+piece(i+3)+end+`"}}]`, "null")
	}
	event(`"tool_calls":[{"index":0,"function":{"arguments":"\"]}"}}]`, "null")
	event("", `"tool_calls"`)
	return []byte(b.String() + "data: [DONE]\n\n")
}

// BenchmarkWholeTurn is all that judging takes of a turn with a request of 4 KiB and a tool, whether
// its answer streams or not: its parts together, and each alone.
func BenchmarkWholeTurn(b *testing.B) {
	seed, schemas := maphash.MakeSeed(), NewSchemas(1<<20)
	any := turnBench{schemas: schemas, request: asked}
	parsed := any.parse()
	b.Run("request", func(b *testing.B) { timed(b, func() { any.parse() }) })
	b.Run("converse", func(b *testing.B) { timed(b, func() { parsed.Converse(seed, asked) }) })
	for name, answer := range map[string]struct {
		kind string
		body []byte
	}{"whole": {"application/json", wholeAnswer()}, "stream": {"text/event-stream", streamAnswer()}} {
		for _, e := range []*Echoes{nil, NewEchoes(8 << 20)} {
			t := turnBench{schemas: schemas, request: asked, echoes: e, head: Head{200, answer.kind}, body: answer.body}
			how := name
			if e != nil {
				how += "-echo"
			}
			b.Run(how, func(b *testing.B) { timed(b, func() { t.finish(b, t.feed()) }) })
			b.Run(how+"-end", func(b *testing.B) { t.ends(b) })
		}
	}
}

func timed(b *testing.B, f func()) {
	b.ReportAllocs()
	for b.Loop() {
		f()
	}
}

// turnBench is a turn to be judged over and over.
type turnBench struct {
	schemas *Schemas
	request []byte
	echoes  *Echoes
	head    Head
	body    []byte
}

func (t *turnBench) parse() *Request {
	r, err := t.schemas.ParseRequest("/v1/chat/completions", t.request)
	if err != nil {
		panic(err)
	}
	return r
}

func (t *turnBench) feed() *Checker {
	r := t.parse()
	if t.echoes != nil {
		t.echoes.Keep(r, t.request)
	}
	c := NewChecker(r, t.head)
	c.Feed(0, t.body)
	return c
}

func (t *turnBench) finish(b *testing.B, c *Checker) {
	if v := c.Finish(Complete); v.Outcome != Clean {
		b.Fatal(v)
	}
	c.req.Free()
	c.Free()
}

// ends takes the ends of turns alone, of a few at a time.
func (t *turnBench) ends(b *testing.B) {
	var few [16]*Checker
	b.ReportAllocs()
	for i := 0; i < b.N; i += len(few) {
		b.StopTimer()
		for k := range few {
			few[k] = t.feed()
		}
		b.StartTimer()
		for _, c := range few {
			t.finish(b, c)
		}
	}
}
