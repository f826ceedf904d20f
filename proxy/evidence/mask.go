package evidence

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
)

// masker masks what must not be kept. Its zero value masks nothing.
type masker struct {
	patterns []*regexp.Regexp
	rules    []rule
}

func newMasker(patterns []*regexp.Regexp, paths []string) (*masker, error) {
	m := &masker{patterns: patterns}
	for _, p := range paths {
		r, err := parseRule(p)
		if err != nil {
			return nil, err
		}
		m.rules = append(m.rules, r)
	}
	return m, nil
}

// Masked is a body as it is kept: what redaction names is masked in it. It may be b
// itself.
func (w *Writer) Masked(b []byte) []byte {
	b, _ = w.mask.body(b)
	return b
}

// CheckPaths reports the first path that is none.
func CheckPaths(paths []string) error {
	_, err := newMasker(nil, paths)
	return err
}

func (m *masker) idle() bool { return len(m.patterns)+len(m.rules) == 0 }

// maxDepth is how deep JSON is looked for in strings of JSON.
const maxDepth = 4

// body masks a request, or an answer, streamed or not, and reports whether
// there was anything to mask. The result is as long as b.
func (m *masker) body(b []byte) ([]byte, bool) {
	if m.idle() || len(b) == 0 {
		return b, false
	}
	file := newFile(b)
	m.match(file, maxDepth)
	if isJSON(b) { // nothing is said piece by piece
		walk(b, 0, func(l *leaf) { m.leaf(file, nil, l, nil) })
		return file.masked()
	}
	ch := make(channels)
	for _, d := range documents(b) {
		m.document(file, d, ch)
	}
	for _, c := range ch {
		m.channel(c)
	}
	return file.masked()
}

// channel masks what is secret in what was said in one place.
func (m *masker) channel(c *channel) {
	m.match(c.text, 1)
	m.inside(c.text, c.path, c.calls, 1)
}

// line masks a short text that is no JSON, or a string out of it.
func (m *masker) line(s string) string {
	if len(m.patterns) == 0 || s == "" {
		return s
	}
	file := newFile([]byte(s))
	m.match(file, 0)
	b, _ := file.masked()
	return string(b)
}

// match masks what the patterns match in a text, and in what it says when its
// escape sequences are read, as often as there are any.
func (m *masker) match(t *text, depth int) {
	for _, re := range m.patterns {
		for _, at := range re.FindAllIndex(t.b, -1) {
			t.mask(at[0], at[1])
		}
	}
	if depth == maxDepth || len(m.patterns) == 0 || bytes.IndexByte(t.b, '\\') < 0 {
		return
	}
	inner := &text{of: t}
	t.unescape(inner, 0, len(t.b))
	m.match(inner, depth+1)
}

// document masks what the rules name in a document of a body, and adds what
// its strings say to the channels. What is no JSON keeps its shape alone, since
// it cannot be told what it is.
func (m *masker) document(file *text, d extent, ch channels) {
	b, e := file.b[d.from:d.to], &event{at: make(map[string]string)}
	if !walk(b, d.from, func(l *leaf) { e.add(file, l) }) {
		shape(file, d.from, d.to)
		return
	}
	walk(b, d.from, func(l *leaf) { m.leaf(file, e, l, ch) })
}

// leaf masks a leaf, or adds what it says to its channel. Without channels, and
// where there are too many, it stands for itself.
func (m *masker) leaf(file *text, e *event, l *leaf, ch channels) {
	switch {
	case m.named(l.path):
		l.hide(file)
	case l.kind == stringLeaf && ch == nil:
		c := newChannel(file, "", l)
		file.unescape(c.text, l.from+1, l.to-1)
		m.channel(c)
	case l.kind == stringLeaf && !ch.add(file, e, l):
		shape(file, l.from+1, l.to-1)
	case l.kind == nameLeaf:
		name := &text{of: file}
		file.unescape(name, l.from+1, l.to-1)
		m.match(name, 1)
	}
}

// inside masks what the rules name in JSON that a string holds.
func (m *masker) inside(t *text, path []string, calls bool, depth int) {
	if len(m.rules) == 0 || depth > maxDepth || !m.reach(path) {
		return
	}
	trimmed := bytes.TrimSpace(t.b)
	if !calls && !bytes.HasPrefix(trimmed, []byte("{")) && !bytes.HasPrefix(trimmed, []byte("[")) {
		return
	}
	if !isJSON(t.b) {
		shape(t, 0, len(t.b))
		return
	}
	walk(t.b, 0, func(l *leaf) {
		l.path = slices.Concat(path, l.path)
		if m.named(l.path) {
			l.hide(t)
		} else if l.kind == stringLeaf {
			inner := &text{of: t}
			t.unescape(inner, l.from+1, l.to-1)
			m.inside(inner, l.path, false, depth+1)
		}
	})
}

// named reports whether a rule names the value at a path or one that it is in.
func (m *masker) named(path []string) bool {
	return slices.ContainsFunc(m.rules, func(r rule) bool { return r.names(path) })
}

// reach reports whether a rule may name something within the value at a path.
func (m *masker) reach(path []string) bool {
	for _, r := range m.rules {
		if r.goesOn(path) {
			return true
		}
	}
	return false
}

// rule is a JSON pointer in which * stands for any one name and ** for any
// number of them.
type rule []string

// maxNames is the most that a rule is long: its places are the bits of a number.
const maxNames = 63

func parseRule(s string) (rule, error) {
	if !strings.HasPrefix(s, "/") || s == "/" {
		return nil, &RuleError{s}
	}
	segs := strings.Split(s[1:], "/")
	if len(segs) > maxNames {
		return nil, &RuleError{s}
	}
	for i, seg := range segs {
		segs[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(seg)
	}
	return segs, nil
}

// RuleError is a path that names nothing.
type RuleError struct{ Path string }

// Error says how a path is written.
func (e *RuleError) Error() string {
	return "path " + e.Path + " is no JSON pointer such as /messages/*/content or /**/password, or longer than 63 names"
}

// names reports whether the rule names the value at a path or one that it is in. It
// goes along the path once, whatever the rule: at has a bit for each place in it
// that the names so far may have come to.
func (r rule) names(path []string) bool {
	at := r.skip(1)
	for _, name := range path {
		if at>>len(r) != 0 {
			return true
		}
		var next uint64
		for i, want := range r {
			switch {
			case at>>i&1 == 0:
			case want == "**":
				next |= 1 << i
			case want == "*" || want == name:
				next |= 2 << i
			}
		}
		at = r.skip(next)
	}
	return at>>len(r) != 0
}

// skip adds the places behind a **, which may stand for no name.
func (r rule) skip(at uint64) uint64 {
	for i, want := range r {
		if want == "**" {
			at |= at >> i & 1 << (i + 1)
		}
	}
	return at
}

// goesOn reports whether the rule may match something below path.
func (r rule) goesOn(path []string) bool {
	if len(r) == 0 {
		return false
	}
	if len(path) == 0 || r[0] == "**" {
		return true
	}
	return (r[0] == "*" || r[0] == path[0]) && r[1:].goesOn(path[1:])
}
