package proxy

import (
	"hash/maphash"
	"math/rand/v2"
	"sync/atomic"
)

// proof takes digests of an answer's body at both sockets: of what a read
// returned, before anything looked at it, and of what a write accepted. They
// are the same unless something between the two changed the bytes.
type proof struct {
	in, out maphash.Hash
	head    int // bytes of the head that are still to be written
}

// proofs counts the answers that were proved, by what was found.
type proofs struct{ same, different atomic.Int64 }

// prove begins a proof of a share of the answers to turns. Those whose framing
// or end is to be ours are left out.
func (x *exchange) prove(first []byte, plain bool) {
	if x.watch == nil || plain || x.s.proveShare.Load() <= rand.Uint64() {
		return
	}
	x.proof = new(proof)
	x.proof.out.SetSeed(x.proof.in.Seed())
	x.proof.in.Write(first)
}

// took is given what a read returned.
func (p *proof) took(b []byte) {
	if p != nil {
		p.in.Write(b)
	}
}

// gave is given what a write accepted.
func (p *proof) gave(b []byte) {
	if p == nil {
		return
	}
	skip := min(p.head, len(b))
	p.head -= skip
	p.out.Write(b[skip:])
}

// proved compares the digests of an answer that passed to its end. Bytes
// beyond the end belong to no answer and are not passed on.
func (x *exchange) proved() {
	p := x.proof
	if p == nil || !x.ended || x.extra {
		return
	}
	if p.in.Sum64() == p.out.Sum64() {
		x.s.stats.proofs.same.Add(1)
		return
	}
	x.s.stats.proofs.different.Add(1)
	x.s.log.Error("an answer's bytes were changed between the two sockets: stop using this build or this machine", "turn_id", x.watch.t.ID)
}

// SetProveShare sets the share of answers to turns whose bytes are compared at
// both sockets, from 0 to 1.
func (s *Server) SetProveShare(share float64) {
	const all = 1 << 64
	if share = max(0, share); share >= 1 {
		s.proveShare.Store(all - 1)
		return
	}
	s.proveShare.Store(uint64(share * all))
}
