package stress

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/tidwall/gjson"

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
	if r.stream && r.err != nil {
		return // nothing more is read of it
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
	r.add(data, "delta")
}

// end tells that nothing follows, and returns the answer or why there is none.
func (r *reader) end() (agents.Answer, error) {
	switch {
	case r.err != nil:
	case !r.stream:
		r.add(r.rest, "message")
	case !r.done:
		r.fail(errors.New("read the stream: it ended before [DONE]"))
	}
	return r.answer, r.err
}

// add takes in one JSON document, whose choices hold what was said under a name.
func (r *reader) add(data []byte, name string) {
	if !gjson.ValidBytes(data) {
		r.fail(fmt.Errorf("read the answer: no JSON: %s", brief(data)))
		return
	}
	doc := gjson.ParseBytes(data)
	if e := doc.Get("error"); e.Exists() && e.Type != gjson.Null {
		r.fail(fmt.Errorf("server: %s", brief([]byte(e.Raw))))
	}
	for _, choice := range doc.Get("choices").Array() {
		r.message(choice.Get(name))
	}
}

// message takes in a delta, or the whole of an answer that does not stream.
func (r *reader) message(m gjson.Result) {
	content, calls := m.Get("content").String(), m.Get("tool_calls")
	if content != "" || calls.IsArray() || m.Get("reasoning_content").String() != "" {
		r.events++
	}
	r.answer.Text += content
	if calls.IsArray() {
		for i, call := range calls.Array() {
			r.call(call, i)
		}
	}
}

// call takes in a piece of a call: of the one it names, else of the nth.
func (r *reader) call(d gjson.Result, n int) {
	if at := d.Get("index"); at.Type == gjson.Number {
		n = int(at.Int())
	}
	if n < 0 || n > len(r.answer.Calls) {
		r.fail(fmt.Errorf("read the answer: call %d after %d calls", n, len(r.answer.Calls)))
		return
	}
	if n == len(r.answer.Calls) {
		r.answer.Calls = append(r.answer.Calls, agents.Call{})
	}
	c := &r.answer.Calls[n]
	c.Name += d.Get("function.name").String()
	c.Arguments += d.Get("function.arguments").String()
}

// brief shortens what a server says, for a message of one line.
func brief(b []byte) string {
	s := strings.Join(strings.Fields(strings.ToValidUTF8(string(b), "?")), " ")
	if len(s) > 300 {
		s = s[:300] + "…"
	}
	return s
}
