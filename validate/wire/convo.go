package wire

import (
	"bytes"
	"hash/maphash"
	"slices"
)

// Conversation is what a request repeats of the conversation so far, told by
// hashes. It holds no text of a message.
type Conversation struct {
	Session string // the name that the request gives it; empty if none
	Person  bool   // that name may tell a person: it is not to be shown
	Turns   []Message
	Answers int    // how many answers the messages hold, one after another as one
	After   uint64 // the hash of the id of the answer that all this follows; 0 if it names none
}

// Message is one message of a conversation. Its hashes do not depend on how a
// client spells it: the order of keys, whitespace, escapes, nulls, a text in
// parts, arguments written anew. What clients leave out on the way, such as
// the reasoning, is not in them.
type Message struct {
	Own     uint64 // of the message alone
	Link    uint64 // of it and all before it
	Answers int    // answers up to and with it
}

// maxTurns bounds the messages that are told of one request: the last ones.
const maxTurns = 2048

// maxSession bounds the length of a session's name.
const maxSession = 256

// Converse reads the body of a request in any dialect that repeats its
// history. Hashes are keyed with seed. The error is a *SyntaxError.
func Converse(seed maphash.Seed, body []byte) (*Conversation, error) {
	t := &talk{s: scanner{b: body, lax: true}, Hasher: NewHasher(seed), c: new(Conversation)}
	t.top()
	t.root()
	return t.c, t.s.finish()
}

// root has the links depend on what stands beside the messages.
func (t *talk) root() {
	root := t.system
	if t.c.After != 0 {
		root = t.mix(root, t.c.After)
	}
	if root == 0 {
		return
	}
	for i := range t.c.Turns {
		t.c.Turns[i].Link = t.mix(root, t.c.Turns[i].Link)
	}
}

// talk reads one conversation.
type talk struct {
	Hasher
	s      scanner
	c      *Conversation
	link   uint64
	system uint64 // of instructions beside the messages
	model  bool   // the message before was the model's
	text   TextHash
	buf    []byte
}

func (t *talk) top() {
	s := &t.s
	if !s.open('{') {
		return
	}
	for first := true; s.next('}', &first); {
		if !t.member(string(s.key())) {
			s.skip()
		}
	}
}

// member reads what a member of a request says of the conversation, if it does.
func (t *talk) member(key string) bool {
	switch key {
	case "messages", "input":
		t.messages()
	case "system", "instructions":
		t.system = t.mix(t.system, t.content(nil))
	case "conversation", "session_params":
		t.named("id")
	case "previous_response_id":
		v, _ := t.s.text()
		t.c.After = t.string(v)
	case "session_id":
		t.name(false)
	case "metadata":
		t.named("session_id", "conversation_id", "user_id")
	default:
		return false
	}
	return true
}

// messages reads the list of them, or the one text that stands for it.
func (t *talk) messages() {
	s := &t.s
	if s.peek() == '"' {
		m := message{role: roleUser, text: t.content(nil)}
		t.say(t.own(&m), false)
		return
	}
	if !s.open('[') {
		return
	}
	for first := true; s.next(']', &first); {
		if m := t.message(); !m.hidden {
			t.say(t.own(&m), m.role == roleModel)
		}
	}
}

// named reads the session's name: the value itself, or the first of the keys
// in it.
func (t *talk) named(keys ...string) {
	s := &t.s
	if s.peek() == '"' {
		t.name(false)
		return
	}
	if !s.open('{') {
		return
	}
	for first := true; s.next('}', &first); {
		switch k := string(s.key()); {
		case k == "user_id" && len(keys) > 1:
			t.name(true)
		case slices.Contains(keys, k):
			t.name(false)
		default:
			s.skip()
		}
	}
}

// name takes a session's name. A user's counts only if it names a session,
// too, and where nothing else does.
func (t *talk) name(person bool) {
	v, _ := t.s.text()
	if v.Empty() || len(v.Raw) > maxSession || t.c.Session != "" && (person || !t.c.Person) {
		return
	}
	if person && !bytes.Contains(v.Raw, []byte("session")) {
		return
	}
	t.c.Session, t.c.Person = v.String(), person
}

// The roles that are told apart.
const (
	roleUser uint64 = iota + 1
	roleModel
	roleSystem
	roleTool
	roleOther
)

func roleOf(name string) uint64 {
	switch name {
	case "user":
		return roleUser
	case "assistant", "model":
		return roleModel
	case "system", "developer":
		return roleSystem
	case "tool", "function":
		return roleTool
	}
	return roleOther
}

// message is a message as it is read.
type message struct {
	role   uint64
	text   uint64
	extra  uint64 // of what is no text
	calls  uint64
	id     uint64 // of the call that it answers
	item   Call   // where the message itself is a call
	hidden bool   // it is no part of what is said
}

// message reads a message. What is none is hidden.
func (t *talk) message() message {
	s, m := &t.s, message{role: roleOther}
	if !s.open('{') {
		return message{hidden: true}
	}
	for first := true; s.next('}', &first); {
		t.field(&m, string(s.key()))
	}
	if m.item.Type.Is("function_call") {
		m.role, m.id = roleModel, 0
		m.calls = t.fold(m.calls, t.call(&m.item))
	}
	return m
}

// own hashes a message.
func (t *talk) own(m *message) uint64 { return t.answer(m.role, m.text, m.extra, m.calls, m.id) }

func (t *talk) field(m *message, key string) {
	s := &t.s
	switch key {
	case "role":
		r, _ := s.text()
		m.role = roleOf(r.String())
	case "content", "output":
		m.text = t.content(m)
	case "tool_calls":
		t.calls(m)
	case "function_call":
		var c Call
		if t.function(&c); c.Name.Set {
			m.calls = t.fold(m.calls, t.call(&c))
		}
	case "tool_call_id", "call_id":
		m.item.ID, _ = s.text()
		m.id = t.string(m.item.ID)
	case "name":
		m.item.Name, _ = s.text()
	case "arguments":
		t.arguments(&m.item)
	case "type":
		m.item.Type, _ = s.text()
		m.hidden = m.item.Type.Is("reasoning")
		if m.item.Type.Is("function_call_output") {
			m.role = roleTool
		}
	default:
		s.skip()
	}
}

// say appends a message to the conversation.
func (t *talk) say(own uint64, model bool) {
	t.link = t.mix(t.link, own)
	if model && !t.model {
		t.c.Answers++
	}
	t.model = model
	if len(t.c.Turns) == 2*maxTurns {
		t.c.Turns = append(t.c.Turns[:0], t.c.Turns[maxTurns:]...)
	}
	t.c.Turns = append(t.c.Turns, Message{Own: own, Link: t.link, Answers: t.c.Answers})
}
