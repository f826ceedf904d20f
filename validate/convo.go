package validate

import (
	"fmt"
	"hash/maphash"

	"turnwatch/validate/wire"
)

// Conversation is what a request repeats of the conversation so far, told by
// hashes: enough to recognise that one request goes on where another left off.
type Conversation = wire.Conversation

// Message is one message of a conversation.
type Message = wire.Message

// Converse is the conversation in the body that r was read from, whichever API
// it is for; in any body, if r is zero. It keeps no text of it. Hashes compare
// only under the same seed: under that of r.Schemas it was read with r.
func (r *Request) Converse(seed maphash.Seed, body []byte) (*Conversation, error) {
	if r.talks && seed == r.seed {
		return &r.talk, nil
	}
	c, err := wire.Converse(seed, body)
	if err != nil {
		return nil, fmt.Errorf("read the conversation: %w", err)
	}
	return c, nil
}

// AnswerID hashes the id of an answer as Conversation.After has it.
func AnswerID(seed maphash.Seed, id []byte) uint64 {
	if len(id) == 0 {
		return 0
	}
	return maphash.Bytes(seed, id)
}

// hear hashes what a choice says, if that was asked for.
func (c *Checker) hear(ch *choice, t *wire.Text) {
	if t.Empty() || c.req.Seed == (maphash.Seed{}) {
		return
	}
	if ch.said == nil {
		ch.said = new(wire.TextHash)
	}
	if !ch.heard {
		ch.said.Begin(c.req.Seed)
	}
	ch.heard = true
	c.buf = ch.said.Add(c.buf, *t)
}

// Said returns, after Finish, for each choice the hash of the message that it
// becomes once a client repeats it: Own of a Message. It is empty without a
// Request.Seed, and where the answer was not read to its end.
func (c *Checker) Said() (all []uint64) {
	if c.req.Seed == (maphash.Seed{}) {
		return nil
	}
	h := wire.NewHasher(c.req.Seed)
	for _, ch := range c.choices {
		var text uint64
		if ch.heard {
			text = ch.said.Sum()
		}
		var room [4]uint64 // for most
		calls := room[:0]
		for _, k := range ch.calls {
			calls = append(calls, h.Call(k.id, k.name, k.args))
		}
		if text != 0 || len(calls) > 0 {
			all = append(all, h.Answer(text, calls...))
		}
	}
	return all
}
