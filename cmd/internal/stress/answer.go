package stress

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"turnwatch/validate/agents"
)

// maxAnswer bounds what is read of one answer, maxLine a line of it.
const (
	maxAnswer = 64 << 20
	maxLine   = 16 << 20
)

// reader puts an answer together while it arrives, as agents' clients do: by the
// index of the call, forgiving what they forgive. What they would stumble over is
// its error; the judge, which is given the same bytes, stands beside it.
type reader struct {
	stream  bool
	rest    []byte // a line that has not ended; all of an answer that does not stream
	size    int
	events  int // with output
	done    bool
	err     error // the first
	answer  agents.Answer
	comment []byte // what turnwatch -annotate says at the end
}

// message is a delta, or the whole of an answer that does not stream.
type message struct {
	Content   string `json:"content"`
	Reasoning string `json:"reasoning_content"`
	Calls     []struct {
		Index    *int `json:"index"`
		Function struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
}

// chunk is the part of an event, or of a body, that an answer is made of.
type chunk struct {
	Choices []struct {
		Delta   message `json:"delta"`
		Message message `json:"message"`
	} `json:"choices"`
	Error json.RawMessage `json:"error"`
}

// feed takes in the next bytes of the body, cut anywhere.
func (r *reader) feed(p []byte) {
	if r.size += len(p); r.size > maxAnswer {
		r.fail(fmt.Errorf("read the answer: it exceeds %d bytes", maxAnswer))
		return
	}
	for r.stream && r.err == nil {
		i := bytes.IndexByte(p, '\n')
		if i < 0 {
			break
		}
		r.line(append(r.rest, p[:i]...))
		r.rest, p = r.rest[:0], p[i+1:]
	}
	if r.rest = append(r.rest, p...); r.stream && len(r.rest) > maxLine {
		r.fail(fmt.Errorf("read the answer: a line exceeds %d bytes", maxLine))
	}
}

func (r *reader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

func (r *reader) line(line []byte) {
	line = bytes.TrimRight(line, "\r")
	if c, ok := bytes.CutPrefix(line, []byte(": turnwatch ")); ok {
		r.comment = bytes.Clone(c)
	}
	data, ok := bytes.CutPrefix(line, []byte("data:"))
	if !ok {
		return
	}
	if data = bytes.TrimSpace(data); string(data) == "[DONE]" {
		r.done = true
		return
	}
	r.add(data, func(c *chunk, i int) *message { return &c.Choices[i].Delta })
}

// end tells that nothing follows, and returns the answer or why there is none.
func (r *reader) end() (agents.Answer, error) {
	switch {
	case r.err != nil:
	case !r.stream:
		r.add(r.rest, func(c *chunk, i int) *message { return &c.Choices[i].Message })
	case !r.done:
		r.fail(errors.New("read the stream: it ended before [DONE]"))
	}
	return r.answer, r.err
}

// add takes in one JSON document. of finds the message of a choice.
func (r *reader) add(data []byte, of func(*chunk, int) *message) {
	var c chunk
	if err := json.Unmarshal(data, &c); err != nil {
		r.fail(fmt.Errorf("read the answer: %w", err))
		return
	}
	if len(c.Error) > 0 && string(c.Error) != "null" {
		r.fail(fmt.Errorf("server: %s", brief(c.Error)))
	}
	for i := range c.Choices {
		r.message(of(&c, i))
	}
}

func (r *reader) message(m *message) {
	if m.Content != "" || m.Reasoning != "" || len(m.Calls) > 0 {
		r.events++
	}
	r.answer.Text += m.Content
	for i, d := range m.Calls {
		at := i
		if d.Index != nil {
			at = *d.Index
		}
		if at < 0 || at > len(r.answer.Calls) {
			r.fail(fmt.Errorf("read the answer: call %d after %d calls", at, len(r.answer.Calls)))
			return
		}
		if at == len(r.answer.Calls) {
			r.answer.Calls = append(r.answer.Calls, agents.Call{})
		}
		c := &r.answer.Calls[at]
		c.Name += d.Function.Name
		c.Arguments += d.Function.Arguments
	}
}

// brief shortens what a server says, for a message of one line.
func brief(b []byte) string {
	s := strings.Join(strings.Fields(strings.ToValidUTF8(string(b), "?")), " ")
	if len(s) > 300 {
		s = s[:300] + "…"
	}
	return s
}
