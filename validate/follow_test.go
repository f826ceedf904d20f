package validate

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestWhatWasCertainBeforeACutStays lets calls be cut behind, within and
// before a violation, and be closed by a parser.
func TestWhatWasCertainBeforeACutStays(t *testing.T) {
	f := func(args, want string) {
		t.Helper()
		body := calls(entry(0, "c1", "f", args)) + end("length")
		if got := say(check(t, offer, body, Complete)); got != want {
			t.Errorf("%s: got %s, want %s", args, got, want)
		}
	}
	f(`{"a":"x","n":"q","d":{`, "corrupted schema_type args_schema_violation truncated_length")
	f(`{"a":1`, "corrupted schema_type args_schema_violation truncated_length")
	f(`{"e":"xq`, "corrupted schema_value args_schema_violation truncated_length")
	f(`{"d":{"zz`, "corrupted schema_additional args_schema_violation truncated_length")
	f(`{"a":"x","n":"q"}`, "corrupted schema_type args_schema_violation truncated_length suspect")

	// Nothing is certain yet, or only by what a parser closed.
	f(`{"n":12`, "truncated truncated_length")
	f(`"{}"`, "truncated truncated_length suspect")
	f(`{"\"a\": \"P\"}"`, "truncated truncated_length suspect")
	f(`{"a b"`, "truncated truncated_length")
	f(`"{x"`, "corrupted args_not_object truncated_length")
	f(`{"a":"x","d":"{\"k\": \"v"}`, "truncated truncated_length suspect")
	f(`{"a":"x","n":""}`, "truncated truncated_length suspect")
	f(`{"d":"{\"k\": \"v","a":"x"}`, "corrupted schema_type args_schema_violation truncated_length suspect")
	f(`{"a":"x","d":"{k"}`, "corrupted schema_type args_schema_violation truncated_length suspect")
	f(`{"e":"x`, "truncated truncated_length")
	f(`{"e":"x"}`, "truncated truncated_length suspect")
	f(`{"n":1}`, "truncated truncated_length suspect")
	f(`{"n":1.5}`, "truncated truncated_length suspect")
	f(`{"d":{"`, "truncated truncated_length")
	f(`{"d":{"k":{}}}`, "corrupted schema_type args_schema_violation truncated_length suspect")
}

// TestWrappedArgumentsMayBeCut holds that a wrapper whose content was cut is no
// violation: whole, it is a quirk.
func TestWrappedArgumentsMayBeCut(t *testing.T) {
	const request = `{"tools":[{"type":"function","function":{"name":"f","parameters":{"properties":{"a":{"type":"string"}},"additionalProperties":false}}}]}`
	for _, args := range []string{`{"arguments":{"a":"x`, `{ "input" : {"a`} {
		if got := say(check(t, request, calls(entry(0, "c1", "f", args))+end("length"), Complete)); got != "truncated truncated_length" {
			t.Errorf("%s: got %s", args, got)
		}
	}
}

// TestFollowedOrNot lets the name of a tool come before, between and behind its
// arguments: the findings are the same.
func TestFollowedOrNot(t *testing.T) {
	const args = `{"a":"x","n":"q","e":"xq"}`
	piece := func(name, args string) string {
		return calls(fmt.Sprintf(`{"index":0,"id":"c1","type":"function","function":{"name":%s,"arguments":%q}}`, name, args))
	}
	for name, body := range map[string]string{
		"before":  piece(`"f"`, "") + piece("null", args[:9]) + piece("null", args[9:]),
		"with":    piece(`"f"`, args),
		"between": piece("null", args[:9]) + piece(`"f"`, args[9:]),
		"behind":  piece("null", args) + piece(`"f"`, ""),
	} {
		v := check(t, offer, body+end("tool_calls"), Complete)
		got := map[Kind]int64{}
		for _, f := range v.Findings {
			if f.ArgOffset != nil {
				got[f.Kind] = *f.ArgOffset
			}
		}
		if len(got) != 3 || got[SchemaType] != 13 || got[SchemaValue] != 23 || got[ArgsSchemaViolated] != 13 {
			t.Errorf("%s: got %v in %s", name, got, say(v))
		}
	}
}

// TestLongSchemasWaitForTheEnd holds that a schema which is not compiled beside
// the relay is judged all the same, cut or not.
func TestLongSchemasWaitForTheEnd(t *testing.T) {
	long := strings.Replace(offer, `"type":"integer"`, `"type":"integer","description":"`+strings.Repeat("x", maxFollowed)+`"`, 1)
	f := func(args, finish, want string) {
		t.Helper()
		body := calls(entry(0, "c1", "f", args)) + end(finish)
		if got := say(check(t, long, body, Complete)); got != want {
			t.Errorf("%s: got %s, want %s", args, got, want)
		}
	}
	f(`{"a":"x","n":1}`, "tool_calls", "clean")
	f(`{"a":"x","n":"q"}`, "tool_calls", "corrupted schema_type args_schema_violation")
	f(`{"a":"x","n":"q`, "length", "corrupted schema_type args_schema_violation truncated_length")
}

// TestIrregularPatternsAreHeldInTheEnd holds that a pattern for which RE2 has
// no words is evaluated when the turn is over, at its byte, and counted where
// it takes too long.
func TestIrregularPatternsAreHeldInTheEnd(t *testing.T) {
	request := strings.Replace(offer, `"n":{"type":"integer"}`, `"n":{"type":"integer"},"p":{"pattern":"^(?:(a+)+\\1|b)(?<!-)$"}`, 1)
	f := func(args, finish, want string, skips ...Skip) {
		t.Helper()
		v := check(t, request, calls(entry(0, "c1", "f", args))+end(finish), Complete)
		if got := say(v); got != want || !slices.Equal(v.Skips, skips) {
			t.Errorf("%s: got %s, skips %v, want %s, %v", args, got, v.Skips, want, skips)
		}
		for _, f := range v.Findings {
			if f.ArgOffset != nil && *f.ArgOffset != int64(strings.LastIndex(args, `"`)) {
				t.Errorf("%s: told at byte %d", args, *f.ArgOffset)
			}
		}
	}
	f(`{"a":"x","p":"aa"}`, "tool_calls", "clean")
	f(`{"a":"x","p":"b"}`, "tool_calls", "clean")
	f(`{"a":"x","p":"c"}`, "tool_calls", "corrupted schema_value args_schema_violation")
	f(`{"a":"x","p":"aab-"}`, "tool_calls", "corrupted schema_value args_schema_violation")
	f(`{"a":"x","p":"c"`, "length", "truncated truncated_length")
	f(`{"a":"x","p":"`+strings.Repeat("a", 100)+`!"}`, "tool_calls", "clean", SchemaPartly)
}

// TestLostKeywordsAreCounted holds that a schema of which something was not
// understood is still held against, and counted.
func TestLostKeywordsAreCounted(t *testing.T) {
	request := strings.Replace(offer, `"n":{"type":"integer"}`, `"n":{"type":"integer"},"p":{"pattern":"(?>x)y"}`, 1)
	for args, want := range map[string]string{`{"a":"x","p":"z"}`: "clean", `{"a":"x","p":"z","n":[]}`: "corrupted schema_type args_schema_violation"} {
		v := check(t, request, oneCall(args), Complete)
		if got := say(v); got != want || !slices.Equal(v.Skips, []Skip{SchemaPartly}) || !slices.Contains(v.Checks, CheckSchema) {
			t.Errorf("%s: got %s, skips %v, checks %v, want %s", args, got, v.Skips, v.Checks, want)
		}
	}
}
