package validate

// spend estimates from above how many tokens a text takes: one for each three
// small letters of a word, for each capital, digit, mark or line end, for each
// byte of what is not ASCII, and for each four blanks that follow another one.
// A single blank goes with the word behind it, but not with a digit.
type spend struct {
	tokens int64
	at     uint8 // a state
	wide   bool  // there were letters beyond Latin
}

// cost says what a byte takes.
type cost uint8

const (
	one   cost = 0
	blank cost = 1
	small cost = 2
	digit cost = 4 // a bit that no other cost has
	wide  cost = 8 // one, and it begins a letter beyond Latin: likewise
)

var costs = newCosts()

func newCosts() (t [256]cost) {
	for b := range t {
		switch {
		case b == ' ':
			t[b] = blank
		case b >= 'a' && b <= 'z':
			t[b] = small
		case b >= '0' && b <= '9':
			t[b] = digit
		case b >= 0xCD && b <= 0xEE && b != 0xE2:
			t[b] = wide
		}
	}
	return t
}

// The states: what the latest byte came to. Each is the place of its six bits in
// a word.
const (
	nothing = 6 * iota // the third letter of a piece
	token
	tokens2 // a digit and the blank in front of it
	letter1 // a token
	letter2
	blank1 // or the fifth, and so on
	blank2 // a token
	blank3
	blank4
)

// gains are the tokens of each state, in its bits.
const gains = 1<<token | 2<<tokens2 | 1<<letter1 | 1<<blank2

// steps are where each cost leads from each state, in the bits of that one: a
// shift goes there, which neither branches nor waits for memory.
var steps = [16]uint64{
	one:   leads(token, token, token, token, token, token, token, token, token),
	wide:  leads(token, token, token, token, token, token, token, token, token),
	small: leads(letter1, letter1, letter1, letter2, nothing, letter1, letter1, letter1, letter1),
	blank: leads(blank1, blank1, blank1, blank1, blank1, blank2, blank3, blank4, blank1),
	digit: leads(token, token, token, token, token, tokens2, tokens2, tokens2, tokens2),
}

func leads(to ...uint64) (word uint64) {
	for i, state := range to {
		word |= state << (6 * i)
	}
	return word
}

// read reads the next piece, and reports whether it has digits.
func (s *spend) read(p []byte) (digits bool) {
	at, tokens, all := uint64(s.at), uint64(0), one
	for _, b := range p {
		c := costs[b]
		at = steps[c&15] >> (at & 63)
		tokens += gains >> (at & 63) & 3
		all |= c
	}
	s.at, s.tokens, s.wide = uint8(at&63), s.tokens+int64(tokens), s.wide || all&wide != 0
	return all&digit != 0
}

// pass does what read does, but for the tokens.
func (s *spend) pass(p []byte) (digits bool) {
	all := one
	for _, b := range p {
		all |= costs[b]
	}
	s.wide = s.wide || all&wide != 0
	return all&digit != 0
}
