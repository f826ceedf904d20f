package markup

import "bytes"

// maxPairs bounds how many different pairs of markers are told apart in a text.
const maxPairs = 12

// fewTags is how many tags a text may have that is a call whose first tag is
// damaged.
const fewTags = 4

// pair counts what is open of one pair of markers.
type pair struct {
	key   uint32
	open  int
	first int // index of the first match that is open, -1 if it is not kept
}

// mean finds out what a candidate means.
func (h *head) mean(cut bool) (t term, m Match, ok bool) {
	if h.slash {
		m.Role = Closer
	}
	name := h.word()
	h.hash = stem(name, nil)
	if h.dsml {
		if m.Role == Control {
			m.Role = Opener
		}
		if bytes.HasPrefix(name, []byte("think")) {
			return term{family: Think, class: Thinking}, m, true
		}
		return term{family: h.lang, class: Tool}, m, true
	}
	if h.left || h.right {
		return h.token(cut, m)
	}
	m.form = tag
	if m.Role == Control && string(name) != "tool_sep" {
		m.Role = Opener
	}
	if h.assigned {
		m.form = assigned
		if w := string(name); (w == "function" || w == "parameter") && len(h.named()) > 0 && !h.slash {
			return term{family: ToolCall, class: Tool}, m, true
		}
		return t, m, false
	}
	if t, ok = element(name); ok {
		return t, m, h.complete(t, cut)
	}
	if cut {
		t, ok = begun(name, false)
	}
	return t, m, ok
}

// complete reports whether a tag whose name is known stands there whole, as
// far as it must.
func (h *head) complete(t term, cut bool) bool {
	if t.family == Sentence {
		return h.closed && h.attr == nil && (h.slash || h.n > 1)
	}
	if t.weak && bytes.HasSuffix(h.attr, []byte("/")) {
		return false // no call has an empty element
	}
	switch {
	case h.closed:
		return !t.weak || h.slash || len(h.named()) > 0
	case cut:
		return !t.weak || h.slash || len(h.named()) > 0
	}
	return t.weak && h.slash || len(h.named()) > 0
}

// token finds the meaning of a candidate with bars.
func (h *head) token(cut bool, m Match) (t term, _ Match, ok bool) {
	name := h.word()
	r, key := role(name)
	if m.Role != Closer {
		m.Role = r
	}
	if key != 0 {
		h.hash = key
	}
	m.form = sentinel
	switch {
	case h.left && h.right && (h.closed || cut):
		if t, ok = known(name); !ok {
			t, ok = generic(name)
		}
	case h.closed:
		t, ok = half(name)
	case cut && h.left:
		if t, ok = begun(name, true); !ok {
			t, ok = known(name)
		}
	case h.left && (len(name) > 6 || h.right): // the end of it is damaged
		t, ok = known(name)
		ok = ok && bytes.IndexByte(name, '_') > 0
	}
	return t, m, ok
}

// key is what both halves of a pair have in common.
func (h *head) key() uint32 { return h.hash }

// note weighs a marker that begins at i and keeps it. The fields of m that
// the text around it tells are filled in here.
func (s *Scanner) note(b []byte, i int, t term, m Match, key uint32) {
	if s.learn != nil {
		s.learn.add(t.family, key)
		return
	}
	end := int(m.End)
	m.Family, m.Class, m.weak, m.Where = t.family, t.class, t.weak, s.where
	m.Start, m.End = s.base+int64(i), s.base+m.End
	m.Seen = s.rules.Seen.has(t.family, key) || s.rules.Seen.tokens && t.class != Tool
	s.surround(&m, b[:i], b[end:])
	m.key, m.alone, m.drawn = key, s.tags == 1, s.draw(&m)
	open := s.balance(&m, key)
	s.neighbors(&m, b[:i])
	at := s.keep(m)
	if open != nil {
		open.first = at
	}
	s.reweigh(at, m)
	if m.Role != Opener {
		s.invoked(&m)
	}
}

// draw notes a marker that parts a conversation, and reports whether it stands
// in one that is written down: which begins with a beginning and has several. A
// turn that went on by itself ends first.
func (s *Scanner) draw(m *Match) bool {
	if m.Class == Tool || m.Class == Thinking {
		return false
	}
	if m.begins && (s.turns > 0 || !s.parted) {
		s.turns++
	}
	s.parted = true
	return s.turns > 1
}

// undraw takes back what the beginning of such a conversation was taken for.
func (s *Scanner) undraw() {
	if s.turns < 2 || s.where != Value && s.where != Reasoning {
		return
	}
	for i := range s.found[:s.kept] {
		if m := &s.found[i]; m.Start >= s.text && (m.Class == Template || m.Class == Channel && s.where == Value) {
			m.drawn, m.Proof = true, false
		}
	}
}

// surround looks at the text around a marker.
func (s *Scanner) surround(m *Match, before, after []byte) {
	before, start := s.window(before)
	after = after[:min(len(after), ahead)] // how much more is there depends on the cuts
	ended := len(after) < ahead
	prev, next := last(before), first(after)
	quote := func(c byte) bool { return c == '"' || c == '\'' || c == '`' }
	m.Quoted = s.fence > 0 || s.ticks > 0
	open, shut := bytes.TrimRight(before, " \t\r\n"), bytes.TrimLeft(after, " \t\r\n")
	m.last, m.led = len(shut) == 0 && ended, len(open) > 0
	m.edge = m.last || len(open) == 0 && start
	m.Quoted = m.Quoted || (quote(prev) || quote(next)) && !m.edge || quote(prev) && quote(next)
	m.Quoted = m.Quoted || prev == ' ' && mentioned(after) || s.where != Value && prev == '(' && next == ')'
	m.Quoted = m.Quoted || prev == '/' && (next == '/' || next == '$') // s/<|im_end|>//
	m.stuck = plain(prev) || plain(next) || m.Family != Other && bytes.IndexByte([]byte(" \t("), prev) < 0
	m.follow = next
	glued := m.form == tag && m.Role == Opener && (plain(prev) || prev == '?' || prev == '/') // Array<tool_call>, (?<tool_call>…)
	if !m.Declared && m.Role != Closer && !m.weak && !glued {
		m.Declared = s.names(after)
	}
	inside := bytes.IndexByte([]byte(" (/,\"'`"), prev) >= 0
	m.inline = m.form == bracket && inside && !m.edge && next != '[' && next != '{' && !m.Declared
	m.inline = m.inline || m.form == bracket && m.Class == Template && m.Role == Opener && plain(prev) // dispatch[INST] = …
	m.inline = m.inline || m.form == bracket && m.Class == Template && m.weak && m.last && prev == ' ' // Over and out. [EOT]
	switch m.Role {
	case Closer:
		c := last(open)
		m.shaped = bytes.IndexByte([]byte(`}])>"`), c) >= 0 || plain(prev) || prev >= 0x80 || prev == '\n'
	default:
		c := first(shut)
		if len(shut) == 0 && !ended {
			c = ' '
		}
		if glued {
			m.shaped = m.Partial || c == '<' || s.rules.declared(ident(after)) || opensCall(shut)
			return
		}
		m.shaped = m.shaped || c == '{' || c == '[' || c == '<' || c == 0 || m.Declared || m.form == assigned
	}
}

// window is the text in front of a marker as far as it is looked at, and whether
// it begins there.
func (s *Scanner) window(before []byte) (_ []byte, start bool) {
	begin := s.text - s.base
	if begin > 0 {
		before = before[min(int(begin), len(before)):]
	}
	if len(before) > behind {
		return before[len(before)-behind:], false
	}
	return before, begin >= 0
}

// opensCall reports whether b begins as a call in JSON does, which no code behind
// a type does.
func opensCall(b []byte) bool {
	return len(b) > 1 && (b[0] == '{' || b[0] == '[') && bytes.IndexByte([]byte("\"'{"), b[1]) >= 0
}

// mentioned reports whether a sentence about the marker goes on behind it.
func mentioned(after []byte) bool {
	switch c := first(after); c {
	case ',', ':', ';':
		return first(after[1:]) == ' '
	case '.', '?', '!', ')':
		next := first(after[1:])
		return next == 0 || bytes.IndexByte([]byte(" \n.,;:"), next) >= 0
	}
	if first(after) != ' ' {
		return false
	}
	word := ident(after[1:])
	if len(word) < len(after)-1 {
		word = bytes.TrimRight(word, ".")
	}
	switch string(word) {
	case "token", "tokens", "tag", "tags", "marker", "markers", "delimiter", "delimiters", "sentinel", "sentinels", "symbol", "symbols",
		"sequence", "string", "placeholder", "placeholders", "prefix", "suffix", "character", "characters", "markup", "block", "blocks", "section", "sections", "header", "element", "elements", "format", "syntax",
		"is", "are", "and", "or", "as", "in", "means", "marks", "with", "without", "before", "after", "from", "for",
		"at", "inside", "within", "between", "around", "stands", "begins", "ends", "starts", "to":
		return true
	}
	return false
}

// names reports whether a declared tool is named soon.
func (s *Scanner) names(after []byte) bool {
	after = after[:min(len(after), ahead)]
	for len(after) > 0 {
		id := ident(after)
		if len(id) > 0 && len(id) < len(after) && s.rules.declared(bytes.TrimRight(id, ".-")) {
			return true
		}
		if len(id) == 0 {
			id = after[:1]
		}
		after = after[len(id):]
	}
	return false
}

func first(b []byte) byte {
	if len(b) == 0 {
		return 0
	}
	return b[0]
}

func last(b []byte) byte {
	if len(b) == 0 {
		return 0
	}
	return b[len(b)-1]
}

// neighbors sees whether the marker follows another one, nothing but space
// between them, as ordinary text would not have them.
func (s *Scanner) neighbors(m *Match, before []byte) {
	if s.kept == 0 {
		return
	}
	p := &s.found[s.kept-1]
	gap := m.Start - p.End
	if gap < 0 || gap > behind || p.Start < s.text || int64(len(before)) < gap || p.Class != m.Class {
		return
	}
	between := before[len(before)-int(gap):]
	switch {
	case len(bytes.TrimSpace(between)) > 0:
	case p.Role == Closer && m.Role == Closer && m.Orphan && (p.Orphan || s.tags <= fewTags),
		p.Role == Opener && m.Role == Opener && (p.key == stem([]byte("invoke"), nil) || !p.weak || p.edge):
		m.neighbor, p.neighbor = true, true
		s.reweigh(s.kept-1, *p)
	}
}

// keep keeps a marker if there is room, and returns its index, -1 if not.
func (s *Scanner) keep(m Match) int {
	s.total++
	if s.kept < maxMatches {
		s.found[s.kept] = m
		s.kept++
		return s.kept - 1
	}
	if s.found[maxMatches-1].Proof || !s.proves(&m) {
		return -1
	}
	s.found[maxMatches-1] = m
	for i := range s.pairs {
		if s.pairs[i].first == maxMatches-1 {
			s.pairs[i].first = -1
		}
	}
	return maxMatches - 1
}

// balance pairs closers with openers. It returns the pair that the marker is
// the first open one of.
func (s *Scanner) balance(m *Match, key uint32) *pair {
	if m.Role == Control || key == 0 {
		return nil
	}
	for i := range s.pairs {
		p := &s.pairs[i]
		if p.open == 0 && p.key == 0 {
			*p = pair{key: key, first: -1}
		}
		if p.key != key {
			continue
		}
		switch {
		case m.Role == Opener:
			if p.open++; p.open == 1 {
				return p
			}
		case p.open > 0:
			p.open--
		default:
			m.Orphan = true
		}
		return nil
	}
	return nil
}

// reweigh judges a kept marker again.
func (s *Scanner) reweigh(at int, m Match) {
	if at < 0 {
		return
	}
	m.Proof = s.proves(&m)
	s.found[at] = m
}

// settle judges what only the end of the text tells: which openers stay open.
func (s *Scanner) settle() {
	for _, p := range s.pairs {
		if p.open == 0 || p.first < 0 || p.first >= s.kept {
			continue
		}
		m := s.found[p.first]
		m.Orphan = true
		s.reweigh(p.first, m)
	}
	s.undraw()
}

// invoked marks the call that a marker goes on with or ends, if a declared
// tool is named in it: a whole call that nobody took, even where mentions are
// usual.
func (s *Scanner) invoked(by *Match) {
	if s.where != Reasoning {
		return
	}
	for i := range s.found[:s.kept] {
		m := &s.found[i]
		if m.Family == by.Family && m.Declared && m.Start >= s.text && m.Start < by.Start && !m.Quoted && !m.Seen && s.rules.Tools {
			m.Proof = true
			return
		}
	}
}

// proves reports whether ordinary text has no such marker in such a place.
func (s *Scanner) proves(m *Match) bool {
	if m.Seen || m.Class == Thinking {
		return false
	}
	switch m.Where {
	case Name:
		return m.form != words
	case Key:
		return m.form != words && (m.form != bracket || !m.weak)
	case Value:
		return s.provesValue(m)
	case Reasoning:
		return m.Proof || m.form == sentinel && m.Class == Template && !m.Quoted && !m.drawn && (m.edge || m.stuck)
	}
	if m.Quoted || m.Class == Tool && !s.rules.Tools {
		return false
	}
	return m.provesContent()
}

func (m *Match) provesContent() bool {
	switch {
	case m.family(Sentence):
		return m.last && (m.Role == Closer && m.Orphan || m.key != stem([]byte("s"), nil))
	case m.form == sentinel:
		return true
	case m.form == words:
		return m.Declared && (!m.weak || m.shaped)
	case m.form == bracket:
		return !m.weak && !m.inline || m.Class == Tool && m.follow == '{' || m.Class == Template && m.last && !m.inline
	case m.weak:
		return m.Declared && m.Role == Opener || m.neighbor
	}
	return m.shaped || m.neighbor || m.Class != Tool
}

// provesValue judges a marker in an argument, which may be a file that holds
// markup of its own: there the two of a pair prove nothing.
func (s *Scanner) provesValue(m *Match) bool {
	switch {
	case !s.rules.Tools || m.family(Sentence) || m.form == words || m.drawn:
		return false
	case m.form == sentinel:
		return !m.Quoted && (m.Role == Control || m.Orphan) && (m.edge || m.stuck)
	case m.form == bracket:
		return !m.Quoted && (m.edge && (!m.weak || m.Class == Tool && m.follow == '{') || m.Class == Tool && !m.weak && m.Declared && isIdent(m.follow))
	case m.weak:
		return m.Orphan && m.Role == Closer && (m.Partial || m.neighbor && s.tags <= 2 || m.last && m.alone && m.led)
	}
	return m.Orphan && !m.Quoted && m.shaped
}

func (m *Match) family(f Family) bool { return m.Family == f }
