package agents

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
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
	f(5, Answer{Text: s.final + "."}, "said")
	f(5, call("read_log", "{}"), "want a text")
	if err := s.Check(1, call("get_incident", strings.Replace(args, "INC", `\u0049NC`, 1))); err != nil {
		t.Errorf("an escape is no difference: %v", err)
	}
}

// TestOneChangedCharacterViolatesTheSchema puts every letter and digit at every
// place of every argument.
func TestOneChangedCharacterViolatesTheSchema(t *testing.T) {
	for seed := range uint64(30) {
		for _, st := range NewSession(seed).steps {
			for _, a := range st.args {
				text := encode(a.value)
				for _, bad := range changed(text) {
					if slices.ContainsFunc(a.allowed, func(v any) bool { return encode(v) == bad }) {
						t.Fatalf("seed %d: %s.%s: %s is allowed beside %s", seed, st.tool, a.name, bad, text)
					}
				}
			}
		}
	}
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
	if bytes.Equal(NewSession(3).Request(1, o), NewSession(6).Request(1, o)) {
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
		if len(body.Messages) != 2*turn || len(body.Tools) != len(s.steps) || body.Stream {
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
		s := NewSession(seed)
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
	if v := s.steps[from].result[strings.TrimPrefix(ref, ".")]; v != a.value {
		return fmt.Errorf("result %d says %v, want %v", from+1, v, a.value)
	}
	return nil
}
