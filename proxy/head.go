package proxy

import (
	"bytes"
	"errors"
	"strconv"
)

// maxHead bounds a head, start line and fields, in both directions.
const maxHead = 64 << 10

var (
	errHeadTooLarge = errors.New("head larger than 64 KiB")
	errBareLine     = errors.New("bare CR or LF in a head")
	errControl      = errors.New("control character in a head")
	errFold         = errors.New("folded field line")
	errFieldName    = errors.New("bad field name")
	errLength       = errors.New("bad Content-Length")
	errTwoLengths   = errors.New("more than one Content-Length")
	errCoding       = errors.New("bad Transfer-Encoding")
	errLengthCoding = errors.New("both Content-Length and Transfer-Encoding")
)

// fields is what the fields of a head say about the message's framing and its
// way through us.
type fields struct {
	length  int64 // Content-Length; -1 without one
	chunked bool
	hosts   int
	close   bool // Connection: close
	upgrade bool // Connection: upgrade, and an Upgrade field
	named   bool // Connection names fields to take out
	expect  bool // Expect: 100-continue

	connUpgrade, hasUpgrade bool
}

// cutLine splits b after its first CRLF. ok is false when there is none.
func cutLine(b []byte) (line, rest []byte, ok bool) {
	i := bytes.IndexByte(b, '\n')
	if i < 1 || b[i-1] != '\r' {
		return nil, b, false
	}
	return b[:i-1], b[i+1:], true
}

// cutField splits a field line into name and value, without the whitespace
// around it.
func cutField(line []byte) (name, value []byte) {
	i := bytes.IndexByte(line, ':')
	if i < 0 {
		return line, nil
	}
	return line[:i], trim(line[i+1:])
}

// trim takes off the whitespace around a field's value: spaces and tabs. It is
// bytes.Trim without the set of characters that one makes at each call.
func trim(b []byte) []byte {
	for len(b) > 0 && (b[0] == ' ' || b[0] == '\t') {
		b = b[1:]
	}
	for len(b) > 0 && (b[len(b)-1] == ' ' || b[len(b)-1] == '\t') {
		b = b[:len(b)-1]
	}
	return b
}

// find returns the value of the first field of block with the given lower-case
// name.
func find(block []byte, lower string) (value []byte, ok bool) {
	for line, rest, ok := cutLine(block); ok && len(line) > 0; line, rest, ok = cutLine(rest) {
		if names(line, lower) {
			_, value = cutField(line)
			return value, true
		}
	}
	return nil, false
}

// names reports whether a field line's name is one in lower case.
func names(line []byte, lower string) bool {
	return len(line) > len(lower) && line[len(lower)] == ':' && is(line[:len(lower)], lower)
}

// checkLine reports what in a line, given without its CRLF, no head may hold.
func checkLine(line []byte) error {
	for _, c := range line {
		if c < ' ' && c != '\t' || c == 0x7f {
			if c == '\r' || c == '\n' {
				return errBareLine
			}
			return errControl
		}
	}
	return nil
}

// add reads one field line, strictly: what two readers might understand
// differently is an error.
func (f *fields) add(line []byte) error {
	if err := checkLine(line); err != nil {
		return err
	}
	if line[0] == ' ' || line[0] == '\t' {
		return errFold
	}
	i := bytes.IndexByte(line, ':')
	if i < 1 || !isToken(line[:i]) {
		return errFieldName
	}
	name, value := line[:i], trim(line[i+1:])
	switch len(name) {
	case 4:
		if is(name, "host") {
			f.hosts++
		}
	case 6:
		f.expect = f.expect || is(name, "expect") && lists(value, "100-continue")
	case 7:
		if is(name, "upgrade") {
			f.hasUpgrade = true
		}
	case 10:
		if is(name, "connection") {
			f.connection(value)
		}
	case 14:
		if is(name, "content-length") {
			return f.contentLength(value)
		}
	case 17:
		if is(name, "transfer-encoding") {
			return f.coding(value)
		}
	}
	f.upgrade = f.connUpgrade && f.hasUpgrade
	return nil
}

func (f *fields) connection(value []byte) {
	for name := range tokens(value) {
		switch {
		case is(name, "close"):
			f.close = true
		case is(name, "keep-alive"): // the field of that name stays here anyhow
		case is(name, "upgrade"):
			f.connUpgrade = true
		default:
			f.named = true
		}
	}
}

func (f *fields) contentLength(value []byte) error {
	if f.length >= 0 {
		return errTwoLengths
	}
	if len(value) == 0 || len(value) > 18 {
		return errLength
	}
	for _, c := range value {
		if c < '0' || c > '9' {
			return errLength
		}
	}
	f.length, _ = strconv.ParseInt(string(value), 10, 64)
	return f.framed()
}

func (f *fields) coding(value []byte) error {
	if f.chunked || !is(value, "chunked") {
		return errCoding
	}
	f.chunked = true
	return f.framed()
}

func (f *fields) framed() error {
	if f.chunked && f.length >= 0 {
		return errLengthCoding
	}
	return nil
}

// tokens yields the comma-separated elements of a field value.
func tokens(value []byte) func(func([]byte) bool) {
	return func(yield func([]byte) bool) {
		for len(value) > 0 {
			var t []byte
			t, value, _ = bytes.Cut(value, []byte{','})
			if t = trim(t); len(t) > 0 && !yield(t) {
				return
			}
		}
	}
}

// lists reports whether a field value holds an element.
func lists(value []byte, lower string) bool {
	for t := range tokens(value) {
		if is(t, lower) {
			return true
		}
	}
	return false
}

// is compares b with a lower-case name, ignoring case.
func is(b []byte, lower string) bool {
	if len(b) != len(lower) {
		return false
	}
	for i := range b {
		if c := b[i]; c|0x20 != lower[i] && c != lower[i] {
			return false
		}
	}
	return true
}

func isToken(b []byte) bool {
	for _, c := range b {
		if letter := 'a' <= c|0x20 && c|0x20 <= 'z'; !letter && !isTokenByte(c) {
			return false
		}
	}
	return len(b) > 0
}

// isTokenByte reports whether c is a tchar of RFC 9110 §5.6.2.
func isTokenByte(c byte) bool {
	return 'a' <= c|0x20 && c|0x20 <= 'z' || '0' <= c && c <= '9' || c == '-' ||
		c > ' ' && c < 0x7f && bytes.IndexByte([]byte("!#$%&'*+.^_`|~"), c) >= 0
}

// hop says which field lines of a head stay here. RFC 9110 §7.6.1 names them;
// Transfer-Encoding is not among ours, because a body's framing passes as it is.
type hop struct {
	named   [][]byte // by Connection
	upgrade bool     // the head asks for an upgrade, or grants one: those fields stay
	expect  bool     // Expect passes on
}

// hopOf collects what Connection names in block. Fields that make a message
// what it is cannot be taken out by naming them.
func hopOf(block []byte, f *fields) hop {
	h := hop{upgrade: f.upgrade}
	if !f.named {
		return h
	}
	for line, rest, ok := cutLine(block); ok && len(line) > 0; line, rest, ok = cutLine(rest) {
		name, value := cutField(line)
		if !is(name, "connection") {
			continue
		}
		for t := range tokens(value) {
			if !is(t, "host") && !is(t, "content-length") && !is(t, "transfer-encoding") {
				h.named = append(h.named, t)
			}
		}
	}
	return h
}

// stays reports whether the field called name ends its way here.
func (h *hop) stays(name []byte) bool {
	switch len(name) {
	case 2:
		if is(name, "te") {
			return true
		}
	case 6:
		if is(name, "expect") {
			return !h.expect
		}
	case 7:
		if is(name, "upgrade") {
			return !h.upgrade
		}
	case 10:
		if is(name, "keep-alive") {
			return true
		}
		if is(name, "connection") {
			return !h.upgrade
		}
	case 16:
		if is(name, "proxy-connection") {
			return true
		}
	}
	for _, n := range h.named {
		if bytes.EqualFold(n, name) {
			return !(h.upgrade && is(name, "upgrade"))
		}
	}
	return false
}

// appendFields appends the lines of block that go on. replace, when it is not
// nil, stands for the line of Transfer-Encoding.
func (h *hop) appendFields(dst, block, replace []byte) []byte {
	for len(block) > 0 {
		line, rest, ok := cutLine(block)
		if !ok || len(line) == 0 {
			break
		}
		name, _ := cutField(line)
		switch {
		case h.upgrade && is(name, "connection"):
			dst = append(append(dst, name...), ": Upgrade\r\n"...)
		case h.stays(name):
		case replace != nil && is(name, "transfer-encoding"):
			dst = append(dst, replace...)
		default:
			dst = append(append(dst, line...), "\r\n"...)
		}
		block = rest
	}
	return dst
}
