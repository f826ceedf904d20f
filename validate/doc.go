// Package validate judges the answers of a language model server, one turn at
// a time, while they stream: bytes in, findings out.
//
// A turn is one request and its answer; a call is one tool call in it; a
// finding is one thing wrong, with its kind and the offset of the byte at
// which it became certain; a verdict is what the findings amount to.
//
// The package is pure. It opens no socket and no file, reads no clock and
// starts no goroutine that outlives a call; the arrival time of bytes is
// handed to it. What it cannot judge it calls unverified, never clean.
package validate
