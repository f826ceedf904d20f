package sglangtest

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

// Recording is a request and the answer that it got, to be played by a Player.
type Recording struct {
	RID    string    // the server's name of it; "" if it is not known
	Began  time.Time // when the request was sent; zero if that is not known
	Method string    // of the request
	Path   string
	Body   []byte  // of the request
	Pieces []Piece // the answer as it came over the wire, its head included
	Facts  []byte  // what the server said of the turn after its end; nil for nothing
	Truth  []byte  // what a capture file says of the right answer, as JSON
	Cell   []byte  // … and of the server's configuration
}

// Piece is what came at a time, counted from the request.
type Piece struct {
	At   time.Duration
	Data []byte
}

// maxCapture bounds a line of a capture file.
const maxCapture = 64 << 20

// ReadCaptures reads a file of captured turns, an object a line, gzipped or
// not:
//
//	rid       the answer's id
//	started   when the request was sent, in seconds since the epoch
//	request   {method, path, body}
//	received  [[ms,text],…]: what was read of the answer, its head included, ms after the request was
//	          sent; each character of text is a byte (ISO 8859-1)
//	engine    what the server said of the turn after its end, as its turn facts
//	truth     what the right answer was
//	cell      the server's configuration
func ReadCaptures(file string) ([]Recording, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r, err := plain(bufio.NewReader(f))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	s := bufio.NewScanner(r)
	s.Buffer(nil, maxCapture)
	var all []Recording
	for s.Scan() {
		rec, err := parseCapture(s.Bytes())
		if err != nil {
			return nil, fmt.Errorf("read %s: line %d: %w", file, len(all)+1, err)
		}
		all = append(all, rec)
	}
	if err := s.Err(); err != nil {
		return nil, fmt.Errorf("read %s after line %d: %w", file, len(all), err)
	}
	return all, nil
}

// plain takes off a compression, if there is one.
func plain(r *bufio.Reader) (io.Reader, error) {
	if magic, err := r.Peek(2); err != nil || magic[0] != 0x1f || magic[1] != 0x8b {
		return r, nil
	}
	return gzip.NewReader(r)
}

func parseCapture(line []byte) (rec Recording, err error) {
	var c struct {
		RID     string
		Started float64
		Request *struct {
			Method, Path string
			Body         json.RawMessage
		}
		Received            [][2]json.RawMessage
		Engine, Truth, Cell json.RawMessage
	}
	if err := json.Unmarshal(line, &c); err != nil {
		return rec, err
	}
	if c.Request == nil || len(c.Received) == 0 {
		return rec, errors.New("it has no request or nothing that was received")
	}
	rec = Recording{RID: c.RID, Method: c.Request.Method, Path: c.Request.Path, Body: c.Request.Body, Facts: c.Engine, Truth: c.Truth, Cell: c.Cell}
	if c.Started > 0 {
		rec.Began = time.UnixMicro(int64(c.Started * 1e6))
	}
	for i, p := range c.Received {
		piece, err := parsePiece(p)
		if err != nil {
			return rec, fmt.Errorf("received[%d]: %w", i, err)
		}
		rec.Pieces = append(rec.Pieces, piece)
	}
	return rec, nil
}

func parsePiece(p [2]json.RawMessage) (piece Piece, err error) {
	var ms float64
	var text string
	if err := errors.Join(json.Unmarshal(p[0], &ms), json.Unmarshal(p[1], &text)); err != nil {
		return piece, err
	}
	piece.At = time.Duration(ms * float64(time.Millisecond))
	for _, r := range text {
		if r > 0xff {
			return piece, fmt.Errorf("%q is no byte", r)
		}
		piece.Data = append(piece.Data, byte(r))
	}
	return piece, nil
}

// key is equal for requests that ask the same, however their JSON is spelled.
func key(method, path string, body []byte) [sha256.Size]byte {
	var v any
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	if dec.Decode(&v) == nil {
		if same, err := json.Marshal(v); err == nil {
			body = same
		}
	}
	return sha256.Sum256(fmt.Appendf(nil, "%s %s\n%s", method, path, body))
}
