package sglang

import (
	"bytes"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"turnwatch/proxy/turn"
)

// startLen is how much of an answer is kept to find the id in it.
const startLen = 512

// Watch watches one turn. Head, Data and End are called on the answer's path,
// each after its bytes were written to the client, from one goroutine; then
// Tag, once, from any, and Free.
type Watch struct {
	g      *Tagger
	head   time.Time // when the answer began; zero if it did not
	fields []field
	id     []byte    // that the answer names itself by
	start  []byte    // of an answer whose first piece does not hold it
	last   time.Time // when the last bytes of the body had come
	stay   stay
	set    set // the turn's tags
}

// Head is given the head of the answer. It keeps nothing of it.
func (w *Watch) Head(head []byte) {
	w.head = time.Now()
	w.fields = w.g.match.copy(head)
	w.g.own.enter(&w.stay, w.head)
	w.g.poll.light()
}

// Data is given the next bytes of the answer's body, and when they had come. It
// keeps nothing of them.
func (w *Watch) Data(p []byte, at time.Time) {
	first := w.last.IsZero()
	w.last = at
	if !w.mayAsk() {
		return
	}
	n := min(startLen-len(w.start), len(p))
	if first {
		w.id = append(w.id, chatID(p[:n])...)
	}
	if len(w.id) == 0 && n > 0 {
		w.start = append(w.start, p[:n]...)
	}
}

// mayAsk reports whether the id may be wanted that the answer names itself by.
func (w *Watch) mayAsk() bool {
	return len(w.fields) > 0 || w.g.cfg.Facts != "" || w.g.cfg.StatusLog != ""
}

// End is told that nothing follows.
func (w *Watch) End() { w.g.own.leave(&w.stay) }

// Tag gives the turn, which has its verdict, its tags and its fingerprint.
// Where facts are to be asked for, it returns what does so first, and then
// calls record: within Config.FactsTimeout.
func (w *Watch) Tag(t *turn.Turn) (late func(record func())) {
	if w.head.IsZero() && t.Ending == "server_cut" {
		w.g.poll.unanswered.Store(true)
	}
	h := w.g.match.sort(w.fields)
	path := h.facts
	if path == "" {
		path = w.g.cfg.Facts
	}
	if h.rid == "" && (path != "" || w.g.cfg.StatusLog != "") {
		h.rid = w.named()
	}
	if path == "" || h.rid == "" || t.Status != 200 {
		w.fill(t, h, nil)
		return nil
	}
	asking := h // which alone outlives the call
	return func(record func()) { w.ask(path, t, asking, record) }
}

// named is the id that the answer names itself by.
func (w *Watch) named() string {
	if len(w.id) > 0 {
		return string(w.id)
	}
	return string(chatID(w.start))
}

// ask asks for the turn's facts before it is given its tags. Nobody waits for those
// that find no place.
func (w *Watch) ask(path string, t *turn.Turn, h told, record func()) {
	fill := func(f *facts) { w.fill(t, h, f); record() }
	if !w.g.ask.ask(path, h.rid, fill) {
		fill(nil)
	}
}

// Free gives the Watch to a later turn. Nobody may hold the tags any more.
func (w *Watch) Free() {
	w.head, w.fields, w.id, w.start, w.last, w.stay = time.Time{}, nil, w.id[:0], w.start[:0], time.Time{}, stay{}
	w.g.watches.Put(w)
}

// chatID finds the id that an answer names itself by: it is the server's id of
// the request.
func chatID(start []byte) []byte {
	_, rest, ok := bytes.Cut(start, []byte(`"id":`))
	if !ok {
		return nil
	}
	rest = bytes.TrimLeft(rest, " ")
	if len(rest) == 0 || rest[0] != '"' {
		return nil
	}
	id, _, ok := bytes.Cut(rest[1:], []byte{'"'})
	if !ok || len(id) > maxValue || slices.ContainsFunc(id, notOfID) {
		return nil
	}
	return id
}

// notOfID reports whether no id has the character.
func notOfID(c byte) bool {
	return !('a' <= c|0x20 && c|0x20 <= 'z' || '0' <= c && c <= '9' || c == '-' || c == '_')
}

// filling is a turn that is given its tags.
type filling struct {
	*Watch
	s    *set
	t    *turn.Turn
	h    told
	f    *facts // nil: none
	info *info  // nil: none
	rank int    // -1: not known
	end  time.Time
}

func (w *Watch) fill(t *turn.Turn, h told, f *facts) {
	began := w.head
	if began.IsZero() {
		began = t.Time
	}
	x := filling{Watch: w, s: &w.set, t: t, h: h, f: f, info: w.g.infos.at(began), rank: -1}
	from := x.configuration()
	if x.info == nil && w.g.poll.hoping.Load() {
		from = ofTooLittle
	}
	for _, o := range h.other {
		if x.s.name(o.name, o.value, fromHeader, 0) && o.name == "dp_rank" {
			x.rank, _ = count(o.value)
		}
	}
	if !w.head.IsZero() {
		x.end = w.head.Add(w.stay.to - w.stay.from)
		x.atHead()
		x.largest()
		x.onset()
		x.ownView()
	}
	x.loads()
	x.tokens()
	w.g.heads.remember(h.config, began)
	x.give(began)
	t.Fingerprint = w.g.compare(t, x.s.setup, from)
}

// give gives the turn the tags that were put in.
func (x *filling) give(began time.Time) {
	x.t.Own, x.t.Config, x.t.Began = x.s.all(), x.s.config, began
}

// configuration finds what tells one configuration from another.
func (x *filling) configuration() origin {
	of := basis{info: x.info, labels: x.g.labels.dated(), declared: x.g.declared.Load()}
	from := x.recall(&of)
	x.s.begin(x.g.setups.of(of))
	return from
}

// atHead puts in what the load was when the answer began.
func (x *filling) atHead() {
	polled, age, ok := x.g.loads.at(x.head, x.rank)
	x.at(batchAtHead, bucketAtHead, "batch_size", polled.running, age, ok && polled.running > 0, x.stay.at)
	if n, ok := x.h.counts["queue_depth"]; ok {
		x.s.number(queueAtHead, n, fromHeader, 0)
	}
	if ok {
		x.s.number(queueAtHead, polled.waiting, fromPoll, age)
	}
	x.s.number(queueAtHead, x.stay.waiting, fromOwn, 0)
}

func (x *filling) at(batch, bucket slot, header string, polled int, age time.Duration, ok bool, own int) {
	if n, ok := x.h.counts["graph_bucket"]; ok {
		x.s.bucket(bucket, n, fromHeader, 0)
	}
	if n, ok := x.h.counts[header]; ok {
		x.put(batch, bucket, n, fromHeader, 0)
	}
	if ok {
		x.put(batch, bucket, polled, fromPoll, age)
	}
	x.put(batch, bucket, own, fromOwn, 0)
}

// put puts in a batch, and the bucket that it was padded to if the captured
// sizes are known.
func (x *filling) put(batch, bucket slot, n int, source string, age time.Duration) {
	x.s.number(batch, n, source, age)
	if padded, ok := x.info.bucket(n); ok || x.s.noGraphs {
		x.s.bucket(bucket, padded, source, age)
	}
}

// largest puts in the largest batch over the decode steps.
func (x *filling) largest() {
	if x.f != nil {
		if n, padded, ok := x.f.largest(); ok {
			x.told(batch, bucket, n, padded)
		}
		if steps := x.f.exposure(); steps != "" {
			x.s.put(batchSteps, steps, fromFacts, 0)
		}
		if n := x.f.Retractions; n != nil && plausible(*n) {
			x.s.number(retractions, *n, fromFacts, 0)
		}
	}
	if n, ok := x.g.log.most(x.h.rid, x.head, x.end); ok {
		x.put(batch, bucket, n, fromLog, 0)
	}
	if l, age, ok := x.g.loads.most(x.head, x.end, x.rank); ok && l.running > 0 {
		x.put(batch, bucket, l.running, fromPoll, age)
	}
	x.put(batch, bucket, x.stay.max, fromOwn, 0)
	if n, ok := x.h.counts["graph_bucket"]; ok {
		x.s.bucket(bucket, n, fromHeader, 0)
	}
}

// told puts in a batch that facts tell, and its bucket: 0 where they say that
// graphs are off.
func (x *filling) told(batch, bucket slot, n int, padded *int) {
	switch {
	case x.f.CUDAGraph != nil && !*x.f.CUDAGraph:
		x.s.bucket(bucket, 0, fromFacts, 0)
	case padded != nil:
		x.s.bucket(bucket, *padded, fromFacts, 0)
	}
	x.put(batch, bucket, n, fromFacts, 0)
}

// onset puts in the batch at the first bad byte.
func (x *filling) onset() {
	const batch, bucket = batchAtOnset, bucketAtOnset
	o, ok := x.first()
	if !ok {
		return
	}
	when := x.t.Time.Add(millis(x.t.TTFBMS) + o.at)
	if x.f != nil {
		if r, ok := x.f.at(o); ok {
			x.told(batch, bucket, r.Batch, r.Bucket)
		}
	}
	if n, age, ok := x.g.log.nearest(x.h.rid, when); ok {
		x.put(batch, bucket, n, fromLog, age)
	}
	if l, age, ok := x.g.loads.at(when, x.rank); ok && l.running > 0 {
		x.put(batch, bucket, l.running, fromPoll, age)
	}
	if n, ok := x.g.own.when(when); ok {
		n = max(n, 1) // itself
		x.put(batch, bucket, n, fromOwn, 0)
		x.s.number(ownAtOnset, n, fromOwn, 0)
	}
}

// first finds the first bad byte: of a corrupted turn the one that its findings
// name, of one that is only suspect the one that its signals do. What says that an
// answer was cut is none.
func (x *filling) first() (o onset, ok bool) {
	switch {
	case x.t.Outcome == "corrupted":
		o, _, ok = x.found()
	case x.t.Suspect:
		o, ok = x.signalled()
	}
	return o, ok
}

// signalled finds the first byte that a signal is about.
func (x *filling) signalled() (o onset, ok bool) {
	least := int64(math.MaxInt64)
	for i := range x.t.Signals {
		if s := &x.t.Signals[i]; s.Offset < least {
			least, ok = s.Offset, true
			o = onset{delta: s.Delta, tokens: s.Tokens, at: millis(s.AtMS)}
		}
	}
	return x.within(o), ok
}

// found finds the first byte that a finding is about.
func (x *filling) found() (o onset, least int64, ok bool) {
	least = math.MaxInt64
	for i := range x.t.Findings {
		f := &x.t.Findings[i]
		if f.Offset >= least || strings.HasPrefix(string(f.Kind), "truncated") {
			continue
		}
		least, ok = f.Offset, true
		o = onset{delta: f.Delta, tokens: f.Tokens, at: millis(f.AtMS)}
	}
	return x.within(o), least, ok
}

// within puts in what is known of the whole answer.
func (x *filling) within(o onset) onset {
	o.deltas, o.each, o.whole = x.t.Deltas, 1, x.t.Ending == "complete"
	if x.info != nil {
		o.each = max(x.info.interval, 1)
	}
	o.end = x.last.Sub(x.t.Time) - millis(x.t.TTFBMS)
	return o
}

func millis(ms float64) time.Duration { return time.Duration(ms * float64(time.Millisecond)) }

// ownView puts in how many turns of ours were decoding meanwhile.
func (x *filling) ownView() {
	x.s.number(ownMin, x.stay.min, fromOwn, 0)
	x.s.put(ownMean, strconv.FormatFloat(x.stay.mean, 'f', 1, 64), fromOwn, 0)
	x.s.number(ownMax, x.stay.max, fromOwn, 0)
}
