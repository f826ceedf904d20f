// Package journal appends turns to a file, one JSON object a line, and reads
// them back. The format of a line is package turn's.
//
// # Promises
//
// Writing never delays a turn: a line goes into a bounded queue, and a queue
// that is full costs the line, counted under its reason. A disk that is full,
// slow or dead costs lines and nothing else; when it works again the journal
// goes on by itself.
//
// A line is whole or torn, never mixed with another: what follows a torn line
// begins on a line of its own. A turn is on disk a twentieth of a second after it was
// finished, and then survives the death of the process; not that of the
// machine, because nothing is synced.
//
// # Files
//
// A file that reaches its size or its age is renamed to NAME-TIME.EXT, TIME
// being the moment in UTC, and a new one begun. The oldest are deleted before
// all together would exceed their cap. Files are made with mode 0600; the mode
// of one that was there is left alone. One process writes a journal: its file is
// locked while it is open, against other writers and no reader, where the system
// and the file system know such locks (Windows and some network mounts do not). If
// somebody else renames or deletes the file, a new one is begun. A path that is
// no regular file (a FIFO, a device) is written to and never rotated. A file
// that cannot be renamed, because it is mounted on its own, grows to the cap of
// all and then takes no more lines, as if its disk were full.
package journal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"sync"
	"time"

	"turnwatch/proxy/turn"
)

// MaxLine is the longest line, newline included, that is written or read.
const MaxLine = 1 << 20

const (
	gatherFor    = 50 * time.Millisecond // that the first line of a batch waits for others
	gatherBytes  = 64 << 10              // of lines that wait no longer
	retryEvery   = time.Second           // between attempts on a disk that refuses
	openPatience = time.Second           // that Open has with a disk that does not answer
	keepBuffer   = 1 << 20               // a larger buffer is given back after a burst
	sayEvery     = 1 * time.Minute       // between log lines of a sort
)

// ErrInUse is that of a journal that another process writes.
var ErrInUse = errors.New("another process writes it")

// Options are the bounds of a journal. The zero value of every field is its
// default.
type Options struct {
	// MaxSize is the size that no file exceeds. Default 100 MiB.
	MaxSize int64
	// MaxAge is how long after its first turn a file is rotated. Default: never.
	MaxAge time.Duration
	// MaxTotal is the size that all files together do not exceed. Default 1 GiB;
	// must not be below MaxSize.
	MaxTotal int64

	// QueueBytes and QueueLines bound what waits for the disk. Default 8 MiB
	// and 16384 lines.
	QueueBytes int
	QueueLines int

	// Logger is told when the disk begins to fail, when it works again, and
	// about dropped turns, each at most once a minute. Default: discarded.
	Logger *slog.Logger
}

func (o Options) withDefaults() (Options, error) {
	o.MaxSize = cmp.Or(o.MaxSize, 100<<20)
	o.MaxTotal = cmp.Or(o.MaxTotal, max(1<<30, o.MaxSize))
	o.QueueBytes = cmp.Or(o.QueueBytes, 8<<20)
	o.QueueLines = cmp.Or(o.QueueLines, 1<<14)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.MaxSize < 0 || o.MaxAge < 0 || o.MaxTotal < 0 || o.QueueBytes < 0 || o.QueueLines < 0 {
		return o, fmt.Errorf("a bound is negative: %+v", o)
	}
	if o.MaxTotal < o.MaxSize {
		return o, fmt.Errorf("all files together may hold %d bytes, less than one file's %d", o.MaxTotal, o.MaxSize)
	}
	return o, nil
}

// Stats is what a Writer has done so far.
type Stats struct {
	Lines       int64               // written whole
	Bytes       int64               // in those lines
	Dropped     map[turn.Drop]int64 // turns without a line; every reason of a journal is present
	Errors      int64               // attempts that the disk refused
	Rotations   int64               // files begun after another
	Removed     int64               // files deleted to keep the cap
	QueuedLines int64               // gauge: lines that wait for the disk or are being written
	QueuedBytes int64               // gauge: bytes in those lines
}

// Writer appends turns to a journal. It is safe for concurrent use.
type Writer struct {
	// Set by Open.
	path    string
	opts    Options
	wake    chan struct{} // holds one: there is something to do
	enough  chan struct{} // holds one: the queue is crowded
	news    chan news     // never closed, so that a straggler cannot panic
	closing chan struct{} // closed by Close
	quit    chan struct{} // closed when run returned
	done    chan struct{} // closed when nothing runs any more
	file    *file         // owned by run, except for its deadline

	mu        sync.Mutex
	queue     []byte   // whole lines; becomes run's batch
	bounds    *Options // that run is to take over; nil: none
	stats     Stats
	closed    bool // no more lines are taken
	abandoned bool // the lines that were held are counted as dropped
	failing   error
	lastErr   error
	said      map[string]time.Time // when a sort of log line was last sent
	told      bool                 // the log knows that the disk fails
}

// Open opens the journal at path, or begins it; - is standard output. A torn
// last line, left by a process that was killed, will be ended before another is
// written. A path that cannot be written, or that another process writes
// ([ErrInUse]), is an error; a disk that does not answer within a second is not: the journal waits for it as for one that dies
// later.
func Open(path string, opts Options) (*Writer, error) {
	opts, err := opts.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("journal %s: %w", path, err)
	}
	w := &Writer{
		path: path, opts: opts, file: newFile(path, opts),
		wake: make(chan struct{}, 1), enough: make(chan struct{}, 1), news: make(chan news, 8),
		closing: make(chan struct{}), quit: make(chan struct{}), done: make(chan struct{}),
		said: make(map[string]time.Time),
	}
	w.stats.Dropped = map[turn.Drop]int64{turn.DropJournalQueue: 0, turn.DropJournalError: 0, turn.DropTooLarge: 0}
	opened, late := make(chan error), make(chan struct{})
	go w.speak()
	go w.run(opened, late)
	patience := time.NewTimer(openPatience)
	defer patience.Stop()
	select {
	case err = <-opened:
	case <-patience.C:
		close(late)
		w.say(slog.LevelWarn, "the journal's disk does not answer", "path", path)
	}
	if err != nil {
		<-w.done
		return nil, fmt.Errorf("open journal: %w", err)
	}
	return w, nil
}

// Finish queues the line of t. It keeps nothing of t and does not wait for the
// disk; without room in the queue the line is dropped and counted.
func (w *Writer) Finish(t *turn.Turn) { w.add(t) }

// Change queues the line of a change of configuration, as Finish does a turn's.
func (w *Writer) Change(c *turn.ConfigChange) { w.add(c) }

// add queues a line.
func (w *Writer) add(t interface{ AppendJSON([]byte) []byte }) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed || w.stats.QueuedLines >= int64(w.opts.QueueLines) {
		w.drop(w.reason())
		return
	}
	n := len(w.queue)
	lines := append(t.AppendJSON(w.queue), '\n')
	size := int64(len(lines) - n)
	w.queue = lines[:n] // keeps what append allocated
	switch {
	case size > min(MaxLine, w.opts.MaxSize):
		w.drop(turn.DropTooLarge)
		return
	case w.stats.QueuedBytes+size > int64(w.opts.QueueBytes):
		w.drop(w.reason())
		return
	}
	crowded := w.crowded()
	w.queue = lines
	w.stats.QueuedLines++
	w.stats.QueuedBytes += size
	if n == 0 {
		raise(w.wake)
	}
	if !crowded && w.crowded() {
		raise(w.enough)
	}
}

// crowded reports whether the queue is to be written at once. mu is held.
func (w *Writer) crowded() bool {
	return len(w.queue) >= gatherBytes || 2*w.stats.QueuedBytes >= int64(w.opts.QueueBytes) || 2*w.stats.QueuedLines >= int64(w.opts.QueueLines)
}

// lower lowers a flag, if it is up.
func lower(flag <-chan struct{}) {
	select {
	case <-flag:
	default:
	}
}

// raise raises a flag, if it is down.
func raise(flag chan<- struct{}) {
	select {
	case flag <- struct{}{}:
	default:
	}
}

// reason says why there is no room in the queue. mu is held.
func (w *Writer) reason() turn.Drop {
	if w.failing != nil || w.closed {
		return turn.DropJournalError
	}
	return turn.DropJournalQueue
}

// drop counts a turn without a line. mu is held.
func (w *Writer) drop(reason turn.Drop) {
	w.stats.Dropped[reason]++
	if w.due("drop") {
		w.say(slog.LevelWarn, "turns are missing from the journal", "path", w.path, "reason", reason, "dropped", w.stats.dropped())
	}
}

func (s Stats) dropped() (n int64) {
	for _, d := range s.Dropped {
		n += d
	}
	return n
}

// Stats returns what was done so far.
func (w *Writer) Stats() Stats {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.stats
	s.Dropped = maps.Clone(w.stats.Dropped)
	return s
}

// Close takes no more turns, writes those that wait and closes the file. It
// returns when that is done, when the disk refuses, or when ctx is done even if
// the disk hangs; the error says how many turns were given up. A write that hangs in
// the kernel then keeps its goroutine until the kernel lets go.
func (w *Writer) Close(ctx context.Context) error {
	w.mu.Lock()
	if !w.closed {
		w.closed = true
		close(w.closing)
	}
	w.mu.Unlock()
	select {
	case <-w.done:
	case <-ctx.Done():
		w.giveUp(ctx.Err())
		w.file.interrupt()
	}
	return w.outcome()
}

// giveUp counts the lines that are still held as dropped.
func (w *Writer) giveUp(why error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stats.QueuedLines == 0 || w.abandoned {
		return
	}
	w.abandoned = true
	w.lastErr = fmt.Errorf("close journal %s: %d turns are not written: %w", w.path, w.stats.QueuedLines, why)
	w.stats.Dropped[turn.DropJournalError] += w.stats.QueuedLines
	w.stats.QueuedLines, w.stats.QueuedBytes = 0, 0
}

func (w *Writer) outcome() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.lastErr
}
