package proxy

import (
	"runtime/debug"
	"time"

	"turnwatch/proxy/turn"
)

// TurnTags learns what is known of the server while it made one turn. Head,
// Data and End are called by the goroutine that serves the client, each after
// its bytes were written: they must not wait. Tag is called once, after End,
// by another.
type TurnTags interface {
	// Head is given the final head of the answer, status line included. It is
	// not called when there was none, and must not keep the bytes.
	Head(head []byte)
	// Data is given the next bytes of the answer's body, framing taken off, and
	// when they had come, which may be a while ago. It must not keep them.
	Data(p []byte, at time.Time)
	// End is told that nothing follows.
	End()
	// Tag sets tags and fingerprint of the turn, which has its verdict, and
	// then calls record: before it returns or later, from any goroutine, but
	// within a time that a Shutdown may wait.
	Tag(t *turn.Turn, record func())
}

// tell calls f with the turn's tags, if it is to get some. A panic costs them.
func (o *observer) tell(f func(TurnTags)) {
	if o.tags == nil {
		return
	}
	defer o.tagsBroke()
	f(o.tags)
}

func (o *observer) tagData(p []byte) {
	if o.tags == nil {
		return
	}
	defer o.tagsBroke()
	o.tags.Data(p, o.first.Add(o.at))
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
	f.tagged(o, func() { f.record(o) })
}

// tagged gives a judged turn its tags and then calls record, once.
func (f *finisher) tagged(o *observer, record func()) {
	o.check.Free()
	o.check, o.req = nil, nil // the turn may wait, what it was judged by need not
	if o.tags == nil {
		record()
		return
	}
	f.tagging.Add(1)
	once := func() {
		if !o.recorded.Swap(true) {
			defer f.tagging.Done()
			record()
		}
	}
	defer func() {
		if o.tags == nil {
			once()
		}
	}()
	o.tell(func(tags TurnTags) { tags.Tag(&o.t, once) })
}
