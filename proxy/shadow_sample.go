package proxy

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"maps"
	"math/rand/v2"
	"slices"

	"github.com/tidwall/gjson"
)

// asked is the head of a turn's request, as far as another arm gets it, and what was
// made of its fields for the live server.
type asked struct {
	method, target []byte
	block          []byte // the field lines
	fields         fields
}

// mirrorRequest offers the turn's request to the arms, if it is one of those to be
// mirrored. One whose body is still on its way is offered once that is held.
func (o *observer) mirrorRequest(x *exchange) {
	sh := o.s.shadow
	if sh == nil || !sh.matches(x.req.fields) || len(sh.now().Paths) > 0 && !slices.Contains(sh.now().Paths, o.path) {
		return
	}
	o.spared(notOffered, func() {
		if o.reqBody != nil {
			o.remember(x)
		} else if o.req != nil && sh.wants(o, int64(len(x.body.whole))) {
			o.remember(x)
			o.offer(x.body.whole)
		}
	})
}

// mirrorHeld offers a request that streamed through and is held.
func (o *observer) mirrorHeld() {
	if o.asked == nil || o.req == nil {
		return
	}
	o.spared(notOffered, func() {
		if o.s.shadow.wants(o, int64(len(o.reqBody.buf))) {
			o.offer(o.reqBody.buf)
		}
	})
}

// notOffered is what a panic on the way to other arms costs.
const notOffered = "a request could not be offered to other arms"

// remember copies the head of a request that other arms may get.
func (o *observer) remember(x *exchange) {
	o.asked = &asked{method: bytes.Clone(x.req.method), target: bytes.Clone(x.req.target), block: bytes.Clone(x.req.fields), fields: x.c.guard.fields}
}

// matches reports whether a request's field lines pass the filter.
func (sh *shadow) matches(block []byte) bool {
	for name, want := range sh.now().Headers {
		got, ok := find(block, name)
		if !ok || want != "" && want != string(got) {
			return false
		}
	}
	return true
}

// wants reports whether a turn is one of those to be mirrored.
func (sh *shadow) wants(o *observer, size int64) bool {
	if len(sh.now().Models) > 0 && !slices.Contains(sh.now().Models, o.req.Model) || size > sh.now().MaxBody {
		return false
	}
	ratio := sh.now().Ratio
	return ratio >= 1 || sh.place(o) < ratio
}

// place is where in [0, 1) the session lies, or the turn if it is taken by itself. A
// session with a name lies at the same place in every replica and after a restart.
func (sh *shadow) place(o *observer) float64 {
	var n uint64
	switch {
	case sh.now().ByTurn:
		n = rand.Uint64()
	case o.who.name != "":
		sum := sha256.Sum256([]byte(o.who.name))
		n = binary.BigEndian.Uint64(sum[:])
	case o.talk != nil && len(o.talk.Turns) > 0:
		n = o.talk.Turns[0].Link
	default:
		n = rand.Uint64()
	}
	return float64(n>>11) / (1 << 53)
}

// override replaces fields of the body's object, each time that they are there, or adds
// them in front.
func override(body []byte, set map[string]string) []byte {
	if len(set) == 0 {
		return body
	}
	var out []byte
	done, had := 0, map[string]bool{}
	gjson.ParseBytes(body).ForEach(func(k, v gjson.Result) bool {
		if with, ok := set[k.String()]; ok && v.Index > 0 {
			out = append(append(out, body[done:v.Index]...), with...)
			done, had[k.String()] = v.Index+len(v.Raw), true
		}
		return true
	})
	out = append(out, body[done:]...)
	for _, name := range slices.Sorted(maps.Keys(set)) {
		if !had[name] {
			out = prefix(out, `"`+name+`":`+set[name])
		}
	}
	return out
}

// prefix puts a field in front of an object's others.
func prefix(body []byte, field string) []byte {
	at := bytes.IndexByte(body, '{') + 1
	if rest := bytes.TrimLeft(body[at:], " \t\r\n"); len(rest) > 0 && rest[0] != '}' {
		field += ","
	}
	return slices.Concat(body[:at], []byte(field), body[at:])
}
