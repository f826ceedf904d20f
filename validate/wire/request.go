package wire

import "bytes"

// Tool is a function that a request offers. Its bytes are the request's.
type Tool struct {
	Name       Text
	Parameters []byte // the JSON of its schema, nil if there is none
	Strict     bool   // the server is to enforce it
}

// Span is a stretch of a request's bytes.
type Span struct{ From, To int }

// Request is what a request asks, in the request's bytes.
type Request struct {
	Model     Text
	Stream    bool
	N         int64 // answers that are asked for, over all prompts
	MaxTokens int64 // 0 if none was set
	Tools     []Tool
	ToolsAt   Span     // of the list of them, if it is the only one
	Known     bool     // that list was read before: it is not in Tools
	Endless   bool     // the end that the model would make is ignored
	Others    bool     // tools were offered that are no functions
	Choice    Text     // tool_choice: a word, or the type of an object
	CallIDs   []uint64 // hashes of those in the history
	Messages  []byte   // the JSON of their list
	Ends      []Stop   // of each text or container of the list
	Hides     bool     // reasoning is not to be sent
	Joined    bool     // reasoning is to stand in the content, as the model writes it
	JSON      bool     // the text of the answer is to be JSON, as the format or the user who spoke last says
	Stop      int64    // bytes of the longest text that is to end the answer, 0 if none is

	// Talk is the conversation as Converse reads it, if there is a memory. Its
	// turns go on to another request.
	Talk Conversation
}

// maxKept bounds the lists of a request.
const maxKept = 4096

// Decode reads the body of a request in a dialect, which must be one JSON
// object. The error is a *SyntaxError.
func (r *Request) Decode(as Dialect, body []byte, past Past) error {
	r.Forget()
	r.N, r.Stream = 1, as.Lines()
	d := requestDecoder{as: as, s: scanner{b: body}, r: r, prompts: 1, memory: past.Memory}
	d.t = talk{s: scanner{b: body, lax: true}, Hasher: NewHasher(past.Seed), c: &r.Talk}
	if d.s.peek() != '{' {
		d.s.fail()
	}
	d.top()
	d.t.root()
	const most = 1 << 20
	r.N = min(r.N, most) * min(d.prompts, most)
	return d.s.finish()
}

// maxRoom bounds the lists that go on to another request.
const maxRoom = 512

// Forget lets go of the body. Only room for the next one stays.
func (r *Request) Forget() {
	*r = Request{Tools: room(r.Tools), CallIDs: room(r.CallIDs), Ends: room(r.Ends), Talk: Conversation{Turns: room(r.Talk.Turns)}}
}

func room[T any](list []T) []T {
	if cap(list) > maxRoom {
		return nil
	}
	clear(list)
	return list[:0]
}

type requestDecoder struct {
	as      Dialect
	s       scanner
	r       *Request
	prompts int64
	json    bool // the last message is a user's who asks for JSON
	lists   int  // of tools

	memory Memory
	t      talk   // reads the conversation, if there is a memory
	key    uint64 // of the messages so far
	ended  int    // where the latest of them does
}

func (d *requestDecoder) top() {
	s := &d.s
	if !s.open('{') {
		return
	}
	for first := true; s.next('}', &first); {
		key := string(s.key())
		s.peek()
		at := s.i
		d.member(key)
		d.hear(key, at)
	}
}

func (d *requestDecoder) member(key string) {
	s, r := &d.s, d.r
	switch key {
	case "model":
		r.Model, _ = s.text()
	case "stream":
		r.Stream = string(s.skip()) == "true"
	case "n":
		d.number(&r.N)
	case "max_tokens", "max_completion_tokens", "max_output_tokens":
		d.number(&r.MaxTokens)
	case "ignore_eos":
		r.Endless = string(s.skip()) == "true"
	case "tools":
		d.tools()
	case "functions":
		d.more()
		d.list(d.function)
	case "tool_choice", "function_call":
		d.toolChoice()
	case "messages":
		d.messages()
	case "response_format":
		r.JSON = bytes.Contains(s.skip(), []byte(`"json_`)) || r.JSON
	case "include_reasoning":
		r.Hides = r.Hides || string(s.skip()) == "false"
	case "separate_reasoning":
		r.Joined = string(s.skip()) == "false"
	case "reasoning":
		d.reasoning()
	default:
		d.field(key)
	}
}

func (d *requestDecoder) messages() {
	s, r := &d.s, d.r
	from := s.i
	r.Ends, d.key, d.ended = r.Ends[:0], 0, from
	d.list(func() { d.element(from) })
	r.Messages = s.b[from:s.i]
	r.JSON = r.JSON || d.json
}

// reasoning reads how reasoning is asked for.
func (d *requestDecoder) reasoning() {
	s := &d.s
	if !s.open('{') {
		return
	}
	for first := true; s.next('}', &first); {
		if string(s.key()) == "exclude" {
			d.r.Hides = string(s.skip()) == "true" || d.r.Hides
			continue
		}
		s.skip()
	}
}

// toolChoice reads a word, or what it is called in an object's type.
func (d *requestDecoder) toolChoice() {
	s, r := &d.s, d.r
	if s.peek() != '{' {
		r.Choice, _ = s.text()
		return
	}
	s.open('{')
	for first := true; s.next('}', &first); {
		if string(s.key()) == "type" {
			r.Choice, _ = s.text()
			continue
		}
		s.skip()
	}
}

func (d *requestDecoder) number(to *int64) {
	if n, ok := d.s.integer(); ok && n > 0 {
		*to = n
	}
}

func (d *requestDecoder) list(each func()) {
	if !d.s.open('[') {
		return
	}
	for first := true; d.s.next(']', &first); {
		each()
	}
}

// tool reads an entry of the list of tools. Chat completions have the function
// in a member of it, the later dialects have its fields right there.
func (d *requestDecoder) tool() {
	s, offered := &d.s, len(d.r.Tools)
	if !s.open('{') {
		return
	}
	var t Tool
	var kind Text
	for first := true; s.next('}', &first); {
		switch string(s.key()) {
		case "function":
			d.function()
		case "type":
			kind, _ = s.text()
		case "name":
			t.Name, _ = s.text()
		case "parameters", "input_schema":
			t.Parameters = s.skip()
		case "strict":
			t.Strict = string(s.skip()) == "true"
		default:
			s.skip()
		}
	}
	switch {
	case len(d.r.Tools) > offered:
	case !t.Name.Empty() && (d.as == Messages || kind.Empty() || kind.Is("function")):
		d.offer(t)
	default:
		d.r.Others = true
	}
}

func (d *requestDecoder) offer(t Tool) {
	if len(d.r.Tools) < maxKept {
		d.r.Tools = append(d.r.Tools, t)
	}
}

func (d *requestDecoder) function() {
	s := &d.s
	if !s.open('{') {
		return
	}
	var t Tool
	for first := true; s.next('}', &first); {
		switch string(s.key()) {
		case "name":
			t.Name, _ = s.text()
		case "parameters":
			t.Parameters = s.skip()
		case "strict":
			t.Strict = string(s.skip()) == "true"
		default:
			s.skip()
		}
	}
	d.offer(t)
}

// asksJSON reports whether the word stands in a message of a user, one that
// holds no results of tools.
func asksJSON(message []byte) bool {
	return (names(message, 'J') || names(message, 'j')) && !bytes.Contains(message, []byte(`"tool_result"`))
}

// names reports whether JSON stands in a message as a word, in one of the ways
// to write it that begin with b: a letter that is rare.
func names(message []byte, b byte) bool {
	part := func(b byte) bool { return b|0x20 >= 'a' && b|0x20 <= 'z' || b == '.' || b == '_' || b == '/' }
	for at := 0; ; at++ {
		i := bytes.IndexByte(message[at:], b)
		if i < 0 {
			return false
		}
		at += i
		end := at + len("json")
		if end >= len(message) || at == 0 || part(message[at-1]) || part(message[end]) && message[end] != '.' {
			continue
		}
		switch string(message[at:end]) {
		case "JSON", "json", "Json":
			return true
		}
	}
}

// message reads a message that begins at a byte.
func (d *requestDecoder) message(at int) {
	s, user := &d.s, false
	if !s.open('{') {
		return
	}
	for first := true; s.next('}', &first); {
		switch string(s.key()) {
		case "role":
			role, _ := s.text()
			user = role.Is("user")
		case "tool_calls":
			d.list(func() { d.callID("id", "") })
		case "content":
			d.list(func() { d.callID("id", "tool_use") })
		default:
			s.skip()
		}
	}
	d.json = user && asksJSON(s.b[at:s.i])
}

// callID reads the id of a call, which stands under a key of an object, whose
// type must be kind unless that is empty.
func (d *requestDecoder) callID(under, kind string) {
	s := &d.s
	if !s.open('{') {
		return
	}
	var id, is Text
	for first := true; s.next('}', &first); {
		switch string(s.key()) {
		case under:
			id, _ = s.text()
		case "type":
			is, _ = s.text()
		default:
			s.skip()
		}
	}
	if !id.Empty() && (kind == "" || is.Is(kind)) {
		d.called(d.t.id(id))
	}
}

// called notes the hash of a call's id.
func (d *requestDecoder) called(id uint64) {
	if len(d.r.CallIDs) < maxKept {
		d.r.CallIDs = append(d.r.CallIDs, id)
	}
}
