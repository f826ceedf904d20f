package validate

import (
	"bytes"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"turnwatch/validate/schema"
	"turnwatch/validate/sse"
	"turnwatch/validate/wire"
)

// Limits of one turn. Beyond them it is unverified, for the reason too_large.
const (
	maxEvent    = 16 << 20 // a line or an event of a stream
	maxBody     = 32 << 20 // an answer that does not stream
	maxErrBody  = 64 << 10 // what is read of the body of an error
	maxCallArgs = 1 << 20  // the arguments of one call
	maxTurnArgs = 8 << 20  // … of all calls
	maxChoices  = 128
	maxCalls    = 1024 // of all choices
	maxFindings = 100
	maxLook     = 32 << 20 // bytes of arguments searched for where findings lie
)

// Head is what a checker must know of the answer's head.
type Head struct {
	Status      int
	ContentType string
}

// form is how the body is read.
type form uint8

const (
	undecided form = iota
	stream
	whole
)

// Checker judges one answer while it streams. It is not for concurrent use.
type Checker struct {
	req   *Request
	head  Head
	form  form
	fed   int64 // bytes so far
	base  int64 // offset of body[0]
	body  []byte
	sse   sse.Scanner
	dec   wire.Decoder
	clk   clock // when bytes arrived, in microseconds
	place place
	buf   []byte // for decoded text

	choices  []*choice
	latest   latest
	calls    int
	argBytes int
	findings []Finding
	signals  []Signal
	desk     *desk   // that the answer was compared on
	echoed   bool    // all of them were
	engine   *engine // of what is read in the end
	lints    []Lint
	skips    []Skip
	more     *extras
	usage    *Usage
	thinking int64 // tokens of reasoning that the server reported
	unused   int64 // … of predictions that were not taken
	idle     int64 // events that brought nothing
	spent    Spent
	sketch   sketch // of the outline
	alien    []Stranger
	seek     int    // bytes searched for where those stand
	reason   Reason // why judging stopped

	// Bounds of the effort of Finish.
	effort  schema.Budget
	budget  *schema.Budget // effort; nil while no schema was looked at
	schemas []calledTool   // so far
	look    int            // bytes of arguments that may still be searched

	worth   bool // what the last bytes said may need their time
	chat    bool // there was a choice, or an empty list of them
	strange bool
	spoke   bool // there was output
	done    bool // [DONE]
	unread  bool // there was text that is not read
	weighed bool // tokens were held against text
	foul    bool // there was something else than UTF-8
	broken  bool // an event was malformed: what it carried is lost
	suspect bool
	ended   bool
	failure failure
	spare   spare
}

// failure is an error that the server sent in the body.
type failure struct {
	seen   bool
	late   bool // after output began
	at     int64
	report string // its message, cut short
}

// NewChecker returns a checker of one answer to req.
func NewChecker(req *Request, head Head) *Checker {
	var refused Reason
	if req == nil {
		req, refused = &Request{}, ReasonRequestMalformed
	}
	c := req.Schemas.checker()
	c.req, c.head, c.reason = req, head, refused
	c.sse.Max = maxEvent
	c.dec.Dialect = c.req.dialect
	if c.refused() {
		c.form = whole
	}
	return c
}

// refused reports whether the status says that there is no answer to judge.
func (c *Checker) refused() bool { return c.head.Status >= 300 }

// Held is about how many bytes the checker keeps of the answer, to be counted
// against a budget.
func (c *Checker) Held() int {
	return 2*c.argBytes + heldSize*c.calls + cap(c.body) + c.sse.Held() + cap(c.clk.buf) + cap(c.buf) + c.place.held() + c.heldTexts() + cap(c.sketch.text)
}

// Feed judges the next bytes of the body, cut anywhere, which arrived at the
// given time after the answer's first byte. It keeps nothing of p.
func (c *Checker) Feed(at time.Duration, p []byte) {
	if len(p) == 0 || c.reason != "" {
		return
	}
	start := c.fed
	c.fed += int64(len(p))
	c.clk.note(c.fed, at.Microseconds())
	if c.form == undecided {
		n := c.decide(p)
		start, p = start+int64(n), p[n:]
	}
	if c.form == whole {
		c.hold(start, p)
		c.clk.keep()
		return
	}
	if c.form == stream {
		c.scan(p)
	}
	c.settle()
}

// settle keeps the arrival time of the bytes just fed if it may be asked for.
func (c *Checker) settle() {
	switch {
	case c.worth:
		c.clk.keep()
	case !c.sse.Pending():
		c.clk.drop()
	}
	c.worth = false
}

// decide tells a stream from a whole body by the content type and the first
// byte that is neither space nor part of a byte order mark, and says how many
// bytes it skipped.
func (c *Checker) decide(p []byte) int {
	for i, b := range p {
		switch {
		case strings.IndexByte(" \t\r\n\xef\xbb\xbf", b) >= 0:
			continue
		case c.lines():
			c.form, c.sse.Lines = stream, true
			c.sse.Skip(c.fed - int64(len(p)-i))
		case b == '{' || b == '[':
			c.form = whole
		case strings.HasPrefix(c.head.ContentType, "text/event-stream"), strings.IndexByte("de:ir", b) >= 0:
			c.form = stream
			c.sse.Skip(c.fed - int64(len(p)-i))
		default:
			c.form = whole
		}
		return i
	}
	return len(p)
}

// lines reports whether the body is a stream of lines. Some servers call that
// plain JSON.
func (c *Checker) lines() bool {
	return c.req.dialect.Lines() && (c.req.Stream || strings.Contains(c.head.ContentType, "ndjson"))
}

// hold keeps a body that does not stream.
func (c *Checker) hold(at int64, p []byte) {
	if c.body == nil {
		c.base = at
	}
	limit := maxBody
	if c.refused() {
		limit = maxErrBody
		p = p[:min(len(p), limit-len(c.body))]
	}
	if len(c.body)+len(p) > limit {
		c.stop(ReasonTooLarge)
		return
	}
	c.body = append(c.body, p...)
}

// stop ends judging for good and gives back what was kept.
func (c *Checker) stop(r Reason) {
	c.reason, c.body, c.choices, c.latest = r, nil, nil, latest{}
}

// scan judges the next bytes of a stream.
func (c *Checker) scan(p []byte) {
	for len(p) > 0 && c.reason == "" {
		if n := c.skim(p); n > 0 {
			p = p[n:]
			continue
		}
		n, ev := c.sse.Feed(p)
		p = p[n:]
		if ev != nil {
			c.event(ev)
		}
		if c.sse.TooLong() {
			c.stop(ReasonTooLarge)
		}
	}
}

// event judges one event of a stream.
func (c *Checker) event(ev *sse.Event) {
	if string(ev.Data) == "[DONE]" || string(bytes.TrimSpace(ev.Data)) == "[DONE]" {
		c.done = true
		return
	}
	w, err := c.dec.Decode(ev.Data)
	if ev.Torn && err != nil {
		return // the cut explains it
	}
	c.checkUTF8(ev.Data)
	if err != nil {
		c.malformed(ev, err)
		return
	}
	w.Failed = w.Failed || ev.Failed
	c.apply(w)
	c.note(w, ev.End+1)
}

// note notes the place of an event in the answer.
func (c *Checker) note(w *wire.Event, end int64) {
	output := false
	for i := range w.Choices {
		ch := &w.Choices[i]
		output = output || !ch.Content.Empty() || !ch.Reasoning.Empty() || !ch.Refusal.Empty() || news(c.dec.Calls(ch))
	}
	if !output && len(w.Choices) > 0 {
		c.idle++
	}
	c.place.note(end, output, c.counted(w), c.worth)
}

// counted is what the server had reported with an event. The tokens that its
// last event reports, without a choice, are those of the whole answer.
func (c *Checker) counted(w *wire.Event) *Usage {
	if w.Counted && len(w.Choices) > 0 {
		return c.usage
	}
	return nil
}

// malformed judges an event that could not be read.
func (c *Checker) malformed(ev *sse.Event, err error) {
	fault := err.(*wire.SyntaxError)
	switch {
	case fault.Deep:
		c.stop(ReasonTooLarge)
	case ev.Failed:
		c.fail(&wire.Event{}) // an error in prose
	default:
		c.broken = true
		c.find(SSEMalformedEvent, 0, nil, c.offset(fault.Offset, ev.End))
		c.place.note(ev.End+1, true, nil, true)
	}
}

func (c *Checker) checkUTF8(data []byte) {
	if utf8.Valid(data) {
		return
	}
	i := 0
	for i < len(data) {
		r, n := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && n == 1 {
			break
		}
		i += n
	}
	c.foul = true
	c.find(InvalidUTF8, 0, nil, c.at(i))
}

// at is the offset in the body of byte i of the event or body at hand.
func (c *Checker) at(i int) int64 {
	if c.form == stream {
		return c.sse.Offset(i)
	}
	return c.base + int64(i)
}

// offset is at, but not behind the last byte.
func (c *Checker) offset(i int, last int64) int64 { return min(c.at(i), last) }

// apply takes in what an event or a body says.
func (c *Checker) apply(w *wire.Event) {
	c.strange, c.done = c.strange || w.Strange, c.done || w.Done
	if w.Excess {
		c.stop(ReasonTooLarge)
		return
	}
	if w.Counted {
		if c.usage == nil {
			c.usage = &c.extras().usage
		}
		*c.usage = Usage{PromptTokens: w.Usage.Prompt, CompletionTokens: w.Usage.Completion}
		c.thinking, c.unused = w.Usage.Reasoning, max(0, w.Usage.Rejected)
	}
	if w.Listed {
		c.chat = true
		if len(w.Choices) == 0 && !w.Counted {
			c.lint(LintEmptyChoices)
		}
	}
	for i := range w.Choices {
		if c.reason != "" {
			return
		}
		c.choice(&w.Choices[i])
	}
	if w.Failed {
		c.fail(w)
	}
}

// fail notes the first error of the server.
func (c *Checker) fail(w *wire.Event) {
	c.worth = true
	if !c.failure.seen {
		text := w.Error.String()
		c.failure = failure{seen: true, late: c.spoke, at: c.at(w.Error.At), report: text[:min(len(text), 1<<10)]}
	}
}

// find notes a finding whose byte was just judged. Its time is looked up in
// the end.
func (c *Checker) find(k Kind, choice int, call *int, offset int64) *Finding {
	c.worth = true
	f := c.room(k)
	*f = Finding{Kind: k, Choice: choice, Call: call, Offset: offset}
	return f
}

// room is where a finding of a kind goes: if there is no other and the kind
// convicts, in the place of the last one, else nowhere.
func (c *Checker) room(k Kind) *Finding {
	switch {
	case len(c.findings) < maxFindings:
		c.findings = append(c.findings, Finding{})
	case k.outcome() != Corrupted:
		return new(Finding)
	}
	return &c.findings[len(c.findings)-1]
}

// found reports whether there is a finding of a kind.
func (c *Checker) found(k Kind) bool {
	return slices.ContainsFunc(c.findings, func(f Finding) bool { return f.Kind == k })
}

// signal notes evidence that makes no verdict.
func (c *Checker) signal(s Signal) {
	if len(c.signals) < maxFindings {
		c.signals = append(c.signals, s)
	}
}

func (c *Checker) lint(l Lint) {
	for _, had := range c.lints {
		if had == l {
			return
		}
	}
	c.lints = append(c.lints, l)
}

// Finish ends the turn and returns the verdict. Feed must not be called after it.
func (c *Checker) Finish(how Ending) Verdict {
	if c.ended {
		panic("validate: Finish after Finish")
	}
	c.ended = true
	c.look = maxLook
	if c.reason == "" {
		c.close()
	}
	c.readers((*reader).settle) // what waits
	c.followAll()
	v := c.verdict(how)
	c.learn(&v)
	c.giveBack()
	return v
}

// readers calls f with what reads each text.
func (c *Checker) readers(f func(*reader)) {
	for _, ch := range c.choices {
		for _, r := range ch.texts {
			if r != nil {
				f(r)
			}
		}
	}
}

// heldTexts is how many bytes those keep.
func (c *Checker) heldTexts() (n int) {
	c.readers(func(r *reader) { n += r.held() })
	return n
}

// giveBack returns what was lent.
func (c *Checker) giveBack() {
	c.readers(func(r *reader) {
		if r.engine != c.engine {
			c.req.Schemas.takeBack(r.engine)
		}
	})
	c.req.Schemas.takeBack(c.engine)
	c.engine = nil
}

// lastly is the engine for what is read in the end.
func (c *Checker) lastly() *engine {
	if c.engine == nil {
		c.engine = c.req.Schemas.lend()
	}
	return c.engine
}

// close judges what was kept for the end of the bytes.
func (c *Checker) close() {
	if c.form == whole {
		w, err := c.dec.Decode(c.body)
		if err != nil {
			if err.(*wire.SyntaxError).Deep {
				c.stop(ReasonTooLarge)
			}
			return
		}
		c.checkUTF8(c.body)
		c.apply(w)
		return
	}
	if ev := c.sse.Close(); ev != nil {
		c.event(ev)
	}
	if c.sse.Comments > 0 {
		c.lint(LintKeepalive)
	}
}
