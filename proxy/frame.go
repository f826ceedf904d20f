package proxy

import "errors"

// framing finds where the body of a message ends. It never changes a byte.
type framing struct {
	kind bodyKind
	left int64 // of a body of known length
	ch   chunks
}

type bodyKind uint8

const (
	noBody      bodyKind = iota
	fixedBody            // Content-Length
	chunkedBody          // Transfer-Encoding: chunked
	closedBody           // until the connection closes
)

// pass returns how many bytes of b belong to the body and whether it is done
// with them. After an error the bytes before n are still good.
func (f *framing) pass(b []byte) (n int, done bool, err error) {
	switch f.kind {
	case noBody:
		return 0, true, nil
	case closedBody:
		return len(b), false, nil
	case fixedBody:
		n = int(min(int64(len(b)), f.left))
		f.left -= int64(n)
		return n, f.left == 0, nil
	}
	for n < len(b) && !done && err == nil {
		k, _ := f.ch.whole(b[n:])
		if k == 0 {
			k, _, done, err = f.ch.next(b[n:])
		}
		n += k
	}
	return n, done, err
}

// split appends to pieces, as far as they have room, the body's own bytes in b,
// framing taken off, and returns what it did not come to. It must be given the
// state from before pass, and only what pass let through.
func (f *framing) split(pieces [][]byte, b []byte) (all [][]byte, rest []byte) {
	if f.kind != chunkedBody {
		return append(pieces, b), nil
	}
	for len(b) > 0 && len(pieces) < cap(pieces) {
		n, p := f.ch.whole(b)
		if n == 0 {
			var done bool
			var err error
			if n, p, done, err = f.ch.next(b); done || err != nil {
				return pieces, nil
			}
		}
		if b = b[n:]; len(p) > 0 {
			pieces = append(pieces, p)
		}
	}
	return pieces, b
}

// data appends to dst what split finds in b.
func (f framing) data(dst, b []byte) []byte {
	var room [1][]byte
	for len(b) > 0 {
		var pieces [][]byte
		pieces, b = f.split(room[:0], b)
		for _, p := range pieces {
			dst = append(dst, p...)
		}
	}
	return dst
}

// chunks is a scanner of the chunked coding (RFC 9112 §7.1), fed in pieces.
// Chunk extensions and trailer fields are recognised and passed over.
type chunks struct {
	state chunkState
	size  int64 // of the chunk in hand; then what is left of it
	line  int   // bytes of the line in hand, for its bound
}

type chunkState uint8

const (
	chunkSize    chunkState = iota // at or in the digits
	chunkSpace                     // between the digits and an extension
	chunkExt                       // in an extension
	chunkSizeLF                    // after the CR of the size line
	chunkData                      // in the chunk's bytes
	chunkDataCR                    // after them
	chunkDataLF                    // after that CR
	chunkTrailer                   // at the start of a trailer line
	chunkField                     // in a trailer line
	chunkFieldLF                   // after its CR
	chunkEndLF                     // after the CR of the last, empty line
)

// maxChunkLine bounds a chunk-size line with its extensions, and all trailer
// lines together.
const maxChunkLine = 16 << 10

var (
	errChunkSize    = errors.New("bad chunk size")
	errChunkEnd     = errors.New("chunk without CRLF at its end")
	errChunkLine    = errors.New("bare CR, LF or NUL in a chunk line")
	errChunkTooLong = errors.New("chunk line too long")
)

// whole consumes a chunk of data that all of stands at the front of b: n bytes
// with its framing. It takes nothing, and next is to be asked, where there is
// none, and where its size is spelled as hardly anybody does.
func (c *chunks) whole(b []byte) (n int, data []byte) {
	const most = 6 // digits
	if c.state != chunkSize || c.line != 0 {
		return 0, nil
	}
	size, i := 0, 0
	for i < len(b) && i < most {
		d := hexDigit(b[i])
		if d < 0 {
			break
		}
		size, i = size<<4|d, i+1
	}
	from, end := i+2, i+2+size
	if size == 0 || len(b) < end+2 || b[i] != '\r' || b[i+1] != '\n' || b[end] != '\r' || b[end+1] != '\n' {
		return 0, nil
	}
	return end + 2, b[from:end]
}

// next consumes a piece of b: n bytes of framing, or n bytes of data, which are
// then returned. done is true after the final CRLF. After an error n names the
// offending byte.
func (c *chunks) next(b []byte) (n int, data []byte, done bool, err error) {
	for n < len(b) {
		if c.state == chunkData {
			if n > 0 {
				return n, nil, false, nil
			}
			n = int(min(int64(len(b)), c.size))
			if c.size -= int64(n); c.size == 0 {
				c.state = chunkDataCR
			}
			return n, b[:n], false, nil
		}
		if done, err = c.step(b[n]); err != nil {
			return n, nil, false, err
		}
		if n++; done {
			return n, nil, true, nil
		}
	}
	return n, nil, false, nil
}

// step takes one byte of framing.
func (c *chunks) step(ch byte) (done bool, err error) {
	switch c.state {
	case chunkSize, chunkSpace, chunkExt:
		return false, c.sizeLine(ch)
	case chunkSizeLF:
		return false, c.sizeEnd(ch)
	case chunkDataCR:
		return false, c.expect(ch, '\r', chunkDataLF, errChunkEnd)
	case chunkDataLF:
		c.line = 0
		return false, c.expect(ch, '\n', chunkSize, errChunkEnd)
	case chunkFieldLF:
		return false, c.expect(ch, '\n', chunkTrailer, errChunkLine)
	case chunkEndLF:
		return ch == '\n', c.expect(ch, '\n', chunkEndLF, errChunkLine)
	}
	return false, c.trailer(ch)
}

func (c *chunks) expect(got, want byte, next chunkState, otherwise error) error {
	if got != want {
		return otherwise
	}
	c.state = next
	return nil
}

func (c *chunks) sizeLine(ch byte) error {
	if c.line++; c.line > maxChunkLine {
		return errChunkTooLong
	}
	digits := c.line > 1 || c.state != chunkSize
	switch {
	case ch == '\r':
		if !digits || c.state == chunkSpace {
			return errChunkSize
		}
		c.state = chunkSizeLF
	case ch == '\n' || ch == 0:
		return errChunkLine
	case c.state == chunkExt:
	case ch == ';' && digits:
		c.state = chunkExt
	case (ch == ' ' || ch == '\t') && digits:
		c.state = chunkSpace
	case c.state == chunkSize:
		return c.digit(ch)
	default:
		return errChunkSize
	}
	return nil
}

func (c *chunks) digit(ch byte) error {
	d := hexDigit(ch)
	if d < 0 || c.size >= 1<<58 {
		return errChunkSize
	}
	if c.line == 1 {
		c.size = 0
	}
	c.size = c.size<<4 | int64(d)
	return nil
}

func (c *chunks) sizeEnd(ch byte) error {
	next := chunkData
	if c.size == 0 {
		next, c.line = chunkTrailer, 0
	}
	return c.expect(ch, '\n', next, errChunkLine)
}

func (c *chunks) trailer(ch byte) error {
	if c.line++; c.line > maxChunkLine {
		return errChunkTooLong
	}
	switch {
	case ch == '\r' && c.state == chunkTrailer:
		c.state = chunkEndLF
	case ch == '\r':
		c.state = chunkFieldLF
	case ch == '\n' || ch == 0:
		return errChunkLine
	default:
		c.state = chunkField
	}
	return nil
}

func hexDigit(c byte) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'a' <= c && c <= 'f':
		return int(c-'a') + 10
	case 'A' <= c && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}
