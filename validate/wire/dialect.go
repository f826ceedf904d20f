package wire

// Dialect is the protocol that a request and its answer speak.
type Dialect uint8

// The dialects.
const (
	Chat           Dialect = iota // OpenAI's chat completions
	Completions                   // OpenAI's completions: a text is continued
	Native                        // SGLang's own /generate
	Vertex                        // the same in the envelope of Vertex AI
	Responses                     // OpenAI's responses
	Messages                      // Anthropic's messages
	OllamaChat                    // Ollama's /api/chat
	OllamaGenerate                // Ollama's /api/generate
)

// Lines reports whether a stream is one JSON object a line, instead of
// server-sent events.
func (d Dialect) Lines() bool { return d == OllamaChat || d == OllamaGenerate }

// Raw reports whether the text is the model's own, with no parser behind it:
// the markup of tool calls is no leak there.
func (d Dialect) Raw() bool {
	return d == Completions || d == Native || d == Vertex || d == OllamaGenerate
}

// Typed reports whether a call has a type that says function.
func (d Dialect) Typed() bool { return d == Chat }

// Identified reports whether every call has an id.
func (d Dialect) Identified() bool { return d == Chat || d == Responses || d == Messages }

// Objects reports whether arguments come as a JSON object, instead of as a
// string that holds one.
func (d Dialect) Objects() bool { return d == Messages || d.Lines() }

// speaker reads the events of a dialect whose shape is not that of choices.
type speaker interface {
	// read walks over one event and notes what it holds. It keeps nothing
	// beyond it, since the event may turn out to be no JSON.
	read(*Decoder)
	// tell makes what was read the decoder's event.
	tell(*Decoder)
}

// speaker returns a speaker of the decoder's dialect.
func (d *Decoder) speaker() speaker {
	switch d.Dialect {
	case Responses:
		return newResponses()
	case Messages:
		return new(messages)
	case OllamaChat, OllamaGenerate:
		return new(ollama)
	}
	return newNative()
}

// add adds what the event says of a choice, with the calls added since the
// last one.
func (d *Decoder) add(c Choice) {
	d.ev.Listed = true
	if n := len(d.ev.Choices); n > 0 {
		c.from = d.ev.Choices[n-1].to
	}
	c.to = len(d.calls)
	if d.room(len(d.ev.Choices)) {
		d.ev.Choices = append(d.ev.Choices, c)
	}
}

// addCall adds a call of the only choice.
func (d *Decoder) addCall(k Call) {
	if d.room(len(d.calls)) {
		d.calls = append(d.calls, k)
	}
	d.add(Choice{At: k.At})
}

// bare is an error that is the event itself, instead of a member of it.
type bare struct {
	object  Text
	message Text
	code    int64
}

// read takes a member that may belong to such an error: object, message or code.
func (b *bare) read(s *scanner, key string) {
	switch key {
	case "object":
		b.object, _ = s.text()
	case "message":
		b.message, _ = s.text()
	default:
		b.code, _ = s.integer()
	}
}

// tell makes it the event's error, unless the event has one. That it is one is
// said by the event, by itself or by the event's frame.
func (b *bare) tell(ev *Event, failed bool) {
	if !ev.Failed {
		ev.Failed, ev.Error, ev.Code = failed || b.object.Is("error"), b.message, b.code
	}
}

// empty reports whether a JSON text is an object without members.
func empty(raw []byte) bool {
	s := scanner{b: raw}
	first := true
	return s.peek() == '{' && s.open('{') && !s.next('}', &first)
}

// known finds a word in a list.
func known(t Text, words ...string) bool {
	for _, w := range words {
		if t.Is(w) {
			return true
		}
	}
	return false
}
