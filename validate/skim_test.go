package validate

import (
	"encoding/json"
	"fmt"
	"hash/maphash"
	"strings"
	"testing"
	"time"
)

// skimRequest is one whose answers are read for all that they are ever read for.
func skimRequest(t testing.TB) *Request {
	t.Helper()
	body := []byte(sampleRequest)
	req, err := ParseRequest("/v1/chat/completions", body)
	if err != nil {
		t.Fatal(err)
	}
	req.Schemas, req.Seed, req.Outline = NewSchemas(1<<20), maphash.MakeSeed(), true
	NewEchoes(1<<20).Keep(req, body)
	return req
}

// judgedAs is all that is made of a stream that comes in these pieces, each of
// them at once or byte by byte.
func judgedAs(t testing.TB, req *Request, pieces []string, slowly bool) string {
	t.Helper()
	c := NewChecker(req, Head{Status: 200, ContentType: "text/event-stream"})
	for i, p := range pieces {
		at := time.Duration(i) * time.Millisecond
		if !slowly {
			c.Feed(at, []byte(p))
			continue
		}
		for k := range len(p) {
			c.Feed(at, []byte{p[k]})
		}
	}
	v := c.Finish(Complete)
	out, err := json.Marshal([]any{v, v.Deltas, v.Spent, c.Said(), c.alien, c.Outline().sum})
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// skimmedAlike checks that a stream is judged as it is byte by byte, whether its
// events come one by one or together.
func skimmedAlike(t testing.TB, req *Request, events ...string) {
	t.Helper()
	if got, want := judgedAs(t, req, events, false), judgedAs(t, req, events, true); got != want {
		t.Fatalf("%.2000q: got\n%s\nwant\n%s", strings.Join(events, ""), got, want)
	}
	whole := []string{strings.Join(events, "")}
	if got, want := judgedAs(t, req, whole, false), judgedAs(t, req, whole, true); got != want {
		t.Fatalf("%.2000q at once: got\n%s\nwant\n%s", whole[0], got, want)
	}
}

// skimEvents are events as the latest one may be.
var skimEvents = []string{
	textEvent, argsEvent,
	strings.Replace(textEvent, `"content":" forecast","reasoning_content":null`, `"content":null,"reasoning_content":" forecast"`, 1),
	strings.Replace(textEvent, `"content":" forecast"`, `"content":null,"refusal":" forecast"`, 1),
	strings.Replace(argsEvent, `"usage":null`, `"usage":{"prompt_tokens":7,"completion_tokens":9}`, 1),
	strings.Replace(argsEvent, `"index":0,"type":"function"`, `"type":"custom"`, 1),
}

// endEvent ends a choice too early.
var endEvent = strings.NewReplacer(`"content":" forecast"`, `"content":null`, `"finish_reason":null`, `"finish_reason":"stop"`).Replace(textEvent)

func TestEventLikeTheLatestIsJudgedAsAnyOther(t *testing.T) {
	req := skimRequest(t)
	for _, event := range skimEvents {
		skimmedAlike(t, req, headEvent, event, event, event, strings.Repeat(event, 9))
		skimmedAlike(t, req, headEvent, event, endEvent, event, event, headEvent, event, event)
		skimmedAlike(t, req, event, event, headEvent, event, event)
	}
	for _, event := range skimEvents[:3] {
		for i := 0; i <= len(event); i += stride {
			for _, s := range []string{"", "7", "\xff", "ü", `"`, `\"`, `\`, `\u00e9`, "\n", "\r", "\r\n", " ", "<|im_end|>", "\n\n", "\ndata: ", "\nevent: error\n"} {
				skimmedAlike(t, req, headEvent, event, event[:i]+s+event[i:], event)
				if i < len(event) {
					skimmedAlike(t, req, headEvent, event, event[:i]+s+event[i+1:], event)
				}
			}
		}
	}
}

func TestRepeatedTextIsSeenInAnyPieces(t *testing.T) {
	req := skimRequest(t)
	said := func(s string) string {
		return strings.Replace(textEvent, " forecast", s, 1)
	}
	for _, text := range []string{"Sunny, 21 degrees in Oslo.", "Sunny with a chance", "aaaaaaaaaaaaaaaaaaaaaaaaaaaa", "Ünïcödé is fine, too", strings.Repeat("It will rain on day 4711. ", 8)} {
		for n := 1; n < len(text); n += 1 + n/8 {
			events := []string{headEvent}
			for rest := text; rest != ""; {
				k := min(n, len(rest))
				events, rest = append(events, said(rest[:k])), rest[k:]
			}
			for _, last := range []string{text, text + "!", text[:len(text)-1] + "!", text + text} {
				skimmedAlike(t, req, append(events, said(last))...)
			}
		}
	}
}

// TestArgumentsAreJudgedAlikeInAnyPieces: what is wrong with them is told of the
// same byte, wherever that lies in what waits to be read.
func TestArgumentsAreJudgedAlikeInAnyPieces(t *testing.T) {
	for _, tail := range []string{`","n":"q"}`, `","e":"xq"}`, `"}}`, `" "`, `","d":{"zz":1}}`, `\u12x"}`, `"}`, ``} {
		for _, lead := range []int{0, maxWaiting - 12, maxWaiting - 9, maxWaiting, 3 * maxWaiting} {
			args := `{"a":"` + strings.Repeat("x", lead) + tail
			var want string
			for _, n := range []int{len(args), 1, 7, maxWaiting - 1, maxWaiting, maxWaiting + 1} {
				if got := judgedInPieces(t, args, n); want == "" {
					want = got
				} else if got != want {
					t.Errorf("%d x and %s, %d bytes at a time: got %s, want %s", lead, tail, n, got, want)
				}
			}
		}
	}
}

// judgedInPieces is what is found in arguments of which an event brings n bytes.
func judgedInPieces(t *testing.T, args string, n int) (all string) {
	t.Helper()
	body := calls(entry(0, "c1", "f", ""))
	for rest := args; rest != ""; rest = rest[min(n, len(rest)):] {
		body += calls(fmt.Sprintf(`{"index":0,"function":{"arguments":%q}}`, rest[:min(n, len(rest))]))
	}
	for _, f := range check(t, offer, body+end("tool_calls"), Complete).Findings {
		all += fmt.Sprintf("%s %s", f.Kind, f.Path)
		if f.ArgOffset != nil && *f.ArgOffset < int64(len(args)) {
			i, behind := *f.ArgOffset, body[f.Offset:]
			if args[i] != behind[0] && behind[0] != '\\' {
				t.Errorf("%s of %s at %d: %.20q stands there", f.Kind, args, i, behind)
			}
			all += fmt.Sprint("@", i)
		}
		all += " "
	}
	return all + "."
}

// FuzzSkim: events that are nearly the latest one are judged as they are byte by byte.
func FuzzSkim(f *testing.F) {
	f.Add(uint8(0), uint16(200), uint16(0), "x", uint16(300), uint16(3), "\\n")
	f.Add(uint8(1), uint16(0), uint16(6), "event: a", uint16(1), uint16(0), "\xff")
	req := skimRequest(f)
	f.Fuzz(func(t *testing.T, which uint8, at, drop uint16, s string, at2, drop2 uint16, s2 string) {
		event := skimEvents[int(which)%len(skimEvents)]
		change := func(at, drop uint16, s string) string {
			i := int(at) % (len(event) + 1)
			return event[:i] + s + event[min(len(event), i+int(drop)%64):]
		}
		a, b := change(at, drop, s), change(at2, drop2, s2)
		skimmedAlike(t, req, headEvent, event, a, event, b, a, a, b, event, "data: [DONE]\n\n")
	})
}
