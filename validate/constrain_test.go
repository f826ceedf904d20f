package validate

import (
	"strings"
	"testing"
)

// TestConstrainedViolationsAreMarked where the request made the server enforce
// a grammar that rules them out.
func TestConstrainedViolationsAreMarked(t *testing.T) {
	f := func(request, args string, turn, finding bool) {
		t.Helper()
		v := check(t, request, oneCall(args), Complete)
		if v.Constrained != turn {
			t.Errorf("%s: got constrained %v, want %v", request, v.Constrained, turn)
		}
		for _, x := range v.Findings {
			if x.Constrained != finding {
				t.Errorf("%s: %s: got constrained %v, want %v", request, x.Kind, x.Constrained, finding)
			}
		}
		if v.Outcome != Corrupted {
			t.Errorf("%s: got %s", request, v.Outcome)
		}
	}
	tools := func(more, schema string) string {
		return `{"tools":[{"type":"function","function":{"name":"f",` + more + `"parameters":{"type":"object","properties":{"a":{"type":"string"}` + schema + `},"required":["a"]}}}]`
	}
	f(tools("", "")+`}`, `{"a":1}`, false, false)
	f(tools(`"strict":false,`, "")+`}`, `{"a":1}`, false, false)
	f(tools(`"strict":true,`, "")+`}`, `{"a":1}`, true, true)
	f(tools(`"strict":true,`, "")+`,"tool_choice":"auto"}`, `{"a":"x`, true, true)
	f(tools("", "")+`,"tool_choice":"required"}`, `{}`, true, true)
	f(tools("", "")+`,"tool_choice":{"type":"function","function":{"name":"f"}}}`, `{"a":1}`, true, true)
	f(strings.Replace(tools("", "")+`,"tool_choice":"required"}`, `"f"`, `"g"`, 1), `{"a":"x"}`, true, true)
	f(tools("", `,"n":{"multipleOf":2}`)+`,"tool_choice":"required"}`, `{"a":"x","n":3}`, true, false)
	f(tools(`"strict":true,`, "")+`,"tool_choice":"none"}`, `{"a":"x"}`, false, false)
}
