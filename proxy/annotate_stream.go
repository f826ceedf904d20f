package proxy

import (
	"bytes"
	"fmt"
)

// copyNoted passes on an answer that is given a remark. Of a stream every byte
// goes out as it comes but the framing from the last chunk on, which waits for
// its end.
func (x *exchange) copyNoted(f, before framing, end, n int, done bool) error {
	if x.note.how == AnnotateOff {
		return x.copyHeld(f, before, end, n, done)
	}
	first := x.buf[end:x.n]
	x.out = x.head.append(x.s.buffers.get(relayPiece), x.buf[:end], false)
	if x.note.how == AnnotateTrailer {
		x.out = fmt.Appendf(x.out[:len(x.out)-2], "Trailer: %s, %s, %s\r\n\r\n", fieldVerdict, fieldKinds, fieldBatch)
	}
	x.answered = true
	x.s.stats.BytesOut.Add(int64(n))
	x.out = append(x.out, x.note.split(before, first[:n])...)
	x.said(done)
	err := x.toClient(x.out)
	x.s.buffers.put(x.out)
	x.watch.tell(func(t TurnTags) { t.Head(x.buf[:end]) })
	if x.out = nil; err != nil {
		return err
	}
	x.late.give(before, first[:n])
	if done {
		x.extra = n < len(first)
		err = x.tellStream()
		x.ended = err == nil
		return err
	}
	return x.unhold(x.copyBytes(f, false))
}

// unhold lets go what still waits after the end of an answer that broke off.
func (x *exchange) unhold(err error) error {
	if !x.ended && len(x.note.held) > 0 {
		x.toClient(x.note.held) // it broke off for another reason already
		x.note.held = nil
	}
	if err != nil && !x.note.told {
		x.s.notes.add(noteCut, 1)
	}
	return err
}

// passNoted is passOn for a stream that is given a remark.
func (x *exchange) passNoted(f *framing, b []byte) (done bool, err error) {
	before := *f
	n, done, bad := f.pass(b)
	x.s.stats.BytesOut.Add(int64(n))
	x.said(done)
	if err := x.toClient(x.note.split(before, b[:n])); err != nil {
		return false, err
	}
	x.late.give(before, b[:n])
	switch {
	case bad != nil:
		return false, &stageError{stageBody, bad}
	case !done:
		return false, nil
	}
	x.extra = n < len(b)
	err = x.tellStream()
	x.ended = err == nil
	return x.ended, err
}

// tellStream writes the remark with the end of the stream, which has come.
func (x *exchange) tellStream() error {
	n, held := x.note, x.note.held
	n.held, n.told = nil, true
	if n.how == AnnotateComment && !n.between() {
		x.s.notes.add(noteOpen, 1)
		return x.toClient(held)
	}
	r, ok := x.remark()
	switch {
	case !ok:
	case n.how == AnnotateTrailer:
		held = append(append(held[:len(held)-2:len(held)-2], r.fields()...), "\r\n"...)
	default:
		c := r.comment()
		held = append(fmt.Appendf(nil, "%x\r\n%s\r\n", len(c), c), held...)
	}
	return x.toClient(held)
}

// split returns what may go out now of bytes that continue the body at f, and
// keeps the rest: a line that may be, or is, the beginning of the last chunk.
func (n *note) split(f framing, b []byte) []byte {
	ch, from := f.ch, -1
	if len(n.held) > 0 {
		from = 0
	}
	late := from == 0 // what is held may still have to go before b
	for i := 0; i < len(b); {
		if ch.state == chunkData {
			k, data, _, _ := ch.next(b[i:])
			n.note(data)
			i += k
			continue
		}
		if ch.state == chunkSize && ch.line == 0 {
			from = i
		}
		if _, err := ch.step(b[i]); err != nil {
			break // pass let through what comes before
		}
		if i++; ch.state == chunkData {
			from, late = -1, false
		}
	}
	if late {
		n.held = append(n.held, b...)
		return nil
	}
	pass := b
	if from >= 0 {
		pass = b[:from]
	}
	if len(n.held) > 0 {
		pass = append(n.held, pass...)
	}
	n.held = nil
	if from >= 0 {
		n.held = bytes.Clone(b[from:])
	}
	return pass
}

// note notes the next bytes of the events.
func (n *note) note(p []byte) {
	p = p[max(0, len(p)-len(n.tail)):]
	copy(n.tail[:], n.tail[len(p):])
	copy(n.tail[len(n.tail)-len(p):], p)
	n.size = min(n.size+int64(len(p)), int64(len(n.tail)))
}

// between reports whether the events so far end with an empty line, or there
// are none: only there a comment stands for itself.
func (n *note) between() bool {
	t := n.tail[len(n.tail)-int(n.size):]
	for _, end := range []string{"\n\n", "\r\r", "\n\r\n", "\r\n\r\n"} {
		if bytes.HasSuffix(t, []byte(end)) {
			return true
		}
	}
	return len(t) == 0
}
