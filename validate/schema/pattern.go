package schema

import (
	"regexp/syntax"
	"strings"
)

// Limits of the patterns of a schema.
const (
	maxPattern      = 1024   // bytes of one
	maxInstructions = 1000   // of one
	maxEffort       = 20_000 // instructions and bytes of all
)

// regexp is a pattern as RE2 has it, or as it is if only a backtracker knows it.
func (m *mender) regexp(p string) (string, bool) {
	if s, ok := m.translated(p); ok {
		return s, true
	}
	return p, m.backtracked(p)
}

// backtracked compiles a pattern that RE2 does not know, where that is asked for.
func (m *mender) backtracked(p string) bool {
	m.irregular = true
	if m.backs == nil || m.backs[p] != nil {
		return m.backs != nil
	}
	if m.effort += perBacktracker * len(p); m.effort > maxEffort {
		return false
	}
	b := backtracks(p)
	if b != nil {
		m.backs[p] = b
	}
	return b != nil
}

// translated translates a pattern and notes what it costs.
func (m *mender) translated(p string) (string, bool) {
	if _, known := m.costs[p]; !known {
		m.effort += len(p)
	}
	if m.effort > maxEffort {
		return "", false
	}
	s, cost, ok := translate(p)
	if _, known := m.costs[s]; ok && !known {
		m.effort += cost
		m.costs[s], m.costs[p] = cost, cost
	}
	return s, ok
}

// translate makes a pattern of RE2 of one of ECMA-262, if there is one and it
// is small enough, and counts its instructions.
func translate(p string) (s string, cost int, ok bool) {
	if len(p) > maxPattern {
		return "", 0, false
	}
	t := translator{in: p}
	if s, ok = t.translate(); !ok {
		return "", 0, false
	}
	parsed, err := syntax.Parse(s, syntax.Perl)
	if err != nil || size(parsed) > maxInstructions {
		return "", 0, false
	}
	prog, err := syntax.Compile(parsed.Simplify())
	if err != nil || len(prog.Inst) > maxInstructions {
		return "", 0, false
	}
	return s, len(prog.Inst), true
}

// size is about how many instructions an expression becomes.
func size(re *syntax.Regexp) int {
	n := 1 + len(re.Rune)/8
	for _, sub := range re.Sub {
		n += size(sub)
	}
	if re.Op == syntax.OpRepeat {
		n *= max(re.Min, re.Max, 1)
	}
	return min(n, 10*maxInstructions)
}

// blank is what \s means in ECMA-262, as the inside of a class.
const blank = `\t\n\v\f\r \x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}\x{feff}`

// translator rewrites one pattern.
type translator struct {
	in    string
	out   strings.Builder
	class bool // inside […]
}

func (t *translator) translate() (string, bool) {
	for t.in != "" {
		switch {
		case t.in[0] == '\\':
			if !t.escape() {
				return "", false
			}
		case t.class && foreign(t.in):
			return "", false
		case !t.class && strings.HasPrefix(t.in, "[^]"):
			t.put(3, `(?s:.)`)
		default:
			t.plain()
		}
	}
	return t.out.String(), true
}

// foreign reports whether the rest of a class begins with what other languages
// read as a set: who wrote it hardly meant what ECMA-262 makes of it.
func foreign(in string) bool {
	return strings.HasPrefix(in, "&&") || strings.HasPrefix(in, "[:") || strings.HasPrefix(in, "--[")
}

// put writes s for the next n bytes.
func (t *translator) put(n int, s string) {
	t.in = t.in[n:]
	t.out.WriteString(s)
}

func (t *translator) plain() {
	switch b := t.in[0]; {
	case b == '[' && t.class: // in ECMA-262 it stands for itself
		t.put(1, `\[`)
		return
	case b == '[':
		t.class = true
	case b == ']':
		t.class = false
	}
	t.put(1, t.in[:1])
}

func (t *translator) escape() bool {
	if len(t.in) < 2 {
		return false
	}
	switch b := t.in[1]; {
	case b == '/':
		t.put(2, "/")
	case b == 's' && t.class:
		t.put(2, blank)
	case b == 's':
		t.put(2, "["+blank+"]")
	case b == 'S' && t.class:
		return false
	case b == 'S':
		t.put(2, "[^"+blank+"]")
	case b == 'u':
		return t.unicode()
	case b == 'c': // a control character in a schema: too odd to be worth a rule
		return false
	default:
		t.put(2, t.in[:2])
	}
	return true
}

// unicode translates \uXXXX and \u{X}.
func (t *translator) unicode() bool {
	rest := t.in[2:]
	if strings.HasPrefix(rest, "{") {
		t.put(2, `\x`)
		return true
	}
	if len(rest) < 4 {
		return false
	}
	t.put(6, `\x{`+rest[:4]+`}`)
	return true
}
