package bench

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// message is the head of a request or an answer: its first line, and how its
// body is framed. Client and server here know as much of HTTP as they need.
type message struct {
	start   string
	length  int64 // -1: not told
	chunked bool
	close   bool
}

func readMessage(r *bufio.Reader) (m message, err error) {
	m.length = -1
	for n := 0; ; n++ {
		line, err := r.ReadSlice('\n')
		if err != nil {
			if err == io.EOF && n > 0 {
				err = io.ErrUnexpectedEOF
			}
			return m, err
		}
		line = bytes.TrimRight(line, "\r\n")
		switch {
		case n == 0:
			m.start = string(line)
		case len(line) == 0:
			return m, nil
		default:
			if err := m.field(line); err != nil {
				return m, err
			}
		}
	}
}

func (m *message) field(line []byte) (err error) {
	name, value, ok := bytes.Cut(line, []byte(":"))
	if !ok {
		return fmt.Errorf("the field %q has no colon", line)
	}
	value = bytes.TrimSpace(value)
	switch {
	case bytes.EqualFold(name, []byte("content-length")):
		m.length, err = strconv.ParseInt(string(value), 10, 64)
	case bytes.EqualFold(name, []byte("transfer-encoding")):
		m.chunked = bytes.EqualFold(value, []byte("chunked"))
	case bytes.EqualFold(name, []byte("connection")):
		m.close = bytes.EqualFold(value, []byte("close"))
	}
	return err
}

// body gives f the pieces of the body as they come.
func (m *message) body(r *bufio.Reader, f func([]byte) error) error {
	switch {
	case m.chunked:
		return chunks(r, f)
	case m.length >= 0:
		return exactly(r, m.length, f)
	}
	m.close = true
	for {
		b, err := some(r)
		if err == io.EOF {
			return nil
		}
		if err == nil {
			err = f(b)
		}
		if err != nil {
			return err
		}
		r.Discard(len(b))
	}
}

// some waits for bytes and returns all that are there.
func some(r *bufio.Reader) ([]byte, error) {
	if _, err := r.Peek(1); err != nil {
		return nil, err
	}
	return r.Peek(r.Buffered())
}

func exactly(r *bufio.Reader, n int64, f func([]byte) error) error {
	for n > 0 {
		b, err := some(r)
		if err != nil {
			return short(err)
		}
		b = b[:min(int64(len(b)), n)]
		if err := f(b); err != nil {
			return err
		}
		r.Discard(len(b))
		n -= int64(len(b))
	}
	return nil
}

func chunks(r *bufio.Reader, f func([]byte) error) error {
	for {
		line, err := r.ReadSlice('\n')
		if err != nil {
			return short(err)
		}
		size, _, _ := bytes.Cut(bytes.TrimSpace(line), []byte(";"))
		n, err := strconv.ParseInt(string(size), 16, 64)
		if err != nil {
			return fmt.Errorf("read the size of a chunk: %w", err)
		}
		if err := exactly(r, n, f); err != nil {
			return err
		}
		if end, err := r.ReadSlice('\n'); err != nil || len(bytes.TrimSpace(end)) > 0 {
			return errors.Join(fmt.Errorf("%q follows a chunk", end), err)
		}
		if n == 0 {
			return nil
		}
	}
}

// short is the error of a body that ends early.
func short(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}
