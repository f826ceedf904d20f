package validate

import (
	"hash/maphash"
	"unsafe"

	"turnwatch/validate/wire"
)

// intake is what a request is read on, with what is remembered of others.
type intake struct {
	wire.Request
	s       *Schemas // nil: nothing
	as      wire.Dialect
	seed    maphash.Seed
	offered offered // the tools whose list was known
}

// list is a list of tools that was read, known by how it begins.
type list struct {
	size   int    // of its JSON
	hash   uint64 // of that
	others bool   // wire.Request.Others
	key    uint64 // of what it offers
}

// intake is ready to read a request. clear lets go of that and keeps it for
// another one.
func (s *Schemas) intake(as wire.Dialect) *intake {
	if s == nil {
		return &intake{as: as, seed: maphash.MakeSeed()}
	}
	r, ok := s.desks.Get().(*intake)
	if !ok {
		r = &intake{s: s, seed: s.prompts.seed}
	}
	r.as = as
	return r
}

func (s *Schemas) clear(r *intake) {
	if s != nil {
		r.Forget()
		r.offered = offered{}
		s.desks.Put(r)
	}
}

func (r *intake) past() wire.Past {
	if r.s == nil {
		return wire.Past{Seed: r.seed}
	}
	return wire.Past{Seed: r.seed, Memory: r}
}

// Get returns what was read of a message.
func (r *intake) Get(key uint64) (wire.Passage, bool) { return r.s.passages.get(key) }

// Put remembers what was read of a message.
func (r *intake) Put(key uint64, p wire.Passage) { r.s.passages.put(key, p, p.Held()) }

// Listed knows a list of tools by its bytes.
func (r *intake) Listed(text []byte) (n int, others bool) {
	l, ok := r.s.lists.get(r.front(text))
	if !ok || l.size > len(text) || maphash.Bytes(r.seed, text[:l.size]) != l.hash {
		return 0, false
	}
	if r.offered, ok = r.s.offers.get(l.key); !ok {
		return 0, false
	}
	return l.size, l.others
}

// front hashes the beginning of a list of tools in a dialect.
func (r *intake) front(text []byte) uint64 {
	const front = 128
	return maphash.Bytes(r.seed, text[:min(len(text), front)]) + uint64(r.as)
}

// offer takes in the tools of the request that was read, which most requests of
// an agent repeat.
func (r *intake) offer(body []byte) offered {
	switch {
	case r.Known:
		return r.offered
	case r.s == nil || len(r.Tools) == 0:
		return newOffered(r.Tools)
	}
	o, key := r.s.offer(r.Tools)
	if at := r.ToolsAt; at.To > at.From {
		text := body[at.From:at.To]
		l := list{len(text), maphash.Bytes(r.seed, text), r.Others, key}
		r.s.lists.put(r.front(body[at.From:]), l, int(unsafe.Sizeof(l)))
	}
	return o
}
