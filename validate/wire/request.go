package wire

// Tool is a function that a request offers. Its bytes are the request's.
type Tool struct {
	Name       Text
	Parameters []byte // the JSON of its schema, nil if there is none
}

// Request is what a request for a chat completion asks, in the request's bytes.
type Request struct {
	Model     Text
	Stream    bool
	N         int64
	MaxTokens int64 // 0 if none was set
	Tools     []Tool
	Others    bool // tools were offered that are no functions
	Choice    Text // tool_choice, if it is a word
	CallIDs   []Text
}

// maxKept bounds the lists of a request.
const maxKept = 4096

// DecodeRequest reads a request's body, which must be one JSON object. The
// error is a *SyntaxError.
func DecodeRequest(body []byte) (*Request, error) {
	d := requestDecoder{s: scanner{b: body}, r: &Request{N: 1}}
	if d.s.peek() != '{' {
		d.s.fail()
	}
	d.top()
	return d.r, d.s.finish()
}

type requestDecoder struct {
	s scanner
	r *Request
}

func (d *requestDecoder) top() {
	s, r := &d.s, d.r
	if !s.open('{') {
		return
	}
	for first := true; s.next('}', &first); {
		switch string(s.key()) {
		case "model":
			r.Model, _ = s.text()
		case "stream":
			r.Stream = string(s.skip()) == "true"
		case "n":
			d.number(&r.N)
		case "max_tokens", "max_completion_tokens":
			d.number(&r.MaxTokens)
		case "tools":
			d.list(d.tool)
		case "functions":
			d.list(d.function)
		case "tool_choice", "function_call":
			r.Choice, _ = s.text()
		case "messages":
			d.list(d.message)
		default:
			s.skip()
		}
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

func (d *requestDecoder) tool() {
	s, offered := &d.s, len(d.r.Tools)
	if !s.open('{') {
		return
	}
	for first := true; s.next('}', &first); {
		if string(s.key()) == "function" {
			d.function()
			continue
		}
		s.skip()
	}
	if len(d.r.Tools) == offered {
		d.r.Others = true
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
		default:
			s.skip()
		}
	}
	if len(d.r.Tools) < maxKept {
		d.r.Tools = append(d.r.Tools, t)
	}
}

func (d *requestDecoder) message() {
	s := &d.s
	if !s.open('{') {
		return
	}
	for first := true; s.next('}', &first); {
		if string(s.key()) == "tool_calls" {
			d.list(d.callID)
			continue
		}
		s.skip()
	}
}

func (d *requestDecoder) callID() {
	s := &d.s
	if !s.open('{') {
		return
	}
	for first := true; s.next('}', &first); {
		if string(s.key()) != "id" {
			s.skip()
			continue
		}
		if t, _ := s.text(); !t.Empty() && len(d.r.CallIDs) < maxKept {
			d.r.CallIDs = append(d.r.CallIDs, t)
		}
	}
}
