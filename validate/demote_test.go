package validate

import "testing"

// TestDemotedFindingsAreSignals: the verdict is what is left amounts to.
func TestDemotedFindingsAreSignals(t *testing.T) {
	f := func(args string, demoted Kind, want string) {
		t.Helper()
		v := check(t, offer, calls(entry(0, "c", "f", args))+ev(`{}`, "tool_calls")+done, Complete)
		before := len(v.Findings)
		v.Demote(func(k Kind) bool { return k == demoted })
		if got := say(v); got != want || len(v.Findings)+len(v.Signals) != before {
			t.Errorf("%s without %s: got %s, %d of %d told, want %s", args, demoted, got, len(v.Findings)+len(v.Signals), before, want)
		}
	}
	f(`{"a":"Paris"`, ArgsTruncated, "corrupted args_json_invalid suspect")
	f(`{"a":"Paris"`, MarkupLeakArgs, "corrupted args_truncated args_json_invalid")
	f(`[]`, ArgsNotObject, "clean suspect")

	v := check(t, offer, calls(entry(0, "c", "f", `[]`), `{"index":1,"id":"d","type":"custom","custom":{"name":"g","input":"x"}}`)+ev(`{}`, "tool_calls")+done, Complete)
	if v.Demote(func(Kind) bool { return true }); v.Outcome != Unverified || v.Reason != ReasonBodyMalformed {
		t.Errorf("got %s for the reason %q of a turn with a call that is not judged", v.Outcome, v.Reason)
	}
}
