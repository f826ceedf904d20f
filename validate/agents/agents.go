// Package agents makes known-answer work for a model that calls tools: sessions
// of several turns in which identifiers, paths, numbers and words from a closed
// list travel from tool results into the arguments of the next call. Everything
// a session asks, and every right answer, follows from its seed.
//
// The schemas of a session's tools allow only values that differ from one
// another in more than one character, so a single changed character in an
// argument violates a schema, and can be told without the known answer.
//
// The plan is written so that any model which calls tools can follow it.
package agents

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Session is the work of one agent. It is not changed by its methods.
type Session struct {
	ID    string
	steps []step
	final string // the text of the last turn
}

// step is one call and its result.
type step struct {
	tool, doc string
	args      []arg
	result    map[string]any
}

// arg is one argument: what the plan says and what it comes to.
type arg struct {
	name, doc string
	plan      string // a JSON literal or result.FIELD
	value     any    // string or int
	allowed   []any  // by the schema; value is among them
}

// Options say how a request is put.
type Options struct {
	Model  string
	Stream bool
}

// Answer is what came back, put together.
type Answer struct {
	Text  string
	Calls []Call
}

// Call is one tool call of an answer.
type Call struct{ Name, Arguments string }

// Turns returns the number of turns: one for each call of the plan and one for
// the text at its end.
func (s *Session) Turns() int { return len(s.steps) + 1 }

const system = `Work through the user's plan with the tools you are given, one step a turn, in order.
At a step that says Call, call that tool with exactly the arguments it names. result.FIELD is that field of the latest tool result, result[N].FIELD that field of the Nth tool result. Copy every value character for character.
At the step that says Answer, call nothing and reply with exactly the text in quotes, without the quotes.`

// Plan returns the user message of the session.
func (s *Session) Plan() string {
	var b strings.Builder
	b.WriteString("Please take these steps.\n")
	for i, st := range s.steps {
		fmt.Fprintf(&b, "%d. Call %s", i+1, st.tool)
		for j, a := range st.args {
			b.WriteString([]string{" with ", ", "}[min(j, 1)] + a.name + " = " + a.plan)
		}
		b.WriteString(".\n")
	}
	fmt.Fprintf(&b, "%d. Answer: %s\n", s.Turns(), encode(s.final))
	return b.String()
}

type object = map[string]any

// Request returns the body of a turn's chat request, turns counted from 1. Its
// history holds the right answers to the earlier turns whatever a server made
// of them, so each turn has a known answer of its own.
func (s *Session) Request(turn int, o Options) []byte {
	messages := []any{object{"role": "system", "content": system}, object{"role": "user", "content": s.Plan()}}
	for i, st := range s.steps[:turn-1] {
		id := fmt.Sprintf("call_%024d", i+1)
		messages = append(messages,
			object{"role": "assistant", "content": "", "tool_calls": []any{object{"id": id, "type": "function",
				"function": object{"name": st.tool, "arguments": st.arguments()}}}},
			object{"role": "tool", "tool_call_id": id, "content": encode(st.result)})
	}
	body := object{"model": o.Model, "messages": messages, "tools": s.tools(), "temperature": 0}
	if o.Stream {
		body["stream"] = true
		body["stream_options"] = object{"include_usage": true}
	}
	return []byte(encode(body))
}

func (s *Session) tools() []any {
	var tools []any
	for _, st := range s.steps {
		props, required := object{}, []string{}
		for _, a := range st.args {
			props[a.name] = a.schema()
			required = append(required, a.name)
		}
		tools = append(tools, object{"type": "function", "function": object{"name": st.tool, "description": st.doc,
			"parameters": object{"type": "object", "properties": props, "required": required, "additionalProperties": false}}})
	}
	return tools
}

func (a *arg) schema() object {
	typ := "string"
	if _, ok := a.value.(int); ok {
		typ = "integer"
	}
	if len(a.allowed) == 1 {
		return object{"type": typ, "description": a.doc, "const": a.value}
	}
	return object{"type": typ, "description": a.doc, "enum": a.allowed}
}

// arguments returns the right arguments.
func (st *step) arguments() string {
	var fields []string
	for _, a := range st.args {
		fields = append(fields, encode(a.name)+": "+encode(a.value))
	}
	return "{" + strings.Join(fields, ", ") + "}"
}

// Check returns nil if the answer to a turn is the right one, else what is
// wrong with it.
func (s *Session) Check(turn int, a Answer) error {
	if turn == s.Turns() {
		return s.checkFinal(a)
	}
	st := s.steps[turn-1]
	if len(a.Calls) != 1 {
		return fmt.Errorf("turn %d: %d calls, want one of %s", turn, len(a.Calls), st.tool)
	}
	if name := a.Calls[0].Name; name != st.tool {
		return fmt.Errorf("turn %d: called %q, want %s", turn, name, st.tool)
	}
	if err := st.check(a.Calls[0].Arguments); err != nil {
		return fmt.Errorf("turn %d: %s: %w", turn, st.tool, err)
	}
	return nil
}

func (s *Session) checkFinal(a Answer) error {
	if len(a.Calls) > 0 {
		return fmt.Errorf("turn %d: called %q, want a text", s.Turns(), a.Calls[0].Name)
	}
	if got := strings.TrimSpace(a.Text); got != s.final {
		return fmt.Errorf("turn %d: said %q, want %q", s.Turns(), got, s.final)
	}
	return nil
}

func (st *step) check(arguments string) error {
	var got map[string]json.RawMessage
	if err := json.Unmarshal([]byte(arguments), &got); err != nil {
		return fmt.Errorf("read arguments: %w", err)
	}
	for _, a := range st.args {
		v, ok := got[a.name]
		if !ok {
			return fmt.Errorf("no argument %s", a.name)
		}
		if !same(v, a.value) {
			return fmt.Errorf("argument %s is %s, want %s", a.name, v, encode(a.value))
		}
		delete(got, a.name)
	}
	for _, name := range slices.Sorted(maps.Keys(got)) {
		return fmt.Errorf("argument %q, which was not asked for", name)
	}
	return nil
}

// same reports whether raw is want, whatever the escapes in it.
func same(raw json.RawMessage, want any) bool {
	if s, ok := want.(string); ok {
		var got string
		return json.Unmarshal(raw, &got) == nil && got == s
	}
	return string(raw) == encode(want)
}

// encode writes plain data as JSON without escapes it does not need.
func encode(v any) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic("agents: " + err.Error()) // plain data always encodes
	}
	return strings.TrimSuffix(b.String(), "\n")
}
