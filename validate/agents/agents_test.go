package agents

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// right returns the right answer to a turn.
func right(s *Session, turn int) Answer {
	if turn == s.Turns() {
		return Answer{Text: s.final}
	}
	st := s.steps[turn-1]
	return Answer{Calls: []Call{{Name: st.tool, Arguments: st.arguments()}}}
}

func TestRightAnswersPass(t *testing.T) {
	for seed := range uint64(60) {
		s := NewSession(seed)
		for turn := 1; turn <= s.Turns(); turn++ {
			if err := s.Check(turn, right(s, turn)); err != nil {
				t.Errorf("seed %d: %v", seed, err)
			}
		}
	}
}

func TestWrongAnswersAreNamed(t *testing.T) {
	s := NewSession(0)
	f := func(turn int, a Answer, want string) {
		t.Helper()
		if err := s.Check(turn, a); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	args := s.steps[0].arguments()
	call := func(name, args string) Answer { return Answer{Calls: []Call{{name, args}}} }
	f(1, Answer{Text: "I will."}, "0 calls, want one of get_incident")
	f(1, call("get_incidemt", args), `called "get_incidemt"`)
	f(1, call("get_incident", args[:len(args)-1]), "read arguments")
	f(1, call("get_incident", `{}`), "no argument incident")
	f(1, call("get_incident", strings.Replace(args, "INC", "IMC", 1)), "argument incident is \"IMC-")
	f(1, call("get_incident", strings.Replace(args, "}", `, "x": 1}`, 1)), `argument "x", which was not asked for`)
	f(2, call("read_log", strings.Replace(s.steps[1].arguments(), `"lines": `, `"lines": "1", "n": `, 1)), "argument lines")
	f(5, Answer{Text: s.final + "x"}, "said")
	f(5, call("read_log", "{}"), "want a text")
	if err := s.Check(1, call("get_incident", strings.Replace(args, "INC", `\u0049NC`, 1))); err != nil {
		t.Errorf("an escape is no difference: %v", err)
	}
}

// TestOneChangedCharacterViolatesTheSchema puts every letter and digit at every
// place of every value that the schema of an argument allows.
func TestOneChangedCharacterViolatesTheSchema(t *testing.T) {
	for seed := range uint64(6) {
		for _, tool := range tools(seed, Shape{Turns: 14, Long: 200}).tools {
			for _, a := range leaves(tool.args) {
				if v, near := nearby(a.allowed); near {
					t.Fatalf("seed %d: %s.%s: %v and another of %v differ in one character", seed, tool.name, a.name, v, a.allowed)
				}
			}
		}
	}
}

// leaves are the arguments that are no objects, and the members of those that are.
func leaves(args []arg) (all []arg) {
	for _, a := range args {
		if a.members != nil {
			all = append(all, leaves(a.members)...)
			continue
		}
		all = append(all, a)
	}
	return all
}

// nearby finds a value that is one changed character from another.
func nearby(all []any) (any, bool) {
	texts := map[string]bool{}
	for _, v := range all {
		texts[encode(v)] = true
	}
	for _, v := range all {
		for _, bad := range changed(encode(v)) {
			if texts[bad] {
				return v, true
			}
		}
	}
	return nil, false
}

func changed(text string) []string {
	var out []string
	for i := range text {
		for _, c := range "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789" {
			if text[i] != byte(c) && text[i] != '"' {
				out = append(out, text[:i]+string(c)+text[i+1:])
			}
		}
	}
	return out
}

func TestRequestsFollowFromTheSeed(t *testing.T) {
	o := Options{Model: "m", Stream: true}
	for seed := range uint64(9) {
		a, b := NewSession(seed), NewSession(seed)
		for turn := 1; turn <= a.Turns(); turn++ {
			if !bytes.Equal(a.Request(turn, o), b.Request(turn, o)) {
				t.Errorf("seed %d, turn %d: two requests differ", seed, turn)
			}
		}
	}
	if bytes.Equal(NewSession(4).Request(1, o), NewSession(8).Request(1, o)) {
		t.Error("two seeds made one request")
	}
}

func TestRequestHoldsTheRightHistory(t *testing.T) {
	s := NewSession(1)
	for turn := 1; turn <= s.Turns(); turn++ {
		var body struct {
			Stream   bool
			Messages []struct {
				Role, Content string
				Calls         []struct {
					Function struct{ Name, Arguments string }
				} `json:"tool_calls"`
			}
			Tools []struct {
				Function struct {
					Name       string
					Parameters struct{ Properties map[string]map[string]any }
				}
			}
		}
		if err := json.Unmarshal(s.Request(turn, Options{}), &body); err != nil {
			t.Fatal(err)
		}
		if len(body.Messages) != 2*turn || len(body.Tools) != len(s.tools) || body.Stream {
			t.Errorf("turn %d: %d messages, %d tools, stream %v", turn, len(body.Messages), len(body.Tools), body.Stream)
		}
		for i := 1; i < turn; i++ {
			call := body.Messages[2*i].Calls[0].Function
			if err := s.Check(i, Answer{Calls: []Call{{call.Name, call.Arguments}}}); err != nil {
				t.Error(err)
			}
		}
	}
}

func TestValuesOfThePlanAreInThePlanOrTheResults(t *testing.T) {
	for seed := range uint64(30) {
		s := tools(seed, Shape{Turns: 11, Long: 100})
		plan := s.Plan()
		for i, st := range s.steps {
			for _, a := range st.args {
				if err := s.resolves(i, a, plan); err != nil {
					t.Errorf("seed %d, step %d, %s: %v", seed, i+1, a.name, err)
				}
			}
		}
	}
}

// resolves finds an argument's value where the plan says it is.
func (s *Session) resolves(i int, a arg, plan string) error {
	if !strings.Contains(plan, a.name+" = "+a.plan) {
		return fmt.Errorf("the plan does not name it")
	}
	ref, ok := strings.CutPrefix(a.plan, "result")
	if !ok {
		if a.plan != encode(a.value) {
			return fmt.Errorf("the plan says %s, want %v", a.plan, a.value)
		}
		return nil
	}
	from := i - 1
	if n, field, ok := strings.Cut(ref, "]"); ok {
		fmt.Sscanf(n, "[%d", &from)
		from, ref = from-1, field
	}
	if v := s.steps[from].result.get(strings.TrimPrefix(ref, ".")); encode(v) != encode(a.value) {
		return fmt.Errorf("result %d says %v, want %v", from+1, v, a.value)
	}
	return nil
}

func TestShapes(t *testing.T) {
	f := func(seed uint64, shape Shape, turns int) {
		t.Helper()
		s := tools(seed, shape)
		if s.Turns() != turns {
			t.Errorf("%+v: %d turns, want %d", shape, s.Turns(), turns)
		}
		for turn := 1; turn <= s.Turns(); turn++ {
			if err := s.Check(turn, right(s, turn)); err != nil {
				t.Errorf("%+v: %v", shape, err)
			}
		}
		body := string(s.Request(1, Options{}))
		if got := strings.Contains(body, "twcanary-"); got != shape.Canary {
			t.Errorf("%+v: a canary: %v", shape, got)
		}
		if shape.Long > 0 && len(s.steps[0].arguments()) < shape.Long {
			t.Errorf("%+v: arguments of %d bytes", shape, len(s.steps[0].arguments()))
		}
	}
	f(1, Shape{}, 5)
	f(1, Shape{Turns: 1}, 2)
	f(2, Shape{Turns: 2, Canary: true}, 2)
	f(3, Shape{Turns: 20, Long: 900}, 20)
	f(3, Shape{Turns: 3, Long: 50, Canary: true}, 3)
}

func TestOptionsAreInTheRequest(t *testing.T) {
	seed := int64(7)
	o := Options{Model: "m", Stream: true, NoUsage: true, Temperature: 0.5, Seed: &seed, MaxTokens: 9, Prefix: "Once.", Pad: "End.",
		Extra: map[string]json.RawMessage{"top_k": json.RawMessage("1")}}
	body := string(NewSession(1).Request(1, o))
	for _, want := range []string{`"content":"Once.\n\nWork`, `Disregard what follows.\nEnd."`, `"temperature":0.5,"seed":7,"max_tokens":9,"stream":true,"top_k":1}`} {
		if !strings.Contains(body, want) {
			t.Errorf("no %s in %s", want, body)
		}
	}
}

func TestChattyFinalIsRight(t *testing.T) {
	s := NewSession(1)
	if err := s.Check(5, Answer{Text: "\"" + s.final + "\".\n"}); err != nil {
		t.Error(err)
	}
}

func TestFillerGrowsFromItsBeginning(t *testing.T) {
	long, short := Filler(1, 50), Filler(1, 20)
	if !strings.HasPrefix(long, short+" ") || Filler(2, 50) == long || Filler(1, 0) != "" {
		t.Errorf("%q does not begin with %q", long, short)
	}
}

// get returns a member's value, nil where there is none.
func (f fields) get(name string) any {
	for _, m := range f {
		if m.name == name {
			return m.value
		}
	}
	return nil
}
