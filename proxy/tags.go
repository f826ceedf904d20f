package proxy

import (
	"runtime/debug"
	"sync/atomic"
	"time"

	"turnwatch/proxy/turn"
)

// TurnTags learns what is known of the server while it made one turn. Head,
// Data and End are called by the goroutine that serves the client, each after
// its bytes were written: they must not wait. Tag is called once, after End,
// by another; Free last.
type TurnTags interface {
	// Head is given the final head of the answer, status line included. It is
	// not called when there was none, and must not keep the bytes.
	Head(head []byte)
	// Data is given the next bytes of the answer's body, framing taken off, and
	// when they had come, which may be a while ago. It must not keep them.
	Data(p []byte, at time.Time)
	// End is told that nothing follows.
	End()
	// Tag sets tags and fingerprint of the turn, which has its verdict. Where
	// some are still to come, it returns what sets them and then calls record:
	// before it returns or later, from any goroutine, but within a time that a
	// Shutdown may wait.
	Tag(t *turn.Turn) (late func(record func()))
	// Free is told that nobody reads what Tag has set any more. Turns whose tags
	// were late keep them.
	Free()
}

// taggedBy has the turn get its tags from what tags makes, if there is that.
func (o *observer) taggedBy(tags func() TurnTags) {
	if tags == nil {
		return
	}
	defer o.tagsBroke()
	o.tags = tags()
}

// tell calls f with the turn's tags, if it is to get some. A panic costs them.
func (o *observer) tell(f func(TurnTags)) {
	if o.tags == nil {
		return
	}
	defer o.tagsBroke()
	f(o.tags)
}

func (o *observer) tagData(pieces [][]byte) {
	if o.tags == nil {
		return
	}
	defer o.tagsBroke()
	at := o.first.Add(o.at)
	for _, p := range pieces {
		o.tags.Data(p, at)
	}
}

// tagsBroke is deferred around calls of a TurnTags.
func (o *observer) tagsBroke() {
	if p := recover(); p != nil {
		o.tags = nil
		o.s.log.Error("the tags of a turn broke", "turn_id", o.t.ID, "panic", p, "stack", string(debug.Stack()))
	}
}

// tag gives a judged turn its session and its tags and records it.
func (f *finisher) tag(o *observer) {
	o.placed()
	if late := o.tag(); late != nil {
		f.await(o, late, func() { f.record(o) })
		return
	}
	f.record(o)
	f.s.reuse(o)
}

// tagged gives a judged turn its tags and then calls record, once.
func (f *finisher) tagged(o *observer, record func()) {
	if late := o.tag(); late != nil {
		f.await(o, late, record)
		return
	}
	record()
}

// tag gives a judged turn its tags, and returns what is to give it those that
// are late. Until then the turn may wait, and what it was judged by need not.
func (o *observer) tag() (late func(record func())) {
	o.check.Free()
	o.check, o.req = nil, nil
	o.tell(func(tags TurnTags) { late = tags.Tag(&o.t) })
	return late
}

// await has record called, once, when a turn has its late tags or they broke.
func (f *finisher) await(o *observer, late func(record func()), record func()) {
	f.tagging.Add(1)
	var recorded atomic.Bool
	once := func() {
		if !recorded.Swap(true) {
			defer f.tagging.Done()
			record()
		}
	}
	defer func() {
		if o.tags == nil {
			once()
		}
	}()
	o.tell(func(TurnTags) { late(once) })
}
