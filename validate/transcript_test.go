package validate

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

// TestTranscript: each dialect's request and answer, streamed or not, in one shape.
func TestTranscript(t *testing.T) {
	f := func(path, request, answer, system, input, output, tools string) {
		t.Helper()
		got := NewTranscript(path, []byte(request), []byte(answer))
		for _, p := range []struct {
			name, want string
			got        any
		}{{"system", system, got.System}, {"input", input, got.Input}, {"output", output, got.Output}, {"tools", tools, got.Tools}} {
			b, err := json.Marshal(p.got)
			if err != nil || string(b) != p.want {
				t.Errorf("%s of %s: got %s, %v, want %s", p.name, path, b, err, p.want)
			}
		}
	}
	events := func(all ...string) string { return "data: " + strings.Join(all, "\n\ndata: ") + "\n\n" }
	f("/v1/chat/completions", `{"messages":[{"role":"system","content":"Be kind."},{"role":"user","content":[{"type":"text","text":"Hi"},{"type":"image_url","image_url":{}}]},
		{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{\"a\":1}"}}]},{"role":"tool","tool_call_id":"c1","content":"42"}],
		"tools":[{"type":"function","function":{"name":"f","parameters":{}}}]}`,
		events(`{"choices":[{"index":0,"delta":{"role":"assistant","reasoning_content":"hm"}}]}`, `{"choices":[{"index":0,"delta":{"content":"It is "}}]}`,
			`{"choices":[{"index":0,"delta":{"content":"42"}}]}`, `{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c2","function":{"name":"g","arguments":"{\"b\":"}}]}}]}`,
			`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"2"}}]},"finish_reason":"tool_calls"}]}`, `[DONE]`),
		`null`, `[{"role":"system","parts":[{"type":"text","content":"Be kind."}]},{"role":"user","parts":[{"type":"text","content":"Hi"},{"type":"image_url"}]},`+
			`{"role":"assistant","parts":[{"type":"tool_call","id":"c1","name":"f","arguments":{"a":1}}]},{"role":"tool","parts":[{"type":"tool_call_response","id":"c1","response":"42"}]}]`,
		`[{"role":"assistant","parts":[{"type":"reasoning","content":"hm"},{"type":"text","content":"It is 42"},{"type":"tool_call","id":"c2","name":"g","arguments":"{\"b\":2"}],"finish_reason":"tool_calls"}]`,
		`[{"type":"function","name":"f","parameters":{}}]`)
	f("/v1/messages", `{"system":"S","messages":[{"role":"user","content":"Hi"},{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"f","input":{"a":1}}]},
		{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"ok"}]}],"tools":[{"name":"f","input_schema":{}}]}`,
		`{"type":"message","role":"assistant","content":[{"type":"text","text":"Done"}],"stop_reason":"end_turn"}`,
		`[{"type":"text","content":"S"}]`, `[{"role":"user","parts":[{"type":"text","content":"Hi"}]},{"role":"assistant","parts":[{"type":"tool_call","id":"t1","name":"f","arguments":{"a":1}}]},`+
			`{"role":"user","parts":[{"type":"tool_call_response","id":"t1","response":"ok"}]}]`,
		`[{"role":"assistant","parts":[{"type":"text","content":"Done"}],"finish_reason":"end_turn"}]`, `[{"name":"f","input_schema":{}}]`)
	f("/v1/responses", `{"instructions":"I","input":[{"role":"user","content":[{"type":"input_text","text":"Hi"}]},{"type":"function_call","call_id":"c","name":"f","arguments":"{}"},
		{"type":"function_call_output","call_id":"c","output":"x"}]}`, `not read`,
		`[{"type":"text","content":"I"}]`, `[{"role":"user","parts":[{"type":"text","content":"Hi"}]},{"role":"assistant","parts":[{"type":"tool_call","id":"c","name":"f","arguments":{}}]},`+
			`{"role":"assistant","parts":[{"type":"tool_call_response","id":"c","response":"x"}]}]`, `null`, `null`)
	f("/v1/completions", `{"prompt":"Once"}`, events(`{"choices":[{"index":1,"text":"two"}]}`, `{"choices":[{"index":0,"text":"one","finish_reason":"stop"}]}`, `{"choi`), `null`,
		`[{"role":"user","parts":[{"type":"text","content":"Once"}]}]`,
		`[{"role":"assistant","parts":[{"type":"text","content":"one"}],"finish_reason":"stop"},{"role":"assistant","parts":[{"type":"text","content":"two"}]}]`, `null`)
	f("/v1/chat/completions", `no JSON`, ``, `null`, `null`, `null`, `null`)
	f("/v1/chat/completions", `{"messages":7,"tools":"x"}`, `{"choices":7}`, `null`, `null`, `null`, `["x"]`)
}

// FuzzTranscript: what is no turn is no trouble.
func FuzzTranscript(f *testing.F) {
	f.Add("/v1/chat/completions", []byte(`{"messages":[{"role":"user","content":"x"}],"tools":[{"function":{ }}]}`), []byte("data: {\"choices\":[{\"index\":-1,\"delta\":{}}]}\n\n"))
	f.Add("/v1/responses", []byte(`{"input":[[],{"type":"x"}]}`), []byte(`{"output":[]}`))
	f.Fuzz(func(t *testing.T, path string, request, answer []byte) {
		if bytes.Count(request, []byte("["))+bytes.Count(request, []byte("{")) >= 10_000 {
			return // deeper than encoding/json goes, perhaps
		}
		if _, err := json.Marshal(NewTranscript(path, request, answer)); err != nil {
			t.Errorf("got %v", err)
		}
	})
}
