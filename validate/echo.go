package validate

import (
	"bytes"
	"sync"

	"github.com/tidwall/gjson"

	"turnwatch/validate/echo"
	"turnwatch/validate/jsonstream"
	"turnwatch/validate/markup"
)

// Echoes compare what answers say with what their requests hold, and remember
// over turns which parameters are copied. They may be used concurrently.
type Echoes struct {
	// Convict makes a finding of a near miss where the parameter is sure to be a
	// copy and at most one in twenty of what is told lately can be wrong.
	Convict bool

	habits *echo.Habits
	memory *echo.Memory
	copies sync.Pool // *[]byte
	desks  sync.Pool // *desk
}

// maxFalse is the share of wrong ones among echo findings that is borne.
const maxFalse = 0.05

// NewEchoes returns what takes about maxBytes at most: an eighth for parameters,
// the rest for indexes of what requests repeat.
func NewEchoes(maxBytes int) *Echoes {
	return &Echoes{habits: echo.NewHabits(maxBytes / 8), memory: echo.NewMemory(maxBytes - maxBytes/8)}
}

// FalseDiscovery bounds the share of wrong ones among the signals of
// parameters that are sure to be copies; 1 until enough was seen.
func (e *Echoes) FalseDiscovery() float64 { return e.habits.FalseDiscovery() }

// Size is how many bytes it takes to compare an answer with a request whose
// body is n bytes long: a copy, and an index of half its size at most.
func (e *Echoes) Size(n int) int64 { return int64(n + n/2) }

// Keep keeps a copy of the body of r, which the checkers of r compare answers
// with.
func (e *Echoes) Keep(r *Request, body []byte) {
	if r.dialect.Raw() {
		return
	}
	kept, _ := e.copies.Get().(*[]byte)
	if kept == nil {
		kept = new([]byte)
	}
	*kept = append((*kept)[:0], body...)
	r.echoes, r.body = e, kept
}

// Free gives back what was kept. No checker of r may be used after it.
func (r *Request) Free() {
	if r != nil && r.body != nil {
		r.echoes.copies.Put(r.body)
		r.body = nil
	}
}

// copied is where a value of the answer stands that may be a copy.
type copied struct {
	ch    *choice
	call  *call // nil in text
	param echo.Parameter
	at    int  // byte of the arguments or of the text that it begins at
	plain bool // each of its bytes is one there
}

// maxCopied bounds the values of one turn that are looked for.
const maxCopied = 512

// echo compares the answer with its request.
func (c *Checker) echo() {
	if c.req.body == nil {
		return
	}
	c.desk = c.req.echoes.desk()
	w := comparison{c: c, e: c.req.echoes, desk: c.desk}
	for _, ch := range c.choices {
		for _, k := range ch.calls {
			if !k.foreign && k.machine.Code() == jsonstream.OK && k.machine.Lead() == '{' {
				w.call(ch, k)
			}
		}
		w.text(ch)
	}
	if len(w.all) > 0 {
		w.judge()
	}
	c.echoed = !w.unknown
}

// desk is what an answer is compared on. It goes on to the next one.
type desk struct {
	source echo.Source
	values []echo.Value
	all    []copied // the same ones
	seen   []echo.Seen
	path   []byte // of the value at hand
	named  []byte // the latest path that got a name
	name   echo.Parameter
}

func (e *Echoes) desk() *desk {
	if d, ok := e.desks.Get().(*desk); ok {
		return d
	}
	return new(desk)
}

// clear lets go of the answer and its request.
func (d *desk) clear() {
	clear(d.all)
	clear(d.values)
	d.all, d.values, d.seen, d.named = d.all[:0], d.values[:0], d.seen[:0], d.named[:0]
	d.source.Reset(nil, nil)
}

// comparison collects the values of an answer.
type comparison struct {
	c       *Checker
	e       *Echoes
	ch      *choice
	k       *call
	tool    echo.Tool // that k calls
	unknown bool      // not all could be looked for
	*desk
}

func (w *comparison) call(ch *choice, k *call) {
	if !w.c.afford(2 * len(k.args)) {
		w.unknown = true
		return
	}
	w.ch, w.k, w.named = ch, k, w.named[:0]
	w.tool = w.e.habits.Tool(w.c.req.Model, w.c.declared(k))
	w.value(bytes.IndexByte(k.args, '{'), len(k.args), 0)
}

// value takes in a value of the arguments, so deep in them.
func (w *comparison) value(at, end, depth int) {
	args := w.k.args
	switch b := args[at]; {
	case len(w.all) >= maxCopied || depth > maxDepth:
		w.unknown = true
	case b == '{' || b == '[':
		for m := range jsonstream.Members(args, at) {
			was := len(w.path)
			if w.path = append(w.path, '/'); b == '{' {
				key, _ := w.unquoted(m.KeyStart, m.KeyEnd)
				w.path = append(w.path, key...)
			}
			w.value(m.Start, m.End, depth+1)
			w.path = w.path[:was]
		}
	case b == '"':
		text, plain := w.unquoted(at, end)
		w.add(echo.Value{Text: text}, at+1, plain)
	case b == '-' || b >= '0' && b <= '9':
		w.add(echo.Value{Text: args[at:end], Number: true}, at, true)
	}
}

// unquoted decodes a string of the arguments, in their own bytes where it is plain.
func (w *comparison) unquoted(from, to int) (text []byte, plain bool) {
	quoted := w.k.args[from:to]
	if bytes.IndexByte(quoted, '\\') < 0 {
		return quoted[1 : len(quoted)-1], true
	}
	return []byte(gjson.ParseBytes(quoted).Str), false
}

// maxDepth is how deep in the arguments a value is looked at.
const maxDepth = 16

// add takes in a value, and the tokens in it where it is a text.
func (w *comparison) add(v echo.Value, at int, plain bool) {
	param := w.parameter()
	if echo.Idle(v) && !w.e.habits.Sure(param) {
		return
	}
	w.keep(v, copied{ch: w.ch, call: w.k, param: param, at: at, plain: plain})
	if v.Number || !echo.IsText(v.Text) {
		return
	}
	inner := w.e.habits.Parameter(w.tool, append(w.path, 0))
	for t := range echo.Tokens(v.Text) {
		in := copied{ch: w.ch, call: w.k, param: inner, at: at, plain: plain}
		if plain {
			in.at += int(t.At)
		}
		w.keep(echo.Value{Text: t.Text}, in)
	}
}

func (d *desk) keep(v echo.Value, c copied) {
	d.values, d.all = append(d.values, v), append(d.all, c)
}

// parameter names what is at the path at hand: the elements of a list follow
// one another.
func (w *comparison) parameter() echo.Parameter {
	if len(w.named) == 0 || !bytes.Equal(w.named, w.path) {
		w.named = append(w.named[:0], w.path...)
		w.name = w.e.habits.Parameter(w.tool, w.path)
	}
	return w.name
}

// text takes in the tokens of the content.
func (w *comparison) text(ch *choice) {
	ch.echo.Finish()
	tokens := ch.echo.Tokens()
	if len(tokens) == 0 {
		return
	}
	key := w.e.habits.Parameter(w.e.habits.Tool(w.c.req.Model, ""), nil)
	for _, t := range tokens {
		w.keep(echo.Value{Text: t.Text}, copied{ch: ch, param: key, at: int(t.At), plain: true})
	}
}

// judge looks for the values in the request, and tells of those that are no
// copies but should be.
func (w *comparison) judge() {
	w.source.Reset(*w.c.req.body, w.e.memory)
	told := 0
	for i, m := range w.source.Judge(w.values) {
		v := &w.all[i]
		seen := echo.Seen{Parameter: v.param, Copy: m.How == echo.Exact}
		switch {
		case m.How == echo.Unknown:
			w.unknown = true
			continue
		case m.How != echo.Exact:
			seen.Told = w.told(v, &m)
		}
		if seen.Told || echo.Telling(w.values[i]) {
			w.seen = append(w.seen, seen)
		}
		if seen.Told && told < maxTold {
			w.tell(v, &m)
			told++
		}
	}
}

// maxTold bounds the signals of one turn.
const maxTold = 16

// told reports whether a value that is no copy is worth telling.
func (w *comparison) told(v *copied, m *echo.Match) bool {
	return m.How != echo.Other || w.e.habits.Sure(v.param)
}

// tell notes a value at the byte at which it parts from the request.
func (w *comparison) tell(v *copied, m *echo.Match) {
	at := int64(v.at)
	if v.plain {
		at += int64(m.At)
	}
	sign := Signal{Kind: EchoAbsent, Choice: v.ch.index}
	if m.How == echo.Near {
		sign.Kind, sign.Edit = EchoNearMiss, m.Edit
	}
	if v.call == nil {
		sign.Offset = v.ch.texts[markup.Content].track.find(at)
		w.c.signal(sign)
		return
	}
	sign.Path = w.pathOf(v)
	sign.Call, sign.Offset = v.call.place(), v.call.trail.find(v.call.args, at)
	w.c.signal(sign)
	if w.e.Convict && sign.Kind == EchoNearMiss && w.e.habits.Proven(v.param) && w.e.FalseDiscovery() <= maxFalse {
		f := w.c.find(EchoNearMiss, v.ch.index, v.call.place(), sign.Offset)
		f.Tool, f.Path, f.ArgOffset = w.c.declared(v.call), sign.Path, &at
	}
}

// pathOf is the JSON pointer to a value of the arguments, as it is told.
func (w *comparison) pathOf(v *copied) string {
	j := judged{c: w.c, ch: v.ch, k: v.call}
	if j.tool, _ = w.c.req.find(v.call.name); j.tool != "" {
		j.schema = w.c.schema(j.tool)
	}
	return j.pointer(jsonstream.Pointer(v.call.args, v.at), "")
}

// learn makes the verdict part of what is known of the parameters.
func (c *Checker) learn(v *Verdict) {
	d := c.desk
	if d == nil {
		return
	}
	if len(d.seen) > 0 {
		c.req.echoes.habits.Learn(d.seen, v.Outcome == Clean && !v.Suspect)
	}
	c.desk = nil
	d.clear()
	c.req.echoes.desks.Put(d)
}
