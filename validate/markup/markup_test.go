package markup

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"strings"
	"testing"
)

// rules are those of a request that offers these tools and says text.
func rules(text string, names ...string) *Rules {
	r := &Rules{Tools: len(names) > 0, Names: map[string]bool{}}
	for _, n := range names {
		r.Names[n] = true
	}
	var s Scanner
	s.Learn(&r.Seen)
	s.Write([]byte(text))
	s.Finish()
	return r
}

// scan reads one text in pieces of the given size.
func scan(r *Rules, where Where, text string, size int) *Scanner {
	s := new(Scanner)
	s.Reset(r, where)
	for p := []byte(text); len(p) > 0; {
		k := min(size, len(p))
		s.Write(p[:k])
		p = p[k:]
	}
	s.Finish()
	return s
}

// result is all that a scanner says.
func (s *Scanner) result() string {
	call, ok := s.Call()
	return fmt.Sprintf("%+v %d %+v %v", s.Matches(), s.Total(), call, ok)
}

// proof returns the text and the class of the first marker that is proof.
func (s *Scanner) proof(text string) (mark string, c Class, ok bool) {
	for _, m := range s.Matches() {
		if m.Proof {
			return text[m.Start:m.End], m.Class, true
		}
	}
	return "", 0, false
}

type sample struct {
	Good, Opener, Terminator string
	Alias                    string `json:"alias_of"`
}

// samples are the markup of a call of get_weather for each parser.
func samples(t testing.TB) map[string]sample {
	t.Helper()
	data, err := os.ReadFile("testdata/markup.json")
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]sample
	if err := json.Unmarshal(data, &all); err != nil {
		t.Fatal(err)
	}
	for name, s := range all {
		if s.Alias != "" {
			all[name] = all[s.Alias]
		}
	}
	if len(all) != 35 {
		t.Fatalf("got markup of %d parsers, want 35", len(all))
	}
	return all
}

// leaks reports whether a content proves that markup was left in it.
func leaks(r *Rules, text string) bool {
	s := scan(r, Content, text, len(text))
	_, _, mark := s.proof(text)
	_, call := s.Call()
	return mark || call
}

func TestEveryParsersMarkupIsSeen(t *testing.T) {
	r := rules("What is the weather in Paris?", "get_weather")
	for name, s := range samples(t) {
		for what, text := range map[string]string{
			"call":           s.Good,
			"cut call":       s.Good[:len(s.Good)-len(s.Terminator)],
			"call and prose": "I will check.\n\n" + s.Good,
			"opener":         s.Opener,
		} {
			bare := s.Opener == "[" || s.Opener == "<function" // ordinary text begins so too
			if got, want := leaks(r, text), what != "opener" || !bare; got != want && !(bare && what == "call and prose") {
				t.Errorf("%s, %s: got %v, want %v: %q", name, what, got, want, text)
			}
		}
	}
}

// TestEveryCorruptionThatLeaksIsSeen corrupts each parser's markup in the ways
// that make SGLang hand it out as text: an end that is cut off, a value that
// is, an unknown name, garbage in the value.
func TestEveryCorruptionThatLeaksIsSeen(t *testing.T) {
	r := rules("What is the weather in Paris?", "get_weather")
	for name, s := range samples(t) {
		value := strings.Index(s.Good, "Paris")
		for what, text := range map[string]string{
			"end cut":   strings.TrimSuffix(s.Good, s.Terminator),
			"value cut": s.Good[:value+2],
			"unknown":   strings.ReplaceAll(s.Good, "get_weather", "get_wexther"),
			"garbage":   s.Good[:value+2] + "\"我{}\n" + s.Good[value+5:],
		} {
			if name == "pythonic" && what == "unknown" {
				continue // it is a list of Python then, and SGLang hands out nothing
			}
			if !leaks(r, text) {
				t.Errorf("%s, %s: %q is not seen", name, what, text)
			}
		}
	}
}

// TestEveryParsersDamagedMarkupIsSeen damages each character of each opener.
func TestEveryParsersDamagedMarkupIsSeen(t *testing.T) {
	r := rules("What is the weather in Paris?", "get_weather")
	for name, s := range samples(t) {
		at := strings.Index(s.Good, s.Opener)
		for i, c := range s.Opener {
			for _, other := range []string{"", "X", " ", "我", "�"} {
				text := s.Good[:at+i] + other + s.Good[at+i+len(string(c)):]
				if !leaks(r, text) {
					t.Errorf("%s: %q is not seen", name, text)
				}
			}
		}
	}
}

func TestRequestExcusesItsOwnMarkup(t *testing.T) {
	for name, s := range samples(t) {
		r := rules("Explain this: "+s.Good, "get_weather")
		text := "It reads " + s.Good + " and so on, as said."
		if mark, _, ok := scan(r, Content, text, len(text)).proof(text); ok {
			t.Errorf("%s: %q is proof although the request holds it", name, mark)
		}
	}
}

// texts are texts and what is proof in them, "" if nothing is.
var texts = []struct {
	where Where
	text  string
	mark  string
	class Class
}{
	{Content, "I'll look that up.\n\n<｜DSML｜function_calls", "<｜DSML｜function_calls", Tool},
	{Content, "Opening it now. <｜｜DSML｜｜tool_calls>\n<｜｜DSML｜｜invoke", "<｜｜DSML｜｜tool_calls>", Tool},
	{Content, "<‖DSML‖ invoke name=\"read_file\">", "<‖DSML‖ invoke name=\"read_file\">", Tool},
	{Content, "x </｜DSML｜parameter>", "</｜DSML｜parameter>", Tool},
	{Content, "x ｜DSML｜tool_calls>", "DSML｜", Tool},
	{Content, "I will check.\n\n<｜GCML｜tool_>\n<｜GCML｜invoke name=\"get_weather\">", "<｜GCML｜tool_>", Tool},
	{Content, "I will check.\n\n<｜GCM", "<｜GCM", Tool},
	{Content, "I will check.<ifm|tool_calls>\n<ifm|tool_call>run_shell\n<ifm|arg_key>command", "<ifm|tool_calls>", Tool},
	{Content, "It is 5.</ifm|arg_value></ifm|tool_call>", "</ifm|arg_value>", Tool},
	{Content, "</ifm|think>\nIt is 5.", "", 0},
	{Content, "if <ifm | x> 3", "", 0},
	{Content, "I will check.get_weather[ARGS{\"city\": \"Paris\"}", "[ARGS", Tool},
	{Content, "Say x[ARGS{1}] and a[ARGS, 2]", "", 0},
	{Content, "｜DSML tool_calls>", "DSML", Tool},
	{Content, "One moment.]<]minimax[>[<tool_call>", "<]minimax[>[", Tool},
	{Content, "<minimax:tool_call>\n<invoke name=\"run_shell\">", "<minimax:tool_call>", Tool},
	{Content, "Restarting now.<|im_start|>assistant\n", "<|im_start|>", Template},
	{Content, "Restarting now.<|im_sta", "<|im_sta", Template},
	{Content, "Restarting now.＜|im_start|＞assistant\n", "＜|im_start|＞", Template},
	{Content, `Restarting now.\u003c|im_start|\u003eassistant`, `\u003c|im_start|\u003e`, Template},
	{Content, "You're welcome.<|close|>message<|sep|>", "<|close|>", Channel},
	{Content, "<|open|>tools<|sep|>", "<|open|>", Tool},
	{Content, "Done.<|reserved_token_17|>", "<|reserved_token_17|>", Template},
	{Content, "Done.<｜end▁of▁sentence｜>", "<｜end▁of▁sentence｜>", Template},
	{Content, "Done.<|end of", "", 0},
	{Content, "<tool_calls>\n<invoke name=\"run_", "<tool_calls>", Tool},
	{Content, "a\n</invoke>\n</parameter>\n</invoke>\n", "</invoke>", Tool},
	{Content, "Now.\n<invoke name=\"run_shell\">\n", "<invoke name=\"run_shell\">", Tool},
	{Content, "<function=run_shell>\n<parameter=command>ls", "<function=run_shell>", Tool},
	{Content, "commentary to=functions.run_shell json{\"command\":\"ls\"}", "to=functions.run_shell", Tool},
	{Content, "functions.run_shell:0{\"command\":\"ls\"}", "functions.run_shell:0", Tool},
	{Content, "[TOOL_CALLS]run_shell[ARGS]{\"command\": \"ls\"}", "[TOOL_CALLS]", Tool},
	{Content, "run_shell[ARGS]{\"command\": \"ls\"}", "[ARGS]", Tool},
	{Content, "Done.[/INST]", "[/INST]", Template},
	{Content, "Done.</s>", "</s>", Template},
	{Content, "Done.<eos>", "<eos>", Template},
	{Content, "Done.[EOS]", "[EOS]", Template},
	{Content, "[EOS] ends a text, <eos> too, and </s>.", "", 0},
	{Content, "<tool_call>run_shell\n<arg_key>command</arg_key>", "<tool_call>", Tool},
	{Content, "Paris</arg_value>\n</tool_call>", "</arg_value>", Tool},
	{Content, "Paris.<tool_cal", "<tool_cal", Tool},

	{Content, "The model emits <tool_call> tags around its calls.", "", 0},
	{Content, "The special <|im_start|> token begins a turn.<|im_end|>", "<|im_end|>", Template},
	{Content, "The special <|im_start|> token begins a turn.", "", 0},
	{Content, "Prompts use [INST] with a space, or [/INST] without.", "", 0},
	{Content, "Close it with [/INST].", "", 0},
	{Content, "It ends with <|im_end|>. Expand the <|audio_pad|> placeholder between <|im_start|> and the next (or <|eot_id|>).", "", 0},
	{Content, "It rains. <|im_end|>\n", "<|im_end|>", Template},
	{Content, "dispatch[INST] = load_inst", "", 0},
	{Content, "Over and out. [EOT]", "", 0},
	{Content, "<longcat_tool_call>run_shell\n<longcat_arg_key>command", "<longcat_tool_call>", Tool},
	{Content, "<start_function_call>call:run_shell{command:", "<start_function_call>", Tool},
	{Content, "Rename <my_tool_call> in the docs.", "", 0},
	{Content, "analysisShe asks.assistantfinalIt is sunny.", "assistantfinal", Channel},
	{Content, "var assistantfinal = x; // assistantfinally", "", 0},
	{Value, "norway[TOOL_CALLS]run_shell[ARGS]{}", "[TOOL_CALLS]", Tool},
	{Value, "logs say [TOOL_CALLS] twice", "", 0},
	{Value, "\"[TOOL_CALLS]run_shell\"", "", 0},
	{Content, "Now [TOOL_CALLS][{\"name\"", "[TOOL_CALLS]", Tool},
	{Content, "The model emits `<|im_start|>` and `</tool_call>`.", "", 0},
	{Content, "```\n<|im_start|>user\nhello<|im_end|>\n```\nThat is all.", "", 0},
	{Content, "Compare \"<|endoftext|>\" with '<|im_end|>'.", "", 0},
	{Content, "<think>\n\n</think>\n\n", "", 0},
	{Content, "a</think>b", "", 0},
	{Content, "<invoke.Provider value={{name: \"x\"}}>", "", 0},
	{Content, "<function name=\"area\"><param name=\"w\"/></function>", "", 0},
	{Content, "<parameter name=\"x\">1</parameter>", "", 0},
	{Content, "if a <|b| then |c|> d; x <| f; 1<|2|>3", "", 0},
	{Content, "usage: tool [OPTIONS] [ARGS] <name|id> ...", "", 0},
	{Content, "<s>old</s> price", "", 0},
	{Content, "Animal <|-- Duck\n<|.. x", "", 0},
	{Content, "x = a[DSML] || DSML; see functions.md", "", 0},

	{Value, "成都\n</parameter", "</parameter", Tool},
	{Value, "成都\n</parameter>\n</function>", "</parameter>", Tool},
	{Value, "<|\"|>Paris<|\"|>", "<|\"|>", Tool},
	{Value, "Paris</arg_value>", "</arg_value>", Tool},
	{Value, "Paris<|im_end|>", "<|im_end|>", Template},
	{Value, "ls <｜DSML｜parameter", "<｜DSML｜parameter", Tool},
	{Value, "[ARGS]{\"", "[ARGS]", Tool},
	{Value, "<tool_call>\n{\"name\": \"demo\", \"arguments\": {}}\n</tool_call>\n", "", 0},
	{Value, "s = \"<|im_start|>user\\n\" + q + \"<|im_end|>\"\n", "", 0},
	{Value, "<project>\n  </parameter>\n</project>", "", 0},
	{Value, "    </parameter>\n", "", 0},
	{Value, "成都\n</parameter>\n", "</parameter>", Tool},
	{Value, "a &lt;tool_call&gt; b", "", 0},

	{Content, "<bpel:invoke name=\"run\" partnerLink=\"a\"/>\n<bpel:assign/>", "", 0},
	{Content, "<input name=\"read_file\" type=\"text\">\n<string name=\"run_shell\">Run</string>", "", 0},
	{Content, "/// <param name=\"path\">for read_file</param>", "", 0},
	{Content, "<parameter name=\"read_file\" type=\"string\"/>\n<parameter name=\"run_shell\">", "", 0},
	{Content, "<fuction name=\"run_shell\">", "<fuction name=\"run_shell\">", Tool},
	{Content, "vector<tool_call> {}; Set<tool_call>([]); Array<function_call>[3]", "", 0},
	{Content, "It rains<tool_call>\n{\"name\": \"x\"}", "<tool_call>", Tool},
	{Content, "It rains<tool_call>run_shell\n<arg_key>", "<tool_call>", Tool},
	{Value, "<bpel:invoke name=\"run\" partnerLink=\"a\"/>\n<bpel:invoke name=\"b\"/>\n<bpel:assign/>", "", 0},
	{Value, "P = r\"(?<tool_call>[a-z]+)|(?P<function_call>[A-Z]+)\"", "", 0},
	{Value, "std::vector<common_chat_tool_call> run_shell(int read_file);", "", 0},
	{Value, "f\"\"\"<|im_start|>system\n{s}<|im_end|>\n<|im_start|>user\n{q}<|im_end|>\n<|im_start|>assistant\n\"\"\"", "", 0},
	{Value, "f'<|begin_of_text|>{s}<|eot_id|><|start_header_id|>user<|end_header_id|>{q}<|eot_id|><|start_header_id|>'", "", 0},
	{Value, "<｜begin▁of▁sentence｜>{s}<｜User｜>{q}<｜Assistant｜>{a}<｜end▁of▁sentence｜>", "", 0},
	{Value, "<|system|>\n{s}<|end|>\n<|user|>\n{q}<|end|>\n<|assistant|>\n", "", 0},
	{Value, "<start_of_turn>user\n{q}<end_of_turn>\n<start_of_turn>model\n", "", 0},
	{Value, "ls<|im_end|>\n<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n", "<|im_end|>", Template},
	{Value, "ls<end_of_turn>\n<start_of_turn>user\nhi<end_of_turn>\n<start_of_turn>model\n", "<end_of_turn>", Template},
	{Value, "ls<|im_start|>assistant\n", "<|im_start|>", Template},

	{Value, "# the default is <|file|>, until <|im_end|>\nTOKEN = \"<|audio_bos|><|AUDIO|><|audio_eos|>\"\n", "", 0},
	{Value, "/home/<|reserved_17|>ana", "<|reserved_17|>", Template},

	{Key, "path</arg_key>", "</arg_key>", Tool},
	{Key, "path", "", 0},
	{Name, "read_file<arg_key>path</arg_key>", "<arg_key>", Tool},
	{Name, "functions.read_file:0", "", 0},
	{Name, "get<|channel|>commentary", "<|channel|>", Channel},

	{Reasoning, "Tests first. <tool_call>run_shell<arg_key>command</arg_key><arg_value>make</arg_value></tool_call>", "<tool_call>", Tool},
	{Reasoning, "I must write <tool_call> and then </tool_call>, I think.", "", 0},
	{Reasoning, "Now to=functions.run_shell is what I need.", "", 0},
	{Reasoning, "Now.<|channel|>commentary to=functions.run_shell<|message|>{}<|call|>", "<|channel|>", Channel},
	{Reasoning, "Now.<|tool_calls_section_begin|><|tool_call_begin|>functions.run_shell:0<|tool_call_argument_begin|>{}", "<|tool_calls_section_begin|>", Tool},
	{Reasoning, "Now.<｜DSML｜invoke name=\"run_shell\">\n</｜DSML｜invoke>", "<｜DSML｜invoke name=\"run_shell\">", Tool},
	{Reasoning, "I must write `<tool_call>run_shell</tool_call>`.", "", 0},
	{Reasoning, "Now answer.<|im_end|>", "<|im_end|>", Template},
	{Reasoning, "Now answer.<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n", "<|im_end|>", Template},
	{Reasoning, "The prompt is <|im_start|>system\n{s}<|im_end|>\n<|im_start|>user\n{q}<|im_end|>\n<|im_start|>assistant\n", "", 0},
	{Reasoning, "It expands one <|audio_pad|> to N of them, up to <|im_end|>.", "", 0},
	{Value, "sed -i 's/<|endoftext|>//g; s/<|im_end|>$//' data.jsonl", "", 0},
	{Value, "ls /data/<|im_end|>", "<|im_end|>", Template},
}

func TestProof(t *testing.T) {
	r := rules("Do something.", "run_shell", "read_file")
	for _, c := range texts {
		mark, class, _ := scan(r, c.where, c.text, len(c.text)).proof(c.text)
		if mark != c.mark || class != c.class {
			t.Errorf("%d: %q: got %q of class %d, want %q of class %d", c.where, c.text, mark, class, c.mark, c.class)
		}
	}
}

func TestBareCalls(t *testing.T) {
	r := rules("Do something.", "run_shell", "get_weather")
	f := func(text string, want bool) {
		t.Helper()
		if call, ok := scan(r, Content, text, 3).Call(); ok != want {
			t.Errorf("%q: got %v, want %v: %+v", text, ok, want, call)
		}
	}
	f(`[{"name": "get_weather", "parameters": {"city": "Kyoto"}}]`, true)
	f(`{"name": "get_weather", "arguments": {"city": "Kyoto"}}`, true)
	f(`{"arguments": {"a": [{"b": "}"}]}, "name": "get_weather"}`+"\n", true)
	f(`{"type": "function", "function": {"name": "get_weather", "arguments": "{}"}}`, true)
	f(`{"name": "get_weather", "arguments": {}}`+"\n"+`{"name": "run_shell", "arguments": {}}`, true)
	f(`{"name": "get_weather", "arguments": {"city": "Ky`, true)
	f(`[get_weather(city="Kyoto (Japan)"), run_shell(command='ls')]`, true)
	f(`get_weather(city="Kyoto")`, true)
	f(`Xget_weather(city="Kyoto")]`, true)
	f(`[get_weather()]`, true)

	f(`{"name": "rent", "arguments": []}`, false)
	f(`{"name": "get_weather"}`, false)
	f(`{"name": "get_weather", "cost": {"arguments": 1}}`, false)
	f(`Sure: {"name": "get_weather", "arguments": {}}`, false)
	f(`If x < y and the road is long and dry one calls get_weather(city="Kyoto")`, false) // too far in
	f(`{"name": "get_weather", "arguments": {}} is how to call it.`, false)
	f("```json\n"+`{"name": "get_weather", "arguments": {}}`+"\n```\n", true)
	f("```tool_code\nget_weather(city=\"Kyoto\")\n```", true)
	f("```tool_code\nprint(get_weather(city=\"Kyoto\"))\n```", true)
	f("```python\nprint(get_weather(city=\"Kyoto\"))\n```", false)
	f("```json\n"+`{"name": "get_weather", "arguments": {}}`+"\n```\nis the call.", false)
	f("```python\nget_weather(city=\"Kyoto\")\n```", false)
	f("```\nget_weather(city=\"Kyoto\")\n```", false)
	f("It is\n```json\n"+`{"name": "get_weather", "arguments": {}}`+"\n```", false)
	f(`get_weather(city) tells the weather of a city.`, false)
	f(`run_shell(2)`, false)
	f(`run_shell(fd, buf);`, false)
	f(`get_weather()`, false)
	f(`[1, 2, 3]`, false)
	f(``, false)
}

func TestNamesInARequestExcuse(t *testing.T) {
	f := func(prompt, text string, want bool) {
		t.Helper()
		if got := leaks(rules(prompt, "run_shell"), text); got != want {
			t.Errorf("%q: %q: got %v, want %v", prompt, text, got, want)
		}
	}
	f("What does im_start do?", "It is <|im_start|>.", false)
	f("What is DSML", "It is <｜DSML｜invoke>.", false)
	f(`{"tool_calls": [], "tool_call_id": 1}`, "<tool_calls>\n<tool_call>{", true)
	f("How does ChatML look?", "<|im_start|>user", false)
	f("Which special tokens are there?", "There is <|eot_id|>.", false)
	f("Write a chat template for it.", "<|start_header_id|>", false)
	f("Chat with me about tokens.", "<|start_header_id|>", true)
	f("Which special tokens are there?", "<|tool_call_begin|>", true)
	f("Who is the user?", "It is <｜User｜>", true)
}

// TestEndsOfCalls holds what a parser leaves that took the beginning of a call
// whose name was damaged.
func TestEndsOfCalls(t *testing.T) {
	f := func(asked, text string, want int) {
		t.Helper()
		for size := 1; size < 20; size++ {
			call, ok := scan(rules(asked, "run_shell", "get_weather"), Content, text, size).Call()
			if ok != (want >= 0) || ok && call.Start != int64(want) {
				t.Errorf("%q in pieces of %d: got %v at %d, want %d", text, size, ok, call.Start, want)
			}
		}
	}
	const asked = "Do something."
	f(asked, "I will check this for you, as it was asked of me.\n \"arguments\": {\"city\": \"Paris\"}}\n", 52)
	f(asked, "I will check this for you, as it was asked of me.\nget_weather\", \"arguments\": {\"a\": {\"b\": \"}\\\"\"}}}", 65)
	f(asked, "I will check this for you, as it was asked of me.\nparameters\": {}}]", 50)
	f(asked, "I will check this for you, as it was asked of me. \"parameters\": ", 51)
	f(asked, "Mind the \"parameters\"", -1)
	f(asked, "Mind the \"parameters\": there are three.", -1)
	f("Answer in JSON.", "I will check this for you, as it was asked of me.\n \"arguments\": {\"city\": \"Paris\"}}\n", -1)
	f(asked, "It sends {\"name\": \"x\", \"arguments\": {\"city\": \"Paris\"}}", -1)
	f(asked, "The call then has \"arguments\": {\"city\": \"Paris\"}", -1)
	f(asked, "It ends with `\"arguments\": {\"city\": \"Paris\"}}`", -1)
	f(asked, "It ends with \"arguments\": {\"city\": \"Paris\"}} as all of them do.", -1)
	f(asked, "func f() {\n\tcall(\"arguments\")\n}}", -1)
}

// TestCallsBehindACall holds what is left in a text once a call was taken out
// of it: the rest of the list that the call was in.
func TestCallsBehindACall(t *testing.T) {
	f := func(front, rest string, want, listed bool) {
		t.Helper()
		var s Scanner
		s.Reset(rules("Do something.", "run_shell", "get_weather"), Content)
		s.Write([]byte(front))
		s.Called()
		s.Write([]byte(rest))
		s.Finish()
		call, ok := s.Call()
		if at := strings.Index(rest, "{"); ok != want || ok && (call.Listed != listed || call.Start != int64(len(front)+at)) {
			t.Errorf("%q, %q: got %v, want %v: %+v", front, rest, ok, want, call)
		}
	}
	const call = `{"name": "get_weather", "arguments": {"city": "Lyon"}}`
	f("", ", "+call, true, true)
	f("I will check both of these cities, one after the other.", ", "+call, true, true)
	f("", ", "+call+", "+call+"]", true, true)
	f("", "\n"+call, true, false)
	f("", ", and then "+call, false, false)
	f("", ", "+call+" is what I would call next.", false, false)
	f("", `, {"name": "get_time", "arguments": {}}`, false, false)
	f("", ", as you asked.", false, false)
}

func TestJSONThatWasAskedForIsNoCall(t *testing.T) {
	const text = "```json\n{\"name\": \"run_shell\", \"arguments\": {}}\n```"
	if leaks(rules("Show me the call as JSON, please.", "run_shell"), text) {
		t.Error("a fenced call is proof although JSON was asked for")
	}
}

func TestWithoutToolsACallIsText(t *testing.T) {
	r := rules("Show a JSON prop.")
	for _, text := range []string{"```jsx\n<invoke.Provider/>\n```\n{\"name\": \"x\", \"arguments\": []}", "<tool_call>{}</tool_call>", `{"name": "x", "arguments": {}}`} {
		if leaks(r, text) {
			t.Errorf("%q is proof", text)
		}
	}
	if !leaks(r, "Hello.<|im_end|>") {
		t.Error("a template's token is no proof")
	}
}

// public is the match without what only the scanner knows.
func (m Match) public() Match {
	return Match{m.Family, m.Class, m.Role, m.Where, m.Start, m.End, m.Quoted, m.Seen, m.Declared, m.Partial, m.Orphan, m.Proof, hidden{}}
}

func TestOffsetsCountOverTexts(t *testing.T) {
	s := new(Scanner)
	s.Reset(rules("", "run_shell"), Key)
	s.Write([]byte("city"))
	s.Next(Value)
	s.Write([]byte("Pa"))
	s.Write([]byte("ris<|im_end|>"))
	s.Finish()
	want := Match{Family: ChatML, Class: Template, Role: Closer, Where: Value, Start: 9, End: 19, Orphan: true, Proof: true}
	if got := s.Matches(); len(got) != 1 || got[0].public() != want {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

// corpus is all texts that the tests know.
func corpus(t testing.TB) (all []string) {
	for _, c := range texts {
		all = append(all, c.text)
	}
	for _, s := range samples(t) {
		all = append(all, s.Good, "I will check.\n\n```\n"+s.Good+"\n```\n"+s.Good)
	}
	long := strings.Repeat("Words, words; a < b and [x] `y`.\n", 40)
	return append(all, long+"<|im_start|>"+long+"<tool_call>\n{\"name\"", strings.Repeat("</invoke>\n</parameter>\n", 80),
		strings.Repeat("<", 2000), strings.Repeat("`", 2000), strings.Repeat("<|a", 900), strings.Repeat("<|ab|>", enough+20)+"`<|im_end|>", strings.Repeat(" ", 1500)+"</tool_call>")
}

func TestCutsChangeNothing(t *testing.T) {
	r := rules("Do something.", "run_shell", "get_weather")
	for _, text := range corpus(t) {
		for _, where := range []Where{Content, Reasoning, Key, Value, Name} {
			want := scan(r, where, text, len(text)+1).result()
			step := 1
			switch {
			case len(text) > 5000:
				step = 997
			case where == Key || where == Name || where != Content && len(text) > 500:
				step = 29
			}
			for at := 1; at < len(text); at += step {
				s := new(Scanner)
				s.Reset(r, where)
				s.Write([]byte(text[:at]))
				s.Write([]byte(text[at:]))
				s.Finish()
				if got := s.result(); got != want {
					t.Fatalf("%q cut at %d:\ngot  %s\nwant %s", text, at, got, want)
				}
			}
			for _, size := range []int{1, 2, 7} {
				if got := scan(r, where, text, size).result(); got != want {
					t.Fatalf("%q in pieces of %d:\ngot  %s\nwant %s", text, size, got, want)
				}
			}
		}
	}
}

func TestScannerKeepsFewMatches(t *testing.T) {
	r := rules("", "run_shell")
	text := strings.Repeat("See `<tool_call>`. ", 1000) + "<|im_end|>"
	s := scan(r, Content, text, 100)
	if len(s.Matches()) != maxMatches || s.Total() != 1001 {
		t.Errorf("got %d of %d matches, want %d of 1001", len(s.Matches()), s.Total(), maxMatches)
	}
	if mark, _, _ := s.proof(text); mark != "<|im_end|>" {
		t.Errorf("got proof %q, want the last marker", mark)
	}
	if size := reflect.TypeFor[Scanner]().Size(); size > 3<<10 {
		t.Errorf("a scanner takes %d bytes", size)
	}
}

func FuzzCut(f *testing.F) {
	for _, text := range corpus(f) {
		f.Add(text, uint8(0), uint8(3))
	}
	r := rules("Do something.", "run_shell", "get_weather")
	f.Fuzz(func(t *testing.T, text string, where, size uint8) {
		w := Where(where % uint8(Name+1))
		want := scan(r, w, text, len(text)+1)
		if got := scan(r, w, text, int(size)+1); got.result() != want.result() {
			t.Errorf("in pieces of %d:\ngot  %s\nwant %s", int(size)+1, got.result(), want.result())
		}
		for _, m := range want.Matches() {
			if m.Start < 0 || m.End <= m.Start || m.End > int64(len(text)) {
				t.Errorf("%+v lies outside of the text", m)
			}
		}
	})
}

// TestCutsChangeNothingAmongBlanks: more of them than is looked at stand around a marker.
func TestCutsChangeNothingAmongBlanks(t *testing.T) {
	r := rules("Do something.", "run_shell")
	blanks := strings.Repeat(" ", 100)
	for _, text := range []string{
		"Done.[EOS]" + blanks + "more text", "Done.<eos>" + strings.Repeat("\n", 300) + "more", "x <tool_call>" + blanks + blanks + "is",
		blanks + "</s>" + blanks + "b", "}" + blanks + "</tool_call>" + blanks, "a\n" + blanks + "```\n<|im_end|>\n```", blanks + "<|im_end|> x",
		strings.Repeat("ab ", 300) + "x" + blanks + "<tool_call>" + blanks + "{\"name\"", "to=functions." + strings.Repeat("a", 100) + ":0{",
	} {
		for _, where := range []Where{Content, Value} {
			want := scan(r, where, text, 1).result()
			for size := 2; size <= len(text); size++ {
				if got := scan(r, where, text, size).result(); got != want {
					t.Fatalf("%.20q in pieces of %d:\ngot  %s\nwant %s", text, size, got, want)
				}
			}
		}
	}
}

// TestCutsChangeNothingOfWhatComesTogether puts markers, what they are made of and
// what stands around them behind one another at random.
func TestCutsChangeNothingOfWhatComesTogether(t *testing.T) {
	r, rnd := rules("Do something.", "run_shell"), rand.New(rand.NewPCG(3, 4))
	pieces := strings.Fields("<tool_call> </tool_call> <|im_end|> <|im_start|> [EOS] [INST] [TOOL_CALLS] </s> ``` ` { } \" ' run_shell ( <invoke_name=\"run_shell\"> </invoke> " +
		"functions.run_shell:0 to=functions. <| |> DSML ｜ <｜ <arg_key> </arg_value> \\u003c assistant final A ◁think▷ <think> </think> <]minimax[>[ = / ? > < x: <|\"|> <start_of_turn> json")
	for _, s := range []string{" ", "\n", "a", "x y "} {
		pieces = append(pieces, s, strings.Repeat(s, 63), strings.Repeat(s, 140))
	}
	for range 300 {
		var b strings.Builder
		for range 1 + rnd.IntN(40) {
			b.WriteString(strings.ReplaceAll(pieces[rnd.IntN(len(pieces))], "invoke_", "invoke "))
		}
		text := b.String()
		for _, where := range []Where{Content, Reasoning, Value} {
			want := scan(r, where, text, len(text)+1).result()
			for _, size := range []int{1, 17, 100} {
				if got := scan(r, where, text, size).result(); got != want {
					t.Fatalf("%q in pieces of %d:\ngot  %s\nwant %s", text, size, got, want)
				}
			}
		}
	}
}
