// Package markup finds what is left of a model family's own markup in text
// that should hold none: tool calls that no parser took, channel and template
// tokens, reasoning tags. It is fed decoded text in pieces cut anywhere and
// says what it found, where, and whether that is near proof.
//
// Bars are one whatever their shape (| ｜ ‖ │ and doubled), and so are ▁ and _.
// A marker that the request itself holds, that is quoted or fenced as an
// example, or that ordinary text may hold as well is reported but proves
// nothing.
package markup

// Where says which text is read. What proves a leak depends on it.
type Where uint8

// The texts of an answer.
const (
	Content   Where = iota
	Reasoning       // mentions of markers are usual here: only a whole call counts
	Key             // the key of an argument
	Value           // a string in the arguments; a file that is written may hold markup
	Name            // the name of a call
)

// Class says what a marker is for.
type Class uint8

// The classes.
const (
	Tool     Class = iota // calls and their arguments
	Channel               // parts of a message
	Template              // turns, roles, begin and end of text
	Thinking              // reasoning, which a server without a reasoning parser leaves in content
)

// Role says what a marker does.
type Role uint8

// The roles.
const (
	Control Role = iota // stands alone
	Opener
	Closer
)

// Family names the markup that a marker belongs to.
type Family uint8

// The families, by who uses them.
const (
	Other    Family = iota // unknown, but built like a marker
	ChatML                 // <|im_start|>
	Llama                  // <|python_tag|>, <|eot_id|>
	DeepSeek               // <｜tool▁calls▁begin｜>, <｜User｜>
	DSML                   // <｜DSML｜invoke name=…>
	Kimi                   // <|tool_calls_section_begin|>
	Kimi3                  // <|open|>tools<|sep|>
	ToolCall               // <tool_call>, <function=…>, <arg_key>: Qwen, Hermes, GLM, Hunyuan
	Invoke                 // <invoke name=…>, <function name=…>
	MiniMax                // <minimax:tool_call>, ]<]minimax[>[
	Step                   // <steptml:invoke>
	Muse                   // <atem:invoke>
	Dots                   // <dots_function_call>
	Harmony                // <|channel|>, to=functions.…
	Mistral                // [TOOL_CALLS]
	Gemma                  // <|tool_call>call:, <start_of_turn>
	Cohere                 // <|START_ACTION|>
	Intern                 // <|action_start|>
	LFM                    // <|tool_call_start|>
	Apertus                // <|tools_prefix|>
	GigaChat               // <|function_call|>, <｜GCML｜invoke name=…>
	Horizon                // <ifm|tool_call>
	Inkling                // <|content_invoke_tool_json|>
	Think                  // <think>
	Sentence               // <s>, <eos>: the oldest ones
)

// Match is one marker.
type Match struct {
	Family Family
	Class  Class
	Role   Role
	Where  Where

	// Start and End are where it lies, counted in bytes over all texts that
	// the scanner was given.
	Start, End int64

	Quoted   bool // in a code fence, in backticks or between quotes
	Seen     bool // the request holds markup of this family
	Declared bool // a declared tool is named in it or right behind it
	Partial  bool // the text ends in the middle of it
	Orphan   bool // its other half is missing in this text
	Proof    bool // ordinary text has no such thing

	hidden
}

// hidden is what a match is judged by beside.
type hidden struct {
	weak     bool // ordinary text has it too
	form     form
	key      uint32
	follow   byte // the byte right behind it, 0 for the end
	neighbor bool // nothing but space between it and another one
	inline   bool // it stands in a sentence, as a word does
	last     bool // the text ends with it
	led      bool // text stands in front of it
	alone    bool // no other tag stands in front of it
	edge     bool // at the beginning or the end of its text
	shaped   bool // what stands around it fits a call
	begins   bool // a part of a conversation
	drawn    bool // it stands in a conversation that is written down
	stuck    bool // what stands in front of it was not parted from it, or it stands in a word
}

// Rules is what the request says. They are shared by the scanners of a turn
// and not changed by them.
type Rules struct {
	Tools bool            // tools are offered; without them a call is but text
	Names map[string]bool // of the declared tools
	Seen  Seen
}

// declared reports whether a tool of this name is declared.
func (r *Rules) declared(name []byte) bool {
	const prefix = "functions."
	if len(name) > len(prefix) && string(name[:len(prefix)]) == prefix {
		name = name[len(prefix):]
	}
	return r.Names[string(name)]
}

// maxHashes bounds how many unknown markers of a request are remembered.
const maxHashes = 32

// Seen is which markup a request holds. Of unknown markers only hashes are kept.
type Seen struct {
	families uint64
	hashes   [maxHashes]uint32
	n        int
	json     bool // JSON is spoken of: an answer in it may be what was asked for
	tokens   bool // special tokens or chat templates are spoken of: an answer may name some
	about    bool // the word in front may belong to that
}

func (s *Seen) add(f Family, hash uint32) {
	if f != Other {
		s.families |= 1 << f
	} else if s.n < maxHashes && !s.has(f, hash) {
		s.hashes[s.n] = hash
		s.n++
	}
}

// word takes in a word of the request. One that names a marker without its
// bars, or its family, excuses it as the marker does, unless requests hold it
// anyway.
func (s *Seen) word(w []byte, compound bool) {
	about := s.about
	s.about = false
	switch string(w) {
	case "tool_call", "tool_calls", "function_call", "function_calls", "tool_response", "start_action", "end_text", "start_text":
		return
	case "json":
		s.json = true
	case "chatml", "endoftext":
		s.add(ChatML, 0)
	case "dsml":
		s.add(DSML, 0)
	case "harmony":
		s.add(Harmony, 0)
	case "special", "control", "chat", "prompt":
		s.about = true
	case "token", "tokens", "template", "templates", "format":
		s.tokens = s.tokens || about
	case "special_token", "special_tokens":
		s.tokens = true
	}
	if t, ok := known(w); ok && compound {
		s.add(t.family, 0)
	}
}

func (s *Seen) has(f Family, hash uint32) bool {
	if f != Other {
		return s.families>>f&1 != 0
	}
	for _, h := range s.hashes[:s.n] {
		if h == hash {
			return true
		}
	}
	return false
}

// Holds reports whether the request holds markup of this family.
func (s *Seen) Holds(f Family) bool { return s.families>>f&1 != 0 }
