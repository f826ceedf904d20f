package sglangtest

import (
	"strings"
	"unicode/utf8"
)

// The vocabulary is the same for every server, so that one server can score
// what another emitted: some markers, then each byte, then each pair of bytes.
// Text is cut into pairs of ASCII characters, and longer characters into pairs
// and single bytes, as byte pair encodings do.
const (
	tokPad int32 = iota
	tokEOS       // eos of the model
	tokSystem
	tokUser
	tokAssistant
	tokTool
	tokOther
	tokTools  // names of the declared tools follow
	tokCalled // a call in an earlier answer
	tokCall   // the name of a call follows
	tokArgs   // its arguments follow
	tokCallEnd
	tokThink
	tokHidden // shows nowhere
	tokBytes  = 16
	tokPairs  = tokBytes + 256
	// VocabSize is the size of the model's vocabulary, padded as real ones are.
	VocabSize = 66_048
)

// marks are how the markers read.
var marks = [tokBytes]string{"<|pad|>", "<|eos|>", "<|system|>", "<|user|>", "<|assistant|>", "<|tool|>", "<|other|>", "<|tools|>",
	"<|called|>", "<|call|>", "<|args|>", "<|call_end|>", "<|think|>", "<|hidden|>", "", ""}

var roles = map[string]int32{"system": tokSystem, "user": tokUser, "assistant": tokAssistant, "tool": tokTool}

func byteToken(c byte) int32    { return tokBytes + int32(c) }
func pairToken(a, b byte) int32 { return tokPairs + int32(a)<<8 + int32(b) }

// encode appends the tokens of text to ids.
func encode(ids []int32, text string) []int32 {
	for text != "" {
		n := width(text)
		for i := 0; i < n; i += 2 {
			if i+1 < n {
				ids = append(ids, pairToken(text[i], text[i+1]))
			} else {
				ids = append(ids, byteToken(text[i]))
			}
		}
		text = text[n:]
	}
	return ids
}

// width returns how many bytes of text the next cut takes: two characters of
// ASCII, or one other.
func width(text string) int {
	_, n := utf8.DecodeRuneInString(text)
	if n == 1 && len(text) > 1 && text[0] < utf8.RuneSelf && text[1] < utf8.RuneSelf {
		return 2
	}
	return n
}

// encodeBytes appends the bytes of text to ids, one a token: the same text in
// other tokens.
func encodeBytes(ids []int32, text string) []int32 {
	for i := range len(text) {
		ids = append(ids, byteToken(text[i]))
	}
	return ids
}

// symbols returns what a token stands for: a marker, as 0x100 and its id, or
// its bytes.
func symbols(id int32) []uint16 {
	switch {
	case id < tokBytes:
		return []uint16{0x100 + uint16(max(id, 0))}
	case id < tokPairs:
		return []uint16{uint16(id - tokBytes)}
	case id < tokPairs+1<<16:
		return []uint16{uint16(id-tokPairs) >> 8, uint16(id-tokPairs) & 0xff}
	}
	return []uint16{0x100}
}

// decode returns the text of ids, with the markers if they are wanted.
func decode(ids []int32, markers bool) string {
	var b strings.Builder
	for _, id := range ids {
		for _, sym := range symbols(id) {
			if sym < 0x100 {
				b.WriteByte(byte(sym))
			} else if markers {
				b.WriteString(marks[sym-0x100])
			}
		}
	}
	return b.String()
}

// inputIDs is the prompt that the model sees of a request.
func (r *Request) inputIDs() []int32 {
	var ids []int32
	for _, name := range r.Tools {
		ids = encode(append(ids, tokTools), name)
	}
	for _, m := range r.Messages {
		role, ok := roles[m.Role]
		if !ok {
			role = tokOther
		}
		ids = encode(append(ids, role), m.Text)
		for range m.Calls {
			ids = append(ids, tokCalled)
		}
	}
	return append(ids, tokAssistant)
}

// outputIDs are the tokens in which the model says a delta.
func (d Delta) outputIDs() []int32 {
	var ids []int32
	text := d.Content
	switch c := d.Call; {
	case c != nil && (c.ID != "" || c.Name != ""):
		ids = append(encode(append(ids, tokCall), c.Name), tokArgs)
		text = c.Args
	case c != nil:
		text = c.Args
	case d.Reasoning != "":
		ids, text = append(ids, tokThink), d.Reasoning
	}
	if d.bytewise {
		ids = encodeBytes(ids, text)
	} else {
		ids = encode(ids, text)
	}
	if len(ids) == 0 {
		return []int32{tokHidden}
	}
	return ids
}

// silentID is the token at position i of those that show nowhere.
func (a *Answer) silentID(i int) int32 {
	switch {
	case i < len(a.hidden):
		return a.hidden[i]
	case i == a.Silent-1 && a.Matched == eos:
		return tokEOS
	case a.Finish == "tool_calls" || len(a.hidden) > 0:
		return tokCallEnd
	}
	return tokHidden
}

// outputIDs are the tokens of a whole answer, at most limit.
func (a *Answer) outputIDs(limit int) []int32 {
	var ids []int32
	for _, d := range a.Deltas {
		ids = append(ids, d.outputIDs()...)
	}
	for i := 0; i < a.Silent && len(ids) < limit; i++ {
		ids = append(ids, a.silentID(i))
	}
	return ids[:min(len(ids), limit)]
}

// asked reads a request back from the tokens of its prompt and of what was
// answered so far.
func asked(ids []int32) (r *Request, prompt int, ok bool) {
	r = &Request{Path: "/v1/chat/completions", Turn: 1}
	for i := 0; i < len(ids); {
		end := i + 1
		for end < len(ids) && (ids[end] > tokTools || ids[end] < tokSystem) && ids[end] != tokCalled {
			end++
		}
		if ids[i] == tokAssistant {
			prompt, ok = i+1, true
		}
		r.add(ids[i], ids[i+1:end])
		i = end
	}
	if ok {
		r.Messages = r.Messages[:len(r.Messages)-1] // the answer itself
		r.Turn--
	}
	return r, prompt, ok
}

// add adds what a marker and the tokens after it say to a request that is read
// back.
func (r *Request) add(mark int32, ids []int32) {
	text := decode(ids, false)
	switch mark {
	case tokTools:
		r.Tools = append(r.Tools, text)
	case tokCalled:
		if n := len(r.Messages); n > 0 {
			r.Messages[n-1].Calls++
		}
	case tokAssistant:
		r.Turn++
		r.Messages = append(r.Messages, Message{Role: "assistant", Text: text})
	case tokSystem, tokUser, tokTool, tokOther:
		r.Messages = append(r.Messages, Message{Role: strings.Trim(marks[mark], "<|>"), Text: text})
	}
}
