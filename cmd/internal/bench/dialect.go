package bench

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// dialect is how a server of one kind is asked and answers.
type dialect struct {
	path    string
	request func(p Params, text string, tools string) string
	events  func(Params) []string
	end     string // event that ends a stream
	object  func(Params) string
}

// dialects are those that are played, by name.
var dialects = map[string]dialect{
	"chat":        {"/v1/chat/completions", chatRequest, chatEvents, "data: [DONE]\n\n", chatObject},
	"completions": {"/v1/completions", textRequest("prompt"), completionsEvents, "data: [DONE]\n\n", completionsObject},
	"generate":    {"/generate", textRequest("text"), generateEvents, "data: [DONE]\n\n", generateObject},
	"responses":   {"/v1/responses", textRequest("input"), responsesEvents, "", responsesObject},
	"messages":    {"/v1/messages", messagesRequest, messagesEvents, "", messagesObject},
	"ollama":      {"/api/chat", chatRequest, ollamaEvents, "", ollamaObject},
	"other":       {"/v1/embeddings", textRequest("input"), otherEvents, "", otherObject},
}

// Dialects lists the names of those that are played.
func Dialects() []string { return slices.Sorted(maps.Keys(dialects)) }

const model = "deepseek-ai/DeepSeek-V4"

// words draws words; equal seeds draw equal ones.
type words struct{ state uint64 }

func newWords(seed int) *words { return &words{uint64(seed)*2654435761 + 88172645463325252} }

const vocabulary = `harbour quiet lantern seven copper meadow archive signal north window gravel
	summer paper orbit maple engine silver border cotton river planet anchor ticket forest
	candle marble valley hammer violet garden bridge winter pepper castle mirror saddle
	ribbon shadow timber velvet walnut zephyr basket canyon dragon ember falcon glacier`

// next draws a word. xorshift64.
func (w *words) next() string {
	w.state ^= w.state << 13
	w.state ^= w.state >> 7
	w.state ^= w.state << 17
	return vocabularyWords[w.state%uint64(len(vocabularyWords))]
}

var vocabularyWords = strings.Fields(vocabulary)

// text is words of so many bytes.
func (w *words) text(size int) string {
	var b strings.Builder
	b.Grow(size + 16)
	for b.Len() < size {
		b.WriteString(w.next())
		b.WriteByte(' ')
	}
	return b.String()[:size]
}

// piece is the next words of a list in arguments, of so many bytes or one word.
func (w *words) piece(size int) string {
	var b strings.Builder
	for ok := true; ok; ok = b.Len() < size {
		fmt.Fprintf(&b, `\"%s\", `, w.next())
	}
	return b.String()
}

// Tools writes n tools as chat completions declare them; the first is the one
// that answers call.
func Tools(n int) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		name := "search_flights"
		if i > 0 {
			name = fmt.Sprintf("tool_%d", i)
		}
		fmt.Fprintf(&b, `{"type":"function","function":{"name":"%s","description":"Find flights between two airports","parameters":{"type":"object",`+
			`"properties":{"from":{"type":"string","pattern":"^[A-Z]{3}$"},"to":{"type":"string"},"class":{"enum":["economy","business"]},`+
			`"legs":{"type":"array","items":{"type":"string"}}},"required":["from","to","legs"]}}}`, name)
	}
	return b.String()
}

// The parts of the call that answers make, as they stand in a JSON string.
const (
	argsBegin = `{\"from\": \"ZRH\", \"to\": \"SFO\", \"class\": \"economy\", \"legs\": [`
	argsEnd   = `\"north\"]}`
)

func chatRequest(p Params, text, tools string) string {
	if tools != "" {
		tools = `,"tools":[` + tools + `]`
	}
	return fmt.Sprintf(`{"model":"%s","messages":[{"role":"user","content":"%s %s ZRH SFO"}],"stream":%t%s}`, model, p, text, p.Stream, tools)
}

// chatEvents are half text, half a call.
func chatEvents(p Params) (all []string) {
	event := func(delta, finish string) {
		all = append(all, fmt.Sprintf(`data: {"id":"4f9d1c0b7e6a4d2f8c3b5a1908e7d6f2","object":"chat.completion.chunk","created":1795965975,"model":"%s","choices":[{"index":0,"delta":{%s},"logprobs":null,"finish_reason":%s,"matched_stop":null}],"usage":null}`+"\n\n", model, delta, finish))
	}
	call := func(id, name, args string) {
		event(fmt.Sprintf(`"role":null,"content":null,"reasoning_content":null,"tool_calls":[{"id":%s,"index":0,"type":"function","function":{"name":%s,"arguments":"%s"}}]`, id, name, args), "null")
	}
	w := newWords(p.Seed)
	event(`"role":"assistant","content":"","reasoning_content":null,"tool_calls":null`, "null")
	for range p.Events/2 - 1 {
		event(fmt.Sprintf(`"role":null,"content":" %s","reasoning_content":null,"tool_calls":null`, w.next()), "null")
	}
	call(`"call_7f3a9c1e5b2d4f608a1c"`, `"search_flights"`, "")
	call("null", "null", argsBegin)
	for len(all) < p.Events-2 {
		call("null", "null", w.piece(p.Piece))
	}
	call("null", "null", argsEnd)
	event(`"role":null,"content":null,"reasoning_content":null,"tool_calls":null`, `"tool_calls"`)
	return all
}

func chatObject(p Params) string {
	w := newWords(p.Seed)
	return fmt.Sprintf(`{"id":"4f9d1c0b7e6a4d2f8c3b5a1908e7d6f2","object":"chat.completion","created":1795965975,"model":"%s","choices":[{"index":0,"message":{"role":"assistant","content":"%s","reasoning_content":null,"tool_calls":[{"id":"call_7f3a9c1e5b2d4f608a1c","index":0,"type":"function","function":{"name":"search_flights","arguments":"%s%s%s"}}]},"logprobs":null,"finish_reason":"tool_calls","matched_stop":null}],"usage":{"prompt_tokens":812,"total_tokens":900,"completion_tokens":88,"prompt_tokens_details":null}}`,
		model, w.text(max(256, p.Size)), argsBegin, w.piece(p.Piece), argsEnd)
}
