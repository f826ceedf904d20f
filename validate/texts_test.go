package validate

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// said is an answer that does not stream: what it says, and how it ends.
type said struct {
	prompt, choice     string // tool_choice, auto if empty
	content, reasoning string
	name, args         string // of its call, none if the name is empty
	finish             string // stop or tool_calls if empty
	noTools            bool
}

// judge judges it. The request offers run_shell and get_weather.
func (s said) judge(t *testing.T) Verdict {
	t.Helper()
	type obj = map[string]any
	req := obj{"messages": []obj{{"role": "user", "content": s.prompt}}}
	if !s.noTools {
		req["tools"] = []obj{{"type": "function", "function": obj{"name": "run_shell"}}, {"type": "function", "function": obj{"name": "get_weather"}}}
	}
	if s.choice != "" {
		req["tool_choice"] = s.choice
	}
	msg, finish := obj{"role": "assistant", "content": s.content}, "stop"
	if s.reasoning != "" {
		msg["reasoning_content"] = s.reasoning
	}
	if s.name != "" {
		finish = "tool_calls"
		msg["tool_calls"] = []obj{{"id": "c", "type": "function", "function": obj{"name": s.name, "arguments": s.args}}}
	}
	if s.finish != "" {
		finish = s.finish
	}
	ask, err := json.Marshal(req)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := json.Marshal(obj{"choices": []obj{{"index": 0, "message": msg, "finish_reason": finish}}})
	if err != nil {
		t.Fatal(err)
	}
	r, err := ParseRequest("/v1/chat/completions", ask)
	if err != nil {
		t.Fatal(err)
	}
	c := NewChecker(r, Head{Status: 200, ContentType: "application/json"})
	c.Feed(0, answer)
	return c.Finish(Complete)
}

// TestCallThatAStreamWasCutIn holds that parsers hand out what they kept of a
// call once its end cannot come any more.
func TestCallThatAStreamWasCutIn(t *testing.T) {
	f := func(rest, finish, want string) {
		t.Helper()
		text, _ := json.Marshal(rest)
		body := ev(`{"content":"I will check."}`, "") + ev(`{"content":`+string(text)+`}`, "") + end(finish)
		if got := say(check(t, offer, body, Complete)); got != want {
			t.Errorf("%q: got %s, want %s", rest, got, want)
		}
	}
	const half = "<ifm|tool_call>f\n<ifm|arg_key>a</ifm|arg_key><ifm|arg_value>Par"
	f(half, "length", "truncated truncated_length +markup_leak_content")
	f(half, "stop", "corrupted markup_leak_content")
	f(half+"is</ifm|arg_value></ifm|tool_call>", "length", "corrupted markup_leak_content truncated_length")
}

// TestTexts holds what texts say against the kinds that they amount to.
func TestTexts(t *testing.T) {
	f := func(s said, want ...Kind) {
		t.Helper()
		v := s.judge(t)
		var got []Kind
		for _, f := range v.Findings {
			got = append(got, f.Kind)
		}
		slices.Sort(got)
		slices.Sort(want)
		if got = slices.Compact(got); !slices.Equal(got, want) {
			t.Errorf("%+v: got %s %v, want %v", s, v.Outcome, got, want)
		}
	}
	again := strings.Repeat
	f(said{content: "All is well."})
	f(said{content: "Done.<|im_end|>"}, SpecialTokenLeak)
	f(said{content: "<|channel|>final<|message|>Hello"}, SpecialTokenLeak)
	f(said{content: "Hello<|channel|>commentary to=functions.run_shell<|constrain|>json<|message|>{}<|call|>"}, MarkupLeakContent)
	f(said{content: "<tool_call>\n{\"name\": \"run_shell\"}\n</tool_call>", finish: "stop"}, MarkupLeakContent)
	f(said{content: "<function=run_shell>\n<parameter=command>\nls\n</parameter>\n</function>"}, MarkupLeakContent)
	f(said{content: "{\"name\": \"run_shell\", \"arguments\": {\"command\": \"ls\"}}"}, CallInText)
	f(said{content: "{\"name\": \"run_fast\", \"arguments\": {\"command\": \"ls\"}}"})
	f(said{prompt: "What is <tool_call>?", content: "<tool_call> begins a call, </tool_call> ends it."})

	f(said{content: "Weighed.</think>It is 5.", reasoning: "Hm."}, SpecialTokenLeak)
	f(said{content: "Weighed.</think>It is 5."})
	f(said{content: "<think>Weighed.</think>It is 5.", reasoning: "Hm."})

	const stranded = "First. <tool_call>run_shell<arg_key>command</arg_key><arg_value>ls</arg_value></tool_call>"
	f(said{reasoning: stranded, content: "Done."}, MarkupLeakReasoning)
	f(said{reasoning: stranded, name: "run_shell", args: `{"command": "ls"}`})

	f(said{name: "run_shell", args: `{"command": "ls</arg_value>"}`}, MarkupLeakArgs)
	f(said{name: "run_shell", args: `{"command</arg_key>": "ls"}`}, MarkupLeakArgs)
	f(said{name: "run_shell", args: `{"command": "echo '<p>a</p>'"}`})

	f(said{content: again("!", 200), finish: "length"}, TokenRepetition, TruncatedLength)
	f(said{content: "Now " + again("I will check the log and ", 40), finish: "length"}, TokenRepetition, TruncatedLength)
	f(said{content: "Now " + again("I will check the log and ", 40)}, TokenRepetition)
	f(said{content: "A table:\n" + again("0x00, ", 60), finish: "length"}, TruncatedLength)
	f(said{name: "run_shell", args: `{"command": "ls"` + again("\n", 400), finish: "length"}, TokenRepetition, TruncatedLength)
	f(said{name: "run_shell", args: `{"command": "ls"` + again(" ", 900) + "}"}, TokenRepetition)
	f(said{name: "run_shell", args: `{"edits": [` + again(`{"old": "alpha", "new": "beta"}, `, 40), finish: "length"}, TokenRepetition, TruncatedLength)
	f(said{name: "run_shell", args: `{"edits": [` + again(`{"old": "alpha", "new": "beta"}, `, 40) + `{}]}`})
	f(said{name: "run_shell", args: `{"command": "` + again("cat the log and ", 40) + `"}`}, TokenRepetition)
	f(said{name: "run_shell", args: `{"command": "` + again("cat the log and ", 30) + `"}`})
	f(said{name: "run_shell", args: `{"command": "cat >a <<.` + again(`\nall of us like filler text`, 50) + `"}`})
	f(said{name: "run_shell", args: `{"command": "cat >a <<.` + again(`\nall of us like filler text`, 50) + `"`, finish: "length"}, TokenRepetition, TruncatedLength)

	const calls = "First.\n<tool_call>\n{\"name\": \"run_shell\", \"arguments\": {}}\n</tool_call>\n"
	f(said{content: calls + "<tool_call>\n{\"na", finish: "length"}, TruncatedLength)
	f(said{content: calls, finish: "length"}, MarkupLeakContent, TruncatedLength)
	f(said{content: "Now.\n<function name=\"run_shell\"><param name=\"command\">ls</param></function", finish: "length"}, TruncatedLength)
	f(said{content: "I will check.[get_weather(city=\"Paris\")", finish: "length"}, TruncatedLength)
	f(said{content: "I will check.[get_weather(city=\"Paris\")]", finish: "length"}, CallInText, TruncatedLength)
	f(said{content: "I will.<|start|>assistant to=", finish: "length"}, TruncatedLength)
	f(said{content: "I will.<|start|>assistant to=user<|message|>It is 5, as you can see from that table.", finish: "length"}, SpecialTokenLeak, TruncatedLength)

	f(said{content: "caf\uFFFD is open"}, ReplacementChar)
	f(said{prompt: "what is caf\uFFFD", content: "caf\uFFFD is café"})
	f(said{content: "Hi \uFFFD", finish: "length"}, TruncatedLength)
	f(said{content: "HelloĠworld,ĠthisĠis it"}, GarbledText)
	f(said{content: "Regular lubri하여cation of bearingsผลิต reduces wear; clearance shouldで be checkedന്റെ."}, GarbledText)
}
