package proxy

import (
	"bytes"
	"errors"
	"fmt"
)

var (
	errStatusLine  = errors.New("bad status line")
	errSwitch      = errors.New("it switches protocols though nobody asked for that")
	errSwitchEarly = errors.New("it switches protocols before it has all of the request")
	errEmptyAnswer = errors.New("the server closed the connection before it answered")
	errAlert       = errors.New("that port speaks TLS: is it an https:// -upstream?")
)

// answerHead is what the relay must know of an answer's head.
type answerHead struct {
	status int
	http10 bool
	fields
	contentType, contentEncoding string
}

// final reports whether no other head follows this one.
func (h *answerHead) final() bool { return h.status >= 200 || h.status == 101 }

// headEnd returns the length of the head at the start of b, its empty line
// included, or 0 when that has not come yet.
func headEnd(b []byte) int {
	if i := bytes.Index(b, []byte("\r\n\r\n")); i >= 0 {
		return i + 4
	}
	return 0
}

// alert is the first byte of what a port that speaks TLS answers to HTTP (RFC 8446 §5.1).
const alert = 21

// neverAHead reports why b, in which no head has ended, is the start of none:
// its end would be waited for in vain. What lies before from was looked at.
func neverAHead(b []byte, from int) error {
	const start = "HTTP/1."
	if n := min(len(b), len(start)); string(b[:n]) != start[:n] {
		if b[0] == alert {
			return errAlert
		}
		return errStatusLine
	}
	if len(b) > maxHead {
		return errHeadTooLarge
	}
	for i := from; i < len(b); i++ {
		switch c := b[i]; {
		case c == '\n' && b[i-1] != '\r':
			return errBareLine
		case c < ' ' && c != '\t' && c != '\r' && c != '\n' || c == 0x7f:
			return errControl
		}
	}
	return nil
}

// parse reads the head in b, as headEnd found it.
func (h *answerHead) parse(b []byte) error {
	*h = answerHead{fields: fields{length: -1}}
	line, rest, ok := cutLine(b)
	if !ok || !h.statusLine(line) {
		return errStatusLine
	}
	for line, rest, ok = cutLine(rest); ok && len(line) > 0; line, rest, ok = cutLine(rest) {
		if err := h.fields.add(line); err != nil {
			return err
		}
		h.content(line)
	}
	switch {
	case !ok:
		return errBareLine
	case h.chunked && h.http10: // RFC 9112 §6.1
		return errCoding
	}
	return nil
}

func (h *answerHead) statusLine(line []byte) bool {
	if checkLine(line) != nil || len(line) < 12 || len(line) > 12 && line[12] != ' ' {
		return false
	}
	switch string(line[:9]) {
	case "HTTP/1.1 ":
	case "HTTP/1.0 ":
		h.http10 = true
	default:
		return false
	}
	for _, c := range line[9:12] {
		if c < '0' || c > '9' {
			return false
		}
		h.status = h.status*10 + int(c-'0')
	}
	return h.status >= 100
}

// content notes what the judge needs to know. Of a repeated field it takes the
// encoding as not known, so that nothing is judged that might be read wrongly.
func (h *answerHead) content(line []byte) {
	if line[0]|0x20 != 'c' {
		return
	}
	switch name, value := cutField(line); {
	case is(name, "content-type"):
		h.contentType = contentType(value)
	case is(name, "content-encoding") && h.contentEncoding == "":
		h.contentEncoding = string(bytes.ToLower(value))
	case is(name, "content-encoding"):
		h.contentEncoding += "," + string(value)
	}
}

// contentType is string(value), which takes no memory where it is what servers
// of models send.
func contentType(value []byte) string {
	switch string(value) {
	case "application/json":
		return "application/json"
	case "text/event-stream":
		return "text/event-stream"
	case "text/event-stream; charset=utf-8":
		return "text/event-stream; charset=utf-8"
	}
	return string(value)
}

// framing decides where the body ends (RFC 9112 §6.3).
func (h *answerHead) framing(head bool) framing {
	switch {
	case head || h.status == 204 || h.status == 304 || h.status < 200:
		return framing{}
	case h.chunked:
		return framing{kind: chunkedBody}
	case h.length > 0:
		return framing{kind: fixedBody, left: h.length}
	case h.length == 0:
		return framing{}
	}
	return framing{kind: closedBody}
}

// doubtful reports whether a head that has no body announces one all the same: who
// wrote it may send that behind the end that others see.
func (h *answerHead) doubtful() bool { return h.status == 204 && (h.chunked || h.length > 0) }

// append appends the head in b as the client gets it: as it came, less what is
// hop-by-hop. plain takes the chunked coding off, for a client that cannot
// read it.
func (h *answerHead) append(dst, b []byte, plain bool) []byte {
	line, rest, _ := cutLine(b)
	dst = append(append(dst, line...), "\r\n"...)
	f := h.fields
	f.upgrade = f.upgrade && h.status == 101
	hop := hopOf(rest, &f)
	var replace []byte
	if plain {
		replace = []byte{}
	}
	return append(hop.appendFields(dst, rest, replace), "\r\n"...)
}

// serverFault wraps what is wrong with an answer's head.
func serverFault(err error) error {
	return &stageError{stageHead, fmt.Errorf("the server's answer is not HTTP that can be passed on: %w", err)}
}
