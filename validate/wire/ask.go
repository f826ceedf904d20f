package wire

// field reads what only some dialects have.
func (d *requestDecoder) field(key string) {
	switch {
	case key == "prompt" && d.as == Completions, (key == "text" || key == "input_ids") && d.as == Native:
		d.prompt()
	case key == "sampling_params" && d.as == Native:
		d.sampling()
	case key == "parameters" && d.as == Vertex:
		d.parameters()
	case key == "instances" && d.as == Vertex:
		d.prompts = max(1, d.count(nil))
	case key == "input" && d.as == Responses:
		d.list(func() { d.callID("call_id", "function_call") })
	case key == "options" && d.as.Lines():
		d.options()
	case key == "stop" || key == "stop_sequences" || key == "stop_token_ids":
		d.stops()
	case key == "stop_regex":
		if d.s.peek() != 'n' {
			d.r.Stop = anyStop
		}
		d.s.skip()
	default:
		d.s.skip()
	}
}

// anyStop is what an expression counts for, which may match any text.
const anyStop = 1 << 20

// stops reads a text that is to end the answer, or a list of them or of tokens.
func (d *requestDecoder) stops() {
	one := func() {
		t, _ := d.s.text()
		d.r.Stop = max(d.r.Stop, int64(len(t.Raw)), 1)
	}
	switch d.s.peek() {
	case '[':
		d.list(one)
	case '"':
		one()
	default:
		d.s.skip()
	}
}

// prompt reads one prompt, or a list of them: texts or lists of tokens.
func (d *requestDecoder) prompt() {
	if d.s.peek() != '[' {
		d.s.skip()
		return
	}
	tokens := false
	n := d.count(func(b byte) { tokens = tokens || b != '"' && b != '[' })
	if !tokens {
		d.prompts = max(1, n)
	}
}

// count counts the elements of a list; each is given the byte that one begins with.
func (d *requestDecoder) count(each func(byte)) (n int64) {
	d.list(func() {
		if each != nil {
			each(d.s.peek())
		}
		n++
		d.s.skip()
	})
	return n
}

// sampling reads one set of parameters, or one for each prompt: the first one
// speaks for all.
func (d *requestDecoder) sampling() {
	if d.s.peek() != '[' {
		d.limits()
		return
	}
	n := 0
	d.list(func() {
		if n++; n == 1 {
			d.limits()
			return
		}
		d.s.skip()
	})
}

func (d *requestDecoder) limits() {
	s := &d.s
	if !s.open('{') {
		return
	}
	for first := true; s.next('}', &first); {
		switch string(s.key()) {
		case "max_new_tokens":
			d.number(&d.r.MaxTokens)
		case "n":
			d.number(&d.r.N)
		case "ignore_eos":
			d.r.Endless = string(s.skip()) == "true"
		default:
			s.skip()
		}
	}
}

func (d *requestDecoder) parameters() {
	s := &d.s
	if !s.open('{') {
		return
	}
	for first := true; s.next('}', &first); {
		if string(s.key()) == "sampling_params" {
			d.sampling()
			continue
		}
		s.skip()
	}
}

func (d *requestDecoder) options() {
	s := &d.s
	if !s.open('{') {
		return
	}
	for first := true; s.next('}', &first); {
		switch string(s.key()) {
		case "num_predict":
			d.number(&d.r.MaxTokens)
		case "stop":
			d.stops()
		default:
			s.skip()
		}
	}
}
