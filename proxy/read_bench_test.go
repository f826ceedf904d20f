package proxy

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"turnwatch/validate"
)

// BenchmarkRead is what an event of a stream costs beside its relay, where so
// many come with a read, each in a chunk of its own. Half of them are text, half
// arguments.
func BenchmarkRead(b *testing.B) {
	s, err := New(Config{Upstream: "http://127.0.0.1:1"})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Shutdown(context.Background())
	for _, n := range []int{1, 4, 16} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			t := newATurn(s)
			reads := eventReads(256, n)
			var spent time.Duration
			b.ReportAllocs()
			for b.Loop() {
				spent += t.stream(reads)
			}
			b.ReportMetric(float64(spent.Nanoseconds())/float64(b.N)/256, "ns/event")
		})
	}
}

// eventReads are the events of a stream, n with each read, and its end.
func eventReads(events, n int) (reads [][]byte) {
	const event = `data: {"id":"4f9d1c0b7e6a4d2f8c3b5a1908e7d6f2","object":"chat.completion.chunk","created":%d,"model":"m","choices":[{"index":0,` +
		`"delta":{"role":null,"content":%s,"reasoning_content":null,"tool_calls":%s},"logprobs":null,"finish_reason":null,"matched_stop":null}],"usage":null}` + "\n\n"
	const piece = `[{"id":%s,"index":0,"type":"function","function":{"name":%s,"arguments":"%s"}}]`
	var read []byte
	for i := range events {
		text, call := fmt.Sprintf(`" token%d"`, i), "null"
		switch half := events / 2; {
		case i == half:
			text, call = "null", fmt.Sprintf(piece, `"call_1"`, `"search"`, `{`)
		case i > half:
			text, call = "null", fmt.Sprintf(piece, "null", "null", fmt.Sprintf(`\"k%d\": \"v\", `, i))
		}
		read = appendChunk(read, fmt.Sprintf(event, 1795965975+i/50, text, call))
		if (i+1)%n == 0 {
			reads, read = append(reads, read), nil
		}
	}
	return append(reads, append(appendChunk(read, "data: [DONE]\n\n"), "0\r\n\r\n"...))
}

func appendChunk(dst []byte, data string) []byte {
	return fmt.Appendf(dst, "%x\r\n%s\r\n", len(data), data)
}

// stream has the turn observed from its beginning to its verdict, as a stream
// that comes in these reads, and returns what the reads took.
func (t *aTurn) stream(reads [][]byte) time.Duration {
	x := &t.c.x
	*x = exchange{s: t.s, c: &t.c, req: newRequest(t.reqHead), begin: time.Now()}
	o := t.s.observe(x)
	o.calls(x)
	o.request([]byte(strings.Replace(aRequest, "{", `{"stream":true,`, 1)))
	o.begun(time.Now())
	x.head.parse([]byte(strings.Replace(anAnswerHead, "application/json", "text/event-stream", 1)))
	o.head(&x.head)
	begin := time.Now()
	f, late := framing{kind: chunkedBody}, backlog{o: o, from: &t.s.buffers, first: o.first}
	for _, read := range reads {
		late.give(f, read)
	}
	spent := time.Since(begin)
	late.end()
	o.ends(validate.Complete, int64(len(t.req)))
	t.s.finish.judge(o)
	return spent
}
