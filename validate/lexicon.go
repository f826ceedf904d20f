package validate

import "slices"

// lexicon is a set of distinctive words, as hashes, that is cheap to copy. The
// zero value is empty.
type lexicon struct {
	slots []uint64 // 0 where there is none; at most half of them are taken
	n     int
	zero  bool // 0 is in the set
}

// full reports whether no word is remembered any more.
func (s *lexicon) full() bool { return s.n >= maxWords }

// slot is where a word is, or would be. Hashes of words are spread well enough.
func (s *lexicon) slot(hash uint64) *uint64 {
	for i := hash; ; i++ {
		if p := &s.slots[i&uint64(len(s.slots)-1)]; *p == hash || *p == 0 {
			return p
		}
	}
}

func (s *lexicon) has(hash uint64) bool {
	if hash == 0 || s.n == 0 {
		return hash == 0 && s.zero
	}
	return *s.slot(hash) == hash
}

func (s *lexicon) add(hash uint64) {
	if hash == 0 {
		s.zero = true
		return
	}
	if 2*s.n >= len(s.slots) {
		s.grow()
	}
	if p := s.slot(hash); *p == 0 {
		*p = hash
		s.n++
	}
}

func (s *lexicon) grow() {
	old := s.slots
	s.slots = make([]uint64, max(16, 2*len(old)))
	for _, h := range old {
		if h != 0 {
			*s.slot(h) = h
		}
	}
}

func (s *lexicon) clone() *lexicon {
	c := *s
	c.slots = slices.Clone(s.slots)
	return &c
}

// all yields every word.
func (s *lexicon) all(yield func(uint64) bool) {
	if s.zero && !yield(0) {
		return
	}
	for _, h := range s.slots {
		if h != 0 && !yield(h) {
			return
		}
	}
}

// held is about how many bytes it keeps.
func (s *lexicon) held() int { return 8 * cap(s.slots) }
