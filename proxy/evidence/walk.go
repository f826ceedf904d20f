package evidence

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// leaf is a scalar of a JSON text, or the name of a member. Its path is valid
// only while it is shown.
type leaf struct {
	path     []string // a name has that of the object
	from, to int      // where it stands, quotes included
	kind     leafKind
}

type leafKind uint8

const (
	stringLeaf leafKind = iota
	numberLeaf
	otherLeaf // true, false, null
	nameLeaf
)

// hide masks a leaf so that it stays JSON.
func (l *leaf) hide(t *text) {
	switch l.kind {
	case numberLeaf:
		for i := l.from; i < l.to; i++ {
			if '0' <= t.b[i] && t.b[i] <= '9' {
				t.cover(i, i+1)
			}
		}
	case stringLeaf, nameLeaf:
		t.cover(l.from+1, l.to-1)
	}
}

// frame is an object or a list that is open.
type frame struct {
	list  bool
	n     int  // elements so far
	value bool // the next token of an object is a value
}

// walker reads tokens and knows where they stand.
type walker struct {
	b    []byte
	base int // of b in what it is a part of
	dec  *json.Decoder
	at   int // end of the last token
	path []string
	open []frame
	show func(*leaf)
}

// maxLevels is how deep a text may be nested: each leaf takes time for the levels
// above it.
const maxLevels = 256

// walk shows every leaf of a JSON text, which begins at base, and reports
// whether it is JSON to its end.
func walk(b []byte, base int, show func(*leaf)) bool {
	w := walker{b: b, base: base, dec: json.NewDecoder(bytes.NewReader(b)), show: show}
	w.dec.UseNumber()
	for n := 0; ; n++ {
		tok, err := w.dec.Token()
		if err != nil {
			return n > 0 && len(w.open) == 0 && len(bytes.TrimSpace(b[w.at:])) == 0
		}
		if n > 0 && len(w.open) == 0 || len(w.open) > maxLevels {
			return false // a second text, or one that nobody means
		}
		w.token(tok)
		w.at = int(w.dec.InputOffset())
	}
}

func isJSON(b []byte) bool { return walk(b, 0, func(*leaf) {}) }

// start is where the token that ends at the decoder's offset begins.
func (w *walker) start() int {
	i := w.at
	for i < len(w.b) && strings.IndexByte(" \t\r\n,:", w.b[i]) >= 0 {
		i++
	}
	return i
}

func (w *walker) token(tok json.Token) {
	switch d, _ := tok.(json.Delim); d {
	case '{', '[':
		w.begin()
		w.open = append(w.open, frame{list: d == '['})
		return
	case '}', ']':
		w.open = w.open[:len(w.open)-1]
		w.end()
		return
	}
	if f := w.top(); f != nil && !f.list && !f.value {
		w.leaf(nameLeaf)
		f.value = true
		w.path = append(w.path, tok.(string))
		return
	}
	w.begin()
	w.leaf(kindOf(tok))
	w.end()
}

func kindOf(tok json.Token) leafKind {
	switch tok.(type) {
	case string:
		return stringLeaf
	case json.Number:
		return numberLeaf
	}
	return otherLeaf
}

func (w *walker) leaf(kind leafKind) {
	w.show(&leaf{path: w.path, from: w.base + w.start(), to: w.base + int(w.dec.InputOffset()), kind: kind})
}

func (w *walker) top() *frame {
	if len(w.open) == 0 {
		return nil
	}
	return &w.open[len(w.open)-1]
}

// begin begins a value: an element of a list is named by its place.
func (w *walker) begin() {
	if f := w.top(); f != nil && f.list {
		w.path = append(w.path, strconv.Itoa(f.n))
		f.n++
	}
}

// end ends a value.
func (w *walker) end() {
	if f := w.top(); f != nil {
		f.value = false
		w.path = w.path[:len(w.path)-1]
	}
}

// extent is a part of a body.
type extent struct{ from, to int }

// documents finds the JSON texts of a body's events or lines.
func documents(b []byte) (all []extent) {
	for at := 0; at < len(b); {
		n := bytes.IndexAny(b[at:], "\r\n")
		if n < 0 {
			n = len(b) - at
		}
		if d, ok := payload(b, at, at+n); ok {
			all = append(all, d)
		}
		at += n + 1
	}
	return all
}

// payload finds what a line of a stream carries, if it is anything said.
func payload(b []byte, from, to int) (extent, bool) {
	line := b[from:to]
	for _, p := range []string{"event:", "id:", "retry:"} {
		if bytes.HasPrefix(line, []byte(p)) {
			return extent{}, false
		}
	}
	if bytes.HasPrefix(line, []byte("data:")) {
		from += len("data:")
	}
	said := bytes.TrimSpace(b[from:to])
	return extent{from, to}, len(said) > 0 && string(said) != "[DONE]"
}

// event is what a document says of where its strings belong.
type event struct {
	own  string            // what it says of itself
	kind string            // its type, quoted
	at   map[string]string // the index that an element of a list has by its own word, by its path
}

// add notes a leaf that may be such a word.
func (e *event) add(file *text, l *leaf) {
	if l.kind == nameLeaf || len(l.path) == 0 {
		return
	}
	last := len(l.path) - 1
	name, said := l.path[last], string(file.b[l.from:l.to])
	switch {
	case last == 0 && slices.Contains([]string{"type", "index", "output_index", "content_index", "item_id"}, name):
		e.own += "\x00" + name + said
		if name == "type" {
			e.kind = said
		}
	case name == "index" && l.kind == numberLeaf:
		e.at[strings.Join(l.path[:last], "\x00")] = said
	}
}

// key names the channel that a string belongs to.
func (e *event) key(path []string) string {
	own := slices.Clone(path)
	for i := 0; i < len(path) && len(e.at) > 0; i++ {
		if said, ok := e.at[strings.Join(path[:i+1], "\x00")]; ok {
			own[i] = "\x01" + said
		}
	}
	return strings.Join(own, "\x00") + "\x02" + e.own
}

// channel is what a stream says piece by piece in one place.
type channel struct {
	*text
	path  []string
	calls bool // it is the arguments of a call
}

// channels are the places of a body in which something is said.
type channels map[string]*channel

func newChannel(file *text, kind string, l *leaf) *channel {
	last := l.path[max(0, len(l.path)-1):]
	return &channel{text: &text{of: file}, path: slices.Clone(l.path),
		calls: strings.Contains(kind, "arguments") || slices.Contains(last, "arguments") || slices.Contains(last, "partial_json")}
}

// maxChannels bounds the places of one body: a stream has a few dozen.
const maxChannels = 4096

// add appends what a string says to its channel, and reports false if there
// are too many.
func (ch channels) add(file *text, e *event, l *leaf) bool {
	key := e.key(l.path)
	c := ch[key]
	if c == nil {
		if len(ch) == maxChannels {
			return false
		}
		c = newChannel(file, e.kind, l)
		ch[key] = c
	}
	file.unescape(c.text, l.from+1, l.to-1)
	return true
}
