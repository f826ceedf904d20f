// Package sse cuts the bytes of a server-sent event stream into events, as
// the WHATWG HTML standard reads them, and those of a stream of lines that are
// JSON into lines.
//
// Bytes are pushed in pieces cut anywhere. Lines end with LF, CRLF or a bare
// CR; a byte order mark at the very beginning is skipped; several data lines
// are joined by LF. Every byte of an event's data can be traced to its offset
// in the stream.
package sse

import "bytes"

// MaxLine is how long a line or an event's data may be, unless Scanner.Max says otherwise.
const MaxLine = 16 << 20

// Event is one event that carried data.
type Event struct {
	Data []byte // the data lines joined by LF; valid until the next call of Feed
	End  int64  // offset of the last byte of the last data line's end, or of the stream
	// Failed says that the event calls itself an error: by its type, or, as
	// some servers write it, by the field error instead of data.
	Failed bool
	Torn   bool // the stream ended before the blank line that ends an event
	Cut    bool // … and in the middle of a line
}

// line is where a data line begins, in the data and in the stream.
type line struct {
	data   int
	stream int64
}

// Scanner cuts a stream. Its zero value is ready.
type Scanner struct {
	Max      int  // see MaxLine
	Lines    bool // each line that is not blank is an event of its own
	Comments int  // comment lines seen

	off    int64 // of the next byte
	begin  int64 // offset of the line at hand
	part   []byte
	data   []byte // data of the event at hand, unless whole is set
	whole  []byte // the only data line, still in the caller's bytes
	lines  []line
	event  Event
	cr     bool // the last byte was CR: a following LF belongs to it
	long   bool
	mark   int  // bytes of a byte order mark seen, -1 once past it
	has    bool // the event at hand has a data line
	failed bool // the event at hand is an error
	closed bool // the event was handed out: forget it at the next Feed
}

// TooLong reports whether a line or an event was longer than allowed. All
// bytes since then were ignored.
func (s *Scanner) TooLong() bool { return s.long }

// Held is how many bytes of an unfinished event the scanner keeps.
func (s *Scanner) Held() int { return len(s.part) + len(s.data) }

// Pending reports whether an event has begun and not ended.
func (s *Scanner) Pending() bool { return len(s.part) > 0 || s.has && !s.closed }

// Offset is where byte i of the last event's data lies in the stream.
func (s *Scanner) Offset(i int) int64 {
	for k := len(s.lines) - 1; k >= 0; k-- {
		if l := s.lines[k]; i >= l.data {
			return l.stream + int64(i-l.data)
		}
	}
	return s.begin
}

// Feed takes bytes from p up to the end of the next event and says how many it
// took, and the event if there was one. It takes all of p if no event ends in it.
func (s *Scanner) Feed(p []byte) (n int, ev *Event) {
	s.forget()
	for n < len(p) && !s.long {
		held := len(s.part) > 0
		took, l, ok := s.line(p[n:])
		n += took
		if !ok {
			break
		}
		if s.take(l) {
			s.event.Data, s.closed = s.joined(), true
			return n, &s.event
		}
		if held {
			s.save() // l lies in a buffer that the next line may use
		}
	}
	s.save()
	return len(p), nil
}

// Idle reports whether the next byte begins an event of which nothing is known.
func (s *Scanner) Idle() bool {
	return len(s.part) == 0 && (s.closed || !s.has) && !s.cr && !s.failed && !s.long && !s.Lines && s.mark < 0
}

// Pass says of an idle scanner's next n bytes that the caller has found them to
// be an event, without any other line, whose data begins at byte at and ends in
// front of two line feeds.
func (s *Scanner) Pass(at, n int) {
	s.forget()
	s.lines = append(s.lines[:0], line{0, s.off + int64(at)})
	s.off += int64(n)
	s.begin, s.has, s.closed = s.off-1, true, true
}

// Close ends the stream and returns what there is of a last event.
func (s *Scanner) Close() *Event {
	s.forget()
	cut := len(s.part) > 0
	if cut {
		s.take(s.part)
	}
	if !s.has || s.long {
		return nil
	}
	s.event.Data, s.event.End, s.event.Torn, s.event.Cut = s.joined(), s.off-1, true, cut
	s.event.Failed = s.failed
	return &s.event
}

// forget drops the event that the last call handed out.
func (s *Scanner) forget() {
	if s.closed {
		s.data, s.whole, s.lines, s.event.Data = s.data[:0], nil, s.lines[:0], nil
		s.has, s.closed = false, false
		if cap(s.data) > keep {
			s.data = nil
		}
	}
}

// keep is how large a buffer an idle scanner may keep.
const keep = 4 << 10

// save copies what lies in the caller's bytes, which are gone after Feed.
func (s *Scanner) save() {
	if s.whole != nil {
		s.data, s.whole = append(s.data[:0], s.whole...), nil
	}
}

// line takes one line from p, with its end, and reports whether it is complete.
// The line is part of p where all of it lies there.
func (s *Scanner) line(p []byte) (n int, l []byte, ok bool) {
	n = s.skip(p)
	if n == len(p) {
		s.off += int64(n)
		return n, nil, false
	}
	if len(s.part) == 0 {
		s.begin = s.off + int64(n)
	}
	end := lineEnd(p[n:])
	if end < 0 {
		s.hold(p[n:])
		s.off += int64(len(p))
		return len(p), nil, false
	}
	l = p[n : n+end]
	if len(s.part) > 0 {
		s.hold(l)
		l, s.part = s.part, s.part[:0]
		if cap(s.part) > keep {
			s.part = nil
		}
	}
	s.cr = p[n+end] == '\r'
	n += end + 1
	s.off += int64(n)
	return n, l, !s.long
}

func (s *Scanner) hold(p []byte) {
	if len(s.part)+len(p) > s.limit() {
		s.long = true
		return
	}
	s.part = append(s.part, p...)
}

func (s *Scanner) limit() int {
	if s.Max > 0 {
		return s.Max
	}
	return MaxLine
}

// skip counts the bytes in front of p that belong to no line: the LF of a
// CRLF and the byte order mark.
func (s *Scanner) skip(p []byte) (n int) {
	if s.cr {
		s.cr = false
		if p[0] == '\n' {
			n++
		}
	}
	for s.mark >= 0 && n < len(p) {
		if s.mark == 3 || p[n] != "\xef\xbb\xbf"[s.mark] {
			s.mark = -1
			break
		}
		s.mark++
		n++
	}
	return n
}

func lineEnd(p []byte) int {
	lf := bytes.IndexByte(p, '\n')
	if lf >= 0 {
		p = p[:lf]
	}
	if cr := bytes.IndexByte(p, '\r'); cr >= 0 {
		return cr
	}
	return lf
}

// take reads one line and reports whether it ended an event that has data.
func (s *Scanner) take(l []byte) bool {
	if s.Lines {
		if len(bytes.TrimLeft(l, " \t")) > 0 {
			s.append(l, s.begin)
		}
		return s.has
	}
	if len(l) == 0 {
		s.has = s.has && len(s.joined()) > 0 // without data there is no event
		s.event.Failed, s.failed = s.failed, false
		return s.has
	}
	if l[0] == ':' {
		s.Comments++
		return false
	}
	name, v, at := field(l)
	switch name {
	case "error":
		s.failed = true
		fallthrough
	case "data":
		s.append(v, s.begin+int64(at))
	case "event":
		s.failed = s.failed || string(v) == "error"
	}
	return false
}

// field splits a line into the name of its field, if that is of interest, and
// the value and where it begins.
func field(l []byte) (name string, v []byte, at int) {
	colon := bytes.IndexByte(l, ':')
	end := colon
	if colon < 0 {
		colon, end = len(l)-1, len(l)
	}
	switch string(l[:end]) {
	case "data":
		name = "data"
	case "event":
		name = "event"
	case "error":
		name = "error"
	default:
		return "", nil, 0
	}
	if at = colon + 1; at < len(l) && l[at] == ' ' {
		at++
	}
	return name, l[at:], at
}

// append adds a data line to the event at hand.
func (s *Scanner) append(v []byte, at int64) {
	s.event = Event{End: s.off - 1}
	if !s.has {
		s.has, s.whole = true, v
		s.lines = append(s.lines[:0], line{0, at})
		if len(v) == 0 {
			s.whole = nil
			s.data = s.data[:0]
		}
		return
	}
	s.save()
	if len(s.data)+len(v) >= s.limit() {
		s.long = true
		return
	}
	s.data = append(s.data, '\n')
	s.lines = append(s.lines, line{len(s.data), at})
	s.data = append(s.data, v...)
}

func (s *Scanner) joined() []byte {
	if s.whole != nil {
		return s.whole
	}
	return s.data
}

// Skip says that the first byte to be fed is the one at offset off.
func (s *Scanner) Skip(off int64) { s.off, s.mark = off, -1 }
