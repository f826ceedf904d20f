package sglangtest

import (
	"slices"
	"strings"
)

// Answer is what model and parser made of a request, before it is put on the
// wire: deltas, and how it ends. A Fault is given the rest of one.
type Answer struct {
	Deltas  []Delta
	Silent  int    // tokens after the last delta that show nowhere
	Finish  string // finish_reason
	Matched int    // matched_stop; 0 is null
	After   []Delta

	PromptTokens int      // 0 counts the request's text, four bytes a token
	Failure      *Failure // ends the answer instead of Finish
	Cut          bool     // the connection is cut instead of an end
	Canned       *Canned  // stands for the whole answer

	tokens bool    // its cost is counted in tokens of the vocabulary
	hidden []int32 // the first of the silent tokens
}

// Delta is one event of a streamed answer. One of the fields below Tokens is set.
type Delta struct {
	Tokens    int // decode steps it takes; 0 means 1
	Reasoning string
	Content   string
	Call      *CallDelta
	Raw       []byte // one chunk as it stands; streams only

	made     int  // tokens of the answer once it was made; set by the engine
	bytewise bool // said in tokens of one byte each
}

// CallDelta is a piece of a tool call. Empty ID and Name are null on the wire.
type CallDelta struct {
	Index          int
	ID, Name, Args string
}

// Failure is an error of the engine: an HTTP error when no token came before
// it, else an error event.
type Failure struct {
	Status  int
	Type    string
	Message string
	Usage   bool // the usage event follows, as after an abort
}

// Canned is a response as it stands, for what the simulator does not speak. A
// stream has Chunks, anything else Body.
type Canned struct {
	Status int
	Type   string // content-type
	Body   []byte
	Chunks [][]byte
}

// Text returns a delta of content.
func Text(s string) Delta { return Delta{Content: s} }

// Think returns a delta of reasoning.
func Think(s string) Delta { return Delta{Reasoning: s} }

// Begin returns the first delta of a call.
func Begin(index int, id, name, args string) Delta {
	return Delta{Call: &CallDelta{Index: index, ID: id, Name: name, Args: args}}
}

// More returns a later delta of a call.
func More(index int, args string) Delta {
	return Delta{Call: &CallDelta{Index: index, Args: args}}
}

// cost is how many decode steps a delta takes.
func (a *Answer) cost(d Delta) int {
	if a.tokens {
		return len(d.outputIDs())
	}
	return max(1, d.Tokens)
}

// clone returns a copy that shares nothing with a: a script may hand the same
// answer to many requests, and faults change theirs.
func (a *Answer) clone() *Answer {
	c := *a
	c.Deltas, c.hidden = slices.Clone(a.Deltas), slices.Clone(a.hidden)
	for i, d := range c.Deltas {
		if d.Call != nil {
			call := *d.Call
			c.Deltas[i].Call = &call
		}
	}
	return &c
}

// sum returns what could be seen of a, its tokens included, to tell whether a
// fault changed it.
func (a *Answer) sum() string {
	var b strings.Builder
	for _, list := range [][]Delta{a.Deltas, a.After} {
		for _, d := range list {
			b.WriteString(d.Reasoning + "\x00" + d.Content + "\x00" + string(d.Raw) + "\x00")
			if c := d.Call; c != nil {
				b.WriteString(string(rune('0'+c.Index)) + c.ID + "\x00" + c.Name + "\x00" + c.Args)
			}
			b.WriteByte(0)
			if d.bytewise {
				b.WriteByte(1)
			}
		}
	}
	b.WriteString(a.Finish)
	if a.Failure != nil || a.Cut {
		b.WriteByte(1)
	}
	return b.String()
}

// said is all text of a, without ids, which differ from request to request.
func (a *Answer) said() string {
	var b strings.Builder
	for _, d := range a.Deltas {
		b.WriteString(d.Reasoning + d.Content)
		if d.Call != nil {
			b.WriteString(d.Call.Name + d.Call.Args)
		}
	}
	return b.String()
}

// message is an answer put together, as the non-streaming form shows it.
type message struct {
	content, reasoning string
	calls              []CallDelta
}

func assemble(deltas []Delta) message {
	var m message
	at := map[int]int{}
	for _, d := range deltas {
		m.content += d.Content
		m.reasoning += d.Reasoning
		c := d.Call
		if c == nil {
			continue
		}
		i, seen := at[c.Index]
		if !seen || (c.ID != "" && m.calls[i].ID != "" && m.calls[i].ID != c.ID) {
			at[c.Index] = len(m.calls)
			m.calls = append(m.calls, *c)
			continue
		}
		m.calls[i].Args += c.Args
		if c.Name != "" {
			m.calls[i].Name = c.Name
		}
	}
	return m
}
