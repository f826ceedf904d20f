package validate

import (
	"fmt"
	"strings"
	"testing"
)

// BenchmarkCompared is what it adds to a turn to compare its answer with a
// request of 4 KiB or of 200: where there is nothing to compare, and where a
// call copies two values and an address.
func BenchmarkCompared(b *testing.B) {
	for _, size := range []int{4 << 10, 200 << 10} {
		said := "Tell jane.doe@acme.dev that RX-93724 costs 1045.50. " + strings.Repeat("The report reads orders of 2026 and writes totals. ", size/50)
		request := fmt.Sprintf(`{"model":"m","messages":[{"role":"user","content":%q}],"tools":[{"type":"function","function":{"name":"send","parameters":{"type":"object"}}}]}`, said)
		for name, body := range map[string]string{
			"nothing": ev(`{"content":"It is done, as you asked."}`, "") + ev(`{}`, "stop") + done,
			"call":    calls(entry(0, "c", "send", `{"to":"jane.doe@acme.dev","ref":"RX-93724","amount":1045.5}`)) + ev(`{}`, "tool_calls") + done,
			"wrong":   calls(entry(0, "c", "send", `{"to":"jane.doe@acne.dev","ref":"RX-98724","amount":1049.5}`)) + ev(`{}`, "tool_calls") + done,
		} {
			for _, e := range []*Echoes{nil, NewEchoes(8 << 20)} {
				b.Run(fmt.Sprintf("%s-%dKiB-%v", name, size>>10, e != nil), func(b *testing.B) { benchmarkCompared(b, e, request, body) })
			}
		}
	}
}

func benchmarkCompared(b *testing.B, e *Echoes, request, body string) {
	r, err := ParseRequest("/v1/chat/completions", []byte(request))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if e != nil {
			e.Keep(r, []byte(request))
		}
		c := NewChecker(r, Head{200, "text/event-stream"})
		c.Feed(0, []byte(body))
		c.Finish(Complete)
		r.Free()
	}
}

// BenchmarkComparedWords is the end of a turn whose request is prose of 4 KiB and
// a tool, and whose call copies words of both, a few or many.
func BenchmarkComparedWords(b *testing.B) {
	words := strings.Fields("harbour quiet lantern seven copper meadow archive signal north window gravel summer paper orbit maple engine silver border cotton river planet anchor ticket forest")
	var said strings.Builder
	for i := uint32(1); said.Len() < 4<<10; i = i*1664525 + 1013904223 {
		said.WriteString(words[i>>8%uint32(len(words))] + " ")
	}
	request := fmt.Appendf(nil, `{"model":"m","messages":[{"role":"user","content":"%s ZRH SFO"}],"stream":false,"tools":[{"type":"function","function":{"name":"find","parameters":{"type":"object","properties":{"class":{"enum":["economy","business"]}}}}}]}`, said.String())
	for _, n := range []int{1, 127} {
		legs := strings.Repeat(`\"`+strings.Join(words, `\", \"`)+`\", `, 6)
		legs = strings.Join(strings.SplitAfterN(legs, ", ", n+1)[:n], "")
		body := wholeCall("find", `{\"from\": \"ZRH\", \"to\": \"SFO\", \"class\": \"economy\", \"legs\": [`+legs+`\"north\"]}`)
		for _, e := range []*Echoes{nil, NewEchoes(8 << 20)} {
			t := turnBench{schemas: NewSchemas(1 << 20), echoes: e, head: Head{200, "application/json"}, request: request, body: body}
			b.Run(fmt.Sprintf("%d-%v", n, e != nil), func(b *testing.B) { t.ends(b) })
		}
	}
}
