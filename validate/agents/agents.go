// Package agents makes known-answer work for a model that calls tools: sessions
// of several turns in which values travel from a request and from tool results
// into the arguments of the next call. Everything a session asks, and every right
// answer, follows from its seed.
//
// There are several sets of such work, see [Sets]. Those of the set tools can be
// put to any model that calls tools: identifiers, paths, numbers, words from a
// closed list, names beyond ASCII, nested objects and long texts are copied,
// and the schemas allow only values that differ from one another in more than one
// character. A single changed character in an argument thus violates a schema, and
// can be told without the known answer.
package agents

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Set is a kind of work.
type Set struct {
	Name, Doc string
	// New makes the session of a seed. The same arguments make the same session.
	New func(seed uint64, s Shape) *Session
}

// Sets returns the sets there are. Of the first are the sessions of NewSession.
func Sets() []Set {
	return []Set{
		{"tools", "plans that any model which calls tools can follow", tools},
		{"racelm", "the tasks that racelm was trained for: free text, no rules, four turns", racelm},
	}
}

// Shape says what a session is like. A set makes of it what it can. The zero
// Shape is a session of five turns with short values and no canary.
type Shape struct {
	Turns  int  // calls, and the text at the end: 2 or more; 0 is 5
	Long   int  // characters of a text that each call must copy besides, 0 for none
	Canary bool // plant a word that nobody may say
}

// Session is the work of one agent. It is not changed by its methods.
type Session struct {
	ID     string
	system string
	user   string
	tools  []tool // that are declared
	steps  []step
	final  string // the text of the last turn
	strict bool   // … to the last stop
	plain  bool   // the set's model knows no other text than its own
}

// tool is one that is declared.
type tool struct {
	name, doc string
	args      []arg
}

// step is one call and its result.
type step struct {
	tool, doc string
	args      []arg
	result    fields
}

// arg is one argument: what the plan says and what it comes to.
type arg struct {
	name, doc string
	plan      string // a JSON literal or result.FIELD
	value     any    // string, int, json.Number, bool or fields
	allowed   []any  // by the schema; value is among them
	members   []arg  // of a value that is an object, instead of those
	schema    any    // if set, instead of one made of those
	pattern   bool   // the schema names those as a pattern
}

// Options say how a request is put. The zero Options ask for a whole answer at
// temperature 0.
type Options struct {
	Model       string
	Stream      bool
	NoUsage     bool    // do not ask a stream for the token counts
	Temperature float64 // 0 is greedy
	Seed        *int64  // of the server's sampling; nil sends none
	MaxTokens   int     // 0 sends none
	// Prefix comes before everything else in the conversation, Pad at the end of
	// the user's message: text without meaning, which Filler makes.
	Prefix, Pad string
	// Extra are further fields of the request's body, as JSON.
	Extra map[string]json.RawMessage
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

// Pads reports whether the session's requests may hold a Prefix and a Pad; where
// not, they are left out.
func (s *Session) Pads() bool { return !s.plain }

// Request returns the body of a turn's chat request, turns counted from 1. Its
// history holds the right answers to the earlier turns whatever a server made
// of them, so each turn has a known answer of its own.
func (s *Session) Request(turn int, o Options) []byte {
	messages := s.opening(o)
	for i, st := range s.steps[:turn-1] {
		id := fmt.Sprintf("call_%024d", i+1)
		call := fields{{"id", id}, {"type", "function"}, {"function", fields{{"name", st.tool}, {"arguments", st.arguments()}}}}
		messages = append(messages,
			fields{{"role", "assistant"}, {"content", ""}, {"tool_calls", []any{call}}},
			fields{{"role", "tool"}, {"tool_call_id", id}, {"content", dumps(st.result)}})
	}
	body := fields{{"model", o.Model}, {"messages", messages}}
	if len(s.tools) > 0 {
		body = append(body, field{"tools", s.declared()})
	}
	return []byte(encode(append(body, o.fields()...)))
}

// opening returns the messages before the first answer.
func (s *Session) opening(o Options) []any {
	system, user := s.system, s.user
	if s.Pads() {
		if o.Prefix != "" {
			system = o.Prefix + "\n\n" + system
		}
		if o.Pad != "" {
			user += "\nDisregard what follows.\n" + o.Pad
		}
	}
	messages := []any{fields{{"role", "user"}, {"content", user}}}
	if system != "" {
		messages = append([]any{fields{{"role", "system"}, {"content", system}}}, messages...)
	}
	return messages
}

// fields returns what a request has beside the conversation.
func (o *Options) fields() fields {
	f := fields{{"temperature", o.Temperature}}
	if o.Seed != nil {
		f = append(f, field{"seed", *o.Seed})
	}
	if o.MaxTokens > 0 {
		f = append(f, field{"max_tokens", o.MaxTokens})
	}
	if o.Stream {
		f = append(f, field{"stream", true})
		if !o.NoUsage {
			f = append(f, field{"stream_options", fields{{"include_usage", true}}})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(o.Extra)) {
		f = append(f, field{name, o.Extra[name]})
	}
	return f
}

func (s *Session) declared() []any {
	var all []any
	for _, t := range s.tools {
		all = append(all, fields{{"type", "function"},
			{"function", fields{{"name", t.name}, {"description", t.doc}, {"parameters", parameters(t.args)}}}})
	}
	return all
}

// parameters is the schema of an object with these properties and no others.
func parameters(args []arg) fields {
	props, required := fields{}, []string{}
	for i := range args {
		props = append(props, field{args[i].name, args[i].rule()})
		required = append(required, args[i].name)
	}
	return fields{{"type", "object"}, {"properties", props}, {"required", required}, {"additionalProperties", false}}
}

// rule is the schema of an argument.
func (a *arg) rule() any {
	switch {
	case a.schema != nil:
		return a.schema
	case a.members != nil:
		return append(fields{{"description", a.doc}}, parameters(a.members)...)
	case a.pattern:
		return fields{{"type", "string"}, {"description", a.doc}, {"pattern", oneOf(a.allowed)}}
	}
	f := fields{{"type", typeOf(a.value)}, {"description", a.doc}}
	if len(a.allowed) == 1 {
		return append(f, field{"const", a.value})
	}
	return append(f, field{"enum", a.allowed})
}

// oneOf is a pattern that matches these texts, which hold no character that
// means something in a pattern.
func oneOf(texts []any) string {
	var all []string
	for _, t := range texts {
		all = append(all, t.(string))
	}
	return "^(?:" + strings.Join(all, "|") + ")$"
}

func typeOf(v any) string {
	if _, ok := v.(int); ok {
		return "integer"
	}
	return "string"
}

// arguments returns the right arguments.
func (st *step) arguments() string {
	var f fields
	for _, a := range st.args {
		f = append(f, field{a.name, a.value})
	}
	return dumps(f)
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
	if got := strings.TrimSpace(a.Text); got != s.final && (s.strict || bare(got) != bare(s.final)) {
		return fmt.Errorf("turn %d: said %q, want %q", s.Turns(), got, s.final)
	}
	return nil
}

// bare takes off what models like to put around a text that is asked for.
func bare(s string) string { return strings.Trim(s, "\"'`“”*. \n") }

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
