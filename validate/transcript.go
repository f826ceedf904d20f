package validate

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"turnwatch/validate/sse"
	"turnwatch/validate/wire"
)

// Transcript is what was said in a turn, in the JSON that the GenAI conventions of
// OpenTelemetry have for it. It judges nothing, and takes what it can read.
type Transcript struct {
	System []Part   // what stands outside of the messages
	Input  []Spoken // the request's messages
	Output []Spoken // the answer's, one a choice
	Tools  []json.RawMessage
}

// Spoken is a message.
type Spoken struct {
	Role   string `json:"role"`
	Parts  []Part `json:"parts"`
	Finish string `json:"finish_reason,omitempty"` // of an answer
}

// Part is a part of a message: a text, reasoning, a tool_call or a tool_call_response.
// Of others only the type is told.
type Part struct {
	Type      string          `json:"type"`
	Content   string          `json:"content,omitempty"`
	ID        string          `json:"id,omitempty"`
	Name      string          `json:"name,omitempty"`
	Arguments json.RawMessage `json:"arguments,omitempty"` // a string where they are no JSON
	Response  string          `json:"response,omitempty"`
}

// NewTranscript reads the request and the answer of a turn, streamed or not.
func NewTranscript(path string, request, answer []byte) *Transcript {
	t := new(Transcript)
	if gjson.ValidBytes(request) {
		t.asked(gjson.ParseBytes(request))
	}
	as, _ := dialectOf(path)
	t.answered(as, answer)
	return t
}

// asked reads a request.
func (t *Transcript) asked(r gjson.Result) {
	for _, name := range []string{"instructions", "system"} { // of responses, of messages
		t.System = append(t.System, partsOf(r.Get(name))...)
	}
	for _, name := range []string{"messages", "input", "prompt", "text", "instances"} {
		v := r.Get(name)
		switch {
		case v.Type == gjson.String:
			t.Input = append(t.Input, Spoken{Role: "user", Parts: partsOf(v)})
		case v.IsArray():
			v.ForEach(func(_, m gjson.Result) bool { t.Input = append(t.Input, spoken(m)); return true })
		}
	}
	r.Get("tools").ForEach(func(_, tool gjson.Result) bool {
		t.Tools = append(t.Tools, json.RawMessage(flat(tool)))
		return true
	})
}

// flat is a tool whose function stands beside its type, as in chat completions, in the
// shape of all others.
func flat(tool gjson.Result) string {
	f := tool.Get("function")
	if !f.IsObject() {
		return tool.Raw
	}
	if inner := strings.TrimSpace(f.Raw[1 : len(f.Raw)-1]); inner != "" {
		return `{"type":"function",` + inner + `}`
	}
	return `{"type":"function"}`
}

// spoken reads a message of a request.
func spoken(m gjson.Result) Spoken {
	if !m.IsObject() {
		return Spoken{Role: "user", Parts: partsOf(m)}
	}
	s := Spoken{Role: m.Get("role").String(), Parts: []Part{}}
	if s.Role == "" {
		s.Role = "assistant" // an item of a response
	}
	if id := m.Get("tool_call_id"); id.Exists() {
		s.Parts = append(s.Parts, Part{Type: "tool_call_response", ID: id.String(), Response: worded(m.Get("content"))})
		return s
	}
	if text := m.Get("reasoning_content").String(); text != "" {
		s.Parts = append(s.Parts, Part{Type: "reasoning", Content: text})
	}
	s.Parts = append(s.Parts, partsOf(m.Get("content"))...)
	m.Get("tool_calls").ForEach(func(_, c gjson.Result) bool {
		f := c.Get("function")
		s.Parts = append(s.Parts, called(c.Get("id").String(), f.Get("name").String(), worded(f.Get("arguments"))))
		return true
	})
	if !m.Get("content").Exists() && m.Get("type").Exists() {
		s.Parts = append(s.Parts, partOf(m))
	}
	return s
}

// partsOf reads a content: a text, or a list of parts.
func partsOf(v gjson.Result) (all []Part) {
	switch {
	case v.Type == gjson.String && v.Str != "":
		return []Part{{Type: "text", Content: v.Str}}
	case v.IsArray():
		v.ForEach(func(_, p gjson.Result) bool { all = append(all, partOf(p)); return true })
	}
	return all
}

// partOf reads a part of a content, as chat completions, responses and messages write it.
func partOf(p gjson.Result) Part {
	kind := p.Get("type").String()
	switch {
	case p.Type == gjson.String:
		return Part{Type: "text", Content: p.Str}
	case p.Get("text").Type == gjson.String:
		return Part{Type: "text", Content: p.Get("text").Str}
	case kind == "thinking":
		return Part{Type: "reasoning", Content: p.Get("thinking").String()}
	case kind == "tool_use":
		return called(p.Get("id").String(), p.Get("name").String(), p.Get("input").Raw)
	case kind == "function_call":
		return called(p.Get("call_id").String(), p.Get("name").String(), p.Get("arguments").String())
	case kind == "tool_result":
		return Part{Type: "tool_call_response", ID: p.Get("tool_use_id").String(), Response: worded(p.Get("content"))}
	case kind == "function_call_output":
		return Part{Type: "tool_call_response", ID: p.Get("call_id").String(), Response: worded(p.Get("output"))}
	}
	return Part{Type: kind}
}

// worded is a text, and the JSON of anything else.
func worded(v gjson.Result) string {
	if v.Type == gjson.String {
		return v.Str
	}
	return v.Raw
}

func called(id, name, args string) Part {
	p := Part{Type: "tool_call", ID: id, Name: name}
	switch {
	case args == "":
	case json.Valid([]byte(args)):
		p.Arguments = json.RawMessage(args)
	default:
		p.Arguments, _ = json.Marshal(args) // of a string: always encodes
	}
	return p
}

// voice puts together what an answer says piece by piece.
type voice struct {
	content, reasoning strings.Builder
	text, thought      wire.Joiner
	calls              []*line
	finish             string
}

// line is a call in the making.
type line struct {
	index    int
	id, name string
	args     []byte
	draft    bool // the arguments do not count if others follow
	joiner   wire.Joiner
}

// answered reads an answer, as far as it can be read.
func (t *Transcript) answered(as wire.Dialect, answer []byte) {
	d := wire.Decoder{Dialect: as}
	var voices []*voice
	hear := func(data []byte) {
		ev, err := d.Decode(data)
		if err != nil {
			return
		}
		for i := range ev.Choices {
			c := &ev.Choices[i]
			for len(voices) <= c.Index && len(voices) < maxChoices {
				voices = append(voices, new(voice))
			}
			if c.Index >= 0 && c.Index < len(voices) {
				voices[c.Index].hear(c, d.Calls(c))
			}
		}
	}
	if text := bytes.TrimSpace(answer); len(text) > 0 && text[0] == '{' && json.Valid(text) {
		hear(text)
	} else {
		each(answer, as.Lines(), hear)
	}
	for _, v := range voices {
		t.Output = append(t.Output, v.spoken())
	}
}

// each cuts a stream into the data of its events.
func each(answer []byte, lines bool, hear func([]byte)) {
	s := sse.Scanner{Lines: lines}
	for len(answer) > 0 {
		n, ev := s.Feed(answer)
		if answer = answer[n:]; ev != nil {
			hear(ev.Data)
		}
	}
	if ev := s.Close(); ev != nil {
		hear(ev.Data)
	}
}

func (v *voice) hear(c *wire.Choice, calls []wire.Call) {
	v.content.Write(v.text.Append(nil, c.Content))
	v.content.WriteString(c.Refusal.String())
	v.reasoning.Write(v.thought.Append(nil, c.Reasoning))
	if !c.Finish.Empty() {
		v.finish = c.Finish.String()
	}
	for i := range calls {
		v.call(&calls[i])
	}
}

// call takes in an entry of a list of calls: it goes on with the latest of its index,
// unless it has another id.
func (v *voice) call(w *wire.Call) {
	k := v.latest(w.Index)
	if k == nil || !w.ID.Empty() && k.id != "" && w.ID.String() != k.id {
		k = &line{index: w.Index}
		v.calls = append(v.calls, k)
	}
	if !w.ID.Empty() {
		k.id = w.ID.String()
	}
	if !w.Name.Empty() {
		k.name = w.Name.String()
	}
	if w.Args.Empty() || w.Final && len(k.args) > 0 {
		return
	}
	if k.draft {
		k.args, k.joiner = nil, wire.Joiner{}
	}
	k.draft = w.Draft
	k.args = k.joiner.Append(k.args, w.Args)
}

func (v *voice) latest(index int) *line {
	for _, k := range slices.Backward(v.calls) {
		if k.index == index {
			return k
		}
	}
	return nil
}

func (v *voice) spoken() Spoken {
	s := Spoken{Role: "assistant", Parts: []Part{}, Finish: v.finish}
	if v.reasoning.Len() > 0 {
		s.Parts = append(s.Parts, Part{Type: "reasoning", Content: v.reasoning.String()})
	}
	if v.content.Len() > 0 {
		s.Parts = append(s.Parts, Part{Type: "text", Content: v.content.String()})
	}
	for _, k := range v.calls {
		s.Parts = append(s.Parts, called(k.id, k.name, string(k.args)))
	}
	return s
}
