package validate

import (
	"math/rand/v2"
	"testing"
)

// counted is spend.read byte by byte, as its definition has it.
func counted(text []byte) (tokens int64) {
	run, blanks := 0, 0
	for _, b := range text {
		switch {
		case b >= 'a' && b <= 'z':
			if run%3 == 0 {
				tokens++
			}
			run, blanks = run+1, 0
			continue
		case b == ' ':
			if blanks++; blanks%4 == 2 {
				tokens++
			}
			run = 0
			continue
		case b >= '0' && b <= '9' && blanks > 0:
			tokens++
		}
		tokens, run, blanks = tokens+1, 0, 0
	}
	return tokens
}

func TestSpendCountsAsDefined(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	alphabet := []byte("abcxyz   09AZ.,{`/\n\xc3\xcd\xe4\xe2")
	for range 5000 {
		text := make([]byte, r.IntN(60))
		b := byte(' ')
		for i := range text {
			if r.IntN(3) > 0 || i == 0 {
				b = alphabet[r.IntN(len(alphabet))]
			}
			text[i] = b
		}
		var s, p spend
		cut := r.IntN(len(text) + 1)
		s.read(text[:cut])
		p.pass(text[:cut])
		if got, want := p.pass(text[cut:]), s.read(text[cut:]); got != want || p.wide != s.wide {
			t.Fatalf("%q from %d on: got digits %t and wide letters %t, want %t and %t", text, cut, got, p.wide, want, s.wide)
		}
		if want := counted(text); s.tokens != want {
			t.Fatalf("%q cut at %d: got %d tokens, want %d", text, cut, s.tokens, want)
		}
	}
}
