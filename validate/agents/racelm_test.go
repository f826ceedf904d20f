package agents

import (
	"strings"
	"testing"
)

// declared is how racelm's own client declares the tools of a family.
const declared = `[{"type":"function","function":{"name":"describe","description":"describe","parameters":{"type":"object","properties":{"table":{"type":"string","minLength":1}},"required":["table"],"additionalProperties":false}}},` +
	`{"type":"function","function":{"name":"lookup","description":"lookup","parameters":{"type":"object","properties":{"table":{"type":"string","minLength":1},"key":{"type":"string","minLength":1},"value":{"type":"integer","minimum":1,"maximum":9999999}},"required":["table","key","value"],"additionalProperties":false}}},` +
	`{"type":"function","function":{"name":"update","description":"update","parameters":{"type":"object","properties":{"row":{"type":"string","minLength":1},"owner":{"type":"string","minLength":1},"active":{"type":"boolean"}},"required":["row","owner","active"],"additionalProperties":false}}}]`

func TestRacelmsToolsAreDeclaredAsItKnowsThem(t *testing.T) {
	s := Session{tools: families()[4]}
	if got := encode(s.declared()); got != declared {
		t.Errorf("got %s\nwant %s", got, declared)
	}
}

func TestRacelmsSessions(t *testing.T) {
	seen := map[string]bool{}
	for seed := range uint64(60) {
		s := racelm(seed, Shape{Turns: 9, Canary: true})
		for turn := 1; turn <= s.Turns(); turn++ {
			if err := s.Check(turn, right(s, turn)); err != nil {
				t.Errorf("seed %d: %v", seed, err)
			}
		}
		body := string(s.Request(4, Options{Prefix: "x", Pad: "y"}))
		if s.Turns() != 4 || !strings.HasPrefix(body, `{"model":"","messages":[{"role":"user","content":"`) || strings.Contains(body, "twcanary") || strings.Contains(body, "Disregard") {
			t.Errorf("seed %d: %d turns, %s", seed, s.Turns(), body)
		}
		if n := len(s.tools); n < 3 || n > 5 {
			t.Errorf("seed %d: %d tools", seed, n)
		}
		seen[s.steps[0].tool] = true
	}
	if len(seen) != 6 {
		t.Errorf("families: %v", seen)
	}
	s := racelm(1, Shape{})
	if err := s.Check(4, Answer{Text: strings.TrimSuffix(s.final, ".")}); err == nil {
		t.Error("a lost full stop is right")
	}
}

func TestDecimal(t *testing.T) {
	f := func(n, parts int, want string) {
		t.Helper()
		if got := decimal(n, parts); got.String() != want {
			t.Errorf("%d/%d: got %s, want %s", n, parts, got, want)
		}
	}
	f(1000, 100, "10.0")
	f(12345, 100, "123.45")
	f(12305, 100, "123.05")
	f(12350, 100, "123.5")
	f(999, 10, "99.9")
	f(100, 10, "10.0")
}
