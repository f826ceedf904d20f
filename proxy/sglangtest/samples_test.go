package sglangtest

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const sampleID = "f3c2a1b0d9e84c7fa6b5d4c3b2a19088"

// scripted is a recorded answer as a script.
type scripted struct {
	answer *Answer
	tokens int  // completion tokens, when the sample shows them
	tools  bool // the request offered tools
	usage  bool // the request asked for usage
}

func seq6(as func(string) Delta, text ...string) (out []Delta) {
	for _, s := range text {
		out = append(out, as(s))
	}
	return out
}

func calls(index int, id, name string, args ...string) []Delta {
	out := []Delta{Begin(index, id, name, "")}
	for _, a := range args {
		out = append(out, More(index, a))
	}
	return out
}

func join(lists ...[]Delta) (out []Delta) {
	for _, l := range lists {
		out = append(out, l...)
	}
	return out
}

const stubStop = 128803

func ended(finish string, lists ...[]Delta) *Answer {
	a := &Answer{Deltas: join(lists...), Finish: finish, Matched: stubStop}
	if finish == "length" || finish == "abort" {
		a.Matched = 0
	}
	return a
}

func failed(f *Failure, lists ...[]Delta) *Answer {
	return &Answer{Deltas: join(lists...), Failure: f}
}

func leakPieces() []string {
	return cut("SML|tool_calls>\n<|DSML|invoke name=\"get_weather\">\n<|DSML|parameter name=\"city\" string=\"true\">Paris</|DSML|parameter>\n</|DSML|invoke>\n</|DSML|tool_calls>", 6)
}

func scripts() map[string]scripted {
	check, paris := seq6(Text, "I will", " check"), []string{"{", "\"city\": \"P", "aris\"}"}
	dot := seq6(Text, ".")
	leak := seq6(Text, leakPieces()...)
	harmony := seq6(Text, cut("<|start|>assistant<|channel|>commentary to=functions.get_weather<|constrain|>json<|message|>{\"city\": \"Paris\"}<|cal", 6)...)
	boom := &Failure{Status: 400, Type: "BadRequestError", Message: "boom mid stream"}
	return map[string]scripted{
		"abort_503_stream": {failed(&Failure{Status: 503, Type: "SERVICE_UNAVAILABLE", Message: "Request waiting timeout reached.", Usage: true},
			seq6(Text, "Hello ")), 2, true, true},
		"abort_graceful_stream":    {ended("abort", seq6(Text, "Hello ", "there")), 2, true, true},
		"first_event_error_stream": {failed(&Failure{Status: 400, Type: "BadRequestError", Message: "boom first"}), 0, true, true},
		"midstream_error_stream":   {failed(boom, seq6(Text, "Hello ", "there,")), 2, true, true},
		"midstream_crash_stream":   {&Answer{Deltas: seq6(Text, "Hello ", "there,"), Cut: true}, 2, true, true},
		"glm45_good_stream":        {ended("tool_calls", check, calls(0, "call_5580879b13ff4e59b8d9fc02", "get_weather", "{", `"city": `, `"Paris`, `"`, `}`)), 18, true, true},
		"gptoss_good_stream":       {ended("stop", harmony), 20, true, true},
		"kimi_k2_good_stream": {ended("tool_calls", check, seq6(Text, ".\n\n"), []Delta{Begin(0, "functions.get_weather:0", "get_weather", "{")},
			[]Delta{More(0, `"city"`), More(0, `: "Par`), More(0, `is"}<|`), More(0, "tool_c"), More(0, "all_en")}), 29, true, true},
		"plain_text_stream":                 {ended("stop", seq6(Text, "Hello ", "there,", " world", ".")), 4, false, true},
		"plain_text_nonstream":              {ended("stop", seq6(Text, "Hello ", "there,", " world", ".")), 4, false, false},
		"qwen25_good_stream":                {ended("tool_calls", check, calls(0, "call_18b2143a74d442f6928707af", "get_weather", `{"city": "Paris"}`)), 16, true, true},
		"qwen3_coder_midcut_badjson_stream": {ended("tool_calls", calls(0, "call_e633bb2f9b0f42c98862264d", "get_weather")), 9, true, true},
		"v4_asciipipe_leak_stream":          {ended("stop", check, seq6(Text, ".\n\n<|D"), leak), 29, true, true},
		"v4_asciipipe_leak_nonstream":       {ended("stop", check, seq6(Text, ".\n\n<|D"), leak), 29, true, false},
		"v4_good_stream":                    {ended("tool_calls", check, dot, calls(0, "call_00000000000000000000000a", "get_weather", paris...)), 29, true, true},
		"v4_good_stream_nousage":            {ended("tool_calls", check, dot, calls(0, "call_65c5e6ae2c7e4bf99d412ed8", "get_weather", paris...)), 29, true, false},
		"v4_good_nonstream":                 {ended("tool_calls", check, dot, calls(0, "call_4e81eb41af1546d785506f0a", "get_weather", paris...)), 29, true, false},
		"v4_swallowed_stream":               {ended("stop", check), 14, true, true},
		"v4_swallowed_nonstream":            {ended("stop", check, dot), 14, true, false},
		"v4_think_good_stream": {ended("tool_calls", seq6(Think, "Let me", " think", "."), seq6(Text, "I w", "ill ch", "eck.\n\n"),
			calls(0, "call_3d0f595e025642ec8c0dc435", "get_weather", "{", `"city": "Paris"}`)), 32, true, true},
		"v4_think_good_nonstream": {ended("tool_calls", seq6(Think, "Let me", " think", "."), check, dot,
			calls(0, "call_e537f6c10cf04497a18f1d10", "get_weather", paris...)), 32, true, false},
		"v4_truncated_nonstream":       {ended("length", check, dot), 19, true, false},
		"v4_truncated_repaired_stream": {ended("length", check, dot, calls(0, "call_df903222457c4c8e980c1ad4", "get_weather", "{", `"city": "P"}`)), 19, true, true},
		"v4_two_calls_stream": {ended("tool_calls", check, dot, calls(0, "call_712dcf6d727948d8856e28aa", "get_weather", paris...),
			calls(1, "call_1abae85c3574417cad121fc1", "run", "{", `"command": "ls -l`, `a"}`)), 48, true, true},
		"v4_unknown_name_stream":       {ended("tool_calls", check, dot, calls(0, "call_495b15a9f9bd43f881301f70", "get_wea猫ther", paris...)), 29, true, true},
		"v4_unknown_name_nonstream":    {ended("stop", check, dot), 29, true, false},
		"v4_v41_spaced_swallow_stream": {ended("stop", check), 30, true, true},
		"v4_wrong_section_stream": {ended("tool_calls", check, seq6(Text, ".\n\n<｜DSML｜function_calls>\n"),
			calls(0, "call_6d54825ee4b643319008b502", "get_weather", "{", `"city": "Paris"}`)), 30, true, true},
	}
}

// TestSamples compares the simulator's answers with recorded ones, byte for
// byte but for dates, created and the ids of calls.
func TestSamples(t *testing.T) {
	files, err := filepath.Glob("testdata/samples/*.http")
	if err != nil || len(files) != 30 {
		t.Fatalf("%d samples, %v; want 30", len(files), err)
	}
	all := scripts()
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".http")
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(name, func(t *testing.T) {
			sc, path := all[name], "/v1/chat/completions"
			if strings.HasPrefix(name, "anthropic") {
				sc, path = scripted{answer: &Answer{Canned: canned(t, want)}}, "/v1/messages"
			}
			if sc.answer == nil {
				t.Fatal("no script")
			}
			got := replay(t, sc, path, strings.HasSuffix(name, "_stream") || strings.HasSuffix(name, "_nousage"))
			if got, want := mask(got), mask(string(want)); got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

func replay(t *testing.T, sc scripted, path string, stream bool) string {
	a := sc.answer
	a.PromptTokens = 21
	a.Silent = max(0, sc.tokens-len(a.Deltas))
	s := start(t, Config{Script: func(*Request) *Answer { return a }})
	tools := ""
	if sc.tools {
		tools = `,"tools":[{"type":"function","function":{"name":"get_weather"}}]`
	}
	body := fmt.Sprintf(`{"model":"m","rid":%q,"messages":[{"role":"user","content":"x"}],"stream":%v,"stream_options":{"include_usage":%v}%s}`,
		sampleID, stream, sc.usage, tools)
	return raw(t, s, fmt.Sprintf("POST %s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s",
		path, len(body), body))
}

var (
	dates   = regexp.MustCompile(`date: [A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT`)
	created = regexp.MustCompile(`"created":\d{10}`)
	callIDs = regexp.MustCompile(`call_[0-9a-f]{24}`)
)

func mask(s string) string {
	s = dates.ReplaceAllString(s, "date: D")
	s = created.ReplaceAllString(s, `"created":C`)
	return callIDs.ReplaceAllString(s, "call_I")
}

// canned takes a sample apart into a canned response.
func canned(t *testing.T, sample []byte) *Canned {
	head, body, ok := bytes.Cut(sample, []byte("\r\n\r\n"))
	if !ok {
		t.Fatal("no head")
	}
	if !bytes.Contains(head, []byte("chunked")) {
		return &Canned{Status: 200, Type: "application/json", Body: body}
	}
	c := &Canned{Status: 200, Type: eventStream}
	for {
		size, rest, _ := bytes.Cut(body, []byte("\r\n"))
		var n int
		if _, err := fmt.Sscanf(string(size), "%x", &n); err != nil {
			t.Fatal(err)
		}
		if n == 0 {
			return c
		}
		c.Chunks = append(c.Chunks, rest[:n])
		body = rest[n+2:]
	}
}
