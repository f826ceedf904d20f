package wire

import (
	"encoding/json"
	"fmt"
	"hash/maphash"
	"slices"
	"strings"
	"testing"
)

// hear spells events of a stream, one a line.
func hear(t *testing.T, as Dialect, events ...string) (out []string) {
	t.Helper()
	d := &Decoder{Dialect: as}
	for _, e := range events {
		ev, err := d.Decode([]byte(e))
		if err != nil {
			t.Fatalf("%s: %v", e, err)
		}
		said := tell(d, ev)
		for i := range ev.Choices {
			for _, k := range d.Calls(&ev.Choices[i]) {
				said += strings.Repeat(" draft", btoi(k.Draft)) + strings.Repeat(" final", btoi(k.Final))
			}
		}
		out = append(out, said+strings.Repeat(" done", btoi(ev.Done)))
	}
	return out
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// scene is a test of events and what each of them says, in turns.
func scene(t *testing.T, as Dialect, pairs ...string) {
	t.Helper()
	var events []string
	for i := 0; i < len(pairs); i += 2 {
		events = append(events, pairs[i])
	}
	for i, got := range hear(t, as, events...) {
		if want := pairs[2*i+1]; strings.TrimSpace(got) != want {
			t.Errorf("%s:\ngot  %s\nwant %s", events[i], got, want)
		}
	}
}

func TestCompletions(t *testing.T) {
	scene(t, Completions,
		`{"choices":[{"index":1,"text":"x","finish_reason":null}],"usage":null}`, `listed #1 content="x"`,
		`{"choices":[{"index":0,"text":null,"finish_reason":"stop","stop_reason":7}]}`, `listed #0 finish="stop"`,
		`{"choices":[{"index":0,"text":5}]}`, `listed strange #0`,
		`{"error":"m"}`, `error "m" 0`)
}

func TestNativeTextIsAllOrNew(t *testing.T) {
	say := func(text string) string { return `{"text":` + text + `,"meta_info":{"finish_reason":null}}` }
	scene(t, Native, // all the text so far
		say(`"It is"`), `listed #0 content="It is"`,
		say(`"It is 21 degrees \"in"`), `listed #0 content=" 21 degrees \"in"`,
		say(`"It is 21 degrees \"in"`), `listed #0 content=""`,
		say(`"It is 21 degrees \"in Köln\u00e9"`), `listed #0 content=" Kölné"`,
		say(`"It was 21 degrees in Bonn, and so on"`), `listed strange #0`)
	scene(t, Native, // what is new
		say(`"It is"`), `listed #0 content="It is"`,
		say(`" 21"`), `listed #0 content=" 21"`,
		say(`" 21 and"`), `listed #0 content=" 21 and"`,
		`{"text":"","meta_info":{"finish_reason":{"type":"length","length":3},"prompt_tokens":2,"completion_tokens":3}}`, `listed usage 2/3 #0 content="" finish="length"`)
	scene(t, Native, // a stop string is taken off
		say(`"It is 21 degrees."`), `listed #0 content="It is 21 degrees."`,
		say(`"It is 21 degrees. STOP"`), `listed #0 content=" STOP"`,
		`{"text":"It is 21 degrees.","meta_info":{"finish_reason":{"type":"stop"}}}`, `listed #0 finish="stop"`)
}

func TestNative(t *testing.T) {
	scene(t, Native,
		`[{"text":"a","meta_info":{"completion_tokens":2}},{"text":"b","meta_info":{"completion_tokens":3}}]`, `listed usage 0/5 #0 content="a"#1 content="b"`,
		`{"index":1,"text":"bc","meta_info":{"completion_tokens":4}}`, `listed usage 0/6 #1 content="c"`,
		`{"output_ids":[1,2],"meta_info":{"finish_reason":"stop"}}`, `listed strange #0 finish="stop"`,
		`{"output_ids":[],"meta_info":{"finish_reason":"stop"}}`, `listed #0 finish="stop"`,
		`{"text":["a"]}`, `listed strange #0`,
		`{"generated_text":"x"}`, ``,
		`{"error":{"message":"m","code":400}}`, `error "m" 400`,
		`5`, `strange`)
	scene(t, Vertex, `{"predictions":[{"text":"a","meta_info":{}},{"text":"b"}]}`, `listed #0 content="a"#1 content="b"`)
}

func TestMessages(t *testing.T) {
	start := func(i int, block string) string {
		return fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":%s}`, i, block)
	}
	grow := func(i int, delta string) string {
		return fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":%s}`, i, delta)
	}
	scene(t, Messages,
		`{"type":"message_start","message":{"role":"assistant","content":[],"usage":{"input_tokens":3,"output_tokens":1}}}`, `listed #0 role="assistant"`,
		start(0, `{"type":"thinking","thinking":""}`), `listed #0 reasoning=""`,
		grow(0, `{"type":"thinking_delta","thinking":"t"}`), `listed #0 reasoning="t"`,
		grow(0, `{"type":"signature_delta","signature":"s"}`), `listed #0`,
		start(1, `{"type":"text","text":""}`), `listed #0 content=""`,
		grow(1, `{"type":"text_delta","text":"x"}`), `listed #0 content="x"`,
		`{"type":"content_block_stop","index":1}`, ``,
		`{"type":"ping"}`, ``,
		start(2, `{"type":"tool_use","id":"a","name":"f","input":{}}`), `listed #0 call(0 true "a" "" "f" 0 )`,
		grow(2, `{"type":"input_json_delta","partial_json":""}`), ``,
		grow(2, `{"type":"input_json_delta","partial_json":"{\"a"}`), `listed #0 call(0 true "" "" "" 2 {\"a)`,
		start(3, `{"type":"tool_use","id":"b","name":"g","input":{"a":1}}`), `listed #0 call(1 true "b" "" "g" 3 {"a":1}) draft`,
		start(3, `{"type":"tool_use","id":"c","name":"g","input":null}`), `listed #0 call(1 true "c" "" "g" 1 )`,
		start(4, `{"type":"server_tool_use","id":"d","name":"search","input":{}}`), `listed #0 parts`,
		grow(4, `{"type":"input_json_delta","partial_json":"{"}`), ``,
		grow(5, `{"type":"input_json_delta","partial_json":"{"}`), `listed #0 call(2 true "" "" "" 2 {)`,
		grow(5, `{"type":"smell_delta"}`), `strange`,
		start(6, `{"type":"hologram"}`), `listed strange #0 parts`,
		`{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"input_tokens":0,"output_tokens":9}}`, `listed usage 3/9 #0 finish="tool_use"`,
		`{"type":"message_stop"}`, `done`,
		`{"type":"error","error":{"type":"api_error","message":"m"}}`, `error "m" 0`,
		`{"type":"error","message":"m","code":5}`, `error "m" 5`,
		`{"object":"error","message":"m","code":5}`, `error "m" 5`,
		`{"type":"message_sent"}`, ``)
	scene(t, Messages,
		`{"type":"message","role":"assistant","content":[{"type":"text","text":"x"},{"type":"tool_use","id":"a","name":"f","input":{}},{"type":"redacted_thinking","data":"x"},{"type":"text","text":"y"}],"stop_reason":"tool_use","usage":{"input_tokens":3,"output_tokens":9}}`,
		`listed usage 3/9 #0 role="assistant"#0 content="x"#0 call(0 true "a" "" "f" 3 {})#0 parts#0 content="y"#0 finish="tool_use" draft`,
		`{"type":"message","role":"assistant"}`, `listed strange #0 role="assistant"`)
}

func TestResponses(t *testing.T) {
	item := func(what string, i int, item string) string {
		return fmt.Sprintf(`{"item":%s,"output_index":%d,"type":"response.output_item.%s"}`, item, i, what)
	}
	scene(t, Responses,
		`{"type":"response.created","response":{"status":"in_progress","output":[],"usage":null}}`, `listed #0`,
		item("added", 0, `{"type":"message","content":[]}`), `listed #0`,
		`{"type":"response.output_text.delta","delta":"x","output_index":0}`, `listed #0 content="x"`,
		`{"type":"response.output_text.done","text":"x","output_index":0}`, ``,
		`{"type":"response.content_part.done","part":{"type":"output_text","text":"x"}}`, ``,
		item("done", 0, `{"type":"message","content":[{"type":"output_text","text":"x"}]}`), ``,
		`{"type":"response.reasoning_text.done","text":"r"}`, `listed #0 reasoning="r"`,
		item("added", 1, `{"type":"function_call","id":"fc","call_id":"a","name":"f","arguments":""}`), `listed #0 call(0 true "a" "" "f" 0 )`,
		`{"type":"response.function_call_arguments.delta","item_id":"fc","delta":"{"}`, `listed #0 call(0 true "" "" "" 2 {)`,
		`{"type":"response.function_call_arguments.done","item_id":"fc","output_index":1,"arguments":"{}"}`, `listed #0 call(0 true "" "" "" 2 {}) final`,
		item("done", 1, `{"type":"function_call","call_id":"a","name":"f","arguments":"{}"}`), `listed #0 call(0 true "a" "" "f" 2 {}) final`,
		item("added", 2, `{"type":"function_call","id":"fd","call_id":"b","name":"f","arguments":"{}"}`), `listed #0 call(1 true "b" "" "f" 2 {}) draft`,
		item("added", 3, `{"type":"web_search_call"}`), `listed #0 parts`,
		item("added", 4, `{"type":"shell_call","call_id":"c"}`), `listed #0 call(2 true "c" "shell_call" "" 0 )`,
		item("done", 4, `{"type":"teleport"}`), `strange`,
		`{"type":"response.mcp_call.in_progress"}`, ``,
		`{"type":"response.completed","response":{"status":"completed","output":[{"type":"message","content":[{"type":"output_text","text":"x"}]},{"type":"function_call","call_id":"a","name":"f","arguments":"{}"},{"type":"function_call","call_id":"z","name":"f","arguments":"{}"}],"usage":{"input_tokens":3,"output_tokens":9}}}`,
		`listed usage 3/9 #0 call(0 true "a" "" "f" 2 {})#0 call(3 true "z" "" "f" 2 {})#0 finish="completed" final final done`)
	scene(t, Responses, // an id that is made up anew each time
		item("added", 0, `{"type":"function_call","id":"1","call_id":"a","name":"f","arguments":""}`), `listed #0 call(0 true "a" "" "f" 0 )`,
		item("done", 0, `{"type":"function_call","id":"2","call_id":"b","name":"f","arguments":"{}"}`), `listed #0 call(0 true "b" "" "f" 2 {}) final`,
		item("done", 1, `{"type":"reasoning","summary":[],"encrypted_content":"x"}`), `listed #0 parts`,
		`{"type":"response.completed","response":{"output":[{"type":"function_call","call_id":"c","name":"f","arguments":"{}"}]}}`, `listed #0 call(0 true "c" "" "f" 2 {})#0 finish="completed" final done`)
	scene(t, Responses,
		`{"type":"response.incomplete","response":{"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},"output":[]}}`, `listed #0 finish="max_output_tokens" done`,
		`{"type":"response.failed","response":{"status":"failed","error":{"code":"x","message":"m"}}}`, `listed error "m" 0 #0 finish="failed" done`,
		`{"type":"error","code":"x","message":"m"}`, `error "m" 0`,
		`{"object":"response","status":"queued","output":[]}`, `listed strange #0 finish="queued"`,
		`{"object":"response","status":"completed","output":[{"type":"function_call","call_id":"a","name":"f","arguments":{"a":1}}]}`, `listed #0 call(0 true "a" "" "f" 3 {"a":1})#0 finish="completed"`,
		`{"object":"chat.completion","choices":[]}`, ``)
}

func TestOllama(t *testing.T) {
	scene(t, OllamaChat,
		`{"message":{"role":"assistant","content":"x","thinking":"t"},"done":false}`, `listed #0 content="x" reasoning="t"`,
		`{"message":{"content":"","tool_calls":[{"function":{"name":"f","arguments":{"a":1}}},{"id":"i","function":{"index":7,"name":"g","arguments":"{}"}}]},"done":false}`, `listed #0 content="" call(0 true "" "" "f" 3 {"a":1}) call(1 true "i" "" "g" 3 "{}")`,
		`{"message":{"tool_calls":[{"function":{"name":"f","arguments":null}}]}}`, `listed #0 call(2 true "" "" "f" 1 )`,
		`{"done":true,"done_reason":"length","prompt_eval_count":3,"eval_count":9}`, `listed usage 3/9 #0 finish="length" done`,
		`{"done":true}`, `listed #0 finish="done" done`,
		`{"error":"m"}`, `error "m" 0`,
		`{"status":"success"}`, ``)
	scene(t, OllamaGenerate, `{"response":"x","done":false}`, `listed #0 content="x"`, `{"response":7}`, `listed strange #0`)
}

func TestRequestsOfDialects(t *testing.T) {
	f := func(as Dialect, in, want string) {
		t.Helper()
		r, err := decodeRequest(as, []byte(in))
		if err != nil {
			t.Errorf("%s: %v", in, err)
			return
		}
		var b strings.Builder
		fmt.Fprint(&b, r.Stream, r.N, r.MaxTokens, r.Others, r.Choice.String())
		for _, tool := range r.Tools {
			fmt.Fprintf(&b, " %s=%s", tool.Name.String(), tool.Parameters)
		}
		for _, id := range []string{"a", "b"} {
			if slices.Contains(r.CallIDs, maphash.String(testSeed, id)) {
				b.WriteString(" " + id)
			}
		}
		if b.String() != want {
			t.Errorf("%s:\ngot  %s\nwant %s", in, b.String(), want)
		}
	}
	f(Completions, `{"prompt":"x","n":2,"max_tokens":7,"stream":true}`, "true 2 7 false")
	f(Completions, `{"prompt":["x","y"],"n":2}`, "false 4 0 false")
	f(Completions, `{"prompt":[[1,2],[3]]}`, "false 2 0 false")
	f(Completions, `{"prompt":[1,2,3]}`, "false 1 0 false")
	f(Native, `{"text":"x","sampling_params":{"max_new_tokens":7,"n":3}}`, "false 3 7 false")
	f(Native, `{"input_ids":[[1],[2]],"sampling_params":[{"max_new_tokens":7},{"max_new_tokens":8}]}`, "false 2 7 false")
	f(Native, `{"input_ids":[1,2]}`, "false 1 0 false")
	f(Vertex, `{"instances":[{"text":"x"},{"text":"y"}],"parameters":{"sampling_params":{"max_new_tokens":7}}}`, "false 2 7 false")
	f(Messages, `{"max_tokens":7,"tool_choice":{"type":"none"},"tools":[{"name":"f","input_schema":{"a":1}},{"type":"bash_20250124","name":"bash"}],"messages":[{"content":"x"},{"content":[{"type":"tool_use","id":"a"},{"type":"image","id":"b"}]}]}`, `false 1 7 falsenone f={"a":1} bash= a`)
	f(Responses, `{"max_output_tokens":7,"tool_choice":"auto","input":[{"type":"function_call","call_id":"a"},{"type":"function_call_output","call_id":"b"}],"tools":[{"type":"function","name":"f","parameters":{}},{"type":"web_search"},{"type":"custom","name":"g"}]}`, `false 1 7 trueauto f={} a`)
	f(Responses, `{"input":"x","tool_choice":{"type":"function","name":"f"}}`, "false 1 0 falsefunction")
	f(OllamaChat, `{"options":{"num_predict":7},"tools":[{"type":"function","function":{"name":"f","parameters":{}}}]}`, "true 1 7 false f={}")
	f(OllamaGenerate, `{"stream":false,"options":{"num_predict":-1}}`, "false 1 0 false")
	f(Chat, `{"n":1000000000000,"options":{"num_predict":7},"text":["x"]}`, "false 1048576 0 false")
}

// TestJSONIsAskedFor tells where the text of an answer is to be JSON.
func TestJSONIsAskedFor(t *testing.T) {
	f := func(as Dialect, in string, want bool) {
		t.Helper()
		if r, err := decodeRequest(as, []byte(in)); err != nil || r.JSON != want {
			t.Errorf("%s: got %v, %v, want %v", in, r.JSON, err, want)
		}
	}
	f(Chat, `{"messages":[{"role":"user","content":"Reply in JSON."}]}`, true)
	f(Chat, `{"messages":[{"content":[{"type":"text","text":"json, please"}],"role":"user"}]}`, true)
	f(Chat, `{"messages":[{"role":"user","content":"Reply."}],"response_format":{"type":"json_schema","json_schema":{}}}`, true)
	f(Chat, `{"response_format":{"type":"text"},"messages":[]}`, false)
	f(Chat, `{"messages":[{"role":"system","content":"JSON"},{"role":"user","content":"Go."}]}`, false)
	f(Chat, `{"messages":[{"role":"user","content":"JSON"},{"role":"assistant","content":"ok"}]}`, false)
	f(Chat, `{"messages":[{"role":"user","content":"open package.json and a.jsonl, application/json"}]}`, false)
	f(Messages, `{"messages":[{"role":"user","content":[{"type":"tool_result","content":"JSON"}]}]}`, false)
	f(Messages, `{"messages":[{"role":"user","content":"JSON"}]}`, true)
	f(Completions, `{"prompt":"JSON"}`, false)
}

// TestStopOfRequests reads which text is to end the answer.
func TestStopOfRequests(t *testing.T) {
	f := func(as Dialect, in string, want int64) {
		t.Helper()
		if r, err := decodeRequest(as, []byte(in)); err != nil || r.Stop != want {
			t.Errorf("%s: got %d, %v, want %d", in, r.Stop, err, want)
		}
	}
	f(Chat, `{}`, 0)
	f(Chat, `{"stop":null,"stop_regex":null,"stop_token_ids":null}`, 0)
	f(Chat, `{"stop":"###"}`, 3)
	f(Chat, `{"stop":["a","abcd"]}`, 4)
	f(Chat, `{"stop_token_ids":[5]}`, 1)
	f(Chat, `{"stop_regex":"a+"}`, anyStop)
	f(Messages, `{"stop_sequences":["ab"]}`, 2)
	f(OllamaChat, `{"options":{"stop":["ab"]}}`, 2)
}

// FuzzDialect reads two events in any dialect: what is JSON is read, what is
// not is told, and no text lies outside its event.
func FuzzDialect(f *testing.F) {
	f.Add(uint8(Native), []byte(`[{"text":"a\"","meta_info":{"finish_reason":{"type":"stop"}}}]`), []byte(`{"text":"a\"b"}`))
	f.Add(uint8(Responses), []byte(`{"type":"response.output_item.added","item":{"type":"function_call","arguments":"{"}}`), []byte(`{"type":"response.completed","response":{"output":[{"type":"function_call"},{"content":[{"text":"x"}]}]}}`))
	f.Add(uint8(Messages), []byte(`{"type":"content_block_start","content_block":{"type":"tool_use","input":{}}}`), []byte(`{"type":"message","content":[{"type":"text"}]}`))
	f.Add(uint8(OllamaChat), []byte(`{"message":{"tool_calls":[{"function":{"arguments":"x"}}]}}`), []byte(`{"done":true}`))
	f.Fuzz(func(t *testing.T, as uint8, first, second []byte) {
		d := &Decoder{Dialect: Dialect(as % (uint8(OllamaGenerate) + 1))}
		for _, in := range [][]byte{first, second} {
			ev, err := d.Decode(in)
			if deep := strings.Count(string(in), "[")+strings.Count(string(in), "{") > maxDepth; !deep && (err == nil) != json.Valid(in) {
				t.Errorf("%q: got %v, valid is %v", in, err, json.Valid(in))
			}
			if err != nil {
				continue
			}
			for i := range ev.Choices {
				c := &ev.Choices[i]
				texts := []Text{c.Content, c.Reasoning, c.Refusal, c.Finish, c.Role}
				for _, k := range d.Calls(c) {
					texts = append(texts, k.Args, k.Name, k.ID)
				}
				for _, x := range texts {
					if !x.Empty() && string(in[x.At:x.At+len(x.Raw)]) != string(x.Raw) {
						t.Errorf("%q: %q is not at %d", in, x.Raw, x.At)
					}
				}
			}
			decodeRequest(d.Dialect, in)
		}
	})
}
