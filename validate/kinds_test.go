package validate

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// offer is the request of most tests: tools with a few shapes of schemas.
const offer = `{"model":"m","stream":true,"max_tokens":1000,"tools":[
	{"type":"function","function":{"name":"f","parameters":{"type":"object","required":["a"],"properties":{"a":{"type":"string"},"n":{"type":"integer"},"e":{"enum":["xy","xz"]},"d":{"type":"object","properties":{"k":{"type":"string"}},"additionalProperties":false}}}}},
	{"type":"function","function":{"name":"none","parameters":{"type":"object","properties":{}}}},
	{"type":"function","function":{"name":"mcp__x.y-z:q","parameters":null}},
	{"type":"function","function":{"name":"twintwin"}}]}`

// ev is an event of a stream with one choice.
func ev(delta, finish string) string {
	if finish != "" {
		finish = `,"finish_reason":"` + finish + `"`
	}
	return `data: {"choices":[{"index":0,"delta":` + delta + finish + `}]}` + "\n\n"
}

// entry is an entry of a list of tool calls; args is the text of the arguments.
func entry(index int, id, name, args string) string {
	text, _ := json.Marshal(args)
	return fmt.Sprintf(`{"index":%d,"id":%q,"type":"function","function":{"name":%q,"arguments":%s}}`, index, id, name, text)
}

func calls(entries ...string) string {
	return ev(`{"tool_calls":[`+strings.Join(entries, ",")+`]}`, "")
}

const done = "data: [DONE]\n\n"

// end finishes a stream.
func end(reason string) string { return ev(`{}`, reason) + done }

// call is a whole stream with one call of f.
func oneCall(args string) string { return calls(entry(0, "c1", "f", args)) + end("tool_calls") }

func check(t testing.TB, request, body string, how Ending) Verdict {
	t.Helper()
	req, err := ParseRequest("/v1/chat/completions", []byte(request))
	if err != nil {
		t.Fatalf("%s: %v", request, err)
	}
	kind := "text/event-stream"
	if strings.HasPrefix(body, "{") {
		kind = "application/json"
	}
	return run(req, Head{Status: 200, ContentType: kind}, how, []byte(body))
}

// say spells outcome, kinds, suspicion and lints.
func say(v Verdict) string {
	out := append([]string{string(v.Outcome)}, told(v)...)
	if v.Suspect {
		out = append(out, "suspect")
	}
	for _, l := range v.Lints {
		out = append(out, "+"+string(l))
	}
	return strings.Join(out, " ")
}

func TestArguments(t *testing.T) {
	f := func(args, want string) {
		t.Helper()
		if got := say(check(t, offer, oneCall(args), Complete)); got != want {
			t.Errorf("%s:\ngot  %s\nwant %s", args, got, want)
		}
	}
	f(`{"a":"x"}`, "clean")
	f(" \n{\"a\":\"x\"}\n ", "clean")
	f(`{"a":"x`, "corrupted args_truncated args_json_invalid")
	f(`{"a":`, "corrupted args_truncated args_json_invalid")
	f(`"a":"x"}`, "corrupted args_missing_prefix args_json_invalid")
	f(`a":"x"}`, "corrupted args_missing_prefix args_json_invalid")
	f(`:"x"}`, "corrupted args_missing_prefix args_json_invalid")
	f(`{"a":"x"}}`, "corrupted args_trailing_data args_json_invalid")
	f(`{"a":"x"}</tool_call>`, "corrupted markup_leak_args args_trailing_data args_json_invalid")
	f(`{"a":"x"}{"a":"y"}`, "corrupted args_trailing_data args_json_invalid")
	f(`{"a":"x"}{"a":"x"}`, "corrupted args_duplicated args_json_invalid")
	f(`{"a":"x"}`+"\n"+`{"a":"x"}{"a":"x"}`, "corrupted args_duplicated args_json_invalid")
	f(`{"a":x}`, "corrupted args_json_invalid")
	f(`{'a':'x'}`, "corrupted args_json_invalid")
	f("{\"a\":\"x\ny\"}", "corrupted args_json_invalid")
	f(`{"a":"\ud83d"}`, "corrupted args_json_invalid")
	f(`[{"a":"x"}]`, "corrupted args_not_object")
	f(`"{\"a\":\"x\"}"`, "corrupted args_not_object")
	f(`5`, "corrupted args_not_object")
	f(``, "corrupted args_empty")
	f(` `, "corrupted args_empty")
	f(`null`, "corrupted args_empty")
	f(`{}`, "corrupted args_empty schema_required args_schema_violation")
	f(`{"n":1}`, "corrupted schema_required args_schema_violation")
	f(`{"a":1,"n":"2","e":"q"}`, "corrupted schema_type schema_type schema_value args_schema_violation")
	f(`{"a":"x","d":{"k":"v","z":1}}`, "corrupted schema_additional args_schema_violation")
	f(`{"a":"x","a":"y"}`, "corrupted args_duplicate_key")
	f(`{"a":"x","a":"x"}`, "clean +args_duplicate_key")
	f(`{"a":"x","b":{"z":1,"z":2}}`, "corrupted args_duplicate_key")
	f(`{"arguments":{"a":"x"}}`, "clean +wrapped_arguments")
	f(`{"input":"{\"a\":\"x\"}"}`, "clean +wrapped_arguments")
	f(`{"arguments":{"b":"x"}}`, "corrupted schema_required args_schema_violation")
	f(`{"a":"x","n":1e400000}`, "clean") // too costly to hold against the schema
}

func TestEmptyArgumentsOfAToolThatNeedsNone(t *testing.T) {
	f := func(args, want string) {
		t.Helper()
		body := ev(`{"tool_calls":[{"index":0,"id":"c","type":"function","function":{"name":"none"`+args+`}}]}`, "") + end("tool_calls")
		if got := say(check(t, offer, body, Complete)); got != want {
			t.Errorf("%s: got %s, want %s", args, got, want)
		}
	}
	f(``, "clean +args_empty_string")
	f(`,"arguments":""`, "clean +args_empty_string")
	f(`,"arguments":null`, "clean +args_null")
	f(`,"arguments":"null"`, "clean +args_null")
	f(`,"arguments":"{}"`, "clean")
	f(`,"arguments":{}`, "corrupted args_wrong_wire_type")
	f(`,"arguments":[]`, "corrupted args_wrong_wire_type args_not_object")
}

func TestNoArgumentsClosedTwiceAreTheParsers(t *testing.T) {
	f := func(args string, want Cause) {
		t.Helper()
		v := check(t, offer, calls(entry(0, "c", "none", args))+end("tool_calls"), Complete)
		if v.Outcome != Corrupted || slices.ContainsFunc(v.Findings, func(f Finding) bool { return f.Cause != want }) {
			t.Errorf("%s: got %s %+v, want the cause %q", args, v.Outcome, v.Findings, want)
		}
	}
	f(`{}{}`, CauseParser)
	f(`{}""`, CauseParser)
	f(`{}}`, CauseUnknown)
	f(`{}{}{}`, CauseUnknown)
	f(`{}"x"`, CauseUnknown)
	f(`{"a":1}""`, CauseUnknown)
}

func TestIdentity(t *testing.T) {
	const good, half = `{"a":"x"}`, `{"a":`
	f := func(name, body, want string) {
		t.Helper()
		if got := say(check(t, offer, body, Complete)); got != want {
			t.Errorf("%s:\ngot  %s\nwant %s", name, got, want)
		}
	}
	fin := end("tool_calls")
	f("two calls", calls(entry(0, "c1", "f", good))+calls(entry(1, "c2", "none", "{}"))+fin, "clean")
	f("interleaved", calls(entry(0, "c1", "f", half))+calls(entry(1, "c2", "none", "{"))+calls(entry(0, "", "", `"x"}`), entry(1, "", "", "}"))+fin, "clean")
	f("odd but declared", calls(entry(0, "c1", "mcp__x.y-z:q", "{}"))+fin, "clean")
	f("unknown", calls(entry(0, "c1", "g", "{}"))+fin, "corrupted unknown_tool")
	f("prefixed", calls(entry(0, "c1", "functions.f", good))+fin, "clean suspect")
	f("other case", calls(entry(0, "c1", "F", good))+fin, "clean suspect")
	f("garbled", calls(entry(0, "c1", "f猫", good))+fin, "corrupted tool_name_malformed unknown_tool")
	f("spaced", calls(entry(0, "c1", "f x", good))+fin, "corrupted tool_name_malformed unknown_tool")
	f("long", calls(entry(0, "c1", strings.Repeat("f", 129), good))+fin, "corrupted tool_name_malformed unknown_tool")
	f("no name", calls(entry(0, "c1", "", good))+fin, "corrupted call_missing_name")
	f("late name", calls(entry(0, "c1", "", half))+calls(entry(0, "", "f", `"x"}`))+fin, "clean +late_name")
	f("name in pieces", calls(entry(0, "c1", "no", ""))+calls(entry(0, "", "ne", ""))+calls(entry(0, "", "", "{}"))+fin, "clean")
	f("name in equal pieces", calls(entry(0, "c1", "twin", ""))+calls(entry(0, "", "twin", ""))+calls(entry(0, "", "", "{}"))+fin, "clean")
	f("name again", calls(entry(0, "c1", "f", half))+calls(entry(0, "", "f", `"x"}`))+fin, "corrupted name_repeated")
	f("name and id again", calls(entry(0, "c1", "f", half))+calls(entry(0, "c1", "f", `"x"}`))+fin, "corrupted name_repeated +id_repeated")
	f("second call without id", calls(entry(0, "c1", "f", good))+calls(entry(0, "", "f", good))+fin, "corrupted call_index_collision +missing_call_id")
	f("second call, new id", calls(entry(0, "c1", "f", good))+calls(entry(0, "c2", "f", good))+fin, "corrupted call_index_collision")
	f("second call, new name", calls(entry(0, "c1", "f", good))+calls(entry(0, "", "none", "{}"))+fin, "corrupted call_index_collision +missing_call_id")
	f("id late", calls(entry(0, "", "f", half))+calls(entry(0, "c1", "", `"x"}`))+fin, "clean")
	f("no id", calls(entry(0, "", "f", good))+fin, "clean +missing_call_id")
	f("one id twice", calls(entry(0, "c1", "f", good))+calls(entry(1, "c1", "none", "{}"))+fin, "corrupted duplicate_call_id")
	f("split over indices", calls(entry(0, "c1", "f", half))+calls(entry(1, "c2", "", `"x"`))+calls(entry(2, "c3", "", `}`))+fin, "corrupted call_split call_missing_name")
	f("split over ids", calls(entry(0, "c1", "f", half))+calls(entry(0, "c2", "", `"x"`))+calls(entry(0, "c3", "", `}`))+fin, "corrupted call_split call_missing_name")
	f("tail on the next index", calls(entry(0, "c1", "f", half))+calls(entry(1, "", "", `"x"}`))+fin, "corrupted call_split call_missing_name")
	f("no call", ev(`{"content":"x"}`, "")+fin, "corrupted finish_without_call")
	f("an entry that says nothing", ev(`{"tool_calls":[{}]}`, "")+fin, "corrupted finish_without_call +missing_call_index")
	f("nothing at first", ev(`{"tool_calls":[{"index":0,"type":"function"}]}`, "")+calls(entry(0, "c1", "f", good))+fin, "clean")
	f("no call, old", end("function_call"), "corrupted finish_without_call")
	f("stop with a call", calls(entry(0, "c1", "f", good))+end("stop"), "clean +finish_stop_with_calls")
	f("old function call", ev(`{"function_call":{"name":"f","arguments":"{\"a\":"}}`, "")+ev(`{"function_call":{"arguments":"\"x\"}"}}`, "")+end("function_call"), "clean +legacy_function_call")
	f("no index", ev(`{"tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{\"a\":"}}]}`, "")+
		ev(`{"tool_calls":[{"function":{"arguments":"\"x\"}"}}]}`, "")+ev(`{"tool_calls":[{"id":"c2","type":"function","function":{"name":"none","arguments":"{}"}}]}`, "")+fin,
		"clean +missing_call_index")
}

func TestCutBeforeTheSecondChoice(t *testing.T) {
	body := ev(`{"content":"x"}`, "stop")
	f := func(request, body, want string) {
		t.Helper()
		if got := say(check(t, request, body, ServerCut)); got != want {
			t.Errorf("%s: got %s, want %s", request, got, want)
		}
	}
	f(`{"n":2}`, body, "truncated truncated_stream_cut")
	f(`{"n":2}`, body+done, "clean")
	f(`{"n":1}`, body, "clean +missing_done")
}

func TestUnsolicitedCalls(t *testing.T) {
	f := func(request, want string, cause Cause) {
		t.Helper()
		v := check(t, request, oneCall(`{"a":"x"}`), Complete)
		if got := say(v); got != want || len(v.Findings) > 0 && v.Findings[0].Cause != cause {
			t.Errorf("%s: got %s %+v, want %s", request, got, v.Findings, want)
		}
	}
	f(`{}`, "corrupted unsolicited_call", CauseUnknown)
	f(strings.Replace(offer, "{", `{"tool_choice":"none",`, 1), "corrupted unsolicited_call", CauseParser)
	f(`{"tools":[{"type":"web_search"}]}`, "clean", "")
	f(`{"functions":[{"name":"f"}]}`, "clean", "")
}

func TestEndings(t *testing.T) {
	text := ev(`{"role":"assistant","content":"hello"}`, "")
	half, good := calls(entry(0, "c1", "f", `{"a":`)), calls(entry(0, "c1", "f", `{"a":"x"}`))
	bad := calls(entry(0, "c1", "f", `{"a":}`))
	usage := func(n int) string {
		return fmt.Sprintf(`data: {"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":%d}}`+"\n\n", n)
	}
	fail := `data: {"error":{"message":"boom","code":500}}` + "\n\n"
	f := func(name, body string, how Ending, want string) {
		t.Helper()
		if got := say(check(t, offer, body, how)); got != want {
			t.Errorf("%s, %s:\ngot  %s\nwant %s", name, how, got, want)
		}
	}
	f("length", half+end("length"), Complete, "truncated truncated_length")
	f("length, text", text+end("length"), Complete, "truncated truncated_length")
	f("length, call closed", good+end("length"), Complete, "truncated truncated_length suspect")
	f("length, impossible before", bad+end("length"), Complete, "corrupted args_json_invalid truncated_length")
	f("length, earlier call bad", calls(entry(0, "c1", "f", `{"n":1}`))+calls(entry(1, "c2", "f", `{"a`))+end("length"), Complete, "corrupted schema_required args_schema_violation truncated_length")
	f("length, name only", calls(entry(0, "c1", "f", ``))+end("length"), Complete, "truncated truncated_length")
	f("abort", half+end("abort"), Complete, "truncated truncated_abort")
	f("filter", half+end("content_filter"), Complete, "truncated truncated_content_filter")
	f("hidden length", half+ev(`{}`, "tool_calls")+usage(1000)+done, Complete, "truncated truncated_length +finish_reason_suspect")
	f("no hidden length", half+ev(`{}`, "tool_calls")+usage(999)+done, Complete, "corrupted args_truncated args_json_invalid suspect")
	f("hidden length, closed", good+ev(`{}`, "tool_calls")+usage(1000)+done, Complete, "clean suspect")
	for _, how := range []Ending{Complete, ServerCut} {
		f("cut", text, how, "truncated truncated_stream_cut")
		f("cut in a call", half, how, "truncated truncated_stream_cut")
		f("cut after an impossible byte", bad, how, "corrupted args_json_invalid truncated_stream_cut")
		f("cut in an event", text+`data: {"choices":[{"in`, how, "truncated truncated_stream_cut")
		f("cut before [DONE]", good+ev(`{}`, "tool_calls"), how, "clean +missing_done")
		f("error in between", text+fail, how, "truncated truncated_error")
		f("error in a call", half+fail+done, how, "truncated truncated_error")
		f("error at once", fail, how, "unverified upstream_error upstream_error")
		f("error by its type", text+"event: error\ndata: {\"message\":\"boom\"}\n\n", how, "truncated truncated_error")
		f("error in prose", text+"event: error\ndata: boom\n\n", how, "truncated truncated_error")
		f("error field", "error: {\"code\":500,\"message\":\"boom\"}\n\n", how, "unverified upstream_error upstream_error")
		f("error after the role", ev(`{"role":"assistant","content":""}`, "")+fail+done, how, "unverified upstream_error upstream_error")
	}
	f("client gone", half, ClientGone, "truncated truncated_client_gone")
	f("client gone, finished", good+ev(`{}`, "tool_calls"), ClientGone, "clean +missing_done")
	f("client gone, impossible byte", bad, ClientGone, "corrupted args_json_invalid truncated_client_gone")
	f("drained", half, ProxyCut, "truncated truncated_proxy_cut")
	f("nothing", "", ClientGone, "unverified no_answer")
	f("nothing", "", ServerCut, "unverified no_answer")
	f("nothing", "", Complete, "unverified body_malformed body_malformed")
	f("only done", done, Complete, "unverified body_malformed body_malformed")
	f("no finish", text+done, Complete, "clean +missing_finish_reason")
	f("no finish, open call", half+done, Complete, "truncated truncated_stream_cut")
	f("after the finish", text+ev(`{}`, "stop")+text+done, Complete, "corrupted post_finish_delta +role_repeated")
	f("harmless after the finish", text+ev(`{}`, "stop")+ev(`{"content":""}`, "")+ev(`{}`, "stop")+usage(5)+done, Complete, "clean +duplicate_finish")
	f("eos_token", text+end("eos_token"), Complete, "clean +unknown_finish_reason")
	f("server reports", half+`data: {"error":{"message":"Failed to parse DeepSeek V4 tool output: Undefined DSML tool"}}`+"\n\n", Complete, "corrupted server_reported_malformed truncated_error")
}

func TestWire(t *testing.T) {
	text := ev(`{"content":"hello, this is a sentence"}`, "")
	f := func(name, body, want string) {
		t.Helper()
		if got := say(check(t, offer, body, Complete)); got != want {
			t.Errorf("%s:\ngot  %s\nwant %s", name, got, want)
		}
	}
	f("no json", text+"data: {oops}\n\n"+end("stop"), "corrupted sse_malformed_event")
	f("two values", text+"data: {}{}\n\n"+end("stop"), "corrupted sse_malformed_event")
	f("cut json", text+"data: {\"choices\":[\n\n"+end("stop"), "corrupted sse_malformed_event")
	f("nothing but no json", "data: oops\n\n"+done, "unverified body_malformed body_malformed")
	f("filter results after the finish", text+ev(`{}`, "stop")+`data: {"choices":[{"index":0,"finish_reason":null,"content_filter_results":{}}]}`+"\n\n"+done, "clean")
	f("call of another type", ev(`{"tool_calls":[{"index":0,"id":"c","type":"custom","custom":{"name":"g","input":"x"}}]}`, "")+end("tool_calls"), "unverified body_malformed")
	f("over two lines", "data: {\"choices\":\ndata: [{\"index\":0,\"delta\":{\"content\":\"x\"}}]}\n\n"+end("stop"), "clean")
	f("not utf-8", ev("{\"content\":\"\xff\"}", "")+end("stop"), "corrupted invalid_utf8")
	f("ping", text+"event: ping\ndata: {\"type\":\"ping\"}\n\n"+end("stop"), "clean")
	f("comment", ": x\n\n"+text+end("stop"), "clean +keepalive_comment")
	f("replayed", text+text+end("stop"), "corrupted delta_replay")
	f("replayed in the end", ev(`{"content":"hello, "}`, "")+ev(`{"content":"this is "}`, "")+ev(`{"content":"a sentence."}`, "")+ev(`{"content":"hello, this is a sentence."}`, "")+end("stop"), "corrupted delta_replay")
	f("equal lines", strings.Repeat(ev(`{"content":"INFO server started\n"}`, ""), 3)+end("stop"), "clean suspect")
	f("ruler", ev(`{"content":"----------------"}`, "")+ev(`{"content":"----------------"}`, "")+end("stop"), "clean")
	f("grown", text+ev(`{"content":"hello, this is a sentence, and more"}`, "")+end("stop"), "clean suspect")
	f("short", ev(`{"content":"ha ha ha ha"}`, "")+ev(`{"content":"ha ha ha ha"}`, "")+end("stop"), "clean")
	f("strange finish", text+`data: {"choices":[{"index":0,"delta":{},"finish_reason":5}]}`+"\n\n"+end("stop"), "unverified body_malformed")
	f("strange index", calls(`{"index":0.5,"id":"c","type":"function","function":{"name":"f","arguments":"{\"a\":\"x\"}"}}`)+end("tool_calls"), "unverified body_malformed +missing_call_index")
	f("no index", text+`data: {"choices":[{"index":null,"delta":{},"finish_reason":"stop"}]}`+"\n\n"+done, "clean")
	f("strange content", ev(`{"content":5}`, "")+end("stop"), "unverified body_malformed")
	f("strange calls", ev(`{"tool_calls":{}}`, "")+end("stop"), "unverified body_malformed")
	f("strange choices", `data: {"choices":"x"}`+"\n\n"+done, "unverified body_malformed body_malformed")
	f("too deep", text+"data: "+strings.Repeat("[", 2000)+strings.Repeat("]", 2000)+"\n\n"+end("stop"), "unverified too_large")
	f("deep arguments", calls(entry(0, "c1", "twintwin", `{"a":`+strings.Repeat("[", 10_000)+strings.Repeat("]", 10_000)+`}`))+end("tool_calls"), "clean")
	f("a number", text+"data: 5\n\n"+end("stop"), "unverified body_malformed")
	f("other dialect", `data: {"id":"x","object":"text_completion","choices":[{"index":0,"text":"hi","finish_reason":"stop"}]}`+"\n\n"+done, "unverified body_malformed")
	f("body in a stream", `{"choices":[{"index":0,"message":{"content":"x"},"finish_reason":"stop"}]}`, "clean")
	f("html", "<html>", "unverified body_malformed body_malformed")
	f("envelope", `{"data":{"choices":[]}}`, "unverified body_malformed body_malformed")
	f("error body", `{"object":"error","message":"x","code":500}`, "unverified upstream_error upstream_error")
	f("no choices", `{"choices":[]}`, "unverified body_malformed body_malformed +empty_choices")
	f("half a body", `{"choices":[{"index":0,"message":{"cont`, "unverified body_malformed body_malformed")
}

func TestWholeBodies(t *testing.T) {
	f := func(message, finish, want string) {
		t.Helper()
		body := `{"choices":[{"index":0,"message":` + message + `,"finish_reason":` + finish + `}],"usage":{"prompt_tokens":1,"completion_tokens":5}}`
		if got := say(check(t, offer, body, Complete)); got != want {
			t.Errorf("%s: got %s, want %s", message, got, want)
		}
	}
	one := `{"id":"c1","type":"function","function":{"name":"f","arguments":"{\"a\":\"x\"}"}}`
	f(`{"content":"x"}`, `"stop"`, "clean")
	f(`{"content":null,"tool_calls":[`+one+`]}`, `"tool_calls"`, "clean")
	f(`{"tool_calls":[`+one+`,`+one+`]}`, `"tool_calls"`, "corrupted duplicate_call_id")
	f(`{"tool_calls":[]}`, `"tool_calls"`, "corrupted finish_without_call")
	f(`{"tool_calls":[{"id":"c","type":"function","function":{"name":null,"arguments":"{}"}}]}`, `"tool_calls"`, "corrupted call_missing_name")
	f(`{"tool_calls":[{"function":{"name":"f","arguments":"{\"a\":\"x"}}]}`, `"tool_calls"`, "corrupted args_truncated args_json_invalid +missing_call_id +missing_call_type")
	f(`{"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{\"a\":\"x"}}]}`, `"length"`, "truncated truncated_length")
	f(`{"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":{"a":"x"}}}]}`, `"tool_calls"`, "corrupted args_wrong_wire_type")
	f(`{"function_call":{"name":"f","arguments":"{}"}}`, `"function_call"`, "corrupted args_empty schema_required args_schema_violation +legacy_function_call")
	f(`{"content":"x"}`, `null`, "clean +missing_finish_reason")
}

func TestFindingsPointAtTheirByte(t *testing.T) {
	f := func(args, kind, path, arg string) {
		t.Helper()
		// The arguments come in pieces of three bytes, all escaped in another way.
		var body strings.Builder
		body.WriteString(calls(entry(0, "c1", "f", "")))
		for p := args; len(p) > 0; {
			n := min(3, len(p))
			text := strings.ReplaceAll(strings.ReplaceAll(p[:n], `\`, `\\`), `"`, `\u0022`)
			fmt.Fprintf(&body, "data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"%s\"}}]}}]}\n\n", text)
			p = p[n:]
		}
		body.WriteString(end("tool_calls"))
		v := check(t, offer, body.String(), Complete)
		if len(v.Findings) == 0 || v.Findings[0].ArgOffset == nil {
			t.Errorf("%s: got %+v", args, v)
			return
		}
		d := v.Findings[0]
		if string(d.Kind) != kind || d.Path != path || d.Tool != "f" || *d.Call != 0 {
			t.Errorf("%s: got %+v, want %s at %s", args, d, kind, path)
		}
		if got := args[*d.ArgOffset:]; got != arg {
			t.Errorf("%s: got argument offset at %q, want %q", args, got, arg)
		}
		b, want := body.String()[d.Offset], args[*d.ArgOffset]
		if b != want && (b != '\\' || want != '"') {
			t.Errorf("%s: got %q at the offset in the body, want %q", args, b, want)
		}
	}
	f(`{"a":"x","n":tru}`, "args_json_invalid", "/n", `}`)
	f(`{"a":"x","secret":{"k":?`, "args_json_invalid", "/*/k", `?`)
	f(`{"a":"x","n":"12"}`, "schema_type", "/n", `"12"}`)
	f(`{"n":1,"d":{}}`, "schema_required", "/a", `}`)
	f(`{"a":"x","e":"xyz"}`, "schema_value", "/e", `z"}`)
	f(`{"a":"x","e":"x"}`, "schema_value", "/e", `"}`)
	f(`{"a":"x","d":{"k":"","zz":1}}`, "schema_additional", "/d/*", `zz":1}}`)
	f(`{"a":"x","a":"y"}`, "args_duplicate_key", "/a", `":"y"}`)
}

func TestTimesAreThoseOfTheirBytes(t *testing.T) {
	req, err := ParseRequest("/v1/chat/completions", []byte(offer))
	if err != nil {
		t.Fatal(err)
	}
	c := NewChecker(req, Head{200, "text/event-stream"})
	at := time.Duration(0)
	feed := func(p string) { at += 1500 * time.Microsecond; c.Feed(at, []byte(p)) }
	for range 100 {
		feed(ev(`{"content":"x"}`, ""))
	}
	feed(calls(entry(0, "c1", "f", `{"a":"`)))
	cutHere := calls(entry(0, "", "", `x","n":"q"}`))
	i := strings.Index(cutHere, "q")
	feed(cutHere[:i])
	want := float64(at.Microseconds()) / 1000
	feed(cutHere[i:])
	feed(end("tool_calls"))
	v := c.Finish(Complete)
	if len(v.Findings) == 0 || v.Findings[0].Kind != SchemaType || v.Findings[0].AtMS != want {
		t.Errorf("got %+v, want %s at %v", v.Findings, SchemaType, want)
	}
}

func TestRefusals(t *testing.T) {
	f := func(status int, body, want string) {
		t.Helper()
		req, err := ParseRequest("/v1/chat/completions", []byte(offer))
		if err != nil {
			t.Fatal(err)
		}
		if got := say(run(req, Head{status, "application/json"}, Complete, []byte(body))); got != want {
			t.Errorf("%d %s: got %s, want %s", status, body, got, want)
		}
	}
	f(429, `{"error":{"message":"slow down"}}`, "unverified upstream_error upstream_error")
	f(500, `oops`, "unverified upstream_error upstream_error")
	f(502, ``, "unverified upstream_error upstream_error")
	f(400, `{"object":"error","message":"Tool 0 function has invalid 'parameters' schema: x","code":400}`, "unverified upstream_error client_schema_rejected")
	f(500, `{"object":"error","message":"Failed to parse DeepSeek V4 tool output: x"}`, "corrupted server_reported_malformed upstream_error")
	f(500, `{"error":{"message":"error parsing tool call: raw='{\"a\": ', err=unexpected end"}}`, "corrupted server_reported_malformed upstream_error")
	f(400, `{"error":{"message":"Failed to call a function. Please adjust your prompt. See 'failed_generation' for more details.","code":"tool_use_failed"}}`, "corrupted server_reported_malformed upstream_error")
	f(200, ``, "unverified body_malformed body_malformed")
}

func TestEmptyListsAreNotNull(t *testing.T) {
	for _, body := range []string{"", ev(`{"content":"x"}`, "") + end("stop")} {
		out, err := json.Marshal(check(t, offer, body, Complete))
		if err != nil {
			t.Fatal(err)
		}
		if s := string(out); strings.Contains(s, "null") {
			t.Errorf("got %s", s)
		}
	}
}

func TestChecksSayWhatRan(t *testing.T) {
	f := func(args string, want ...Check) {
		t.Helper()
		v := check(t, offer, oneCall(args), Complete)
		if !slices.Equal(v.Checks, want) {
			t.Errorf("%s: got %v, want %v", args, v.Checks, want)
		}
		if skipped := len(v.Skips) > 0; skipped != (len(want) == 4) {
			t.Errorf("%s: got skips %v", args, v.Skips)
		}
	}
	f(`{"a":"x"}`, CheckWire, CheckJSON, CheckSchema, CheckMarkup, CheckText)
	f(`{"a":"x","n":1e999}`, CheckWire, CheckJSON, CheckMarkup, CheckText)
}

func TestTableOfKindsIsWhole(t *testing.T) {
	seen := map[Kind]bool{}
	for _, k := range Kinds() {
		if seen[k.Kind] || k.Meaning == "" || k.Severity == "" || k.Outcome == "" || k.Cause == "" {
			t.Errorf("got %+v", k)
		}
		seen[k.Kind] = true
	}
}
