package proxy

import (
	"bytes"
	"errors"
)

// guard reads the bytes that a client sends, one request at a time, and takes
// only requests whose framing has a single reading. It is what stands against
// request smuggling: what it refuses reaches neither fasthttp nor the server,
// and whether there is a body in chunks is what the guard tells fasthttp.
type guard struct {
	state  guardState
	head   []byte // the head as it came, so far
	line   int    // where in head the line in hand begins
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

// takeBody returns how many bytes of p belong to the body of the request in
// hand, and why the one after them is refused.
func (g *guard) takeBody(p []byte) (n int, err error) {
	n, done, bad := g.body.pass(p)
	if bad != nil {
		return n, &refusal{400, bad}
	}
	if done {
		g.state = guardStart
	}
	return n, nil
}

// takeHead takes bytes of a head from p, at most up to its end.
func (g *guard) takeHead(p []byte) (n int, ended bool, err error) {
	for n < len(p) && !ended && err == nil {
		i := bytes.IndexByte(p[n:], '\n')
		piece := p[n:]
		if i >= 0 {
			piece = piece[:i+1]
		}
		if len(g.head)+len(piece) > maxHead {
			return n, false, &refusal{431, errHeadTooLarge}
		}
		g.head = append(g.head, piece...)
		n += len(piece)
		if i < 0 {
			err = early(g.head[:len(g.head)-len(piece)], piece)
			continue
		}
		ended, err = g.endLine(g.head[g.line:])
		g.line = len(g.head)
	}
	if ended {
		g.line = 0
	}
	return n, ended, err
}

// early refuses a piece of what can never become a line, so that its end is not
// waited for. before is what came of the head before it.
func early(before, piece []byte) error {
	err := checkLine(bytes.TrimSuffix(piece, []byte{'\r'}))
	if bytes.HasSuffix(before, []byte{'\r'}) {
		err = errBareLine
	}
	if err != nil {
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
		g.head = g.head[:0]
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
	if !ok || !isToken(method) || len(target) == 0 || checkLine(line) != nil || bytes.IndexByte(target, '\t') >= 0 {
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
	g.state, g.body = guardStart, framing{}
	switch {
	case f.chunked:
		g.state, g.body.kind = guardBody, chunkedBody
	case f.length > 0:
		g.state, g.body = guardBody, framing{kind: fixedBody, left: f.length}
	}
	g.begun = g.body
	return nil
}

// summary appends the request as fasthttp is shown it: what it must know to
// read chunks and to wait for an expectation, and nothing else. A body of known
// length it is not shown: knownBody reads that. The head that goes to the server
// is the one that came.
func (g *guard) summary(dst []byte) []byte {
	dst = append(dst, "POST / HTTP/1.1\r\nHost: x\r\n"...)
	if g.fields.chunked {
		dst = append(dst, "Transfer-Encoding: chunked\r\n"...)
	}
	if g.fields.expect && g.state == guardBody && !g.http10 {
		dst = append(dst, "Expect: 100-continue\r\n"...)
	}
	return append(dst, "\r\n"...)
}
