package wire

// ollama reads the lines of Ollama. A call comes whole, in one line.
type ollama struct {
	bare    bare
	at      int
	some    bool
	content Text
	thought Text
	done    bool
	finish  Text
	bareEnd Text // the key done, which stands for a reason that is not sent
	calls   int  // of the lines before
}

func (o *ollama) read(d *Decoder) {
	s := &d.s
	*o = ollama{calls: o.calls}
	if o.at = s.i; !d.enter('{') {
		d.strange(true)
		return
	}
	for first := true; s.next('}', &first); {
		s.peek()
		at := s.i
		o.field(d, string(s.key()), at)
	}
}

func (o *ollama) field(d *Decoder, key string, at int) {
	s := &d.s
	switch key {
	case "message":
		if s.peek() == '{' {
			o.message(d)
			return
		}
		o.bare.read(s, key)
	case "response":
		o.some = true
		o.content = d.text()
	case "thinking":
		o.thought = d.text()
	case "tool_calls":
		o.list(d)
	case "done":
		if o.done = string(s.skip()) == "true"; o.done {
			o.bareEnd = Text{Raw: s.b[at+1 : at+1+len(key)], At: at + 1, Set: true}
		}
	case "done_reason":
		o.finish, _ = s.text()
	case "prompt_eval_count":
		d.ev.Usage.Prompt, _ = s.integer()
	case "eval_count":
		d.ev.Usage.Completion, d.ev.Counted = s.integer()
	case "error":
		d.failure()
	default:
		o.bare.read(s, key)
	}
}

func (o *ollama) message(d *Decoder) {
	s := &d.s
	s.open('{')
	o.some = true
	for first := true; s.next('}', &first); {
		switch string(s.key()) {
		case "content":
			o.content = d.text()
		case "thinking":
			o.thought = d.text()
		case "tool_calls":
			o.list(d)
		default:
			s.skip()
		}
	}
}

func (o *ollama) list(d *Decoder) {
	s := &d.s
	if !d.enter('[') {
		return
	}
	for first := true; s.next(']', &first); {
		d.call(len(d.calls))
	}
}

func (o *ollama) tell(d *Decoder) {
	o.bare.tell(&d.ev, false)
	if !o.some && !o.done {
		return
	}
	for i := range d.calls {
		k := &d.calls[i]
		k.Index, k.Indexed = o.calls, true
		o.calls++
		if k.Form == ArgsText { // a string in place of an object
			k.Args, k.Form = Text{Raw: d.s.b[k.Args.At-1 : k.Args.At+len(k.Args.Raw)+1], At: k.Args.At - 1}, ArgsValue
		}
	}
	c := Choice{At: o.at, Content: o.content, Reasoning: o.thought}
	if d.ev.Done = o.done; o.done {
		if c.Finish = o.finish; c.Finish.Empty() {
			c.Finish = o.bareEnd
		}
	}
	d.add(c)
}
