package schema

import (
	"strings"
	"unicode/utf8"

	"github.com/dlclark/regexp2/v2"
	"github.com/dlclark/regexp2/v2/syntax"
)

// Look-behinds, back references and lookaheads in the middle of a pattern are
// not regular: only an engine that tries one way after the other knows them,
// and it may take exponential time. This one is asked only at the end of a
// turn, and only where it was counted beforehand that there are few ways.

// backtracker is a pattern for such an engine.
type backtracker struct {
	re   *regexp2.Regexp
	root *syntax.RegexNode
}

// Limits of what is given to it.
const (
	maxBacktracked  = 2048 // bytes of a text
	maxBacktracking = 1 << 14
	perBacktracker  = 20 // times the bytes of a pattern, to compile it
	maxGroups       = 30 // of a pattern: compiling takes the cube of them
)

// backtracks compiles a pattern of ECMA-262 with the flag u, as JSON Schema
// has them, nil if it is none.
func backtracks(p string) (b *backtracker) {
	defer func() {
		if recover() != nil {
			b = nil
		}
	}()
	p, ok := unescaped(p)
	if !ok || len(p) > maxPattern || strings.Count(p, "(") > maxGroups {
		return nil
	}
	tree, err := syntax.Parse(p, syntax.ParseOptions{RegexOptions: syntax.ECMAScript | syntax.Unicode})
	if err != nil {
		return nil
	}
	re, err := regexp2.Compile(p, regexp2.ECMAScript|regexp2.Unicode, regexp2.OptionMaxBacktrackingStackSize(maxBacktracking))
	if err != nil || !known(tree.Root) {
		return nil
	}
	return &backtracker{re, tree.Root}
}

// unescaped drops the backslashes in front of punctuation, which the flag u
// forbids and everybody understands. It is false where a pattern has what
// only other languages know.
func unescaped(p string) (string, bool) {
	var out strings.Builder
	class, ok := false, utf8.ValidString(p)
	for i := 0; i < len(p) && ok; i++ {
		b := p[i]
		switch {
		case b == '\\' && i+1 < len(p):
			if i++; !needless(p[i], class) {
				out.WriteByte(b)
			}
			b, ok = p[i], !letter(p[i]) || strings.IndexByte("bBcdDfknpPrsStuvwWx", p[i]) >= 0
		case class:
			class, ok = b != ']', !foreign(p[i:])
		case b == '[':
			class = true
		case b == '(':
			ok = grouped(p[i+1:])
		}
		out.WriteByte(b)
	}
	return out.String(), ok
}

func letter(b byte) bool { return b|0x20 >= 'a' && b|0x20 <= 'z' }

// needless reports whether a character stands for itself without a backslash.
func needless(b byte, class bool) bool {
	return strings.IndexByte("\"#%&',:;<=>@_`~! ", b) >= 0 || b == '-' && !class
}

// grouped reports whether ECMA-262 has a group that begins like this.
func grouped(in string) bool {
	in, special := strings.CutPrefix(in, "?")
	return !special || in != "" && strings.IndexByte(":=!<", in[0]) >= 0
}

// match reports whether text matches, and whether that could be known.
func (b *backtracker) match(text []byte, budget *Budget) (matched, known bool) {
	defer func() {
		if recover() != nil {
			matched, known = false, false
		}
	}()
	if len(text) > maxBacktracked {
		return false, false
	}
	runes := []rune(string(text))
	w := ways{text: runes, budget: budget, root: b.root, groups: hold(b.root, len(runes), map[int]int{})}
	if !w.all() {
		return false, false
	}
	matched, err := b.re.MatchRunes(runes)
	return matched, err == nil
}
