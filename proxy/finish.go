package proxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"
	"time"

	"turnwatch/proxy/turn"
	"turnwatch/validate"
)

// finisher judges turns after their last byte and hands them to the sinks, off
// the path of any answer.
type finisher struct {
	s     *Server
	sinks []Sink

	queue    chan *observer // never closed, so that a straggler cannot panic
	unjudged chan *observer // turns that found queue full; never closed either
	stop     chan struct{}
	workers  sync.WaitGroup
	tagging  sync.WaitGroup // turns that wait for their tags
}

func newFinisher(s *Server, size int, sinks []Sink) *finisher {
	f := &finisher{s: s, sinks: sinks, queue: make(chan *observer, size),
		unjudged: make(chan *observer, size), stop: make(chan struct{})}
	gather := gatherFor
	if size < gatherRoom {
		gather = 0
	}
	for range max(1, runtime.GOMAXPROCS(0)/2) { // the relay has the rest
		f.workers.Go(func() { drain(f.queue, f.stop, gather, f.judge) })
	}
	f.workers.Go(func() { drain(f.unjudged, f.stop, 0, f.tag) })
	return f
}

// gatherFor is how long turns may gather while they come faster than one by one:
// to judge many in a row takes less than to be woken for each, and what the
// judge works with is still in the processor's caches. gatherRoom is for how many
// of them there must be room, several times what may come meanwhile.
const (
	gatherFor  = 2 * time.Millisecond
	gatherRoom = 512
)

// drain gives do what comes over queue until stop is closed and queue is empty.
// While more comes than do is woken for, it lets that gather.
func drain[T any](queue chan T, stop chan struct{}, gather time.Duration, do func(T)) {
	for {
		if empty(queue, do) > 0 {
			time.Sleep(gather)
			continue
		}
		select {
		case v := <-queue:
			do(v)
		case <-stop:
			if len(queue) == 0 {
				return
			}
		}
	}
}

// empty gives do all that waits in queue, and says how much that was.
func empty[T any](queue chan T, do func(T)) (n int) {
	for {
		select {
		case v := <-queue:
			do(v)
			n++
		default:
			return n
		}
	}
}

// offer takes over a turn that has ended. It never waits: where the queue is
// full, the turn is recorded as not judged, and where that queue is full too,
// it is lost and counted.
func (f *finisher) offer(o *observer) {
	select {
	case f.queue <- o:
		return
	default:
	}
	o.reason = ""
	o.give(validate.ReasonFinishQueue, turn.DropFinishQueue)
	o.left()
	o.free()
	o.unverified(o.reason)
	select {
	case f.unjudged <- o:
	default:
		f.s.stats.Drop(turn.DropRecordQueue)
		o.mirror.lost()
	}
}

// judge makes the verdict of one turn and records it.
func (f *finisher) judge(o *observer) {
	if !o.judged {
		w := stopwatchOf(o.t.Time)
		o.guarded(o.verdict)
		w.lap(&f.s.stats.judgeEnd)
		o.over = w.now()
	}
	o.amend()
	if o.reason != "" {
		o.unverified(o.reason)
	}
	o.spared("what a turn teaches is lost", o.learn)
	o.spared("what was said in a turn is lost", o.keepSaid)
	o.free()
	f.tag(o)
}

// record hands a turn to every sink.
func (f *finisher) record(o *observer) {
	t := &o.t
	defer o.unlend()
	if t.Arm == turn.Live {
		f.s.stats.Turn(t)
		defer o.mirror.recorded(o)
	}
	for _, sink := range f.sinks {
		f.give(sink, t)
	}
}

func (f *finisher) give(sink Sink, t *turn.Turn) {
	defer func() {
		if p := recover(); p != nil {
			f.s.stats.Drop(turn.DropSinkPanic)
			f.s.log.Error("a sink broke on a turn", "turn_id", t.ID, "sink", fmt.Sprintf("%T", sink), "panic", p)
		}
	}()
	sink.Finish(t)
}

// close waits until every turn that was offered is recorded, or ctx is done.
func (f *finisher) close(ctx context.Context) error {
	close(f.stop)
	done := make(chan struct{})
	go func() {
		defer close(done)
		f.workers.Wait()
		f.tagging.Wait()
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("hand %d turns to the sinks: %w", len(f.queue)+len(f.unjudged), ctx.Err())
	}
}

// verdict ends the judgement, and makes it first where the turn was held.
func (o *observer) verdict() {
	if o.reason != "" {
		return
	}
	if o.h.Status == 0 {
		o.reason = validate.ReasonNoAnswer
		return
	}
	if o.answer != nil && !o.replay() {
		return
	}
	if o.check == nil {
		o.reason = validate.ReasonNotInspectable
		return
	}
	o.t.Verdict = o.check.Finish(o.t.Ending)
	o.s.probes.demote(&o.t.Verdict)
}

// replay judges a turn that was held, as if it came only now.
func (o *observer) replay() bool {
	if o.reqBody != nil {
		if why := o.reqBody.lost; why != "" {
			o.give(validate.Reason(why), why) // the words are the same
			return false
		}
		if o.parse(o.reqBody.buf); o.reason != "" {
			return false
		}
	}
	o.mirrorHeld()
	o.check = validate.NewChecker(o.req, o.h)
	var at time.Duration
	r, err := decode(o.encoding, o.answer.reader(&at))
	if err == nil {
		defer r.Close()
		err = o.feedAll(r, &at)
	}
	if err != nil && !(o.t.Ending != validate.Complete && errors.Is(err, io.ErrUnexpectedEOF)) {
		o.give(validate.ReasonNotInspectable, "")
		return false
	}
	return true
}

var errTooLarge = errors.New("the answer decodes to more than 64 MiB")

func (o *observer) feedAll(r io.Reader, at *time.Duration) error {
	buf := o.s.buffers.get(smallBuffer)
	defer o.s.buffers.put(buf)
	buf = buf[:cap(buf)]
	for total := 0; total <= maxDecoded; {
		n, err := r.Read(buf)
		o.check.Feed(*at, buf[:n])
		if o.encoding != "" {
			o.kept.add(*at, buf[:n])
		}
		if total += n; err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return errTooLarge
}

// unverified is the verdict on a turn that could not be judged.
func (o *observer) unverified(why validate.Reason) {
	o.t.Verdict = validate.Verdict{Outcome: validate.Unverified, Reason: why}
}
