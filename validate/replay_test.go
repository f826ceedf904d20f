package validate

import (
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"
)

// repeats says of a piece what replay does, from the text before it.
func repeats(text, p string, parts int) again {
	seen := map[byte]bool{}
	for i := range len(text) {
		seen[text[i]] = true
	}
	switch {
	case utf8.RuneCountInString(text) < minReplay || len(seen) < minDifferent || !strings.HasPrefix(p, text):
		return other
	case len(p) == len(text) && (parts >= manyParts || inWord[text[len(text)-1]]*inWord[p[0]] > 0):
		return same
	}
	return grown
}

func TestReplayReadsPiecesInAnyCuts(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	said := map[again]int{}
	for range 20_000 {
		var s replay
		var text, waits string
		source := strings.Repeat("The quick brown fox jümps! ", 3)[r.IntN(9):]
		for parts := range 1 + r.IntN(5) {
			p := source[len(text)%len(source):]
			if p = p[:r.IntN(len(p)+1)]; !utf8.ValidString(p) {
				continue
			}
			if r.IntN(3) == 0 {
				p = text + []string{"", "x", p}[r.IntN(3)]
			}
			for n := range len(waits) + 1 {
				if r.IntN(4) == 0 {
					s.read([]byte(waits[:n]))
					waits = waits[n:]
					break
				}
			}
			got, want := other, repeats(text, p, s.parts)
			if s.fits([]byte(p)) {
				s.read([]byte(waits))
				waits = ""
				got = s.again([]byte(p))
			}
			if got != want {
				t.Fatalf("%q behind %q in %d pieces: got %d, want %d", p, text, parts, got, want)
			}
			said[got]++
			s.add([]byte(p))
			text, waits = text+p, waits+p
		}
	}
	if said[other] == 0 || said[same] == 0 || said[grown] == 0 {
		t.Errorf("got %v, want some of each", said)
	}
}
