package evidence

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"regexp"
	"sync"
	"time"

	"turnwatch/proxy/turn"
)

// Options are the bounds of the evidence and what is kept in it. The zero value
// of every field is its default.
type Options struct {
	// MaxTotal is the size that all folders together do not exceed. Default
	// 1 GiB.
	MaxTotal int64
	// MaxTurn is the size of the bodies beyond which a folder does without them.
	// Default 4 MiB.
	MaxTurn int64
	// QueueBytes bounds what waits for the disk. Default 64 MiB.
	QueueBytes int64
	// Late is how long turns that overlap one are added to its folder. Default
	// 10 minutes.
	Late time.Duration

	// Bodies keeps what was said. Patterns and Paths say what of it is masked;
	// the package comment says how.
	Bodies   bool
	Patterns []*regexp.Regexp
	Paths    []string

	// By is the program that writes, with its version. Default turnwatch.
	By string
	// Logger is told when the disk begins to fail, at most once a minute.
	// Default: discarded.
	Logger *slog.Logger
}

func (o Options) withDefaults() (Options, error) {
	o.MaxTotal = cmp.Or(o.MaxTotal, 1<<30)
	o.MaxTurn = cmp.Or(o.MaxTurn, 4<<20)
	o.QueueBytes = cmp.Or(o.QueueBytes, 64<<20)
	o.Late = cmp.Or(o.Late, 10*time.Minute)
	o.By = cmp.Or(o.By, "turnwatch")
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	if o.MaxTotal < 0 || o.MaxTurn < 0 || o.QueueBytes < 0 || o.Late < 0 {
		return o, fmt.Errorf("a bound is negative: %+v", o)
	}
	if o.MaxTotal < o.MaxTurn {
		return o, fmt.Errorf("all folders together may hold %d bytes, less than one's %d", o.MaxTotal, o.MaxTurn)
	}
	return o, nil
}

// Stats is what a Writer has done so far.
type Stats struct {
	Folders int64               // written
	Bytes   int64               // in them
	Removed int64               // folders deleted to keep the cap
	Dropped map[turn.Drop]int64 // corrupted turns without a folder; every reason is present
	Queued  int64               // gauge: bytes that wait for the disk
}

// Writer writes a folder for each corrupted turn. It is safe for concurrent
// use.
type Writer struct {
	// Set by Open.
	opts    Options
	mask    *masker
	disk    *disk         // owned by run
	queue   chan *job     // never closed, so that a straggler cannot panic
	closing chan struct{} // closed by Close
	done    chan struct{} // closed when nothing runs any more

	mu      sync.Mutex
	stats   Stats
	recent  recent
	waiting int64    // turns that are queued or being written
	open    []*open  // folders that turns may still be added to
	bounds  *Options // that run is to take over; nil: none
	closed  bool
	gone    bool // what was queued is counted as dropped
	failing bool // the disk refused the last folder
	lastErr error
	said    time.Time // when the log was last told
}

// maxQueue is how many turns may wait for the disk.
const maxQueue = 1024

// openPatience is how long Open waits for a disk that does not answer.
const openPatience = time.Second

// ErrInUse is that of a folder that another process writes to.
var ErrInUse = errors.New("another process writes to it")

// Open makes the folder that the evidence goes to, if it is not there. A folder
// that cannot be made, or has a writer ([ErrInUse]), is an error; a disk that does
// not answer within a second is not.
func Open(dir string, o Options) (*Writer, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("evidence %s: %w", dir, err)
	}
	m, err := newMasker(o.Patterns, o.Paths)
	if err != nil {
		return nil, fmt.Errorf("evidence %s: %w", dir, err)
	}
	return start(newDisk(dir, o.MaxTotal), m, o)
}

// start starts what writes. The disk may be a test's.
func start(d *disk, m *masker, o Options) (*Writer, error) {
	w := &Writer{opts: o, mask: m, disk: d, queue: make(chan *job, maxQueue),
		closing: make(chan struct{}), done: make(chan struct{})}
	w.stats.Dropped = map[turn.Drop]int64{turn.DropEvidenceQueue: 0, turn.DropEvidenceError: 0}
	opened, late := make(chan error), make(chan struct{})
	go w.run(opened, late)
	patience := time.NewTimer(openPatience)
	defer patience.Stop()
	select {
	case err := <-opened:
		if err != nil {
			<-w.done
			return nil, fmt.Errorf("open evidence: %w", err)
		}
	case <-patience.C:
		close(late)
	}
	return w, nil
}

// Finish queues the folder of a corrupted turn, and notes every turn, since it
// may have been under way at the same time as one. It keeps nothing of t and
// does not wait for the disk.
func (w *Writer) Finish(t *turn.Turn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.late(t)
	w.recent.add(t)
	if t.Outcome != "corrupted" {
		return
	}
	size := weight(t)
	if w.closed || w.stats.Queued+size > w.opts.QueueBytes || len(w.queue) == cap(w.queue) {
		w.drop(1)
		return
	}
	j := newJob(t, size)
	j.overlap, j.missing = w.recent.during(t)
	w.queue <- j // only Finish sends, with mu held: there is room
	w.stats.Queued += size
	w.waiting++
	w.open = append(w.open, &open{id: t.ID, from: t.Time, to: end(t), until: time.Now().Add(w.opts.Late)})
	if len(w.open) > maxOpen {
		w.open = w.open[1:]
	}
}

// drop counts turns without a folder. mu is held.
func (w *Writer) drop(n int64) {
	why := turn.DropEvidenceQueue
	if w.failing || w.closed {
		why = turn.DropEvidenceError
	}
	w.stats.Dropped[why] += n
}

// SetLimits takes over MaxTotal and MaxTurn from o, for the folders to come.
func (w *Writer) SetLimits(o Options) error {
	o, err := o.withDefaults()
	if err != nil {
		return fmt.Errorf("evidence %s: %w", w.disk.dir, err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.bounds = &o
	return nil
}

// rebound takes over what SetLimits left.
func (w *Writer) rebound() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if o := w.bounds; o != nil {
		w.disk.max, w.opts.MaxTurn, w.bounds = o.MaxTotal, o.MaxTurn, nil
	}
}

// Stats returns what was done so far.
func (w *Writer) Stats() Stats {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.stats
	s.Dropped = maps.Clone(w.stats.Dropped)
	return s
}

// Close takes no more turns and writes those that wait. It returns when that is
// done, or when ctx is even if the disk hangs; the error says how many turns
// were given up. A write that hangs in the kernel keeps its goroutine until the
// kernel lets go.
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
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.lastErr
}

// giveUp counts the turns that are still held as dropped.
func (w *Writer) giveUp(why error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.gone || w.waiting == 0 {
		return
	}
	w.gone = true
	w.stats.Dropped[turn.DropEvidenceError] += w.waiting
	w.lastErr = fmt.Errorf("close evidence %s: %d turns have no folder: %w", w.disk.dir, w.waiting, why)
}

// flushEvery is how often turns that overlapped and came later are added.
const flushEvery = time.Second

// run writes what is queued until Close. It reports on opened whether the
// folder can be used, unless nobody waits for that any more.
func (w *Writer) run(opened chan<- error, late <-chan struct{}) {
	defer close(w.done)
	defer w.disk.close()
	err := w.disk.open()
	select {
	case opened <- err:
		if err != nil {
			return
		}
	case <-late:
	}
	tick := time.NewTicker(flushEvery)
	defer tick.Stop()
	for {
		select {
		case j := <-w.queue:
			w.write(j)
		case <-tick.C:
			w.flush()
		case <-w.closing:
			for len(w.queue) > 0 {
				w.write(<-w.queue)
			}
			w.flush()
			return
		}
	}
}

// write writes a folder. A panic costs that folder alone.
func (w *Writer) write(j *job) {
	err := errors.New("it broke")
	var size, removed int64
	func() {
		defer func() {
			if p := recover(); p != nil {
				err = fmt.Errorf("it broke: %v", p)
			}
		}()
		w.rebound()
		size, removed, err = w.disk.store(j.t.ID, w.files(j))
	}()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.gone {
		return
	}
	w.stats.Queued -= j.size
	w.waiting--
	w.stats.Removed += removed
	w.failing = err != nil
	if err == nil {
		w.stats.Folders++
		w.stats.Bytes += size
		return
	}
	w.stats.Dropped[turn.DropEvidenceError]++
	w.tell(j.t.ID, err)
}

// sayEvery is the time between lines of the log.
const sayEvery = time.Minute

// tell tells the log of a folder that could not be written. mu is held, and
// given up while the log takes the line: it may be stuck on the same disk.
func (w *Writer) tell(id string, err error) {
	if time.Since(w.said) < sayEvery {
		return
	}
	w.said = time.Now()
	w.mu.Unlock()
	defer w.mu.Lock()
	w.opts.Logger.Error("evidence cannot be written", "dir", w.disk.dir, "turn_id", id, "error", err)
}
