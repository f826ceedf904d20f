package wire

import (
	"encoding/json"
	"fmt"
	"hash/maphash"
	"slices"
	"strings"
	"testing"
)

// testSeed is any: what is told may depend on it in no way.
var testSeed = maphash.MakeSeed()

func converse(t testing.TB, body string) *Conversation {
	t.Helper()
	c, err := Converse(testSeed, []byte(body))
	if err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	return c
}

// last is the hash of the whole conversation.
func last(t testing.TB, body string) uint64 {
	t.Helper()
	c := converse(t, body)
	if len(c.Turns) == 0 {
		t.Fatalf("%s: no messages", body)
	}
	return c.Turns[len(c.Turns)-1].Link
}

func chat(all ...string) string { return `{"messages":[` + strings.Join(all, ",") + `]}` }

// TestConversationIsTheSameHoweverItIsSpelled by clients of any kind.
func TestConversationIsTheSameHoweverItIsSpelled(t *testing.T) {
	f := func(one string, others ...string) {
		t.Helper()
		for _, o := range others {
			if last(t, chat(one)) != last(t, chat(o)) {
				t.Errorf("%s and %s: got two conversations, want one", one, o)
			}
		}
	}
	f(`{"role":"user","content":"a b"}`,
		`{ "content" : "a b" , "role" : "user" }`,
		`{"role":"user","content":"a\u0020b","name":null}`,
		`{"role":"user","content":" a b\n"}`,
		`{"role":"user","content":[{"type":"text","text":"a b"}]}`,
		`{"role":"user","content":[{"text":"a","type":"text"},{"type":"text","text":" b","cache_control":{"type":"ephemeral"}}]}`,
		`{"role":"user","content":[{"type":"input_text","text":"a b"}],"type":"message"}`)
	f(`{"role":"system","content":"x"}`, `{"role":"developer","content":"x"}`)
	f(`{"role":"user","content":"é 😀 \" \\ / \t"}`, `{"role":"user","content":"\u00e9 \ud83d\ude00 \u0022 \u005C \/ \u0009"}`)
	f(`{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{\"a\":1,\"b\":[true,\"x\"]}"}}]}`,
		`{"role":"assistant","tool_calls":[{"function":{"arguments":"{\"b\": [true, \"x\"], \"a\": 1}","name":"f"},"id":"c1","index":0}]}`,
		`{"role":"assistant","content":"","tool_calls":[{"id":"c1","function":{"name":"f","arguments":{"a":1,"b":[true,"\u0078"]}}}],"refusal":null}`,
		`{"role":"assistant","content":[],"reasoning_content":"hm","tool_calls":[{"id":"c1","function":{"name":"f","arguments":"{\"a\":1,\"b\":[true,\"x\"],\"c\":null}"}}]}`,
		`{"role":"assistant","content":[{"type":"thinking","thinking":"hm"},{"type":"tool_use","id":"c1","name":"f","input":{"b":[true,"x"],"a":1}}]}`,
		`{"type":"function_call","call_id":"c1","name":"f","arguments":"{\"a\":1,\"b\":[true,\"x\"]}"}`)
	f(`{"role":"assistant","tool_calls":[{"id":"c","function":{"name":"f","arguments":"{}"}}]}`,
		`{"role":"assistant","tool_calls":[{"id":"c","function":{"name":"f","arguments":""}}]}`,
		`{"role":"assistant","tool_calls":[{"id":"c","function":{"name":"f","arguments":null}}]}`,
		`{"role":"assistant","tool_calls":[{"id":"c","function":{"name":"f"}}]}`)
	f(`{"role":"tool","tool_call_id":"c1","content":"4"}`,
		`{"type":"function_call_output","call_id":"c1","output":"4"}`,
		`{"role":"tool","content":[{"type":"text","text":"4"}],"tool_call_id":"c1"}`)
	f(`{"role":"user","content":[{"type":"image_url","image_url":{"url":"u","detail":"low"}}]}`,
		`{"role":"user","content":[{"image_url":{"detail":"low","url":"\u0075"},"type":"image_url","cache_control":{}}]}`)
}

// TestConversationIsAnotherWhereAnythingSaidDiffers.
func TestConversationIsAnotherWhereAnythingSaidDiffers(t *testing.T) {
	all := []string{
		chat(`{"role":"user","content":"a"}`),
		chat(`{"role":"user","content":"b"}`),
		chat(`{"role":"user","content":"a a"}`),
		chat(`{"role":"user","content":""}`),
		chat(`{"role":"assistant","content":"a"}`),
		chat(`{"role":"system","content":"a"}`),
		chat(`{"role":"tool","content":"a"}`),
		chat(`{"role":"tool","content":"a","tool_call_id":"c1"}`),
		chat(`{"role":"tool","content":"a","tool_call_id":"c2"}`),
		chat(`{"role":"user","content":"a"}`, `{"role":"user","content":"a"}`),
		chat(`{"role":"user","content":[{"type":"image_url","image_url":{"url":"a"}}]}`),
		chat(`{"role":"user","content":[{"type":"image_url","image_url":{"url":"b"}}]}`),
		chat(`{"role":"user","content":[{"type":"text","text":"a"},{"type":"image_url","image_url":{"url":"b"}}]}`),
		`{"system":"x","messages":[{"role":"user","content":"a"}]}`,
		`{"messages":[{"role":"user","content":"a"}],"system":"y"}`,
		`{"input":"c"}`,
	}
	for _, args := range []string{`{"a":1}`, `{"a":2}`, `{"a":"1"}`, `{"b":1}`, `{"a":[1]}`, `{"a":1,"b":1}`, `{"a":[1,2]}`, `{"a":[2,1]}`, `{"a":{"b":1}}`, `{"a":true}`, `{"a":tru`, `x`, `[]`} {
		quoted, _ := json.Marshal(args)
		all = append(all, chat(`{"role":"assistant","tool_calls":[{"id":"c1","function":{"name":"f","arguments":`+string(quoted)+`}}]}`))
	}
	all = append(all, chat(`{"role":"assistant","tool_calls":[{"id":"c2","function":{"name":"f","arguments":"{\"a\":1}"}}]}`),
		chat(`{"role":"assistant","tool_calls":[{"id":"c1","function":{"name":"g","arguments":"{\"a\":1}"}}]}`),
		chat(`{"role":"assistant","tool_calls":[{"id":"c1","function":{"name":"f"}},{"id":"c1","function":{"name":"f"}}]}`))
	seen := make(map[uint64]string)
	for _, body := range all {
		h := last(t, body)
		if had, ok := seen[h]; ok {
			t.Errorf("%s and %s: got one conversation, want two", had, body)
		}
		seen[h] = body
	}
}

// TestConversationBeginsWithItsBeginning: what was said before has the same
// links in every later request.
func TestConversationBeginsWithItsBeginning(t *testing.T) {
	all := []string{`{"role":"system","content":"s"}`, `{"role":"user","content":"u1"}`, `{"role":"assistant","content":"a1"}`,
		`{"role":"user","content":"u2"}`, `{"role":"assistant","content":"a2"}`, `{"role":"assistant","content":"a3"}`, `{"role":"user","content":"u3"}`}
	whole := converse(t, `{"system":"x","messages":[`+strings.Join(all, ",")+`]}`)
	for n := 1; n <= len(all); n++ {
		part := converse(t, `{"messages":[`+strings.Join(all[:n], ",")+`],"system":"x"}`)
		for i, m := range part.Turns {
			if m != whole.Turns[i] {
				t.Errorf("message %d of %d: got %v, want %v", i, n, m, whole.Turns[i])
			}
		}
	}
	for i, want := range []int{0, 0, 1, 1, 2, 2, 2} {
		if got := whole.Turns[i].Answers; got != want {
			t.Errorf("answers up to message %d: got %d, want %d", i, got, want)
		}
	}
}

// TestConversationKnowsAnAnswerAgain that a client repeats.
func TestConversationKnowsAnAnswerAgain(t *testing.T) {
	h, text := NewHasher(testSeed), new(TextHash)
	text.Begin(testSeed)
	var buf []byte
	for _, piece := range []string{`\n `, `It is`, ` `, `\"4\" \ud83d\ude00`, ` `, `\n`} {
		buf = text.Add(buf, Text{Raw: []byte(piece), Escaped: strings.Contains(piece, `\`)})
	}
	got := h.Answer(text.Sum(), h.Call("c1", "add", []byte(`{"b": 2, "a": 1}`)))
	c := converse(t, chat(`{"role":"assistant","content":"It is \"4\" 😀","tool_calls":[{"id":"c1","function":{"name":"add","arguments":"{\"a\":1,\"b\":2}"}}]}`))
	if want := c.Turns[0].Own; got != want {
		t.Errorf("hash of the answer: got %x, want %x", got, want)
	}
}

// TestTextHashIsTheSameInAnyPieces, small ones that wait and large ones.
func TestTextHashIsTheSameInAnyPieces(t *testing.T) {
	for _, words := range []int{0, 1, 20, 200} {
		tokens := slices.Repeat([]string{" ", `\n`}, words)
		tokens = append(tokens, slices.Repeat([]string{"It", " ", "is", `\n`, `\\`, "n"}, words)...)
		tokens = append(tokens, slices.Repeat([]string{" ", `\t`}, words)...)
		sum := func(n int) uint64 {
			var h TextHash
			h.Begin(testSeed)
			for piece := range slices.Chunk(tokens, n) {
				h.Add(nil, Text{Raw: []byte(strings.Join(piece, "")), Escaped: true})
			}
			return h.Sum()
		}
		want := maphash.String(testSeed, strings.Repeat(`It is\n\\n`, words))
		if words == 0 {
			want = 0
		}
		for _, n := range []int{1, 2, 3, 50, 99, max(1, len(tokens))} {
			if got := sum(n); got != want {
				t.Errorf("%d words, %d tokens at a time: got %x, want %x", words, n, got, want)
			}
		}
	}
}

func TestConversationHasTheNameThatTheRequestGivesIt(t *testing.T) {
	f := func(body, want string, person bool) {
		t.Helper()
		if c := converse(t, body); c.Session != want || c.Person != person {
			t.Errorf("%s: got %q, %v, want %q, %v", body, c.Session, c.Person, want, person)
		}
	}
	f(`{}`, "", false)
	f(`{"conversation":"conv_1"}`, "conv_1", false)
	f(`{"conversation":{"id":"conv_1"}}`, "conv_1", false)
	f(`{"session_params":{"rid":"r","id":"s1"}}`, "s1", false)
	f(`{"session_id":"s1","conversation":"c"}`, "s1", false)
	f(`{"metadata":{"user_id":"user_a_account_b_session_c"}}`, "user_a_account_b_session_c", true)
	f(`{"metadata":{"user_id":"user_a_session_c","session_id":"s1"}}`, "s1", false)
	f(`{"metadata":{"user_id":"somebody"},"user":"somebody"}`, "", false)
	f(`{"session_id":7,"conversation":null,"metadata":[]}`, "", false)
	f(`{"session_id":"`+strings.Repeat("x", maxSession+1)+`"}`, "", false)
}

// TestConversationIsBounded: of a very long one the last messages are told.
func TestConversationIsBounded(t *testing.T) {
	one := make([]string, 5*maxTurns)
	for i := range one {
		one[i] = fmt.Sprintf(`{"role":"assistant","content":"%d"}`, i)
	}
	long, longer := converse(t, chat(one[:len(one)-1]...)), converse(t, chat(one...))
	if n := len(longer.Turns); n > 2*maxTurns || n < maxTurns {
		t.Errorf("messages: got %d, want %d to %d", n, maxTurns, 2*maxTurns)
	}
	if got, want := longer.Turns[len(longer.Turns)-2], long.Turns[len(long.Turns)-1]; got != want {
		t.Errorf("last message but one: got %v, want %v", got, want)
	}
}

// FuzzConverse: any bytes are read without a panic, and what the decoder of
// requests takes is taken here.
func FuzzConverse(f *testing.F) {
	f.Add([]byte(chat(`{"role":"assistant","content":[{"type":"tool_use","input":{"a":[1,null,"\ud83d"]}}],"tool_calls":[{"function":{"arguments":"{"}}]}`)))
	f.Add([]byte(`{"input":[{"type":"function_call","arguments":"\\u12"},{"type":"reasoning"},7,"x"],"metadata":{"user_id":"session"}}`))
	f.Add([]byte(`{"messages":[{"content":"\`))
	f.Add([]byte(`{"tools": [{"name":"f"}, 1] ,"tools":null,"session_id":"s","tools":[],"messages":[{"role":"user","content":"q"}],"tools":{"a":1}}`))
	f.Add([]byte(`{"input":[{"type":"\"0`))
	f.Fuzz(func(t *testing.T, body []byte) {
		_, err := Converse(testSeed, body)
		if _, want := decodeRequest(Chat, body); want == nil && err != nil {
			t.Errorf("%q: got %v, want it read", body, err)
		}
	})
}

// BenchmarkConverse reads 100 KB: a conversation of tool calls with code in it.
func BenchmarkConverse(b *testing.B) {
	var all []string
	for n := 0; n < 100<<10; {
		code, _ := json.Marshal(strings.Repeat("\tif err := f(x); err != nil {\n\t\treturn fmt.Errorf(\"f: %w\", err)\n\t}\n", 20))
		call := fmt.Sprintf(`{"role":"assistant","content":null,"tool_calls":[{"id":"c%d","type":"function","function":{"name":"read","arguments":"{\"path\": \"a/b%d.go\", \"line\": %d}"}}]}`, n, n, n)
		answer := fmt.Sprintf(`{"role":"tool","tool_call_id":"c%d","content":%s}`, n, code)
		all = append(all, call, answer)
		n += len(call) + len(answer)
	}
	body := []byte(chat(all...))
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Converse(testSeed, body); err != nil {
			b.Fatal(err)
		}
	}
}
