package proxy

import (
	"log/slog"
	"testing"
	"time"

	"turnwatch/validate"
)

// BenchmarkEvent is what an event of a clean turn of 200 costs the judge, and
// what it costs when the bytes are kept for evidence besides.
func BenchmarkEvent(b *testing.B) {
	event := []byte(`data: {"id":"0123456789abcdef","object":"chat.completion.chunk","created":1795971261,"model":"m","choices":[{"index":0,` +
		`"delta":{"role":null,"content":" word","reasoning_content":null,"tool_calls":null},"logprobs":null,"finish_reason":null,"matched_stop":null}],"usage":null}` + "\n\n")
	const events = 200
	for name, capture := range map[string]int64{"judged": 0, "judged and kept": 4 << 20} {
		b.Run(name, func(b *testing.B) {
			s := &Server{cfg: Config{Capture: capture}, log: slog.New(slog.DiscardHandler), schemas: validate.NewSchemas(1 << 20)}
			s.budget = newBudget(256<<20, &s.stats.JudgeMemory)
			req, err := validate.ParseRequest("/v1/chat/completions", []byte(`{"model":"m","stream":true,"messages":[{"role":"user","content":"hi"}]}`))
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				o := &observer{s: s, req: req, kept: s.keep(nil)}
				o.check = validate.NewChecker(req, validate.Head{Status: 200, ContentType: "text/event-stream"})
				for i := range events {
					o.at = time.Duration(i) * 10 * time.Millisecond
					o.judge([][]byte{event})
				}
				o.free()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/events, "ns/event")
			if held := s.stats.JudgeMemory.Load(); held != 0 {
				b.Errorf("%d bytes are still held", held)
			}
		})
	}
}
