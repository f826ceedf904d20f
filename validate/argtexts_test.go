package validate

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"testing"

	"turnwatch/validate/markup"
	"turnwatch/validate/text"
	"turnwatch/validate/wire"
)

// TestBlamelessStringsHoldNothing reads arguments of strings, those that are
// passed over among them, and has the engines read every one of them.
func TestBlamelessStringsHoldNothing(t *testing.T) {
	c := NewChecker(&Request{Schemas: NewSchemas(1 << 20), prompt: newPrompt()}, Head{200, ""})
	c.req.prompt.rules.Tools = true
	r := rand.New(rand.NewPCG(5, 6))
	passed := 0
	for range 20000 {
		args := someStrings(r)
		fast := new(reader).begin(c.req, markup.Value)
		c.strings(fast, args)
		if fast.engine == nil {
			passed++
			fast.start(new(engine))
		}
		fast.next(markup.Value)
		fast.finish()
		slow := new(reader).begin(c.req, markup.Value)
		slow.start(new(engine))
		everyString(slow, args)
		slow.next(markup.Value)
		slow.finish()
		for name, same := range map[string][2]any{
			"markers": {append([]markup.Match{}, fast.marks.Matches()...), append([]markup.Match{}, slow.marks.Matches()...)},
			"text":    {append([]text.Finding{}, fast.text.Findings()...), append([]text.Finding{}, slow.text.Findings()...)},
			"words":   {fast.alien, slow.alien}, "offsets": {fast.track.buf, slow.track.buf},
		} {
			if !reflect.DeepEqual(same[0], same[1]) {
				t.Fatalf("%s: got %s %+v, want %+v", args, name, same[0], same[1])
			}
		}
		c.engine = nil
	}
	if passed == 0 {
		t.Error("no arguments were passed over as a whole")
	}
}

// someStrings is an object of strings that are made of what engines look for, as
// a whole and in parts.
func someStrings(r *rand.Rand) []byte {
	parts := []string{"functions.", "get", ":0{", "assistant", "assistantfinal", "final", "Now", "to=", "DSML", "|", "<", ">", "<|im_end|>", "[TOOL_CALLS]", "TOOL_CALLS",
		"<tool_call>", "</tool_call>", "tool_call", "`", "\n", "a ", "!!!!!!!!!!!!!!!!!!!!!!!!", "abcdefgh ", "<0xE4>", "�", "\u0000", "\\", "ORD-10001", "twcanary-91bc5e3d0f28", "é", "и", "{", "}", "name", "\"arguments\":"}
	all := map[string]string{}
	for range r.IntN(5) {
		all[some(r, parts, 2)] = some(r, parts, 5)
	}
	var b bytes.Buffer
	to := json.NewEncoder(&b)
	to.SetEscapeHTML(r.IntN(2) == 0)
	to.Encode(all)
	return b.Bytes()
}

func some(r *rand.Rand, parts []string, most int) (s string) {
	for range r.IntN(most + 1) {
		s += parts[r.IntN(len(parts))]
	}
	return s
}

// everyString has the engine of a reader read every string of an object.
func everyString(r *reader, args []byte) {
	var buf []byte
	for at := 1; at < len(args); at++ {
		if args[at] != '"' {
			continue
		}
		n, escaped := stringLen(args[at+1:])
		where := markup.Value
		if isKey(args[at+1+n+1:]) {
			where = markup.Key
		}
		r.next(where)
		r.piece(&buf, &wire.Text{Raw: args[at+1 : at+1+n], Escaped: escaped}, int64(at+1))
		at += n + 1
	}
}
