// Package wire reads what a server sends and a client asks, one shape out for
// every dialect: chat completions, completions, SGLang's own /generate,
// responses, Anthropic's messages and Ollama.
//
// It takes the shapes that real servers send: null for absent, tool calls
// without an index, the older function_call, arguments as an object. What it
// does not know is skipped; what it knows but finds in another shape, or an
// output of an unknown kind, sets Event.Strange. What a protocol tells several
// times is told once, or marked: a text that grew piece by piece is not told
// again when it is done, a call's arguments are, as Call.Final.
package wire

// Event is one event of a stream, or a whole body. It is valid until the next
// call of the Decoder that made it, and as long as the bytes it was made from.
type Event struct {
	Choices []Choice
	Listed  bool // there was a list of choices, which may be empty
	Usage   Usage
	Counted bool // there was a usage
	Error   Text // an error's message, or what would be one: Failed says whether there was an error
	Code    int64
	Failed  bool
	Done    bool // the event says that it is the last one
	Strange bool // something known had an unknown shape
	Excess  bool // there was more than is read of one event
}

// Usage is the token count that the server reported.
type Usage struct {
	Prompt, Completion int64
	Reasoning          int64 // of the completion
	Rejected           int64 // of the completion: predictions that were not taken
}

// Choice is what an event says of one choice.
type Choice struct {
	Index     int
	At        int // where its object begins
	Role      Text
	Content   Text
	Refusal   Text
	Reasoning Text
	Parts     bool // the content is a list of parts that is not empty
	Finish    Text
	Legacy    bool // its call came as function_call
	from, to  int
}

// ArgsForm is in which form arguments came.
type ArgsForm uint8

// The forms of arguments.
const (
	ArgsAbsent ArgsForm = iota
	ArgsNull
	ArgsText  // a string, as the protocol wants
	ArgsValue // any other value, its JSON in Text.Raw
)

// Call is what an event says of one tool call.
type Call struct {
	Index   int
	Indexed bool // there was an index
	At      int  // where its object begins
	ID      Text
	Type    Text
	Name    Text
	Args    Text
	Form    ArgsForm
	Draft   bool // Args do not count if others follow
	Final   bool // Args are all of the call's arguments, which may have come before
}

// Decoder reads events of one answer. Its zero value is ready.
type Decoder struct {
	Dialect Dialect

	s     scanner
	ev    Event
	calls []Call
	mould mould
	other speaker // of dialects that have no choices
}

// Calls are the tool calls of a choice of the last event.
func (d *Decoder) Calls(c *Choice) []Call { return d.calls[c.from:c.to] }

// Decode reads one event or body, which must be one JSON value. The error is
// a *SyntaxError.
func (d *Decoder) Decode(data []byte) (*Event, error) {
	if n := d.mould.fill(d, data); n > 0 && n == len(data) {
		return &d.ev, nil
	}
	d.ev = Event{Choices: reuse(d.ev.Choices)}
	d.calls = reuse(d.calls)
	d.s = scanner{b: data}
	d.mould.n = 0
	err := d.read()
	d.s.b, d.mould.text = nil, nil
	if err == nil {
		d.mould.learn(d, data)
	}
	return &d.ev, err
}

// Skim reads the event at the front of p and says how many bytes it takes, if it
// differs from the latest one in one text alone, which is t, and perhaps in when
// it was made; else it takes none, and there is no event until the next call of Decode.
func (d *Decoder) Skim(p []byte) (w *Event, t *Text, n int) {
	n = d.mould.fill(d, p)
	return &d.ev, d.mould.text, n
}

func (d *Decoder) read() error {
	if d.Dialect <= Completions {
		d.top()
		return d.s.finish()
	}
	if d.other == nil {
		d.other = d.speaker()
	}
	d.other.read(d)
	err := d.s.finish()
	if err == nil {
		d.other.tell(d)
	}
	return err
}

// Renew makes the decoder ready for another answer. Its memory stays, but for
// what was read.
func (d *Decoder) Renew() {
	*d = Decoder{ev: Event{Choices: forgotten(d.ev.Choices)}, calls: forgotten(d.calls), mould: mould{data: d.mould.data[:0]}}
}

// forgotten is a list without what was ever in it.
func forgotten[T any](list []T) []T {
	list = reuse(list)
	clear(list[:cap(list)])
	return list
}

// maxEntries is how many choices, calls, items or blocks of one event are read.
const maxEntries = 2048

// room reports whether a list of n entries may have one more.
func (d *Decoder) room(n int) bool {
	d.ev.Excess = d.ev.Excess || n >= maxEntries
	return n < maxEntries
}

// reuse empties a list, and gives up one that has become long.
func reuse[T any](list []T) []T {
	if cap(list) > 64 {
		return nil
	}
	return list[:0]
}

func (d *Decoder) strange(odd bool) {
	if odd {
		d.ev.Strange = true
	}
}

// enter enters the container that begins with b. Null stands for absent; any
// other value is strange.
func (d *Decoder) enter(b byte) bool {
	have := d.s.peek()
	d.strange(have != b && have != 'n')
	return d.s.open(b)
}

func (d *Decoder) top() {
	s := &d.s
	var whole bare
	if !d.enter('{') {
		d.strange(true)
		return
	}
	for first := true; s.next('}', &first); {
		switch key := string(s.key()); key {
		case "choices":
			d.choices()
		case "usage":
			d.usage()
		case "error":
			d.failure()
		case "object", "message", "code":
			whole.read(s, key)
		default:
			value := s.skip()
			d.mould.passed(value, s.i)
		}
	}
	whole.tell(&d.ev, false)
}

// failure reads an error: an object, or its bare message.
func (d *Decoder) failure() {
	s := &d.s
	switch s.peek() {
	case 'n', 'f':
		s.skip()
		return
	case '{':
	default:
		d.ev.Error, _ = s.text()
		d.ev.Failed = true
		return
	}
	d.ev.Failed = true
	s.open('{')
	for first := true; s.next('}', &first); {
		switch string(s.key()) {
		case "message":
			d.ev.Error, _ = s.text()
		case "code":
			d.ev.Code, _ = s.integer()
		default:
			s.skip()
		}
	}
}

func (d *Decoder) usage() {
	s := &d.s
	if !s.open('{') {
		return
	}
	for first := true; s.next('}', &first); {
		switch string(s.key()) {
		case "prompt_tokens", "input_tokens":
			s.count(&d.ev.Usage.Prompt)
		case "completion_tokens", "output_tokens":
			d.ev.Counted = s.count(&d.ev.Usage.Completion) || d.ev.Counted
		case "reasoning_tokens":
			d.ev.Usage.Reasoning, _ = s.integer()
		case "completion_tokens_details", "output_tokens_details":
			d.details()
		default:
			s.skip()
		}
	}
}

func (d *Decoder) details() {
	s := &d.s
	if !s.open('{') {
		return
	}
	for first := true; s.next('}', &first); {
		switch string(s.key()) {
		case "reasoning_tokens":
			d.ev.Usage.Reasoning, _ = s.integer()
		case "rejected_prediction_tokens":
			d.ev.Usage.Rejected, _ = s.integer()
		default:
			s.skip()
		}
	}
}

func (d *Decoder) choices() {
	s := &d.s
	if !d.enter('[') {
		return
	}
	d.ev.Listed = true
	for first := true; s.next(']', &first); {
		d.choice()
	}
}

func (d *Decoder) choice() {
	s := &d.s
	s.peek()
	c := Choice{At: s.i, Index: len(d.ev.Choices), from: len(d.calls)}
	indexed, spoke, text := false, false, false
	if !d.enter('{') {
		return
	}
	for first := true; s.next('}', &first); {
		switch string(s.key()) {
		case "index":
			indexed = d.index(&c.Index)
		case "delta", "message":
			if spoke {
				s.skip()
				continue
			}
			spoke = d.delta(&c)
		case "finish_reason":
			c.Finish = d.text()
		case "text":
			text = true
			if d.Dialect == Completions {
				c.Content = d.text()
				continue
			}
			s.skip()
		default:
			s.skip()
		}
	}
	d.strange(!spoke && text && d.Dialect != Completions) // of another dialect
	if !indexed && len(d.ev.Choices) > 0 {
		d.strange(true)
	}
	c.to = len(d.calls)
	if d.room(len(d.ev.Choices)) {
		d.ev.Choices = append(d.ev.Choices, c)
	}
}

// index reads a place in a list into n; of anything but a number nothing can
// be told, and null stands for none.
func (d *Decoder) index(n *int) bool {
	none := d.s.peek() == 'n'
	i, ok := d.s.integer()
	if ok = ok && i >= 0; ok {
		*n = int(i)
	}
	d.strange(!ok && !none)
	return ok
}

// delta reads what a choice adds, or all that it says; of two (a final event
// of some servers repeats the message) the first one counts.
func (d *Decoder) delta(c *Choice) bool {
	s := &d.s
	if !d.enter('{') {
		return true
	}
	for first := true; s.next('}', &first); {
		switch string(s.key()) {
		case "role":
			c.Role = d.text()
		case "content":
			d.content(c)
		case "refusal":
			c.Refusal = d.text()
		case "reasoning_content":
			c.Reasoning = d.text()
		case "reasoning":
			d.reasoning(c)
		case "tool_calls":
			d.toolCalls(c)
		case "function_call":
			d.functionCall(c)
		default:
			s.skip()
		}
	}
	return true
}

func (d *Decoder) text() Text {
	t, odd := d.s.text()
	d.strange(odd)
	return t
}

// reasoning reads the newer name of reasoning_content, which wins if both are sent.
func (d *Decoder) reasoning(c *Choice) {
	t, _ := d.s.text()
	if c.Reasoning.Empty() {
		c.Reasoning = t
	}
}

// content reads a string or, as some servers send it, a list of parts.
func (d *Decoder) content(c *Choice) {
	s := &d.s
	if s.peek() != '[' {
		c.Content = d.text()
		return
	}
	c.Parts = len(s.skip()) > len("[]")
}

func (d *Decoder) toolCalls(c *Choice) {
	s := &d.s
	if !d.enter('[') {
		return
	}
	for first := true; s.next(']', &first); {
		d.call(len(d.calls) - c.from)
	}
}

func (d *Decoder) call(nth int) {
	s := &d.s
	s.peek()
	c := Call{Index: nth, At: s.i}
	if !d.enter('{') {
		return
	}
	for first := true; s.next('}', &first); {
		switch string(s.key()) {
		case "index":
			c.Indexed = d.index(&c.Index)
		case "id":
			c.ID, _ = s.text()
		case "type":
			c.Type, _ = s.text()
		case "function":
			d.function(&c)
		default:
			s.skip()
		}
	}
	if d.room(len(d.calls)) {
		d.calls = append(d.calls, c)
	}
}

func (d *Decoder) functionCall(ch *Choice) {
	s := &d.s
	if s.peek() == 'n' {
		s.skip()
		return
	}
	c := Call{Indexed: true, At: s.i}
	if d.function(&c); c.Name.Empty() && c.Args.Empty() {
		return // an empty object stands for null
	}
	ch.Legacy = true
	if d.room(len(d.calls)) {
		d.calls = append(d.calls, c)
	}
}

func (d *Decoder) function(c *Call) {
	s := &d.s
	if !d.enter('{') {
		return
	}
	for first := true; s.next('}', &first); {
		switch string(s.key()) {
		case "name":
			c.Name = d.text()
		case "arguments":
			c.Args, c.Form = s.arguments()
		default:
			s.skip()
		}
	}
}

// arguments reads the arguments of a call.
func (s *scanner) arguments() (t Text, form ArgsForm) {
	switch s.peek() {
	case '"':
		return s.str(), ArgsText
	case 'n':
		s.skip()
		return t, ArgsNull
	}
	t.At = s.i
	t.Raw = s.skip()
	return t, ArgsValue
}
