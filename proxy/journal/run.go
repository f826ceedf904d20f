package journal

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"time"
)

// run writes what is queued until Close. It reports the outcome of the first
// open on opened, and ends if that fails, unless late is closed because nobody
// waits for it any more.
func (w *Writer) run(opened chan<- error, late <-chan struct{}) {
	defer close(w.quit)
	defer w.file.close()
	err := w.file.open()
	select {
	case opened <- err:
		if err != nil {
			return
		}
	case <-late:
	}
	w.loop()
}

func (w *Writer) loop() {
	var batch, left []byte // left is the part of batch that is not written
	for w.wait(len(left) > 0) {
		if len(left) == 0 {
			batch = w.take(batch)
			left = batch
		}
		w.rebound()
		n, err := w.file.write(left)
		w.count(left[:n], err)
		left = left[n:]
		if err != nil && !w.pause() {
			w.giveUp(err)
			return
		}
	}
}

// wait returns when there is something to do; false means that nothing will be.
func (w *Writer) wait(left bool) bool {
	if left {
		return !w.isAbandoned()
	}
	var old <-chan time.Time
	if d, ok := w.file.untilOld(); ok {
		timer := time.NewTimer(d)
		defer timer.Stop()
		old = timer.C
	}
	select {
	case <-w.wake:
		w.gather()
	case <-old:
	case <-w.closing:
		return w.Stats().QueuedLines > 0
	}
	return !w.isAbandoned()
}

// SetLimits takes over MaxSize, MaxAge and MaxTotal from o, with the next line at
// the latest. Files beyond the cap are deleted with the next line.
func (w *Writer) SetLimits(o Options) error {
	o, err := o.withDefaults()
	if err != nil {
		return fmt.Errorf("journal %s: %w", w.path, err)
	}
	w.mu.Lock()
	w.bounds, w.opts.MaxSize = &o, o.MaxSize
	w.mu.Unlock()
	raise(w.wake) // a younger age may be due now
	return nil
}

// rebound takes over what SetLimits left.
func (w *Writer) rebound() {
	w.mu.Lock()
	o := w.bounds
	w.bounds = nil
	w.mu.Unlock()
	if o != nil {
		w.file.maxSize, w.file.maxAge, w.file.maxTotal = o.MaxSize, o.MaxAge, o.MaxTotal
	}
}

// gather lets more lines come, because a write for each costs several times
// what its line does, and for a millisecond keeps the runtime's monitor awake.
func (w *Writer) gather() {
	if w.isCrowded() {
		return
	}
	timer := time.NewTimer(gatherFor)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-w.enough:
	case <-w.closing:
	}
}

// take returns the queued lines and leaves the empty buffer spare in their place.
func (w *Writer) take(spare []byte) []byte {
	if cap(spare) > keepBuffer {
		spare = nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	lines := w.queue
	w.queue = spare[:0]
	lower(w.enough) // it was raised for these
	return lines
}

// count accounts for lines, which were written whole, and for err, which
// stopped the rest.
func (w *Writer) count(lines []byte, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stats.Rotations, w.stats.Removed = w.file.rotations, w.file.removed
	if !w.abandoned {
		n := int64(bytes.Count(lines, []byte{'\n'}))
		w.stats.Lines += n
		w.stats.Bytes += int64(len(lines))
		w.stats.QueuedLines -= n
		w.stats.QueuedBytes -= int64(len(lines))
	}
	if err != nil {
		w.stats.Errors++
		w.failed(err)
	} else if w.failing != nil {
		w.recovered()
	}
}

// failed notes that the disk fails. mu is held.
func (w *Writer) failed(err error) {
	w.failing = err
	if w.due("fail") {
		w.told = true
		w.say(slog.LevelError, "the journal cannot be written; turns wait, then are dropped", "path", w.path, "error", err)
	}
}

// recovered notes that the disk works again. mu is held.
func (w *Writer) recovered() {
	w.failing = nil
	if w.told {
		w.told = false
		w.say(slog.LevelInfo, "the journal is written again", "path", w.path, "dropped", w.stats.dropped())
	}
}

// pause waits for the next attempt; false means that the last one was it.
func (w *Writer) pause() bool {
	select {
	case <-w.closing:
		return false
	default:
	}
	timer := time.NewTimer(retryEvery)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-w.closing: // one more attempt, at once
	}
	return true
}

func (w *Writer) isCrowded() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.crowded()
}

func (w *Writer) isAbandoned() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.abandoned
}

// news is a line for the log.
type news struct {
	level slog.Level
	text  string
	args  []any
}

// due reports whether a log line of this sort may be sent, and notes it. mu is held.
func (w *Writer) due(sort string) bool {
	now := time.Now()
	if last, ok := w.said[sort]; ok && now.Sub(last) < sayEvery {
		return false
	}
	w.said[sort] = now
	return true
}

// say hands a line to speak; if the log itself is stuck, the line is lost.
func (w *Writer) say(level slog.Level, text string, args ...any) {
	select {
	case w.news <- news{level, text, args}:
	default:
	}
}

// speak logs in a goroutine of its own, because a log that is stuck on the same
// disk must stop neither a turn nor the writer.
func (w *Writer) speak() {
	defer close(w.done)
	for {
		select {
		case n := <-w.news:
			w.log(n)
		case <-w.quit:
			for len(w.news) > 0 {
				w.log(<-w.news)
			}
			return
		}
	}
}

func (w *Writer) log(n news) {
	w.opts.Logger.Log(context.Background(), n.level, n.text, n.args...)
}
