package validate

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

// encoder spells one answer of a dialect: a text and a call of f whose
// arguments come in the given pieces.
type encoder struct {
	path    string
	request string
	encode  func(text []string, args []string) string
}

const (
	fSchema = `{"type":"object","required":["a"],"properties":{"a":{"type":"string"},"n":{"type":"integer"},"e":{"enum":["xy","xz"]},"d":{"type":"object","properties":{"k":{"type":"string"}},"additionalProperties":false}}}`
)

// quoted is a text as a JSON string.
func quoted(s string) string {
	out, _ := json.Marshal(s)
	return string(out)
}

// joined spells each piece with a pattern.
func joined(pattern string, pieces []string) string {
	var b strings.Builder
	for _, p := range pieces {
		fmt.Fprintf(&b, pattern, quoted(p))
	}
	return b.String()
}

// encoders are the dialects with calls whose arguments are text.
var encoders = []encoder{
	{"/v1/chat/completions", `{"tools":[{"type":"function","function":{"name":"f","parameters":` + fSchema + `}}]}`, func(text, args []string) string {
		return joined(`data: {"choices":[{"index":0,"delta":{"content":%s}}]}`+"\n\n", text) +
			calls(entry(0, "c1", "f", "")) +
			joined(`data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":%s}}]}}]}`+"\n\n", args) + end("tool_calls")
	}},
	{"/v1/messages", `{"tools":[{"name":"f","input_schema":` + fSchema + `}]}`, func(text, args []string) string {
		return `data: {"type":"message_start","message":{"role":"assistant","content":[],"usage":{"input_tokens":1,"output_tokens":0}}}` + "\n\n" +
			`data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}` + "\n\n" +
			joined(`data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":%s}}`+"\n\n", text) +
			`data: {"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"c1","name":"f","input":{}}}` + "\n\n" +
			joined(`data: {"delta":{"partial_json":%s,"type":"input_json_delta"},"index":1,"type":"content_block_delta"}`+"\n\n", args) +
			`data: {"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":9}}` + "\n\n" + `data: {"type":"message_stop"}` + "\n\n"
	}},
	{"/v1/responses", `{"tools":[{"type":"function","name":"f","parameters":` + fSchema + `}]}`, func(text, args []string) string {
		whole := quoted(strings.Join(args, ""))
		item := `{"type":"function_call","id":"fc_1","call_id":"c1","name":"f","arguments":%s}`
		return joined(`data: {"type":"response.output_text.delta","output_index":0,"delta":%s}`+"\n\n", text) +
			`data: {"type":"response.output_item.added","output_index":1,"item":` + fmt.Sprintf(item, `""`) + "}\n\n" +
			joined(`data: {"delta":%s,"item_id":"fc_1","output_index":1,"type":"response.function_call_arguments.delta"}`+"\n\n", args) +
			`data: {"type":"response.function_call_arguments.done","output_index":1,"item_id":"fc_1","arguments":` + whole + "}\n\n" +
			`data: {"type":"response.output_item.done","output_index":1,"item":` + fmt.Sprintf(item, whole) + "}\n\n" +
			`data: {"type":"response.completed","response":{"status":"completed","output":[` + fmt.Sprintf(item, whole) + "]}}\n\n"
	}},
}

// pieces cuts a text into pieces of n bytes, but not within a rune.
func piecesOf(s string, n int) (out []string) {
	for len(s) > 0 {
		k := min(n, len(s))
		for k < len(s) && !utf8.RuneStart(s[k]) {
			k++
		}
		out, s = append(out, s[:k]), s[k:]
	}
	return out
}

// TestDialectsAgree says the same in each dialect: what is found, and where in
// the arguments, does not depend on it, and lies at that byte of the body.
func TestDialectsAgree(t *testing.T) {
	f := func(args string) {
		t.Helper()
		var first string
		for i, e := range encoders {
			body := e.encode([]string{"I will ", "look."}, piecesOf(args, 3))
			v := answered(t, e, body)
			var b strings.Builder
			b.WriteString(string(v.Outcome))
			for _, d := range v.Findings {
				fmt.Fprintf(&b, " %s %s", d.Kind, d.Path)
				if d.ArgOffset != nil {
					fmt.Fprintf(&b, " %d", *d.ArgOffset)
					if got := body[d.Offset]; *d.ArgOffset < int64(len(args)) && got != args[*d.ArgOffset] && got != '\\' {
						t.Errorf("%s %s: got %q at the offset in the body, want %q", e.path, args, got, args[*d.ArgOffset])
					}
				}
			}
			if i == 0 {
				first = b.String()
			} else if got := b.String(); got != first {
				t.Errorf("%s %s:\ngot  %s\nwant %s", e.path, args, got, first)
			}
			if len(v.Lints) > 0 || v.Calls != 1 {
				t.Errorf("%s %s: got %d calls, lints %v", e.path, args, v.Calls, v.Lints)
			}
		}
	}
	for _, args := range []string{
		`{"a":"x"}`, `{"a":"x","n":1,"d":{"k":"\ud83d\ude00é"}}`, `{"a":"x`, `{"a":`, `"a":"x"}`, `{"a":"x"}{"a":"x"}`, `{"a":"x"} y`,
		`{"a":"x","n":tru}`, `{"a":"x","n":"12"}`, `{"n":1,"d":{}}`, `{"a":"x","e":"xyz"}`, `{"a":"x","d":{"zz":1}}`, `{"a":"x","a":"y"}`,
		`[1]`, `null`, `{}`, `"{\"a\":1}"`, "{\"a\":\"\n\"}", `{"a":"Köln 北京 😀","e":"q"}`,
	} {
		f(args)
	}
}

func answered(t testing.TB, e encoder, body string) Verdict {
	t.Helper()
	req, err := ParseRequest(e.path, []byte(e.request))
	if err != nil {
		t.Fatal(err)
	}
	return run(req, Head{200, "text/event-stream"}, Complete, []byte(body))
}

// TestPlainTextIsClean tells sources that know no markup, as the text and as
// an argument, in every dialect.
func TestPlainTextIsClean(t *testing.T) {
	files, err := filepath.Glob("s*/*.go")
	if err != nil || len(files) == 0 {
		t.Fatal(err)
	}
	raw := map[string]func(string) string{
		"/v1/completions": func(s string) string {
			return joined(`data: {"choices":[{"index":0,"text":%s}]}`+"\n\n", piecesOf(s, 7)) + `data: {"choices":[{"index":0,"text":"","finish_reason":"stop"}]}` + "\n\n" + done
		},
		"/generate": func(s string) string {
			return joined(`data: {"text":%s,"meta_info":{"finish_reason":null}}`+"\n\n", piecesOf(s, 7)) + `data: {"text":"","meta_info":{"finish_reason":{"type":"stop"}}}` + "\n\n" + done
		},
		"/api/chat": func(s string) string {
			return joined(`{"message":{"role":"assistant","content":%s},"done":false}`+"\n", piecesOf(s, 7)) + `{"message":{"content":""},"done":true,"done_reason":"stop"}` + "\n"
		},
		"/api/generate": func(s string) string {
			return joined(`{"response":%s,"done":false}`+"\n", piecesOf(s, 7)) + `{"response":"","done":true,"done_reason":"stop"}` + "\n"
		},
	}
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		text := string(source[:min(len(source), 4<<10)])
		for path, encode := range raw {
			if v := answered(t, encoder{path: path, request: `{"stream":true}`}, encode(text)); v.Outcome != Clean || v.Suspect || len(v.Lints) > 0 {
				t.Errorf("%s in %s: got %s", file, path, say(v))
			}
		}
		args := `{"a":` + quoted(text) + `}`
		for _, e := range encoders {
			if v := answered(t, e, e.encode(piecesOf(text, 7), piecesOf(args, 5))); v.Outcome != Clean || v.Suspect || len(v.Lints) > 0 {
				t.Errorf("%s in %s: got %s", file, e.path, say(v))
			}
		}
	}
}
