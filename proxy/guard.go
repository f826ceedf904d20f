package proxy

import (
	"bytes"
	"errors"
)

// guard watches the bytes that a client sends and lets fasthttp see only whole
// requests with a single reading, one at a time. It is what stands against
// request smuggling: what it refuses reaches neither fasthttp nor the server,
// and what fasthttp reads, it has framed itself.
type guard struct {
	state  guardState
	line   []byte // what has come of a line that a read cut off
	size   int    // bytes of the head so far
	fields fields
	http10 bool
	body   framing
	begun  framing // body as it was before its first byte
}

type guardState uint8

const (
	guardStart  guardState = iota // before or in the request line
	guardFields                   // in the field lines
	guardBody
)

// refusal is why a request is refused: a status for the client and a reason.
type refusal struct {
	status int
	err    error
}

func (r *refusal) Error() string { return r.err.Error() }
func (r *refusal) Unwrap() error { return r.err }

var (
	errRequestLine = errors.New("bad request line")
	errVersion     = errors.New("HTTP version other than 1.0 and 1.1")
	errHost        = errors.New("no Host, or more than one")
)

// pass returns how many bytes of p may be shown, at most up to the end of the
// request in hand, and why the one after them may not.
func (g *guard) pass(p []byte) (n int, err error) {
	for n < len(p) {
		if g.state == guardBody {
			k, done, err := g.body.pass(p[n:])
			if n += k; err != nil {
				return n, &refusal{400, err}
			}
			if done {
				g.state = guardStart
			}
			return n, nil
		}
		k, ended, err := g.head(p[n:])
		if n += k; err != nil || ended && g.state == guardStart {
			return n, err
		}
	}
	return n, nil
}

// head takes one line, or what has come of it, from p. When the line is
// refused, its last byte is not among the n.
func (g *guard) head(p []byte) (n int, ended bool, err error) {
	i := bytes.IndexByte(p, '\n')
	if n = i + 1; i < 0 {
		n = len(p)
	}
	if g.size += n; g.size > maxHead {
		return 0, false, &refusal{431, errHeadTooLarge}
	}
	line := p[:n]
	if i < 0 || len(g.line) > 0 {
		g.line = append(g.line, line...)
		line = g.line
	}
	if i < 0 {
		return n, false, g.early(line)
	}
	ended, err = g.endLine(line)
	if g.line = g.line[:0]; err != nil {
		n--
	}
	return n, ended, err
}

// early refuses what can never become a line, so that it is not waited for.
func (g *guard) early(line []byte) error {
	if err := checkLine(bytes.TrimSuffix(line, []byte{'\r'})); err != nil {
		return &refusal{400, err}
	}
	return nil
}

func (g *guard) endLine(line []byte) (ended bool, err error) {
	line, _, ok := cutLine(line)
	switch {
	case !ok:
		err = &refusal{400, errBareLine}
	case g.state == guardStart && len(line) == 0: // RFC 9112 §2.2 allows it before a request
	case g.state == guardStart:
		err = g.requestLine(line)
	case len(line) == 0:
		return true, g.endHead()
	default:
		if e := g.fields.add(line); e != nil {
			err = &refusal{codingStatus(e), e}
		}
	}
	return false, err
}

func codingStatus(err error) int {
	if err == errCoding {
		return 501
	}
	return 400
}

func (g *guard) requestLine(line []byte) error {
	method, rest, _ := bytes.Cut(line, []byte{' '})
	target, version, ok := bytes.Cut(rest, []byte{' '})
	if !ok || !isToken(method) || len(target) == 0 || checkLine(line) != nil || bytes.ContainsAny(target, " \t") {
		return &refusal{400, errRequestLine}
	}
	g.fields, g.state = fields{length: -1}, guardFields
	switch g.http10 = false; string(version) {
	case "HTTP/1.1":
		return nil
	case "HTTP/1.0":
		g.http10 = true
		return nil
	}
	if bytes.HasPrefix(version, []byte("HTTP/")) && len(version) == 8 {
		return &refusal{505, errVersion}
	}
	return &refusal{400, errRequestLine}
}

// endHead decides on the body, or ends the request where there is none.
func (g *guard) endHead() error {
	f := &g.fields
	if f.hosts > 1 || f.hosts == 0 && !g.http10 {
		return &refusal{400, errHost}
	}
	if f.chunked && g.http10 {
		return &refusal{400, errCoding}
	}
	g.size, g.state, g.body = 0, guardStart, framing{}
	switch {
	case f.chunked:
		g.state, g.body.kind = guardBody, chunkedBody
	case f.length > 0:
		g.state, g.body = guardBody, framing{kind: fixedBody, left: f.length}
	}
	g.begun = g.body
	return nil
}
