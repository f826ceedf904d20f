package validate

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// reading tells what was read of a request's texts.
func reading(r *Request) string {
	p := r.prompt
	words := slices.Collect(p.words.all)
	slices.Sort(words)
	seen := p.rules.Seen
	return fmt.Sprint(p.said, words, seen, *p.text)
}

// talks are requests of conversations that go on, begin alike, or repeat.
func talks() (all []string) {
	say := func(role, text string) string { return fmt.Sprintf(`{"role":%q,"content":%q}`, role, text) }
	system := say("system", "You are ops-agent 7731-aa. Use <tool_call> tags. "+strings.Repeat("Be brief. ", 40))
	for c := range 3 {
		list := []string{system}
		for turn := range 4 {
			list = append(list, say("user", fmt.Sprintf("Look at order-%d%d77 — größer als \"%d\"?", c, turn, turn)))
			all = append(all, `{"model":"m","messages":[`+strings.Join(list, ", ")+` ],"tools":[{"type":"function","function":{"name":"find_4411_x"}}]}`)
			list = append(list, `{"role":"assistant","content":null,"tool_calls":[{"id":"call_9911","type":"function","function":{"name":"find_4411_x","arguments":"{\"id\": \"order-77\"}"}}]}`,
				say("tool", "ключ <|im_start|> token-5541-zz"))
		}
	}
	return append(all, all[2], all[0],
		`{"messages":[],"model":"m"}`, `{"messages":[ ]}`, `{"messages":[{"role":"user","content":[{"type":"text","text":"deep-1122334 \" x"},{"type":"image_url","image_url":{"url":"data:`+strings.Repeat("A1b2", 2000)+`"}}]}]}`)
}

func TestPromptIsTheSameFromMemory(t *testing.T) {
	small, large := NewSchemas(30<<10), NewSchemas(1<<20)
	f := func(path, body string) {
		t.Helper()
		want, err := ParseRequest(path, []byte(body))
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range []*Schemas{small, large} {
			got, err := s.ParseRequest(path, []byte(body))
			if err != nil {
				t.Fatal(err)
			}
			if got, want := reading(got), reading(want); got != want {
				t.Errorf("%.80s…: from memory\n%.400s, anew\n%.400s", body, got, want)
			}
		}
	}
	for _, body := range talks() {
		f("/v1/chat/completions", body)
	}
	for range 2 {
		f("/v1/completions", `{"model":"m","prompt":"word-12345 and <tool_call>"}`)
		f("/v1/completions", `{"model":"m","prompt":["word-12345","word-999123"]}`)
		f("/v1/completions", `{"model":"m","prompt":[1,2,3]}`)
		f("/v1/responses", `{"model":"m","input":"word-12345 in text","instructions":"x"}`)
		f("/v1/messages", `{"model":"m","system":"word-771233","messages":[{"role":"user","content":"word-12345"}],"max_tokens":5}`)
	}
}

func TestPromptRemembersTheConversation(t *testing.T) {
	s := NewSchemas(1 << 20)
	reads := 0
	for _, body := range talks()[:4] { // one conversation
		if _, err := s.ParseRequest("/v1/chat/completions", []byte(body)); err != nil {
			t.Fatal(err)
		}
		reads = len(s.prompts.young)
	}
	if want := 5; reads != want { // the first message, and the end of each request
		t.Errorf("got %d readings remembered, want %d", reads, want)
	}
}

func TestPromptMemoryIsBounded(t *testing.T) {
	const limit = 256 << 10
	s := NewSchemas(limit)
	for i := range 500 {
		body := fmt.Sprintf(`{"model":"m","messages":[{"role":"user","content":"order-%d77"},{"role":"user","content":"y"}]}`, i)
		if _, err := s.ParseRequest("/v1/chat/completions", []byte(body)); err != nil {
			t.Fatal(err)
		}
		held := 0
		for _, g := range []map[uint64]remembered[*prompt]{s.prompts.young, s.prompts.old} {
			for _, p := range g {
				held += p.v.held()
			}
		}
		if held > limit {
			t.Fatalf("after %d requests: got %d bytes, want at most %d", i+1, held, limit)
		}
	}
}

func BenchmarkPrompt(b *testing.B) {
	body := []byte(talks()[3])
	for name, s := range map[string]*Schemas{"anew": nil, "from_memory": NewSchemas(1 << 20)} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := s.ParseRequest("/v1/chat/completions", body); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
