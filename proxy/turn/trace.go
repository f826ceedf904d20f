package turn

import (
	"encoding/binary"
	"encoding/hex"
	"math/rand/v2"
	"strings"
)

// Trace is a turn's place in a distributed trace, as W3C Trace Context has it.
// It is not in the journal.
type Trace struct {
	ID      [16]byte // the caller's, else new
	Span    [8]byte  // of the turn itself
	Parent  [8]byte  // of the caller; zero: the turn is the root of its trace
	Sampled bool     // whether the caller records the trace
	State   string   // the caller's tracestate
	Link    *Link    // to the turn that this one was made beside; nil: none
}

// Link names a span.
type Link struct {
	ID   [16]byte
	Span [8]byte
}

// NewTrace begins a trace.
func NewTrace() Trace {
	var t Trace
	binary.BigEndian.PutUint64(t.ID[:8], rand.Uint64())
	binary.BigEndian.PutUint64(t.ID[8:], 1|rand.Uint64()) // 0 is no id
	t.Span = newSpan()
	return t
}

func newSpan() (s [8]byte) {
	binary.BigEndian.PutUint64(s[:], 1|rand.Uint64())
	return s
}

// Beside begins the trace of a turn that is made beside this one: a root of
// its own, so that what becomes of it does not colour the caller's trace.
func (t *Trace) Beside() Trace {
	n := NewTrace()
	n.Link = &Link{t.ID, t.Span}
	return n
}

// Continue returns the place of a turn whose request has these fields
// traceparent and tracestate, in the order in which they came. Without a
// traceparent that is one, or with two of them, the turn begins a trace.
func Continue(parents, states []string) Trace {
	if len(parents) != 1 {
		return NewTrace()
	}
	t := Trace{Span: newSpan()}
	if !t.parse(parents[0]) {
		return NewTrace()
	}
	if state := strings.Join(states, ","); len(state) <= maxState {
		t.State = state
	}
	return t
}

// maxState bounds a tracestate. Of more than 512 bytes nobody must take all.
const maxState = 4 << 10

// parse reads a traceparent: version-id-parent-flags. A version above ours may
// go on after its flags.
func (t *Trace) parse(s string) bool {
	const length = len("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	if len(s) < length || s[2] != '-' || s[35] != '-' || s[52] != '-' {
		return false
	}
	var version, flags [1]byte
	if !decode(version[:], s[:2]) || !decode(t.ID[:], s[3:35]) || !decode(t.Parent[:], s[36:52]) || !decode(flags[:], s[53:length]) {
		return false
	}
	t.Sampled = flags[0]&1 != 0
	switch {
	case version[0] == 0xff, version[0] == 0 && len(s) > length, len(s) > length && s[length] != '-':
		return false
	}
	return t.ID != [16]byte{} && t.Parent != [8]byte{}
}

// decode reads lower-case hexadecimal digits, the only ones allowed.
func decode(dst []byte, s string) bool {
	if strings.ContainsAny(s, "ABCDEF") {
		return false
	}
	_, err := hex.Decode(dst, []byte(s))
	return err == nil
}

// Traceparent is the field that makes the turn the parent of what a server
// does for it. The sampled flag is the caller's: a server that traces must
// not begin to record because of us.
func (t *Trace) Traceparent() string {
	b := append(make([]byte, 0, 55), "00-"...)
	b = append(hex.AppendEncode(b, t.ID[:]), '-')
	b = append(hex.AppendEncode(b, t.Span[:]), "-00"...)
	if t.Sampled {
		b[len(b)-1] = '1'
	}
	return string(b)
}
