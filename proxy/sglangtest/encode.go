package sglangtest

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// quote writes s as SGLang's serializers do: nothing beyond ASCII is escaped,
// and bytes that are no UTF-8 pass as they are.
func quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c >= 0x20:
			b.WriteByte(c)
		default:
			b.WriteString(control(c))
		}
	}
	b.WriteByte('"')
	return b.String()
}

func control(c byte) string {
	if i := strings.IndexByte("\b\f\n\r\t", c); i >= 0 {
		return `\` + "bfnrt"[i:i+1]
	}
	return fmt.Sprintf(`\u%04x`, c)
}

// null writes s, or null when it is empty.
func null(s string) string {
	if s == "" {
		return "null"
	}
	return quote(s)
}

func matched(id int) string {
	if id == 0 {
		return "null"
	}
	return strconv.Itoa(id)
}

// encoder writes the events of one stream. SGLang has two serializers and
// mixes their output in a stream: they differ in the order of keys and in
// which nulls they show.
type encoder struct {
	id, model string
	created   int64
	prompt    int
	usageEach bool // events tell the usage so far
	tools     bool // a tool parser reads along, so content is written by the slow serializer
}

func (e *encoder) event(rest string) []byte {
	return fmt.Appendf(nil, `data: {"id":%s,"object":"chat.completion.chunk","created":%d,"model":%s,%s}`+"\n\n",
		quote(e.id), e.created, quote(e.model), rest)
}

func (e *encoder) choice(delta, finish, matched, tail string) []byte {
	return e.event(`"choices":[{"index":0,"delta":{` + delta + `},"logprobs":null,"finish_reason":` + finish +
		`,"matched_stop":` + matched + `}]` + tail)
}

func (e *encoder) role() []byte {
	return e.choice(`"reasoning_content":null,"role":"assistant","content":""`, "null", "null", e.soFar(1, ""))
}

func (e *encoder) delta(d Delta) []byte {
	switch {
	case d.Raw != nil:
		return d.Raw
	case d.Call != nil:
		return e.slow("null", callDelta(d.Call), d.made)
	case d.Reasoning != "":
		return e.choice(`"reasoning_content":`+quote(d.Reasoning), "null", "null", e.soFar(d.made, ""))
	case e.tools:
		return e.slow(quote(d.Content), "null", d.made)
	default:
		return e.choice(`"reasoning_content":null,"content":`+quote(d.Content), "null", "null", e.soFar(d.made, ""))
	}
}

func (e *encoder) slow(content, calls string, made int) []byte {
	return e.choice(`"role":null,"content":`+content+`,"reasoning_content":null,"tool_calls":`+calls, "null", "null", e.soFar(made, `,"usage":null`))
}

// soFar is the end of an event that tells how many tokens were made, if the
// request wants that; else it is otherwise.
func (e *encoder) soFar(made int, otherwise string) string {
	if !e.usageEach {
		return otherwise
	}
	return "," + usage(e.prompt, made)
}

func callDelta(c *CallDelta) string {
	return fmt.Sprintf(`[{"id":%s,"index":%d,"type":"function","function":{"name":%s,"arguments":%s}}]`,
		null(c.ID), c.Index, null(c.Name), quote(c.Args))
}

func (e *encoder) finish(reason string, stop, made int) []byte {
	return e.choice(`"reasoning_content":null`, null(reason), matched(stop), e.soFar(made, ""))
}

func (e *encoder) usage(prompt, completion int) []byte {
	return e.event(`"choices":[],` + usage(prompt, completion))
}

func usage(prompt, completion int) string {
	return fmt.Sprintf(`"usage":{"prompt_tokens":%d,"total_tokens":%d,"completion_tokens":%d,"prompt_tokens_details":null,"reasoning_tokens":0}`,
		prompt, prompt+completion, completion)
}

// errorEvent is written by another serializer again, with spaces.
func errorEvent(f *Failure) []byte {
	return fmt.Appendf(nil, `data: {"error": {"object": "error", "message": %s, "type": %s, "param": null, "code": %d}}`+"\n\n",
		quote(f.Message), quote(f.Type), f.Status)
}

func errorBody(f *Failure) []byte {
	return fmt.Appendf(nil, `{"object":"error","message":%s,"type":%s,"param":null,"code":%d}`,
		quote(f.Message), quote(f.Type), f.Status)
}

const done = "data: [DONE]\n\n"

// whole writes the non-streaming form.
func (e *encoder) whole(m message, a *Answer, prompt, completion int) []byte {
	calls, stop := "null", a.Matched
	if len(m.calls) > 0 {
		stop = 0
		var list []string
		for _, c := range m.calls {
			one := callDelta(&c)
			list = append(list, one[1:len(one)-1])
		}
		calls = "[" + strings.Join(list, ",") + "]"
	}
	return fmt.Appendf(nil, `{"id":%s,"object":"chat.completion","created":%d,"model":%s,"choices":[{"index":0,"message":`+
		`{"role":"assistant","content":%s,"reasoning_content":%s,"tool_calls":%s},"logprobs":null,"finish_reason":%s,"matched_stop":%s}],`+
		`%s,"metadata":{"weight_version":"default"}}`,
		quote(e.id), e.created, quote(e.model), quote(m.content), null(m.reasoning), calls, null(a.Finish), matched(stop),
		usage(prompt, completion))
}

// cut splits s into pieces of about n bytes, never inside a character.
func cut(s string, n int) []string {
	var out []string
	for len(s) > n {
		i := n
		for !utf8.RuneStart(s[i]) && i > 1 {
			i--
		}
		out = append(out, s[:i])
		s = s[i:]
	}
	if s != "" {
		out = append(out, s)
	}
	return out
}
