package proxy

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash/maphash"
	"net"
	"slices"

	"turnwatch/proxy/turn"
	"turnwatch/validate"
)

// caller is what a request's head says of who asks.
type caller struct {
	name  string // of the session
	given string // the same as the client gave it; "" where that is not shown
	id    uint64 // of the client, told by hash: from where, with which credentials and program
	again bool   // the client's library says that it asks again

	trailers bool // trailer fields are welcome
}

// maxName bounds a session's name as records show it.
const maxName = 128

// calls learns who asks.
func (o *observer) calls(x *exchange) {
	ss := o.s.sessions
	var h maphash.Hash
	h.SetSeed(ss.seed)
	h.Write(x.c.from(make([]byte, 0, net.IPv6len)))
	best := len(ss.Headers)
	block := x.req.fields
	for line, rest, ok := cutLine(block); ok && len(line) > 0; line, rest, ok = cutLine(rest) {
		name, value := cutField(line)
		switch {
		case is(name, "authorization"), is(name, "user-agent"), is(name, "x-api-key"):
			h.Write(value)
			h.WriteByte(0)
		case is(name, "te"):
			for t := range tokens(value) {
				o.who.trailers = o.who.trailers || is(t, "trailers")
			}
		case is(name, "x-stainless-retry-count"):
			o.who.again = len(value) > 0 && !bytes.Equal(value, []byte("0"))
		}
		i := slices.IndexFunc(ss.Headers, func(lower string) bool { return is(name, lower) })
		if i >= 0 && i < best && len(value) > 0 {
			best, o.who.name = i, ss.show(value)
			o.who.given = asGiven(o.who.name, string(value))
		}
	}
	o.who.id = h.Sum64()
}

// asGiven is a session's name if it is shown as the client gave it.
func asGiven(shown, given string) string {
	if shown != given {
		return ""
	}
	return given
}

// show returns a session's name as records may show it: as it is if it is
// short and printable, else its hash.
func (s *sessions) show(name []byte) string {
	for _, c := range name {
		if c <= ' ' || c >= 0x7f {
			return s.hide(name)
		}
	}
	if len(name) > maxName {
		return s.hide(name)
	}
	return string(name)
}

func (s *sessions) hide(name []byte) string { return fmt.Sprintf("%016x", maphash.Bytes(s.seed, name)) }

// converse reads the conversation that the request goes on with. What cannot
// be read has none.
func (o *observer) converse(body []byte) {
	ss := o.s.sessions
	o.req.Seed = ss.seed
	talk, err := o.req.Converse(ss.seed, body)
	if err != nil {
		return
	}
	if len(talk.Turns) > 0 {
		var first [4]byte
		binary.BigEndian.PutUint32(first[:], uint32(talk.Turns[0].Link))
		o.t.Prefix = hex.EncodeToString(first[:])
	}
	if o.talk = talk; o.who.name == "" && talk.Session != "" {
		if name := []byte(talk.Session); talk.Person {
			o.who.name = ss.hide(name)
		} else {
			o.who.name = ss.show(name)
			o.who.given = asGiven(o.who.name, talk.Session)
		}
	}
	if o.who.name != "" {
		o.req.Seed = maphash.Seed{} // a name tells where the turn belongs, whatever is said
	}
}

// place finds the session of a turn that was judged.
func (o *observer) place() {
	v := visit{name: o.who.name, talk: o.talk, client: o.who.id, again: o.who.again, now: o.now(),
		answer: validate.AnswerID(o.s.sessions.seed, responseID(o.start)),
		failed: o.t.Status/100 != 2 || o.t.Ending != validate.Complete}
	if o.check != nil && o.t.Outcome != validate.Unverified {
		v.said = o.check.Said()
	}
	o.t.Session, o.t.Number = o.s.sessions.find(&v)
	o.t.Conversation = o.who.given
}

// startLen is how much of an answer is kept to find the id in it.
const startLen = 512

// keepStart keeps the start of an answer that a later request may name instead
// of repeating it.
func (o *observer) keepStart(pieces [][]byte) {
	if len(o.start) == startLen || o.path != "/v1/responses" {
		return
	}
	for _, p := range pieces {
		o.start = append(o.start, p[:min(startLen-len(o.start), len(p))]...)
	}
}

// responseID finds the id of an answer in its start.
func responseID(start []byte) []byte {
	_, id, ok := bytes.Cut(start, []byte(`"resp_`))
	if !ok {
		return nil
	}
	id, _, ok = bytes.Cut(id, []byte{'"'})
	if !ok {
		return nil
	}
	return append([]byte("resp_"), id...)
}

// placed finds the session, whatever happens on the way.
func (o *observer) placed() {
	defer func() {
		if p := recover(); p != nil {
			o.t.Session, o.t.Number = "", 0
			o.s.stats.Drop(turn.DropCheckerPanic)
			o.s.log.Error("the session of a turn could not be found", "turn_id", o.t.ID, "panic", p)
		}
	}()
	o.place()
}
