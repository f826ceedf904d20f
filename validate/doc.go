// Package validate judges the answers of a language model server, one turn at
// a time, while they stream: bytes in, findings out.
//
// A turn is one request and its answer; a call is one tool call in it; a
// finding is one thing wrong, with its kind and the offset of the byte at
// which it became certain; a verdict is what the findings amount to.
//
// While bytes come in, sse cuts them into events, wire reads these, and the
// checker puts calls together, their arguments being read as JSON and held
// against the schema of their tool on the way, and content and reasoning are
// read for markup that leaked and for what no text holds, less what the request
// itself holds. When the turn is over, Finish holds each call against the
// request, reads the strings of its arguments, holds the tokens that were
// spent against what is visible, compares values with what the request holds
// where [Echoes] keep it, and weighs what it found by the way the turn ended:
// what a stop explains is truncated, what was certain before it stays corrupted. Feed is made to run beside the relay; Finish may take longer and
// belongs elsewhere.
//
// The package is pure. It opens no socket and no file, reads no clock and
// starts no goroutine that outlives a call; the arrival time of bytes is
// handed to it. What it cannot judge it calls unverified, never clean.
package validate
