package proxy

import (
	"context"
	"net"
	"path/filepath"
	"testing"
	"time"

	"turnwatch/proxy/journal"
	"turnwatch/proxy/sglang"
	"turnwatch/proxy/telemetry"
	"turnwatch/validate"
)

// BenchmarkTurn is what a turn that does not stream costs beside its relay:
// its judgement alone, then with all that tells of it, one after the other.
func BenchmarkTurn(b *testing.B) {
	g, err := sglang.New(sglang.Config{Upstream: "http://127.0.0.1:1", NoPoll: true, Labels: map[string]string{"gpu": "h200", "site": "a"}})
	if err != nil {
		b.Fatal(err)
	}
	r, err := telemetry.New(b.Context(), telemetry.Config{Upstream: "http://127.0.0.1:1"})
	if err != nil {
		b.Fatal(err)
	}
	defer r.Shutdown(context.Background())
	w, err := journal.Open(filepath.Join(b.TempDir(), "turns.jsonl"), journal.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer w.Close(context.Background())
	f := func(name string, cfg Config, sinks ...Sink) {
		b.Run(name, func(b *testing.B) {
			cfg.Upstream, cfg.Echo = "http://127.0.0.1:1", EchoOff
			s, err := New(cfg, sinks...)
			if err != nil {
				b.Fatal(err)
			}
			defer s.Shutdown(context.Background())
			t := newATurn(s)
			t.play()
			b.ReportAllocs()
			before := cpuSeconds()
			for b.Loop() {
				t.play()
			}
			b.ReportMetric((cpuSeconds()-before)*1e6/float64(b.N), "cpu-µs/turn")
		})
	}
	tags := func() TurnTags { return g.Begin() }
	f("judged", Config{})
	f("tagged", Config{Tags: tags})
	f("measured", Config{Tags: tags}, r)
	f("written", Config{Tags: tags}, r, w)
}

// cpuSeconds is what the process has used, whatever for.
func cpuSeconds() float64 { return systemMetrics()[0].Series[0].Value }

// aTurn is a turn that is played again and again.
type aTurn struct {
	s                             *Server
	c                             clientConn
	req, reqHead, answer, answers []byte
}

const (
	aRequest = `{"model":"m","messages":[{"role":"system","content":"You book flights."},{"role":"user","content":"From Oslo to Rome, please."}],` +
		`"tools":[{"type":"function","function":{"name":"search","parameters":{"type":"object","properties":{"from":{"type":"string"},"to":{"type":"string"}},"required":["from","to"]}}}]}`
	anAnswer = `{"id":"4f9d1c0b7e6a4d2f8c3b5a1908e7d6f2","object":"chat.completion","created":1795965975,"model":"m","choices":[{"index":0,"message":` +
		`{"role":"assistant","content":"Let me look.","reasoning_content":null,"tool_calls":[{"id":"call_7f3a9c1e5b2d4f608a1c","index":0,"type":"function",` +
		`"function":{"name":"search","arguments":"{\"from\":\"Oslo\",\"to\":\"Rome\"}"}}]},"logprobs":null,"finish_reason":"tool_calls","matched_stop":null}],` +
		`"usage":{"prompt_tokens":812,"total_tokens":900,"completion_tokens":88,"prompt_tokens_details":null}}`
	aRequestHead = "POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1\r\nUser-Agent: OpenAI/Python 2.8.1\r\nAuthorization: Bearer x\r\nContent-Type: application/json\r\n\r\n"
	anAnswerHead = "HTTP/1.1 200 OK\r\ndate: Mon, 30 Nov 2026 03:00:00 GMT\r\nserver: uvicorn\r\ncontent-type: application/json\r\n\r\n"
)

func newATurn(s *Server) *aTurn {
	return &aTurn{s: s, c: clientConn{Conn: from{}}, req: []byte(aRequest), reqHead: []byte(aRequestHead), answer: []byte(anAnswer), answers: []byte(anAnswerHead)}
}

// from is a connection that knows no more than who is at its other end.
type from struct{ net.Conn }

func (from) RemoteAddr() net.Addr { return nil }

// play has the turn observed from its beginning to its record, as an exchange
// and the finisher do.
func (t *aTurn) play() {
	x := &t.c.x
	*x = exchange{s: t.s, c: &t.c, req: newRequest(t.reqHead), begin: time.Now()}
	o := t.s.observe(x)
	o.calls(x)
	o.request(t.req)
	o.begun(time.Now())
	x.head.parse(t.answers)
	o.head(&x.head)
	o.tell(func(tags TurnTags) { tags.Head(t.answers) })
	o.data(time.Since(o.first), &framing{kind: fixedBody, left: int64(len(t.answer))}, t.answer)
	o.ends(validate.Complete, int64(len(t.req)))
	t.s.finish.judge(o)
}
