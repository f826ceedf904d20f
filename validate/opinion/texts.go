package opinion

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// lookAhead is how many tokens the text that follows a place is made of at most.
const lookAhead = 32

// retold reports whether what stands at a place may be what the model wanted, cut into
// other tokens: an alternative that sampling may explain begins as the turn's text goes on from there, as far
// as both go, or it cannot be told, because a text is missing.
func (s Sampling) retold(places []Place, i int) bool {
	p, text := places[i], ahead(places[i:])
	for _, a := range p.Top {
		if a.ID == p.ID || s.explains(p.instead(a), len(places)) == Server {
			continue
		}
		t := squeeze(a.Text)
		if !a.Told || broken(t) || strings.HasPrefix(text, t) || strings.HasPrefix(t, text) {
			return true
		}
	}
	return false
}

// ahead joins the texts of the first places, less white space, up to one that is not known or
// is part of a character.
func ahead(places []Place) string {
	var b strings.Builder
	for _, t := range places[:min(len(places), lookAhead)] {
		if !t.Told || broken(t.Text) {
			break
		}
		b.WriteString(squeeze(t.Text))
	}
	return b.String()
}

// broken reports whether a text is part of a character only.
func broken(s string) bool { return strings.ContainsRune(s, utf8.RuneError) }

// squeeze takes white space out: single tokens are shown without a space in front of them by some tokenizers.
func squeeze(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || r == '▁' {
			return -1
		}
		return r
	}, s)
}
