package wire

import (
	"bytes"
	"hash/maphash"
	"math/bits"
)

// Hasher hashes what is said in an answer as Converse hashes what a request
// says of it.
type Hasher struct {
	seed maphash.Seed
	key  uint64 // that of mix
}

// NewHasher returns a hasher keyed with seed.
func NewHasher(seed maphash.Seed) Hasher { return Hasher{seed, maphash.Bytes(seed, nil)} }

// Call hashes a call from its decoded texts.
func (h Hasher) Call(id, name string, args []byte) uint64 {
	return h.mix(h.word(id), h.word(name), h.JSON(args))
}

// id hashes the id of a call as maphash does the decoded text.
func (h Hasher) id(id Text) uint64 {
	if id.Escaped {
		return h.word(id.String())
	}
	return h.bytes(id.Raw)
}

// Answer hashes the message that an answer becomes: Message.Own.
func (h Hasher) Answer(text uint64, calls ...uint64) uint64 {
	sum := uint64(0)
	for _, c := range calls {
		sum = h.fold(sum, c)
	}
	return h.answer(roleModel, text, 0, sum, 0)
}

func (h Hasher) answer(role, text, extra, calls, id uint64) uint64 {
	return h.mix(role, text, extra, calls, id)
}

// JSON hashes a JSON text however it is spelled, and any other text but for
// the space around it. Nothing, null and an empty object are all 0.
func (h Hasher) JSON(text []byte) uint64 {
	t := talk{s: scanner{b: text, lax: true}, Hasher: h}
	sum := t.value()
	if t.s.finish() != nil {
		return h.bytes(bytes.TrimSpace(text))
	}
	if sum == h.mix('{', 0) {
		return 0
	}
	return sum
}

// fold adds one of a sequence.
func (h Hasher) fold(sum, next uint64) uint64 { return h.mix(sum+1, next) }

func (h Hasher) word(s string) uint64 {
	if s == "" {
		return 0
	}
	return maphash.String(h.seed, s)
}

// bytes hashes p, 0 for none.
func (h Hasher) bytes(p []byte) uint64 {
	if len(p) == 0 {
		return 0
	}
	return maphash.Bytes(h.seed, p)
}

// mix hashes parts, most of which are hashes themselves: it need not be as strong
// as what those were made with.
func (h Hasher) mix(parts ...uint64) uint64 {
	const golden = 0x9E3779B97F4A7C15
	sum := h.key
	for _, p := range parts {
		high, low := bits.Mul64(sum^p, golden)
		sum = high ^ low
	}
	return sum
}

// TextHash hashes a text that comes in pieces, without the space around it.
// Begin comes first.
type TextHash struct {
	h       maphash.Hash
	some    bool
	space   []byte // not yet known to be the last
	waiting []byte // small pieces, which are hashed together
}

// maxWaiting is how much of a text waits.
const maxWaiting = 256

// Begin begins a text.
func (t *TextHash) Begin(seed maphash.Seed) {
	t.h.SetSeed(seed)
	t.some, t.space, t.waiting = false, t.space[:0], t.waiting[:0]
}

// Add appends a piece, which it may spell anew in buf. It returns buf for the
// next one.
func (t *TextHash) Add(buf []byte, v Text) []byte {
	raw := v.Raw
	if v.odd() {
		buf = respell(buf[:0], raw)
		raw = buf
	}
	if len(t.waiting)+len(raw) <= maxWaiting {
		t.waiting = append(t.waiting, raw...)
		return buf
	}
	t.catchUp()
	t.add(raw)
	return buf
}

// catchUp hashes what waits.
func (t *TextHash) catchUp() {
	t.add(t.waiting)
	t.waiting = t.waiting[:0]
}

func (t *TextHash) add(raw []byte) {
	if !t.some {
		raw = raw[leading(raw):]
	}
	text := raw[:len(raw)-trailing(raw)]
	if len(text) > 0 {
		t.h.Write(t.space)
		t.h.Write(text)
		t.some, t.space = true, t.space[:0]
	}
	t.space = append(t.space, raw[len(text):]...)
}

// Sum returns the hash so far, 0 of no text.
func (t *TextHash) Sum() uint64 {
	t.catchUp()
	if !t.some {
		return 0
	}
	return t.h.Sum64()
}

// Renew makes it ready for another text, in the same memory.
func (t *TextHash) Renew() { *t = TextHash{waiting: t.waiting[:0]} }
