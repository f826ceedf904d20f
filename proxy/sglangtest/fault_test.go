package sglangtest

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"
)

// struck streams one call answer through a fault and returns the body.
func struck(t *testing.T, fault, content string, stream bool) string {
	t.Helper()
	f, err := NewFault(fault, 1, 1, "deepseekv4")
	if err != nil {
		t.Fatal(err)
	}
	s := start(t, Config{Faults: []Fault{f}})
	_, body := chat(t, s, content, object{"stream": stream, "stream_options": object{"include_usage": true},
		"tools": []any{object{"type": "function", "function": object{"name": "get_ticket"}}}})
	if r := s.Records(); len(r[0].Faults) != 1 || r[0].Faults[0] != fault {
		t.Errorf("%s: the record says %q", fault, r[0].Faults)
	}
	return body
}

// TestEqualRequestsMeetUnlikeFates, at the rate of the fault, and the same ones
// when the run is repeated.
func TestEqualRequestsMeetUnlikeFates(t *testing.T) {
	fates := func() (all string) {
		f, err := NewFault("first_error", 0.5, 3, "deepseekv4")
		if err != nil {
			t.Fatal(err)
		}
		s := start(t, Config{Faults: []Fault{f}})
		for range 40 {
			chat(t, s, "hi", nil)
		}
		for _, r := range s.Records() {
			all += strconv.Itoa(len(r.Faults))
		}
		return all
	}
	first, again := fates(), fates()
	if n := strings.Count(first, "1"); n < 10 || n > 30 || len(first) != 40 {
		t.Errorf("of 40 equal requests %d were struck, want about half: %s", n, first)
	}
	if first != again {
		t.Errorf("repeated: got %s, want %s", again, first)
	}
}

// seen is a streamed answer put together by a reader that forgives everything.
type seen struct {
	content, reasoning, finish string
	names, ids, args           map[int]string
	bad, late                  int // events that are no JSON, deltas after the finish
	done                       bool
}

func read(body string) seen {
	s := seen{names: map[int]string{}, ids: map[int]string{}, args: map[int]string{}}
	for _, ev := range strings.Split(body, "\n\n") {
		data, ok := strings.CutPrefix(ev, "data: ")
		switch {
		case !ok:
			continue
		case data == "[DONE]":
			s.done = true
			continue
		}
		s.event(data)
	}
	return s
}

func (s *seen) event(data string) {
	var e struct {
		Choices []struct {
			Delta struct {
				Content   string
				Reasoning string `json:"reasoning_content"`
				Calls     []struct {
					Index    int
					ID       string
					Function struct{ Name, Arguments string }
				} `json:"tool_calls"`
			}
			Finish string `json:"finish_reason"`
		}
	}
	if json.Unmarshal([]byte(data), &e) != nil {
		s.bad++
		return
	}
	for _, c := range e.Choices {
		if s.finish != "" && c.Delta.Content != "" {
			s.late++
		}
		s.content += c.Delta.Content
		s.reasoning += c.Delta.Reasoning
		s.finish += c.Finish
		for _, call := range c.Delta.Calls {
			s.names[call.Index] += call.Function.Name
			s.ids[call.Index] += call.ID
			s.args[call.Index] += call.Function.Arguments
		}
	}
}

const (
	onePlan  = `1. Call get_ticket with ticket = "TCK-4821", depth = 3.`
	oneArgs  = `{"ticket": "TCK-4821", "depth": 3}`
	textPlan = `1. Answer: "the quick brown fox jumps over the lazy dog"`
)

func TestEveryFaultShows(t *testing.T) {
	tests := map[string]struct {
		plan string
		want func(s seen, body string) bool
	}{
		"altered": {onePlan, func(s seen, _ string) bool { return s.args[0] == `{"ticket": "TCK-5821", "depth": 3}` }},
		"mistake": {onePlan, func(s seen, _ string) bool { return s.args[0] == `{"ticket": "TCK-5821", "depth": 3}` }},
		"swapped": {onePlan, func(s seen, _ string) bool {
			return s.args[0] != oneArgs && len(s.args[0]) == len(oneArgs) && json.Valid([]byte(s.args[0]))
		}},
		"retokenised": {onePlan, func(s seen, _ string) bool { return s.args[0] == oneArgs }},
		"bad_json":    {onePlan, func(s seen, _ string) bool { return !json.Valid([]byte(s.args[0])) && s.finish == "tool_calls" }},
		"args_truncated": {onePlan, func(s seen, _ string) bool {
			return s.args[0] == oneArgs[:len(oneArgs)*2/3] && s.finish == "tool_calls"
		}},
		"args_prefix":         {onePlan, func(s seen, _ string) bool { return s.args[0] == oneArgs[1:] }},
		"args_duplicated":     {onePlan, func(s seen, _ string) bool { return s.args[0] == oneArgs+oneArgs }},
		"args_trailing":       {onePlan, func(s seen, _ string) bool { return s.args[0] == oneArgs+`"}` }},
		"args_not_object":     {onePlan, func(s seen, _ string) bool { return s.args[0] == quote(oneArgs) }},
		"args_empty":          {onePlan, func(s seen, _ string) bool { return s.args[0] == "{}" }},
		"missing_required":    {onePlan, func(s seen, _ string) bool { return s.args[0] == `{"ticket": "TCK-4821"}` }},
		"wrong_type":          {onePlan, func(s seen, _ string) bool { return s.args[0] == `{"ticket": ["TCK-4821"], "depth": 3}` }},
		"extra_property":      {onePlan, func(s seen, _ string) bool { return s.args[0] == `{"ticket": "TCK-4821", "depth": 3, "__index": 7}` }},
		"leaked_args":         {onePlan, func(s seen, _ string) bool { return strings.Contains(s.args[0], `TCK-4821</｜DSML｜invoke>\n`) }},
		"unknown_tool":        {onePlan, func(s seen, _ string) bool { return s.names[0] == "get_tjcket" && s.args[0] == oneArgs }},
		"name_malformed":      {onePlan, func(s seen, _ string) bool { return s.names[0] == "get_t<｜DSML｜icket" }},
		"null_name":           {onePlan, func(s seen, _ string) bool { return s.names[0] == "" && s.args[0] == oneArgs }},
		"index_collision":     {onePlan, func(s seen, _ string) bool { return s.args[0] == oneArgs+oneArgs && len(s.ids[0]) == 2*29 }},
		"call_split":          {onePlan, func(s seen, _ string) bool { return s.args[0]+s.args[1] == oneArgs && s.names[1] == "" }},
		"duplicate_id":        {onePlan, func(s seen, _ string) bool { return s.ids[0] == s.ids[1] && s.args[1] == oneArgs }},
		"finish_without_call": {onePlan, func(s seen, _ string) bool { return s.finish == "tool_calls" && len(s.args) == 0 }},
		"unsolicited_call":    {textPlan, func(s seen, _ string) bool { return s.names[0] == "get_weather" && s.finish == "tool_calls" }},
		"swallowed":           {onePlan, func(s seen, _ string) bool { return s.finish == "stop" && len(s.args) == 0 && s.reasoning == "" }},
		"leaked": {onePlan, func(s seen, _ string) bool {
			return strings.Contains(s.content, `<｜DSML｜parameter name="ticket" string="true">TCK-4821</`) && s.finish == "stop"
		}},
		"leaked_reasoning": {onePlan, func(s seen, _ string) bool { return strings.Contains(s.reasoning, "<｜DSML｜tool_calls>") }},
		"call_in_text": {onePlan, func(s seen, _ string) bool {
			return strings.Contains(s.content, `{"name": "get_ticket", "arguments": `+oneArgs+`}`)
		}},
		"special_token":    {textPlan, func(s seen, _ string) bool { return strings.Contains(s.content, "<｜end▁of▁sentence｜>") }},
		"salad":            {textPlan, func(s seen, _ string) bool { return strings.Contains(s.content, "缓冲区 مفتاح") }},
		"replacement_char": {textPlan, func(s seen, _ string) bool { return strings.Contains(s.content, "caf\uFFFD") }},
		"loop": {textPlan, func(s seen, _ string) bool {
			return strings.Count(s.content, "the index key ") == 256 && s.finish == "length"
		}},
		"delta_replay": {textPlan, func(s seen, _ string) bool {
			return strings.Contains(s.content, "the quick brown fothe quick brown fox")
		}},
		"malformed_event": {textPlan, func(s seen, _ string) bool { return s.bad == 1 && s.done }},
		"invalid_utf8":    {textPlan, func(_ seen, body string) bool { return strings.Contains(body, "\"\xe4\xbd\"") }},
		"post_finish":     {textPlan, func(s seen, _ string) bool { return s.late == 1 && s.done }},
		"cut":             {textPlan, func(s seen, _ string) bool { return s.finish == "" && !s.done && s.content != "" }},
		"length":          {textPlan, func(s seen, _ string) bool { return s.finish == "length" && s.done }},
		"abort":           {textPlan, func(s seen, _ string) bool { return s.finish == "abort" && s.done }},
		"error": {textPlan, func(s seen, body string) bool {
			return s.finish == "" && s.done && strings.Contains(body, `"type": "SERVICE_UNAVAILABLE"`)
		}},
		"first_error": {textPlan, func(_ seen, body string) bool { return strings.HasPrefix(body, `{"object":"error"`) }},
	}
	for _, name := range FaultNames() {
		if name == "origin" {
			continue // needs a batch
		}
		tt, ok := tests[name]
		if !ok {
			t.Errorf("%s: no test", name)
			continue
		}
		body := struck(t, name, tt.plan, true)
		if !tt.want(read(body), body) {
			t.Errorf("%s: got %s", name, body)
		}
		if name != "cut" { // nothing would come at all
			struck(t, name, tt.plan, false)
		}
	}
}

func TestLateFaultChangesOnlyTheRest(t *testing.T) {
	late := Fault{Name: "late", When: func(s State) bool { return s.Token >= 12 }, Do: Altered}
	s := start(t, Config{Faults: []Fault{late}, Script: func(*Request) *Answer {
		return &Answer{Deltas: pieces("deepseekv4", "call_1", "get_ticket", `{"ticket": "aaaaaaaaaaaaaaaaaaaaaaaa"}`), Finish: "tool_calls"}
	}})
	_, body := chat(t, s, "x", object{"stream": true})
	got := read(body).args[0]
	if !json.Valid([]byte(got)) || strings.Count(got, "b") != 1 || strings.Index(got, "b") < 18 {
		t.Errorf("got %s, want one later a changed", got)
	}
}

func TestValuesAreFoundInTheRestOfArguments(t *testing.T) {
	f := func(args string, want ...string) {
		t.Helper()
		var got []string
		for _, v := range values(args) {
			got = append(got, args[v.from:v.to])
		}
		if strings.Join(got, "|") != strings.Join(want, "|") {
			t.Errorf("%s: got %q, want %q", args, got, want)
		}
	}
	f(`{"a": "b", "c": 1, "d": "e\"f"}`, "b", `e\"f`)
	f(`{"a": 1}`)
	f(`is", "b": "x"}`, "is", "x")
	f(`"city": "P"}`, "P")
	f(`{"a": ""}`)
	f(``)
}

func TestMarkupIsWrittenInEveryFamily(t *testing.T) {
	for _, parser := range []string{"deepseekv3", "deepseekv4", "qwen25", "qwen", "glm", "kimi_k2", "gpt-oss", "llama3", "mistral", "unheard-of"} {
		got := markupOf(parser).write("get_ticket", `{"ticket": "TCK-4821"}`)
		if !strings.Contains(got, "get_ticket") || !strings.Contains(got, "TCK-4821") || !strings.Contains(got, "ticket") || strings.Contains(got, "Paris") {
			t.Errorf("%s: %s", parser, got)
		}
	}
}

func TestUnknownFaultIsNamedWithTheOthers(t *testing.T) {
	_, err := NewFault("gremlin", 1, 1, "")
	if err == nil || !strings.Contains(err.Error(), "gremlin") || !strings.Contains(err.Error(), "swallowed") {
		t.Errorf("got %v", err)
	}
}
