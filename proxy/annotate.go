package proxy

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"turnwatch/proxy/turn"
	"turnwatch/validate"
)

// Annotate says how the client of a turn is told the verdict on it, if at all.
type Annotate string

// The ways to tell it. An answer that does not stream gets fields in its head
// either way.
const (
	AnnotateOff     Annotate = ""
	AnnotateComment Annotate = "comment" // a stream of events ends with a comment
	AnnotateTrailer Annotate = "trailer" // … with trailer fields, for clients that send TE: trailers
)

// Annotation says whether and how clients are told. The zero value tells them
// nothing: every byte is the server's.
type Annotation struct {
	How Annotate
	// HoldBytes and HoldTime bound what is held back of an answer that does not
	// stream until it is judged. What exceeds them passes without a verdict.
	// Defaults: 8 MiB, 10 s.
	HoldBytes int64
	HoldTime  time.Duration
}

func (a *Annotation) defaults() {
	a.HoldBytes = cmp.Or(a.HoldBytes, 8<<20)
	a.HoldTime = cmp.Or(a.HoldTime, 10*time.Second)
}

// Peeker is a TurnTags that can tell, after Head and before End, what it knows
// so far, and as "fingerprint" that of the configuration. Peek is called on
// the answer's path and must not wait.
type Peeker interface{ Peek() map[string]turn.Tag }

// note is what one exchange tells its client beside the server's answer.
type note struct {
	how  Annotate // AnnotateOff: fields in the head
	held []byte   // what waits: of a stream the framing from its last chunk on
	body int      // where the body begins in held, of an answer that does not stream
	tail [4]byte  // the last bytes of the events so far
	size int64    // of the events so far, up to 4
	took int64    // of the budget
	told bool     // or it was decided that nothing is
}

// The outcomes of an annotation: it was told, or why not.
const (
	noteTold    = "told"
	noteLength  = "length"     // the events have a Content-Length
	noteEncoded = "encoded"    // the body is encoded
	noteFraming = "framing"    // the client or the server does not speak chunks
	noteNoTE    = "no_te"      // the client did not ask for trailers
	noteType    = "type"       // neither events nor a JSON answer
	noteEarly   = "early"      // the request was still on its way
	noteLarge   = "too_large"  // more than may be held, or judged at once
	noteSlow    = "too_slow"   // later than may be held
	noteCut     = "cut"        // the answer broke off
	noteOpen    = "event_open" // the last event had no end
)

func noteOutcomes() []string {
	return []string{noteTold, noteLength, noteEncoded, noteFraming, noteNoTE, noteType, noteEarly, noteLarge, noteSlow, noteCut, noteOpen}
}

// AnnotationMetrics counts the answers to turns by whether their clients were
// told the verdict. There are none unless that was asked for.
func (s *Server) AnnotationMetrics() []Metric {
	if s.cfg.Annotate.How == AnnotateOff {
		return nil
	}
	return []Metric{ByLabel("turnwatch_annotations_total", "outcome", s.notes.counts(noteOutcomes()...))}
}

// annotates decides whether the client is told, once the head is known.
func (x *exchange) annotates(f framing) *note {
	a := &x.s.cfg.Annotate
	if a.How == AnnotateOff || x.watch == nil || x.head.status/100 != 2 || f.kind == noBody {
		return nil
	}
	why, n := "", &note{how: a.How}
	switch {
	case x.watch.encoding != "":
		why = noteEncoded
	case !strings.HasPrefix(x.head.contentType, "text/event-stream"):
		n.how = AnnotateOff
		if x.watch.t.Stream || !strings.HasPrefix(x.head.contentType, "application/json") {
			why = noteType
		} else if x.body.sentFor() == 0 {
			why = noteEarly
		}
	case f.kind == fixedBody:
		why = noteLength
	case f.kind != chunkedBody || x.c.guard.http10:
		why = noteFraming
	case a.How == AnnotateTrailer && !x.watch.who.trailers:
		why = noteNoTE
	}
	if why != "" {
		x.s.notes.add(why, 1)
		return nil
	}
	return n
}

// remark is the verdict as a client is told it.
type remark struct {
	Verdict validate.Outcome  `json:"verdict"`
	Kinds   []validate.Kind   `json:"kinds"`
	Tags    map[string]string `json:"tags"`
}

// maxAtOnce bounds what is judged of a held request and its answer while the
// client waits; what streams is judged by then.
const maxAtOnce = 8 << 20

// remark judges the turn, whose answer is complete but for its last bytes.
func (x *exchange) remark() (r remark, ok bool) {
	o := x.watch
	o.guarded(x.late.settle)
	if o.reqBody != nil && (x.body.sentFor() == 0 || len(o.reqBody.buf)+o.answer.size() > maxAtOnce) {
		x.s.notes.add(noteLarge, 1)
		return r, false
	}
	o.conclude()
	r = remark{Verdict: o.t.Outcome, Kinds: []validate.Kind{}, Tags: map[string]string{}}
	for i := range o.t.Findings {
		if k := o.t.Findings[i].Kind; !slices.Contains(r.Kinds, k) {
			r.Kinds = append(r.Kinds, k)
		}
	}
	o.tell(func(t TurnTags) {
		if p, ok := t.(Peeker); ok {
			r.tag(p.Peek())
		}
	})
	x.s.notes.add(noteTold, 1)
	return r, true
}

// toldTags are the tags that clients are told, and no others: what is known of
// the server's configuration, its paths and seeds, is the operator's.
func toldTags() []string {
	return []string{"batch", "batch_at_head", "graph_bucket_at_head", "fingerprint", "rid"}
}

// tag takes over the tags that clients are told.
func (r remark) tag(known map[string]turn.Tag) {
	for _, name := range toldTags() {
		if tag, ok := known[name]; ok {
			r.Tags[name] = tag.Value
		}
	}
}

// size is how many bytes are held.
func (c *capture) size() int {
	if c == nil {
		return 0
	}
	return len(c.buf)
}

// conclude makes the verdict before the finisher does, in the same way.
func (o *observer) conclude() {
	o.t.Ending = validate.Complete
	o.guarded(o.verdict)
	if o.reason != "" {
		o.unverified(o.reason)
	}
	o.judged = true
}

// amend corrects a verdict made by conclude where the client left before the
// last bytes after all.
func (o *observer) amend() {
	for i := range o.t.Findings {
		if f := &o.t.Findings[i]; o.judged && o.t.Ending == validate.ClientGone && f.Kind == validate.TruncatedStreamCut {
			f.Kind = validate.TruncatedClientGone
		}
	}
}

// maxRemark bounds a comment; tags that find no room are left out.
const maxRemark = 4 << 10

// comment writes the remark as a comment in a stream of events.
func (r remark) comment() []byte {
	b, err := json.Marshal(r)
	if err != nil || len(b) > maxRemark {
		r.Tags = map[string]string{}
		b, _ = json.Marshal(r) // strings alone: cannot fail
	}
	return fmt.Appendf(nil, ": turnwatch %s\n\n", b)
}

// The fields that tell a verdict.
const (
	fieldVerdict = "x-turnwatch-verdict"
	fieldKinds   = "x-turnwatch-kinds"
	fieldBatch   = "x-turnwatch-batch"
)

// fields writes the remark as field lines. What is not known has none.
func (r remark) fields() []byte {
	b := fmt.Appendf(nil, "%s: %s\r\n", fieldVerdict, r.Verdict)
	if len(r.Kinds) > 0 {
		b = append(b, fieldKinds+": "...)
		for i, k := range r.Kinds {
			if i > 0 {
				b = append(b, ", "...)
			}
			b = append(b, k...)
		}
		b = append(b, "\r\n"...)
	}
	batch := []byte(cmp.Or(r.Tags["batch"], r.Tags["batch_at_head"]))
	if len(batch) > 0 && len(bytes.Trim(batch, "0123456789")) == 0 {
		b = fmt.Appendf(b, "%s: %s\r\n", fieldBatch, batch)
	}
	return b
}
