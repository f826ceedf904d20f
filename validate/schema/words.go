package schema

import (
	"slices"
	"sort"
)

// words is a sorted list of distinct strings, to be read byte by byte.
type words []string

// span is the part of a list whose words begin with what was read so far.
type span struct{ lo, hi int32 }

func (s span) empty() bool { return s.lo >= s.hi }

func (w words) all() span { return span{0, int32(len(w))} }

// narrow keeps of s the words that go on with p at byte pos. If there are
// none, n is the first byte of p that no word has there.
func (w words) narrow(s span, pos int, p []byte) (left span, n int) {
	for i, b := range p {
		at := pos + i
		if s.hi-s.lo == 1 {
			if k := w[s.lo]; at >= len(k) || k[at] != b {
				return span{}, i
			}
			continue
		}
		if s = w.step(s, at, b); s.empty() {
			return span{}, i
		}
	}
	return s, len(p)
}

// few is up to how many words are looked at one by one.
const few = 12

// step keeps of s, whose words agree up to byte at, those with b there.
func (w words) step(s span, at int, b byte) span {
	if s.hi-s.lo <= few {
		for s.lo < s.hi && (len(w[s.lo]) <= at || w[s.lo][at] < b) {
			s.lo++
		}
		for s.lo < s.hi && w[s.hi-1][at] > b {
			s.hi--
		}
		return s
	}
	part := w[s.lo:s.hi]
	lo := sort.Search(len(part), func(i int) bool { return len(part[i]) > at && part[i][at] >= b })
	hi := sort.Search(len(part), func(i int) bool { return len(part[i]) > at && part[i][at] > b })
	return span{s.lo + int32(lo), s.lo + int32(hi)}
}

// whole is the word of n bytes that all of s begin with, -1 if it is none.
func (w words) whole(s span, n int) int {
	if s.empty() || len(w[s.lo]) != n {
		return -1
	}
	return int(s.lo)
}

// index is the place of a word that is in the list.
func (w words) index(s string) int {
	i, _ := slices.BinarySearch(w, s)
	return i
}

// listed sorts words and leaves each once.
func listed(w []string) words {
	slices.Sort(w)
	return slices.Compact(w)
}
