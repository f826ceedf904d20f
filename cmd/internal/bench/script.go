// Package bench measures proxies in front of a simulated server: what they
// take of the processors, what they add to delays, and that they change no byte.
//
// A [Script] is an answer that server and client both know, so that the client
// can compare every byte. A [Server] plays scripts, a [Load] asks for them, a
// [Target] is a proxy in between, and a [Record] is what one measurement showed.
// [Soak] does the same with whatever may go wrong, for as long as one likes.
package bench

import (
	"bytes"
	"fmt"
	"sync"
)

// Params say what the server is to answer. They travel in the text of the
// request, which every proxy passes on.
type Params struct {
	Dialect string  // of the answer, by its name in dialects
	Stream  bool    // events; else one object
	Events  int     // in a stream, less what ends it
	Rate    float64 // events a second; 0: as fast as they can be written
	Piece   int     // bytes of arguments in an event; 0: a word
	Size    int     // of an answer that does not stream, at least; 0: a short one
	Slot    int     // where the times of the events are told
	Cut     int     // bytes after which the server closes the connection; 0: it does not
	Seed    int     // of the words
}

// form is how Params are written.
const form = "[turnbench %s %t %d %g %d %d %d %d %d]"

// String writes p as it stands in a request.
func (p Params) String() string {
	return fmt.Sprintf(form, p.Dialect, p.Stream, p.Events, p.Rate, p.Piece, p.Size, p.Slot, p.Cut, p.Seed)
}

// parse finds the Params in a request.
func parse(request []byte) (p Params, err error) {
	at := bytes.Index(request, []byte(form[:len("[turnbench ")]))
	if at < 0 {
		return p, fmt.Errorf("the request is none of turnbench")
	}
	_, err = fmt.Sscanf(string(request[at:min(len(request), at+256)]), form,
		&p.Dialect, &p.Stream, &p.Events, &p.Rate, &p.Piece, &p.Size, &p.Slot, &p.Cut, &p.Seed)
	if err == nil && (p.Events < 0 || p.Slot < 0 || p.Size < 0 || p.Piece < 0) {
		err = fmt.Errorf("the request asks for less than nothing")
	}
	return p, err
}

// Script is an answer: its bytes on the wire, its body, and where events end.
type Script struct {
	Wire   []byte // head and body, framed
	Writes []int  // offsets in Wire at which the server's writes end
	Body   []byte
	Ends   []int // offsets in Body at which events end
}

// The heads of answers, as SGLang's server writes them.
const (
	streamHead = "HTTP/1.1 200 OK\r\ndate: Sun, 29 Nov 2026 15:26:15 GMT\r\nserver: uvicorn\r\n" +
		"content-type: text/event-stream; charset=utf-8\r\ntransfer-encoding: chunked\r\n\r\n"
	objectHead = "HTTP/1.1 200 OK\r\ndate: Sun, 29 Nov 2026 15:26:15 GMT\r\nserver: uvicorn\r\n" +
		"content-length: %d\r\ncontent-type: application/json\r\n\r\n"
)

// build writes the answer that p asks for.
func build(p Params) (*Script, error) {
	d, ok := dialects[p.Dialect]
	if !ok {
		return nil, fmt.Errorf("no dialect %q", p.Dialect)
	}
	if !p.Stream {
		return object(d.object(p)), nil
	}
	s := &Script{Wire: []byte(streamHead), Writes: []int{len(streamHead)}}
	for _, event := range d.events(p) {
		s.add(event)
		s.Ends = append(s.Ends, len(s.Body))
	}
	if d.end != "" {
		s.add(d.end)
	}
	s.Wire = append(s.Wire, "0\r\n\r\n"...)
	s.Writes[len(s.Writes)-1] = len(s.Wire)
	return s, nil
}

// add adds an event, in a chunk and a write of its own.
func (s *Script) add(event string) {
	s.Wire = fmt.Appendf(s.Wire, "%x\r\n%s\r\n", len(event), event)
	s.Writes = append(s.Writes, len(s.Wire))
	s.Body = append(s.Body, event...)
}

// object is an answer of one write.
func object(body string) *Script {
	wire := fmt.Appendf(nil, objectHead, len(body))
	wire = append(wire, body...)
	return &Script{Wire: wire, Writes: []int{len(wire)}, Body: wire[len(wire)-len(body):], Ends: []int{len(body)}}
}

// scripts are written once for all that ask for the same.
type scripts struct{ built sync.Map }

func (s *scripts) of(p Params) (*Script, error) {
	p.Rate, p.Slot, p.Cut = 0, 0, 0 // they change no byte
	if v, ok := s.built.Load(p); ok {
		return v.(*Script), nil
	}
	v, err := build(p)
	if err == nil {
		s.built.Store(p, v)
	}
	return v, err
}
