package validate

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"
)

// steady is an event of a dialect, as it comes over and over within a turn,
// and what must come before it.
type steady struct {
	name, path, request, before, event string
}

const (
	messageTools  = `{"stream":true,"tools":[{"name":"f","input_schema":{"type":"object"}}]}`
	responseTools = `{"stream":true,"tools":[{"type":"function","name":"f","parameters":{"type":"object"}}]}`
)

var steadies = []steady{
	{"completions", "/v1/completions", `{"stream":true}`, "",
		`data: {"id":"f3c2a1b0d9e84c7fa6b5d4c3b2a19088","object":"text_completion","created":1795965975,"choices":[{"index":0,"text":" forecast","logprobs":null,"finish_reason":null,"matched_stop":null}],"model":"m","usage":null}` + "\n\n"},
	{"generate", "/generate", `{"stream":true}`, `data: {"text":"It is 21 degrees","meta_info":{}}` + "\n\n",
		`data: {"text":" in \"K\u00f6ln\"","output_ids":[310,22],"meta_info":{"id":"f3c2a1b0d9e84c7fa6b5d4c3b2a19088","finish_reason":null,"prompt_tokens":21,"weight_version":"default","completion_tokens":17,"cached_tokens":0}}` + "\n\n"},
	{"messages text", "/v1/messages", messageTools, `data: {"type":"message_start","message":{}}` + "\n\n",
		`event: content_block_delta` + "\n" + `data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":" forecast"}}` + "\n\n"},
	{"messages args", "/v1/messages", messageTools, `data: {"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"c","name":"f","input":{}}}` + "\n\n" + `data: {"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"city\": \""}}` + "\n\n",
		`event: content_block_delta` + "\n" + `data: {"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":" of \\\"the"}}` + "\n\n"},
	{"responses text", "/v1/responses", responseTools, "",
		`event: response.output_text.delta` + "\n" + `data: {"content_index":0,"delta":" forecast","item_id":"msg_6f1a","logprobs":[],"output_index":0,"sequence_number":9,"type":"response.output_text.delta"}` + "\n\n"},
	{"responses args", "/v1/responses", responseTools, `data: {"item":{"arguments":"","call_id":"c","name":"f","type":"function_call","id":"fc_1"},"output_index":0,"type":"response.output_item.added"}` + "\n\n" + `data: {"delta":"{\"city\": \"","item_id":"fc_1","output_index":0,"type":"response.function_call_arguments.delta"}` + "\n\n",
		`event: response.function_call_arguments.delta` + "\n" + `data: {"delta":" of \\\"the","item_id":"fc_1","output_index":0,"sequence_number":9,"type":"response.function_call_arguments.delta"}` + "\n\n"},
	{"ollama chat", "/api/chat", `{}`, "",
		`{"model":"m","created_at":"2026-11-29T15:26:15.123Z","message":{"role":"assistant","content":" forecast"},"done":false}` + "\n"},
	{"ollama generate", "/api/generate", `{}`, "",
		`{"model":"m","created_at":"2026-11-29T15:26:15.123Z","response":" forecast","done":false}` + "\n"},
}

// begin is a checker that has seen what comes before.
func (s *steady) begin(t testing.TB) *Checker {
	t.Helper()
	req, err := ParseRequest(s.path, []byte(s.request))
	if err != nil {
		t.Fatal(err)
	}
	c := NewChecker(req, Head{200, "text/event-stream"})
	c.Feed(0, []byte(s.before))
	return c
}

func TestDialectsAllocateNothing(t *testing.T) {
	for _, s := range steadies {
		c, event := s.begin(t), []byte(s.event)
		if n := testing.AllocsPerRun(5000, func() { c.Feed(0, event) }); n != 0 {
			t.Errorf("%s: got %v allocations an event, want 0", s.name, n)
		}
	}
}

// BenchmarkDialects takes an event of each dialect, and of /generate one that
// repeats a text of 2 KiB.
func BenchmarkDialects(b *testing.B) {
	for _, s := range steadies {
		b.Run(strings.ReplaceAll(s.name, " ", "_"), func(b *testing.B) {
			event := []byte(s.event)
			b.SetBytes(int64(len(event)))
			b.ReportAllocs()
			var c *Checker
			for i := 0; b.Loop(); i++ {
				if i%perTurn == 0 {
					b.StopTimer()
					c = s.begin(b)
					b.StartTimer()
				}
				c.Feed(time.Duration(i)*time.Millisecond, event)
			}
		})
	}
	b.Run("generate_cumulative", func(b *testing.B) {
		text := strings.Repeat("It is 21 degrees in the shade, and so on. ", 50)
		event := []byte(fmt.Sprintf(`data: {"text":%q,"output_ids":[1],"meta_info":{"finish_reason":null,"prompt_tokens":21,"completion_tokens":17}}`+"\n\n", text))
		s := steady{path: "/generate", request: `{"stream":true}`, before: string(event)}
		b.SetBytes(int64(len(event)))
		b.ReportAllocs()
		c := s.begin(b)
		for b.Loop() {
			c.Feed(0, event)
		}
	})
}

// TestListsAreBounded has a hundred thousand entries in one answer.
func TestListsAreBounded(t *testing.T) {
	f := func(path, before, entry, after string) {
		t.Helper()
		req, err := ParseRequest(path, []byte(`{}`))
		if err != nil {
			t.Fatal(err)
		}
		body := []byte(before + strings.Repeat(entry+",", 100_000) + entry + after)
		c := NewChecker(req, Head{200, "application/json"})
		c.Feed(0, body)
		var m0, m1 runtime.MemStats
		runtime.ReadMemStats(&m0)
		v := c.Finish(Complete)
		runtime.ReadMemStats(&m1)
		if v.Reason != ReasonTooLarge {
			t.Errorf("%s %s: got %s, want %s", path, entry, say(v), ReasonTooLarge)
		}
		if bytes := m1.TotalAlloc - m0.TotalAlloc; bytes > 8<<20 {
			t.Errorf("%s %s: got %d KiB allocated", path, entry, bytes>>10)
		}
	}
	f("/v1/chat/completions", `{"choices":[`, `{}`, `]}`)
	f("/v1/chat/completions", `{"choices":[{"message":{"tool_calls":[`, `{}`, `]}}]}`)
	f("/v1/completions", `{"choices":[`, `{}`, `]}`)
	f("/generate", `[`, `{"text":""}`, `]`)
	f("/vertex_generate", `{"predictions":[`, `{"text":""}`, `]}`)
	f("/v1/messages", `{"type":"message","content":[`, `{}`, `]}`)
	f("/v1/responses", `{"output":[`, `{}`, `]}`)
	f("/v1/responses", `{"output":[{"content":[`, `{}`, `]}]}`)
	f("/api/chat", `{"message":{"tool_calls":[`, `{}`, `]}}`)
}
