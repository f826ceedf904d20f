package markup

import "bytes"

// How much text a scanner keeps: room for new text, what it looks back at and
// what it looks ahead at before it judges a marker.
const (
	room   = 1024
	behind = 64
	ahead  = 64
)

// maxMatches bounds how many markers are kept of one scanner's texts: the
// first ones, and a proof even if it is not among them.
const maxMatches = 8

// enough is how many markers of a scanner's texts are looked at. So many of
// them prove what they prove.
const enough = 2000

// Scanner reads the texts of one kind of one choice or call, one after the
// other. It is made ready by Reset and keeps no reference to what it is given.
type Scanner struct {
	rules *Rules
	learn *Seen // where a request's markers go; nil for an answer
	where Where

	buf  [room]byte
	n    int   // bytes in buf
	next int   // where to go on in buf
	need int   // bytes of buf that must be there first
	base int64 // offset of buf[0]
	text int64 // offset of the text's beginning

	fence, ticks int  // backticks of the open fence and of the open code span
	tags         int  // tags of any kind in the text
	turns        int  // beginnings of turns in it, if its first marker of them is one
	parted       bool // it has such a marker
	pairs        [maxPairs]pair
	found        [maxMatches]Match
	kept         int
	word         head // of a request
	total        int
	call         caller
	tail         tail
}

// Reset makes the scanner ready for the texts of an answer to a request with
// these rules.
func (s *Scanner) Reset(r *Rules, where Where) {
	s.rules, s.learn, s.where = r, nil, where
	s.n, s.next, s.need, s.base, s.kept, s.total = 0, 0, 0, 0, 0, 0 // what else there is, begin resets or goes with these
	s.word.n, s.word.slash = 0, false
	s.begin()
}

// Learn makes the scanner ready for the texts of a request: its markers go to
// seen.
func (s *Scanner) Learn(seen *Seen) {
	*s = Scanner{rules: &Rules{}, learn: seen}
	s.begin()
}

func (s *Scanner) begin() {
	s.text = s.base + int64(s.n)
	s.fence, s.ticks, s.tags, s.turns, s.parted, s.pairs = 0, 0, 0, 0, false, [maxPairs]pair{}
	s.seek(false)
	s.tail = tail{dead: s.call.dead}
}

// seek looks for a call in what follows.
func (s *Scanner) seek(behind bool) {
	idle := s.where != Content || s.learn != nil || !s.rules.Tools
	s.call = caller{Call: Call{Start: -1}, rules: s.rules, at: s.base + int64(s.n), dead: idle, behind: behind}
}

// Called says that a call was taken out of the text here: what follows may be
// another one that was not.
func (s *Scanner) Called() {
	if !s.call.found {
		s.seek(true)
	}
}

// Write reads the next piece of the text. It returns len(p) and no error.
func (s *Scanner) Write(p []byte) (int, error) {
	size := len(p)
	if !s.call.dead {
		s.call.write(p)
	}
	s.tail.write(p, s.base+int64(s.n))
	if s.learn != nil {
		s.words(p)
	}
	for len(p) > 0 {
		if s.n == room {
			s.slide()
		}
		k := copy(s.buf[s.n:], p)
		s.n, p = s.n+k, p[k:]
		s.scan(false)
	}
	return size, nil
}

// words reads the words of a request, whose ends it must see.
func (s *Scanner) words(p []byte) {
	h := &s.word
	for _, b := range p {
		if c := nameBytes[b]; c >= '0' && c != ':' {
			if h.n < maxName {
				h.name[h.n] = c
			}
			h.n = min(h.n+1, maxName+1)
			h.slash = h.slash || c == '_'
			continue
		}
		if h.n > 0 && h.n <= maxName {
			s.learn.word(h.word(), h.slash)
		}
		h.n, h.slash = 0, false
	}
}

// slide makes room: it drops what lies far behind the place to go on at.
func (s *Scanner) slide() {
	drop := max(s.next-behind, 0)
	if drop == 0 { // a marker cannot be that long
		s.next, drop = s.n, s.n-behind
	}
	copy(s.buf[:], s.buf[drop:s.n])
	s.n, s.next, s.base = s.n-drop, s.next-drop, s.base+int64(drop)
	s.need = max(s.need-drop, 0)
}

// Next ends the text and begins another one, of the given kind.
func (s *Scanner) Next(where Where) {
	s.Finish()
	s.where = where
	s.n, s.next, s.need, s.base = 0, 0, 0, s.base+int64(s.n)
	s.begin()
}

// Skip passes over n bytes of texts that hold no marker, between two texts.
func (s *Scanner) Skip(n int) {
	s.base += int64(n)
	s.text, s.call.at = s.base, s.base
}

// Finish ends the text. What was cut off by its end is known then.
func (s *Scanner) Finish() {
	s.scan(true)
	s.settle()
	if s.learn != nil {
		s.words([]byte{'\n'})
	}
}

// Matches returns the markers found so far, until the next call of Write.
// Whether they are proof may change until the text is finished.
func (s *Scanner) Matches() []Match { return s.found[:s.kept] }

// Total is how many markers were found, kept or not; behind enough of them
// no more are looked for.
func (s *Scanner) Total() int { return s.total }

// Call returns the call that a content is, if it is one and no more, or the end
// of one that it ends in.
func (s *Scanner) Call() (Call, bool) {
	if t := &s.tail; !s.call.proves() && t.found() && !s.rules.Seen.json {
		return Call{Start: t.start, End: t.end, Whole: t.mode == surplus}, true
	}
	return s.call.Call, s.call.proves()
}

// triggers are the bytes that a marker, a fence or a code span may begin with.
var triggers = [256]bool{'<': true, '[': true, 'D': true, '=': true, 'f': true, '`': true, '\n': true, '\\': true, 0xE2: true, 0xEF: true}

// scan reads what is in the buffer up to where more text must be seen first.
func (s *Scanner) scan(final bool) {
	if s.n < s.need && !final {
		return
	}
	b := s.buf[:s.n]
	i := s.next
	for {
		for i < len(b) && !triggers[b[i]] {
			i++
		}
		if s.total >= enough {
			i = len(b)
		}
		if i >= len(b) {
			break
		}
		n := s.try(b, i, final)
		if n == 0 {
			if !final {
				break
			}
			n = 1
		}
		i += n
	}
	s.next = min(i, len(b))
}

// try reads what may begin at i and returns how many bytes that were, 0 if
// more text must be seen first.
func (s *Scanner) try(b []byte, i int, final bool) int {
	switch b[i] {
	case '\n':
		s.ticks = 0
		return 1
	case '`':
		return s.tick(b, i, final)
	case '[':
		return s.bracket(b, i, final)
	case '=', 'f':
		return s.function(b, i, final)
	case 'D':
		return s.language(b, i, final)
	case 0xE2:
		return s.triangle(b, i, final)
	}
	lt := ltLen(b[i:])
	if lt == 0 {
		if ends(b, i) && !final {
			return 0
		}
		return 1
	}
	return s.angle(b, i, lt, final)
}

// tick reads a run of backticks.
func (s *Scanner) tick(b []byte, i int, final bool) int {
	n := 1
	for i+n < len(b) && b[i+n] == '`' && n < behind {
		n++
	}
	if i+n >= len(b) && !final {
		return 0
	}
	switch {
	case n >= 3 && s.indented(b[:i]):
		last := i+n >= len(b) || b[i+n] == '\n' || b[i+n] == '\r' || b[i+n] == ' '
		if s.fence == 0 {
			s.fence = n
		} else if n >= s.fence && last {
			s.fence = 0
		}
	case s.fence != 0:
	case s.ticks == 0:
		s.ticks = n
	case s.ticks == n:
		s.ticks = 0
	}
	return n
}

// indented reports whether nothing but space stands in front on the line.
func (s *Scanner) indented(before []byte) bool {
	before, start := s.window(before)
	rest := bytes.TrimRight(before, " \t>")
	return len(rest) > 0 && rest[len(rest)-1] == '\n' || len(rest) == 0 && start
}

// angle reads what may be a marker in angle brackets.
func (s *Scanner) angle(b []byte, i, lt int, final bool) int {
	if i+lt < len(b) && b[i+lt] == ']' {
		return s.boundary(b, i, final)
	}
	var h head
	ok, cut := h.read(b[i:], lt)
	if cut && !final {
		s.need = len(b) + 1
		return 0
	}
	if !ok {
		return lt
	}
	t, m, ok := h.mean(cut)
	if !ok && len(h.attr) > 0 && !h.left && !h.right && misspelt(h.word()) && s.rules.declared(h.named()) { // <unction name="get_weather">
		t, m, ok = term{family: Invoke, class: Tool, weak: true}, Match{Role: Opener, hidden: hidden{form: tag}}, true
	}
	if ok && !s.around(b, i, h.len, final) {
		return 0
	}
	s.tags++
	if !ok {
		return lt
	}
	m.Partial = cut
	m.End = int64(i + h.len)
	if t.family == Kimi3 {
		word := ident(b[i+h.len:])
		if w := string(word); w == "tools" || w == "call" || w == "argument" {
			t.class = Tool
		}
	}
	m.Declared = !isParameter(h.word()) && s.rules.declared(h.named())
	m.begins = begins(h.word(), m.Role)
	s.note(b, i, t, m, h.key())
	return h.len
}

// around reports whether enough text behind a marker is there.
func (s *Scanner) around(b []byte, i, n int, final bool) bool {
	if final || len(b) >= i+n+ahead {
		return true
	}
	s.need = i + n + ahead
	return false
}

// boundary reads ]<]minimax[>[, which stands in front of every tag of a
// family, and its like.
func (s *Scanner) boundary(b []byte, i int, final bool) int {
	const mark = "<]minimax[>["
	k := 0
	for k < len(mark) && i+k < len(b) && b[i+k] == mark[k] {
		k++
	}
	if i+k == len(b) && k < len(mark) && !final {
		return 0
	}
	if k < len(mark)-1 && (i+k < len(b) || k < 4) {
		return 1
	}
	if !s.around(b, i, k, final) {
		return 0
	}
	m := Match{End: int64(i + k), Partial: k < len(mark)-1, hidden: hidden{form: sentinel}}
	s.note(b, i, term{family: MiniMax, class: Tool}, m, 0)
	return k
}

// bracket reads a word in square brackets.
func (s *Scanner) bracket(b []byte, i int, final bool) int {
	j := i + 1
	for j < len(b) && (b[j] >= 'A' && b[j] <= 'Z' || b[j] == '_' || b[j] == '/') && j-i < 20 {
		j++
	}
	if j >= len(b)-1 && !final {
		return 0
	}
	name := b[i+1 : j]
	t, ok := inBrackets(name)
	m := Match{hidden: hidden{form: bracket}}
	switch {
	case j == len(b) && bytes.HasPrefix([]byte("TOOL_CALLS"), name) && len(name) >= 5:
		t, ok, m.Partial = term{family: Mistral, class: Tool}, true, true
	case j == len(b) || b[j] != ']':
		ok = ok && t.class == Tool && opensCall(b[j:]) // SGLang takes ] out of the text where Mistral may call
	default:
		j++
	}
	if !ok {
		return 1
	}
	if !s.around(b, i, j-i, final) {
		return 0
	}
	m.End = int64(j)
	key := uint32(0)
	if name = bytes.TrimPrefix(name, []byte("/")); t.family == Think || string(name) == "INST" {
		if m.Role, key = Opener, stem(name, nil); b[i+1] == '/' {
			m.Role = Closer
		}
	}
	s.note(b, i, t, m, key)
	return j - i
}

// maxTool is how long a name of a tool may be.
const maxTool = 128

// function reads to=functions.name, which is left of a call in channels when
// its tokens are dropped, and functions.name:0, which is left of another.
func (s *Scanner) function(b []byte, i int, final bool) int {
	const word = "functions."
	start, at, t := i, i, term{family: Kimi, class: Tool, weak: true}
	if b[i] == '=' {
		if i < 2 || string(b[i-2:i]) != "to" || i > 2 && plain(b[i-3]) {
			return 1
		}
		start, at, t = i-2, i+1, term{family: Harmony, class: Tool}
	} else if n := s.glued(b, i, final); n >= 0 {
		return n
	} else if i > 0 && plain(b[i-1]) {
		return 1
	}
	k := 0
	for k < len(word) && at+k < len(b) && b[at+k] == word[k] {
		k++
	}
	if k < len(word) {
		if at+k == len(b) && !final {
			return 0
		}
		return 1
	}
	if !s.around(b, at, k+maxTool+len(":0{"), final) {
		return 0
	}
	name := ident(b[at+k : min(len(b), at+k+maxTool)])
	end := at + k + len(name)
	colon := end+1 < len(b) && b[end] == ':' && b[end+1] >= '0' && b[end+1] <= '9'
	if len(name) == 0 || t.family == Kimi && !colon {
		return k
	}
	m := Match{End: int64(end), hidden: hidden{form: words}, Declared: s.rules.Names[string(name)]}
	if t.family == Kimi {
		m.End += 2
		m.shaped = end+2 < len(b) && b[end+2] == '{'
	}
	s.note(b, start, t, m, 0)
	return end - i
}

// glued reads assistantfinal right in front of a sentence, which is left of the
// head of a message when its tokens are dropped. It is -1 if there is none.
func (s *Scanner) glued(b []byte, i int, final bool) int {
	const front, word = "assistant", "final"
	if !bytes.HasSuffix(b[:i], []byte(front)) {
		return -1
	}
	rest := b[i:]
	if len(rest) <= len(word) && !final && bytes.HasPrefix([]byte(word), rest) {
		return 0
	}
	c := first(rest[min(len(word), len(rest)):])
	if !bytes.HasPrefix(rest, []byte(word)) || !(c >= 'A' && c <= 'Z' || c == '*' || c == '#') {
		return -1
	}
	start, n := i-len(front), len(front)+len(word)
	if !s.around(b, start, n, final) {
		return 0
	}
	m := Match{End: int64(i + len(word)), hidden: hidden{form: sentinel}}
	s.note(b, start, term{family: Harmony, class: Channel}, m, 0)
	return len(word)
}

// language reads DSML next to a bar, where the < in front of it is lost.
func (s *Scanner) language(b []byte, i int, final bool) int {
	k := 0
	for k < 4 && i+k < len(b) && b[i+k] == "DSML"[k] {
		k++
	}
	if k < 4 {
		if i+k == len(b) && !final {
			return 0
		}
		return 1
	}
	if i+4 == len(b) && !final || i+4 < len(b) && ends(b, i+4) && !final {
		return 0
	}
	before := i > 0 && b[i-1] == '|' || i > 2 && barLen(b[i-3:]) == 3
	after := barLen(b[i+4:]) > 0
	if s.learn != nil {
		s.learn.add(DSML, 0)
	}
	if !before && !after {
		return 4
	}
	end := bars(b, i+4)
	if !s.around(b, i, end-i, final) {
		return 0
	}
	m := Match{End: int64(end), hidden: hidden{form: sentinel}}
	s.note(b, i, term{family: DSML, class: Tool}, m, 0)
	return 4
}

// triangle reads ◁think▷ and ◁/think▷.
func (s *Scanner) triangle(b []byte, i int, final bool) int {
	for role, mark := range [...]string{Opener: "◁think▷", Closer: "◁/think▷"} {
		if mark == "" || i+len(mark) > len(b) && !final && bytes.HasPrefix([]byte(mark), b[i:]) {
			if mark != "" {
				return 0
			}
			continue
		}
		if bytes.HasPrefix(b[i:], []byte(mark)) {
			if !s.around(b, i, len(mark), final) {
				return 0
			}
			m := Match{End: int64(i + len(mark)), hidden: hidden{form: tag}, Role: Role(role)}
			s.note(b, i, term{family: Think, class: Thinking}, m, stem([]byte("think"), nil))
			return len(mark)
		}
	}
	return 1
}
