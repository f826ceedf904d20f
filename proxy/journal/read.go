package journal

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"strings"

	"turnwatch/proxy/turn"
)

// The faults of a line that a reader may want to tell apart; all others are
// errors of JSON.
var (
	ErrTorn    = errors.New("torn: it ends before its object does")
	ErrTooLong = fmt.Errorf("longer than %d bytes", MaxLine)
	ErrVersion = fmt.Errorf("written in a version of the format above %d, the highest known here", turn.Version)
)

// LineError says which line of a journal cannot be read.
type LineError struct {
	File   string // "" when read from an io.Reader
	Line   int    // from 1
	Offset int64  // of the line's first byte, from 0
	Err    error
}

// Error names the line, and the file if it is known.
func (e *LineError) Error() string {
	at := ""
	if e.File != "" {
		at = e.File + ": "
	}
	return fmt.Sprintf("%sjournal line %d (byte %d): %v", at, e.Line, e.Offset, e.Err)
}

// Unwrap returns the fault of the line.
func (e *LineError) Unwrap() error { return e.Err }

// Line is one line of a journal and where it stands.
type Line struct {
	Text   []byte // without its newline; valid until the next line is read
	Long   bool   // it exceeds MaxLine, and Text is empty
	Number int    // from 1
	Offset int64  // of its first byte, from 0
}

// Lines splits r into the lines of a journal, whatever they hold. An error is
// r's and the last.
func Lines(r io.Reader) iter.Seq2[Line, error] {
	return func(yield func(Line, error) bool) {
		s := scanner{r: bufio.NewReaderSize(r, 64<<10)}
		for s.next() {
			if !yield(Line{s.line, s.long, s.number, s.offset}, nil) {
				return
			}
		}
		if s.err != io.EOF {
			yield(Line{}, fmt.Errorf("read journal after line %d: %w", s.number, s.err))
		}
	}
}

// Parse reads the line. It returns the turn, or the type of a line that is
// none; neither for a blank line; a *LineError for one that cannot be read.
func (l Line) Parse() (*turn.Turn, string, error) {
	t, kind, err := parse(l.Text, l.Long)
	if err != nil {
		err = &LineError{Line: l.Number, Offset: l.Offset, Err: err}
	}
	return t, kind, err
}

// Read yields the turns in r. A line that cannot be read is yielded as a
// *LineError and reading goes on after it; any other error is r's and the
// last. Fields that are not known are ignored. Lines with a type are not
// turns and are passed over: they are as much a part of a good journal as
// turns are, and nobody who asks for turns has anything to do with them.
func Read(r io.Reader) iter.Seq2[*turn.Turn, error] {
	return func(yield func(*turn.Turn, error) bool) {
		for l, err := range Lines(r) {
			var t *turn.Turn
			if err == nil {
				t, _, err = l.Parse()
			}
			if (t != nil || err != nil) && !yield(t, err) {
				return
			}
		}
	}
}

// ReadFiles yields the turns of the journal at path, those in its rotated
// files first, in the order in which they were written. Errors are as Read's,
// with the file's name; after a file that cannot be read the next is.
func ReadFiles(path string) iter.Seq2[*turn.Turn, error] {
	return func(yield func(*turn.Turn, error) bool) {
		paths, err := Files(path)
		if err == nil && len(paths) == 0 {
			paths = []string{path} // whose absence is then the error
		}
		if err != nil {
			yield(nil, fmt.Errorf("read journal: %w", err))
			return
		}
		for _, p := range paths {
			if !readFile(p, yield) {
				return
			}
		}
	}
}

func readFile(path string, yield func(*turn.Turn, error) bool) bool {
	f, err := os.Open(path)
	if err != nil {
		return yield(nil, fmt.Errorf("read journal: %w", err))
	}
	defer f.Close()
	for t, err := range Read(f) {
		var bad *LineError
		if errors.As(err, &bad) {
			bad.File = path
		}
		if !yield(t, err) {
			return false
		}
	}
	return true
}

// parse returns the turn of a line, or the type of one that is none; neither
// if the line is blank.
func parse(line []byte, long bool) (*turn.Turn, string, error) {
	if long {
		return nil, "", ErrTooLong
	}
	line = bytes.TrimSpace(line) // a newline inside a torn string would be a fault of its own
	if len(line) == 0 {
		return nil, "", nil
	}
	var l struct {
		Type json.RawMessage `json:"type"`
		turn.Turn
	}
	err := json.Unmarshal(line, &l)
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &syntax):
		return nil, "", tornOr(line, err)
	case l.Type != nil:
		return nil, kind(l.Type), nil
	case l.V > turn.Version:
		return nil, "", ErrVersion // before err: a field may have another type by then
	case err != nil:
		return nil, "", worded(err)
	case l.V < 1:
		return nil, "", errors.New("no turn: it has no version v")
	}
	return &l.Turn, "", nil
}

// worded says in JSON's words what a line has in place of what is due.
func worded(err error) error {
	var wrong *json.UnmarshalTypeError
	switch {
	case !errors.As(err, &wrong):
		return err
	case wrong.Field == "":
		return fmt.Errorf("no turn: it is no object but a JSON %s", wrong.Value)
	}
	return fmt.Errorf("no turn: %s cannot be a JSON %s", strings.TrimPrefix(strings.TrimPrefix(wrong.Field, "Turn."), "Verdict."), wrong.Value)
}

// kind is the type of a line: its text, or itself where it is no string.
func kind(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return string(raw)
	}
	return s
}

// tornOr returns ErrTorn if line is the beginning of a JSON value, else err.
func tornOr(line []byte, err error) error {
	var v json.RawMessage
	if json.NewDecoder(bytes.NewReader(line)).Decode(&v) == io.ErrUnexpectedEOF {
		return ErrTorn
	}
	return err
}

// scanner splits into lines of bounded length.
type scanner struct {
	r *bufio.Reader

	line   []byte // valid until next; empty if long
	long   bool
	number int
	offset int64 // of line
	end    int64 // of line, with its newline
	err    error // io.EOF at the end
}

// next reads a line, however it ends; false means that there is none.
func (s *scanner) next() bool {
	s.line, s.long, s.offset = s.line[:0], false, s.end
	if s.err != nil {
		return false
	}
	for {
		p, err := s.r.ReadSlice('\n')
		s.end += int64(len(p))
		s.add(p)
		if err == bufio.ErrBufferFull {
			continue
		}
		s.err = err
		if s.end == s.offset {
			return false
		}
		s.number++
		return true
	}
}

func (s *scanner) add(p []byte) {
	if s.long = s.long || len(s.line)+len(p) > MaxLine; s.long {
		s.line = s.line[:0]
		return
	}
	s.line = append(s.line, p...)
}
