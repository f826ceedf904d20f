package schema

import "strings"

// RE2 has no lookahead. Those that stand at the beginning of an anchored
// pattern, which is where nearly all do, say no more than that the text
// matches other patterns too, or does not.

// ahead is a pattern without the lookaheads it began with.
type ahead struct {
	all  []string // what the text must match
	none []string // what it must not
}

// lookaheads takes the lookaheads off the beginning of a pattern. It reports
// false if there are none, or not only such.
func lookaheads(p string) (a ahead, ok bool) {
	rest, anchored := strings.CutPrefix(p, "^")
	if !anchored || alternates(p) {
		return a, false
	}
	for {
		negative := strings.HasPrefix(rest, "(?!")
		if !negative && !strings.HasPrefix(rest, "(?=") {
			break
		}
		end := groupEnd(rest)
		if end < 0 || end+1 < len(rest) && strings.IndexByte("*+?{", rest[end+1]) >= 0 {
			return a, false
		}
		part := "^(?:" + rest[3:end] + ")"
		if negative {
			a.none = append(a.none, part)
		} else {
			a.all = append(a.all, part)
		}
		rest = rest[end+1:]
	}
	a.all = append(a.all, "^"+rest)
	return a, len(a.all)+len(a.none) > 1
}

// groupEnd is where the group that a pattern begins with ends, -1 if nowhere.
func groupEnd(p string) int {
	end := -1
	walkPattern(p, func(i, depth int) bool {
		if p[i] == ')' && depth == 0 {
			end = i
		}
		return end < 0
	})
	return end
}

// alternates reports whether a pattern is a list of alternatives.
func alternates(p string) bool {
	found := false
	walkPattern(p, func(i, depth int) bool {
		found = found || p[i] == '|' && depth == 0
		return !found
	})
	return found
}

// walkPattern calls f with each byte of a pattern that is neither escaped nor
// in a class, and how many groups are open behind it, until f returns false.
func walkPattern(p string, f func(i, depth int) bool) {
	depth, class := 0, false
	for i := 0; i < len(p); i++ {
		switch b := p[i]; {
		case b == '\\':
			i++
			continue
		case class:
			class = b != ']'
			continue
		case b == '[':
			class = true
		case b == '(':
			depth++
		case b == ')':
			depth--
		}
		if !f(i, depth) {
			return
		}
	}
}

// split puts what a pattern with lookaheads means in its place.
func (m *mender) split(o map[string]any, p string) bool {
	a, ok := lookaheads(p)
	if !ok {
		return false
	}
	all, _ := o["allOf"].([]any)
	all = all[:len(all):len(all)]
	for _, p := range a.all {
		s, ok := m.translated(p)
		if !ok {
			return false
		}
		all = append(all, map[string]any{"pattern": s})
	}
	for _, p := range a.none {
		s, ok := m.translated(p)
		if !ok {
			return false
		}
		all = append(all, map[string]any{"not": map[string]any{"type": "string", "pattern": s}})
	}
	delete(o, "pattern")
	o["allOf"] = all
	return true
}
