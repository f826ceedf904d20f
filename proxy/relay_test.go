package proxy

import (
	"io"
	"syscall"
	"testing"
)

// TestResetThatTheSenderWasToldOfEndsNoAnswer: the reader gets but an end.
func TestResetThatTheSenderWasToldOfEndsNoAnswer(t *testing.T) {
	closed, fixed := framing{kind: closedBody}, framing{kind: fixedBody, left: 1}
	for _, tc := range []struct {
		name string
		f    framing
		sent error
		read error
		want bool
	}{
		{"sent whole", closed, nil, io.EOF, true},
		{"the server closed before it had read all", closed, &stageError{stageWrite, syscall.EPIPE}, io.EOF, true},
		{"reset", closed, &stageError{stageWrite, syscall.ECONNRESET}, io.EOF, false},
		{"reset, told to the reader", closed, nil, syscall.ECONNRESET, false},
		{"framed", fixed, nil, io.EOF, false},
	} {
		x := &exchange{}
		x.body.pending = make(chan error, 1)
		x.body.pending <- tc.sent
		if got := x.closedWell(&tc.f, tc.read); got != tc.want {
			t.Errorf("%s: got %t, want %t", tc.name, got, tc.want)
		}
	}
}
