package wire

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// tell spells an event.
func tell(d *Decoder, ev *Event) string {
	var b strings.Builder
	if ev.Listed {
		b.WriteString("listed ")
	}
	if ev.Strange {
		b.WriteString("strange ")
	}
	if ev.Failed {
		fmt.Fprintf(&b, "error %q %d ", ev.Error.String(), ev.Code)
	}
	if ev.Counted {
		fmt.Fprintf(&b, "usage %d/%d ", ev.Usage.Prompt, ev.Usage.Completion)
	}
	for i := range ev.Choices {
		c := &ev.Choices[i]
		fmt.Fprintf(&b, "#%d", c.Index)
		for _, t := range []struct {
			name string
			t    Text
		}{{"role", c.Role}, {"content", c.Content}, {"reasoning", c.Reasoning}, {"refusal", c.Refusal}, {"finish", c.Finish}} {
			if t.t.Set {
				fmt.Fprintf(&b, " %s=%q", t.name, t.t.String())
			}
		}
		if c.Parts {
			b.WriteString(" parts")
		}
		for _, k := range d.Calls(c) {
			fmt.Fprintf(&b, " call(%d %v %q %q %q %d %s)", k.Index, k.Indexed, k.ID.String(), k.Type.String(), k.Name.String(), k.Form, k.Args.Raw)
		}
	}
	return strings.TrimSpace(b.String())
}

func TestDecode(t *testing.T) {
	d := new(Decoder)
	f := func(in, want string) {
		t.Helper()
		ev, err := d.Decode([]byte(in))
		if err != nil {
			t.Errorf("%s: %v", in, err)
			return
		}
		if got := tell(d, ev); got != want {
			t.Errorf("%s:\ngot  %s\nwant %s", in, got, want)
		}
	}
	choice := func(s string) string { return `{"choices":[{"index":0,` + s + `}]}` }
	f(choice(`"delta":{"role":"assistant","content":""}`), `listed #0 role="assistant" content=""`)
	f(choice(`"delta":{"content":"a\"\u00e9\n","reasoning_content":null,"tool_calls":null},"finish_reason":null`), `listed #0 content="a\"é\n"`)
	f(choice(`"delta":{"reasoning":"r"}`), `listed #0 reasoning="r"`)
	f(choice(`"delta":{"reasoning":"r","reasoning_content":"s"}`), `listed #0 reasoning="s"`)
	f(choice(`"delta":{},"finish_reason":"stop"`), `listed #0 finish="stop"`)
	f(choice(`"delta":null,"finish_reason":"stop"`), `listed #0 finish="stop"`)
	f(choice(`"finish_reason":"stop"`), `listed #0 finish="stop"`)
	f(choice(`"message":{"content":"x","refusal":"no"},"finish_reason":"stop"`), `listed #0 content="x" refusal="no" finish="stop"`)
	f(choice(`"delta":{"content":"x"},"message":{"content":"xx"}`), `listed #0 content="x"`)
	f(choice(`"delta":{"tool_calls":[{"index":1,"id":"i","type":"function","function":{"name":"n","arguments":"{"}}]}`), `listed #0 call(1 true "i" "function" "n" 2 {)`)
	f(choice(`"delta":{"tool_calls":[{"id":null,"function":{"name":null,"arguments":null}},{"function":null}]}`), `listed #0 call(0 false "" "" "" 1 ) call(1 false "" "" "" 0 )`)
	f(choice(`"delta":{"tool_calls":[{"index":null,"function":{"arguments":{"a":[1,"x"]}}}]}`), `listed #0 call(0 false "" "" "" 3 {"a":[1,"x"]})`)
	f(choice(`"delta":{"function_call":{"name":"n","arguments":"{}"}}`), `listed #0 call(0 true "" "" "n" 2 {})`)
	f(choice(`"delta":{"function_call":{}}`), `listed #0`)
	f(choice(`"delta":{"content":[{"type":"text","text":"x"}]}`), `listed #0 parts`)
	f(choice(`"delta":{"content":[]}`), `listed #0`)
	f(choice(`"delta":{"content":{}}`), `listed strange #0`)
	f(choice(`"delta":7`), `listed strange #0`)
	f(choice(`"text":"x"`), `listed strange #0`)
	f(`{"choices":[{"delta":{"content":"x"}}]}`, `listed #0 content="x"`)
	f(choice(`"finish_reason":null,"content_filter_results":{}`), `listed #0`)
	f(`{"choices":[{"delta":{}},{"delta":{}}]}`, `listed strange #0#1`)
	f(`{"choices":[{"index":1,"delta":{"tool_calls":[{"index":0},{"index":1}]}},{"index":0,"delta":{"tool_calls":[{"index":5}]}}]}`,
		`listed #1 call(0 true "" "" "" 0 ) call(1 true "" "" "" 0 )#0 call(5 true "" "" "" 0 )`)
	f(`{"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":4,"prompt_tokens_details":null}}`, `listed usage 3/4`)
	f(`{"choices":null,"usage":null,"error":null}`, ``)
	f(`{"choices":7}`, `strange`)
	f(`{"choices":[7]}`, `listed strange`)
	f(`[]`, `strange`)
	f(`null`, `strange`)
	f(`{"error":{"message":"m","code":400,"param":null}}`, `error "m" 400`)
	f(`{"error":"m"}`, `error "m" 0`)
	f(`{"object":"error","message":"m","code":503}`, `error "m" 503`)
	f(`{"\u0063hoices":[]}`, `listed`)
}

func TestSyntaxErrors(t *testing.T) {
	d := new(Decoder)
	f := func(in string, want int) {
		t.Helper()
		_, err := d.Decode([]byte(in))
		s, ok := err.(*SyntaxError)
		if !ok || s.Offset != want {
			t.Errorf("%q: got %v, want an error at %d", in, err, want)
		}
	}
	f(``, 0)
	f(`{`, 1)
	f(`{}{}`, 2)
	f(`{"choices":[{]}`, 13)
	f(`{"a":01}`, 6)
	f(`{"a":"\x"}`, 7)
	f("{\"a\":\"\n\"}", 6)
	f(`{"a":tru}`, 5)
	f(`{"a":1,}`, 7)
	f(`{"choices":[{"delta":{"content":"x}`, 35)
	f(strings.Repeat("[", maxDepth+1), maxDepth+1)
}

func TestJoinerJoinsHalves(t *testing.T) {
	f := func(want string, pieces ...string) {
		t.Helper()
		var j Joiner
		var got []byte
		for _, p := range pieces {
			s := scanner{b: []byte(`"` + p + `"`)}
			text := s.str()
			was := len(got)
			got = j.Append(got, text)
			raw, dec := 0, 0
			for _, o := range j.Odds {
				raw, dec = raw+o.Raw, dec+o.Dec
			}
			plain := strings.Count(p, `\`) - strings.Count(p, `\u`) - strings.Count(p, `\/`)
			if len(p)-raw != len(got)-was-dec+plain {
				t.Errorf("%q: odds %v do not add up", p, j.Odds)
			}
		}
		if string(got) != want {
			t.Errorf("%q: got %q, want %q", pieces, got, want)
		}
	}
	f("a\"\n/é😀", `a\"\n\/\u00e9\ud83d\ude00`)
	f("😀", `\ud83d`, `\ude00`)
	f("😀x", `\ud83d`, ``, `\ude00x`)
	f("\uFFFDx", `\ud83d`, `x`)
	f("\uFFFD\n", `\ud83d`, `\n`)
	f("\uFFFDx", `\ude00x`)
	f("\uFFFD😀", `\ud83d\ud83d`, `\ude00`)
}

// decodeRequest reads a request without a memory.
func decodeRequest(as Dialect, body []byte) (*Request, error) {
	r := new(Request)
	return r, r.Decode(as, body, Past{Seed: testSeed})
}

func TestDecodeRequest(t *testing.T) {
	r, err := decodeRequest(Chat, []byte(`{"model":"m\u0041","stream":true,"n":2,"max_completion_tokens":7,"tool_choice":"none","messages":[
		{"role":"user","content":[{"type":"text","text":"x"}]},{"role":"assistant","tool_calls":[{"id":"a"},{"id":"b"}]}],
		"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object"}}},{"type":"web_search"},{"function":{"name":"g"}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprint(r.Model.String(), r.Stream, r.N, r.MaxTokens, r.Choice.String(), len(r.CallIDs), r.Others, len(r.Tools), r.Tools[0].Name.String(), string(r.Tools[0].Parameters), r.Tools[1].Parameters == nil)
	if want := `mAtrue 2 7none2 true 2f{"type":"object"}true`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	for _, in := range []string{``, `[]`, `"x"`, `{"model":}`, `{} x`} {
		if _, err := decodeRequest(Chat, []byte(in)); err == nil {
			t.Errorf("%q was read", in)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"choices":[{"index":0,"delta":{"content":"\ud83d","tool_calls":[{"function":{"arguments":{"a":1e5}}}]}}],"usage":{}}`))
	f.Add([]byte(`{"error":{"message":"x"},"choices":[{"text":"","message":{}}]}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		_, err := new(Decoder).Decode(in)
		if deep := strings.Count(string(in), "[")+strings.Count(string(in), "{") > maxDepth; !deep && (err == nil) != json.Valid(in) {
			t.Errorf("%q: got %v, valid is %v", in, err, json.Valid(in))
		}
		decodeRequest(Chat, in)
	})
}
