package wire

import (
	"fmt"
	"strings"
	"testing"
)

// events are events of streams, the second one of each line in the shape of
// the first, or nearly.
var events = []string{
	`{"id":"x","choices":[{"index":0,"delta":{"role":null,"content":"a","tool_calls":null},"finish_reason":null}],"usage":null}`,
	`{"id":"x","choices":[{"index":0,"delta":{"content":"ü \"b\" \n"}}]}`,
	`{"id":"x","choices":[{"index":0,"delta":{"content":"a","content":"b"}}]}`,
	`{"id":"x","choices":[{"index":1,"delta":{"reasoning_content":"a"},"matched_stop":"a"}]}`,
	`{"choices":[{"index":0,"delta":{"tool_calls":[{"id":null,"index":0,"type":"function","function":{"name":null,"arguments":"{\"a\": 1"}}]}}],"usage":{"completion_tokens":7}}`,
	`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"x"},"type":"tool"}]}}]}`,
	`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":"f","arguments":"{"}}]}}]}`,
	`{"choices":[{"index":0,"delta":{"function_call":{"arguments":"x"}}}]}`,
	`{"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":"stop"}]}`,
	`{"choices":[{"index":0,"delta":{"content":{"a":"b"}}}]}`,
	`{"choices":[{"index":0,"text":"a"},{"index":1,"text":"b"}]}`,
	`{"choices":[{"index":0,"text":"a"}],"error":null,"message":"m"}`,
	`{"created":1795965975,"choices":[{"index":0,"delta":{"content":"a"}}],"sent":17,"code":12,"made":3}`,
	`{"error":{"message":"a"}}`,
	`{}`,
}

// told is all that a decoder says of an event.
func told(d *Decoder, data string) string {
	e, err := d.Decode([]byte(data))
	if err != nil {
		return fmt.Sprintf("error %v", err)
	}
	return recount(d, e)
}

func recount(d *Decoder, e *Event) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%v %v %v %q %v %v %v %v %v", e.Listed, e.Usage, e.Counted, e.Error.Raw, e.Code, e.Failed, e.Done, e.Strange, e.Excess)
	text := func(t Text) { fmt.Fprintf(&b, " %q@%d %v %v", t.Raw, t.At, t.Set, t.Escaped) }
	for i := range e.Choices {
		c := &e.Choices[i]
		fmt.Fprintf(&b, "\n%d@%d %v %v", c.Index, c.At, c.Parts, c.Legacy)
		for _, t := range []Text{c.Content, c.Reasoning, c.Refusal} {
			text(t)
		}
		fmt.Fprintf(&b, " %q %q", c.Role.Raw, c.Finish.Raw)
		for _, k := range d.Calls(c) {
			fmt.Fprintf(&b, "\n- %d@%d %v %v %v %v %q %q %q", k.Index, k.At, k.Indexed, k.Form, k.Draft, k.Final, k.ID.Raw, k.Type.Raw, k.Name.Raw)
			text(k.Args)
		}
	}
	return b.String()
}

// alike checks that a decoder tells the same of an event whatever came first.
func alike(t *testing.T, as Dialect, first, event string) {
	t.Helper()
	d := &Decoder{Dialect: as}
	told(d, first)
	if e, err := d.Decode([]byte(first)); err == nil {
		e.Failed = true // as a reader may do
	}
	if got, want := told(d, event), told(&Decoder{Dialect: as}, event); got != want {
		t.Fatalf("%s\nbehind %s: got\n%s\nwant\n%s", event, first, got, want)
	}
	if got, want := told(d, first), told(&Decoder{Dialect: as}, first); got != want {
		t.Fatalf("%s\nbehind %s: got\n%s\nwant\n%s", first, event, got, want)
	}
	skimmed(t, as, first, event+"\n\n")
}

// skimmed checks that what is skimmed off bytes is an event, as it is told alone.
func skimmed(t *testing.T, as Dialect, first, p string) {
	t.Helper()
	d := &Decoder{Dialect: as}
	told(d, first)
	e, _, n := d.Skim([]byte(p))
	if n == 0 {
		return
	}
	if got, want := recount(d, e), told(&Decoder{Dialect: as}, p[:n]); got != want || strings.ContainsAny(p[:n], "\r\n") {
		t.Fatalf("%d bytes of %s\nbehind %s: got\n%s\nwant\n%s", n, p, first, got, want)
	}
}

func TestEventIsTheSameBehindAnyOther(t *testing.T) {
	texts := []string{"", "a", " the", `\"`, `\\`, `\`, `\\\`, `\n\/`, `A`, `\ud83d`, `\x`, "ü", "\xff", `"`, `","content":"`, "0", "5", "77", `"}`, "\n", "{", strings.Repeat("long ", 700)}
	for _, as := range []Dialect{Chat, Completions} {
		for _, first := range events {
			for _, event := range events {
				alike(t, as, first, event)
			}
			for i := range first {
				for _, s := range texts {
					alike(t, as, first, first[:i]+s+first[i:])
					alike(t, as, first, first[:i]+s+first[i+1:])
				}
			}
		}
	}
}

func TestEventsOfOneShapeAreDecodedFromIt(t *testing.T) {
	for _, event := range []string{events[0], events[1], events[3], events[4], events[5], events[7]} {
		var d Decoder
		told(&d, event)
		if _, _, n := d.Skim([]byte(event + "\n\n")); n != len(event) {
			t.Errorf("%s: got %d bytes, want %d", event, n, len(event))
		}
	}
}

func FuzzMould(f *testing.F) {
	for i, e := range events {
		f.Add(e, strings.Replace(e, `"a"`, `" \"b"`, 1), i%2 == 0)
	}
	f.Fuzz(func(t *testing.T, first, event string, chat bool) {
		as := Completions
		if chat {
			as = Chat
		}
		alike(t, as, first, event)
	})
}

func TestNumber(t *testing.T) {
	for size := 1; size <= 19; size++ {
		for at := range size {
			for b := range 256 {
				p := []byte("1234567890123456789")[:size]
				p[at] = byte(b)
				if got, want := number(p), b >= '1' && b <= '9' || b == '0' && at > 0; got != want {
					t.Fatalf("%q: got %v, want %v", p, got, want)
				}
			}
		}
	}
}
