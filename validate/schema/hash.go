package schema

import "encoding/json"

// Values are compared by hashes of 64 bits with a secret seed: equal values
// have equal hashes, and nobody can make different ones collide on purpose.

const prime = 1099511628211

// hashBytes goes on with h by the bytes of p, however they are cut.
func hashBytes(h uint64, p []byte) uint64 {
	for _, b := range p {
		h = (h ^ uint64(b)) * prime
	}
	return h
}

// mix spreads a hash over all of its bits.
func mix(h uint64) uint64 {
	h ^= h >> 32
	h *= 0xd6e8feb86659fd93
	h ^= h >> 32
	h *= 0xd6e8feb86659fd93
	return h ^ h>>32
}

// The hashes of values that are not made of others, and what others begin with.
func (p *program) hashString(h uint64) uint64 { return mix(h ^ p.seed) }
func (p *program) hashLiteral(b byte) uint64  { return mix(p.seed ^ uint64(b)<<8) }
func (p *program) hashEmpty(array bool) uint64 {
	if array {
		return mix(p.seed ^ 3)
	}
	return mix(p.seed ^ 4)
}

// hashMember is what a member adds to the hash of its object, in any order.
func hashMember(key, value uint64) uint64 { return mix(key*prime ^ value) }

// hashElement goes on with the hash of an array.
func hashElement(h, value uint64) uint64 { return mix(h*prime ^ value) }

// hash is the hash of a decoded value.
func (p *program) hash(v any) uint64 {
	switch v := v.(type) {
	case string:
		return p.hashString(hashBytes(p.seed, []byte(v)))
	case json.Number:
		d := parse([]byte(v), nil)
		return d.hash(p.seed)
	case bool:
		if v {
			return p.hashLiteral('t')
		}
		return p.hashLiteral('f')
	case []any:
		h := p.hashEmpty(true)
		for _, e := range v {
			h = hashElement(h, p.hash(e))
		}
		return h
	case map[string]any:
		h := p.hashEmpty(false)
		for k, e := range v {
			h += hashMember(p.hashString(hashBytes(p.seed, []byte(k))), p.hash(e))
		}
		return h
	}
	return p.hashLiteral('n')
}

// set is a set of hashes.
type set struct {
	few  []uint64
	many map[uint64]struct{}
}

const fewHashes = 16

// add reports whether h is new to the set.
func (s *set) add(h uint64) bool {
	for _, had := range s.few {
		if had == h {
			return false
		}
	}
	if len(s.few) < fewHashes {
		s.few = append(s.few, h)
		return true
	}
	if _, had := s.many[h]; had {
		return false
	}
	if s.many == nil {
		s.many = map[uint64]struct{}{}
	}
	s.many[h] = struct{}{}
	return true
}

func (s *set) clear() {
	s.few = s.few[:0]
	clear(s.many)
}
