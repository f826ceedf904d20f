package validate

// spend estimates from above how many tokens a text takes: one for each three
// small letters of a word, for each capital, digit, mark or line end, for each
// byte of what is not ASCII, and for each four blanks that follow another one.
// A single blank goes with the word behind it, but not with a digit.
type spend struct {
	tokens int64
	run    uint8 // small letters of the piece of a word that is open
	blanks uint8
	wide   bool // there were letters beyond Latin
}

// cost says what a byte takes.
type cost uint8

const (
	one cost = iota
	blank
	small
	digit
	wide // one, and it begins a letter beyond Latin
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

func (s *spend) read(p []byte) {
	const letters, spaces = 3, 4
	for _, b := range p {
		switch costs[b] {
		case small:
			if s.run == 0 {
				s.tokens++
			}
			s.run = (s.run + 1) % letters
			s.blanks = 0
			continue
		case blank:
			if s.blanks++; s.blanks%spaces == 2 {
				s.tokens++
			}
			s.run = 0
			continue
		case digit:
			if s.blanks > 0 { // digits stand alone, and so does the blank
				s.tokens++
			}
		case wide:
			s.wide = true
		}
		s.tokens++
		s.run, s.blanks = 0, 0
	}
}
