package sglangtest

import (
	"encoding/json"
	"strings"
	"testing"
)

const plan = `Follow the plan.
1. Call get_ticket with ticket = "TCK-4821", depth = 3, urgent = true.
2. Call read_log with path = result.path, host = result[1].host, tags = ["a","b"].
3. Answer: "TCK-4821 is closed"
`

// reply is a non-streamed answer as a client reads it.
type parsed struct {
	Choices []struct {
		Message struct {
			Content string
			Calls   []struct {
				ID       string
				Function struct{ Name, Arguments string }
			} `json:"tool_calls"`
		}
		Finish string `json:"finish_reason"`
	}
}

func ask(t *testing.T, s *Server, messages ...any) parsed {
	t.Helper()
	_, body := post(t, s, "/v1/chat/completions", object{"model": "m", "messages": messages,
		"tools": []any{object{"type": "function", "function": object{"name": "get_ticket"}}}})
	var p parsed
	if err := json.Unmarshal([]byte(body), &p); err != nil || len(p.Choices) != 1 {
		t.Fatalf("%v: %s", err, body)
	}
	return p
}

func user(text string) object   { return object{"role": "user", "content": text} }
func result(text string) object { return object{"role": "tool", "content": text} }

var took = object{"role": "assistant", "content": "", "tool_calls": []any{object{"id": "x"}}}

func TestModelFollowsThePlan(t *testing.T) {
	s := start(t, Config{})
	f := func(wantName, wantArgs, wantText string, messages ...any) {
		t.Helper()
		p := ask(t, s, messages...).Choices[0]
		name, args := "", ""
		if len(p.Message.Calls) == 1 {
			name, args = p.Message.Calls[0].Function.Name, p.Message.Calls[0].Function.Arguments
		}
		if name != wantName || args != wantArgs || !strings.Contains(p.Message.Content, wantText) {
			t.Errorf("got %s %s %q; want %s %s %q", name, args, p.Message.Content, wantName, wantArgs, wantText)
		}
	}
	first, second := result(`{"path":"/var/log/é.log","host":"h1"}`), result(`{"lines": 7}`)
	f("get_ticket", `{"ticket": "TCK-4821", "depth": 3, "urgent": true}`, "", user(plan))
	f("read_log", `{"path": "/var/log/é.log", "host": "h1", "tags": ["a", "b"]}`, "", user(plan), took, first)
	f("", "", "TCK-4821 is closed", user(plan), took, first, took, second)
	f("", "", ".", user(plan), took, first, took, second, took)
	f("get_ticket", `{"ticket": "TCK-4821", "depth": 3, "urgent": true}`, "", user("1. Call other."), took, first, user(plan))
	f("other", `{}`, "", user("1. Call other."))
	f("", "", "there is no tool result 0", user("1. Call other with a = result.b."))
	f("", "", "has no field b", user("0. x\n2. Call other with a = result.b."), took, first)
	f("", "", ".", user("What is the weather?"))
}

func TestContentPartsAreRead(t *testing.T) {
	s := start(t, Config{})
	p := ask(t, s, object{"role": "user", "content": []any{object{"type": "text", "text": "1. Answer: "}, object{"type": "text", "text": `"parts"`}}})
	if got := p.Choices[0].Message.Content; got != "parts" {
		t.Errorf("got %q, want parts", got)
	}
}

func TestParsersCutCallsTheirWay(t *testing.T) {
	f := func(parser, want string) {
		t.Helper()
		var got []string
		for _, d := range pieces(parser, "id", "t", `{"city": "Paris"}`) {
			got = append(got, d.Call.Args)
		}
		if j := strings.Join(got, "|"); j != want {
			t.Errorf("%s: got %s, want %s", parser, j, want)
		}
	}
	f("deepseekv4", `|{|"city"|: "Par|is"}`)
	f("qwen25", `|{"city": "Paris"}`)
	f("kimi_k2", `{|"city"|: "Par|is"}`)
}

func TestKimiIDsCountCalls(t *testing.T) {
	s := start(t, Config{Parser: "kimi_k2"})
	p := ask(t, s, user(plan), took, result(`{"path":"p","host":"h"}`))
	if got := p.Choices[0].Message.Calls[0].ID; got != "functions.read_log:1" {
		t.Errorf("got %s, want functions.read_log:1", got)
	}
}

func TestSessionIsNamedOrMadeOfTheFirstMessage(t *testing.T) {
	s := start(t, Config{})
	body := object{"messages": []any{user("a"), took, user("b")}, "user": "u"}
	post(t, s, "/v1/chat/completions", body, "X-Session-Id", "h")
	post(t, s, "/v1/chat/completions", body)
	delete(body, "user")
	post(t, s, "/v1/chat/completions", body)
	body["messages"] = []any{user("a")}
	post(t, s, "/v1/chat/completions", body)
	r := s.Records()
	if r[0].Session != "h" || r[1].Session != "u" || r[2].Session == "" || r[2].Session != r[3].Session {
		t.Errorf("sessions %q %q %q %q", r[0].Session, r[1].Session, r[2].Session, r[3].Session)
	}
	if r[2].Turn != 2 || r[3].Turn != 1 {
		t.Errorf("turns %d, %d; want 2, 1", r[2].Turn, r[3].Turn)
	}
}
