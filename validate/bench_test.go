package validate

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/tidwall/gjson"
)

// Events as SGLang sends them, the first about 390 bytes long.
const (
	headEvent = `data: {"id":"f3c2a1b0d9e84c7fa6b5d4c3b2a19088","object":"chat.completion.chunk","created":1795965975,"model":"m","choices":[{"index":0,"delta":{"role":null,"content":null,"reasoning_content":null,"tool_calls":[{"id":"call_e633bb2f9b0f42c98862264d","index":0,"type":"function","function":{"name":"get_weather","arguments":"{\"city\": \""}}]},"logprobs":null,"finish_reason":null,"matched_stop":null}],"usage":null}` + "\n\n"
	argsEvent = `data: {"id":"f3c2a1b0d9e84c7fa6b5d4c3b2a19088","object":"chat.completion.chunk","created":1795965975,"model":"m","choices":[{"index":0,"delta":{"role":null,"content":null,"reasoning_content":null,"tool_calls":[{"id":null,"index":0,"type":"function","function":{"name":null,"arguments":" of \\\"the"}}]},"logprobs":null,"finish_reason":null,"matched_stop":null}],"usage":null}` + "\n\n"
	textEvent = `data: {"id":"f3c2a1b0d9e84c7fa6b5d4c3b2a19088","object":"chat.completion.chunk","created":1795965975,"model":"m","choices":[{"index":0,"delta":{"role":null,"content":" forecast","reasoning_content":null,"tool_calls":null},"logprobs":null,"finish_reason":null,"matched_stop":null}],"usage":null}` + "\n\n"
)

// perTurn is how many events a benchmark puts into one turn, so that no limit is met.
const perTurn = 50_000

func benchmarkFeed(b *testing.B, event string) {
	req, err := ParseRequest("/v1/chat/completions", []byte(sampleRequest))
	if err != nil {
		b.Fatal(err)
	}
	data, cut := []byte(event), len(event)
	b.SetBytes(int64(cut))
	b.ReportAllocs()
	var c *Checker
	for i := 0; b.Loop(); i++ {
		if i%perTurn == 0 {
			b.StopTimer()
			c = NewChecker(req, Head{Status: 200, ContentType: "text/event-stream"})
			c.Feed(0, []byte(headEvent))
			b.StartTimer()
		}
		c.Feed(time.Duration(i)*time.Millisecond, data)
	}
}

func BenchmarkFeed(b *testing.B) {
	b.Run("args", func(b *testing.B) { benchmarkFeed(b, argsEvent) })
	b.Run("text", func(b *testing.B) { benchmarkFeed(b, textEvent) })
}

// BenchmarkValidOnly is what others take to say whether an event is JSON.
func BenchmarkValidOnly(b *testing.B) {
	data := []byte(argsEvent[len("data: "):])
	for name, valid := range map[string]func([]byte) bool{"gjson": gjson.ValidBytes, "encoding_json": json.Valid} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				if !valid(data) {
					b.Fatal("not valid")
				}
			}
		})
	}
}

// BenchmarkTurn is a whole turn of a hundred events, verdict included.
func BenchmarkTurn(b *testing.B) {
	memory := NewSchemas(1 << 20)
	for _, a := range corpus(b) {
		switch a.name {
		case "glm5-nim-missing-closing-brace", "testdata/samples/v4_good_stream.http", "testdata/samples/v4_good_nonstream.http":
		default:
			continue
		}
		a.req.Schemas = memory
		b.Run(fmt.Sprint(a.name), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				run(a.req, a.head, a.how, a.body)
			}
		})
	}
}

func BenchmarkParseRequest(b *testing.B) {
	b.ReportAllocs()
	b.SetBytes(int64(len(sampleRequest)))
	for b.Loop() {
		if _, err := ParseRequest("/v1/chat/completions", []byte(sampleRequest)); err != nil {
			b.Fatal(err)
		}
	}
}

func TestFeedAllocatesNothing(t *testing.T) {
	req, err := ParseRequest("/v1/chat/completions", []byte(sampleRequest))
	if err != nil {
		t.Fatal(err)
	}
	for name, event := range map[string]string{"args": argsEvent, "text": textEvent} {
		c := NewChecker(req, Head{Status: 200, ContentType: "text/event-stream"})
		c.Feed(0, []byte(headEvent))
		data := []byte(event)
		n := testing.AllocsPerRun(5000, func() { c.Feed(0, data) })
		if n != 0 {
			t.Errorf("%s: got %v allocations an event, want 0", name, n)
		}
	}
}
