package proxy

import (
	"runtime/debug"
	"strings"
	"time"

	"turnwatch/proxy/turn"
	"turnwatch/validate"
)

// observer watches one turn for the judge. It belongs to the exchange until
// done, then to the finisher, and after that to a later turn. Nothing it does
// can fail the exchange: what breaks makes the turn unverified.
type observer struct {
	s     *Server
	t     turn.Turn
	path  string
	first time.Time // arrival of the answer's first byte

	req   *validate.Request
	tags  TurnTags          // nil: none
	check *validate.Checker // judges in-line; nil when it cannot, or not yet

	// A turn that cannot be judged while it streams is held and judged by the
	// finisher: its request was too large to read in time, or its answer is
	// encoded.
	kept     *kept // for evidence; nil: nothing is
	reqBody  *capture
	answer   *capture
	encoding string
	h        validate.Head

	who   caller
	talk  *validate.Conversation // nil while it is not known
	start []byte                 // of the answer, where its id is to be found there

	speaker uint64 // the conversation that strangers may talk in; 0 while it is not known

	asked   *asked            // what other arms may be sent; nil: nothing
	mirror  *mirror           // what they were sent; nil: nothing
	outline *validate.Outline // of the answer, to be held against theirs

	spare     *budget // of an arm's turn; nil: the server's
	charged   int64   // of the budget, for what the judge keeps
	compared  int64   // … and to compare the answer with the request
	unweighed int     // bytes until it is looked at again

	at     time.Duration   // arrival of the bytes being fed
	reason validate.Reason // why the turn cannot be judged; empty while it can
	judged bool            // the verdict was made for the client already
	over   time.Time       // when the finisher had judged it; zero: it has not
}

// observer returns one that watches nothing yet.
func (s *Server) observer() *observer {
	if o, ok := s.observers.Get().(*observer); ok {
		return o
	}
	return &observer{s: s}
}

// reuse lets a later turn have the observer of one that was recorded, and that
// nobody holds: none of a turn with a pair or with late tags.
func (s *Server) reuse(o *observer) {
	if o.mirror != nil {
		return
	}
	o.tell(TurnTags.Free)
	*o = observer{s: s}
	s.observers.Put(o)
}

// observe begins to watch a turn.
func (s *Server) observe(x *exchange) *observer {
	o := s.observer()
	o.path = s.pathOf(x)
	id, parents, states := ownFields(x.req.fields)
	t := &o.t
	t.V, t.ID, t.RequestID, t.Time, t.Path, t.Arm = turn.Version, turn.NewIDAt(x.begin), clip(string(id)), x.begin, o.path, turn.Live
	o.trace(x, parents, states)
	o.kept = s.keep(x.req.raw)
	o.taggedBy(s.cfg.Tags)
	s.stats.Judged.Add(1)
	if s.stats.behind.now(x.begin) {
		o.give(validate.ReasonLoopLate, turn.DropLoopLate)
	}
	return o
}

// pathOf returns the path of a request. Turns in a row have mostly one, and then
// the same string, which is still in the processor's caches.
func (s *Server) pathOf(x *exchange) string {
	path := x.req.path()
	if latest := s.path.Load(); latest != nil && *latest == string(path) {
		return *latest
	}
	now := string(path)
	s.path.Store(&now)
	return now
}

// guarded runs f and turns a panic in it into an unverified turn.
func (o *observer) guarded(f func()) {
	defer func() {
		if p := recover(); p != nil {
			o.broke(p)
		}
	}()
	f()
}

// spared runs what neither the answer nor the verdict needs: a panic costs that
// alone, and is logged as what it costs.
func (o *observer) spared(cost string, f func()) {
	defer func() {
		if p := recover(); p != nil {
			o.s.log.Error(cost, "turn_id", o.t.ID, "panic", p, "stack", string(debug.Stack()))
		}
	}()
	f()
}

func (o *observer) broke(p any) {
	o.give(validate.ReasonCheckerPanic, turn.DropCheckerPanic)
	o.s.log.Error("the judge broke on a turn, which is unverified", "turn_id", o.t.ID, "panic", p,
		"stack", string(debug.Stack()))
}

// give gives up on judging the turn.
func (o *observer) give(why validate.Reason, drop turn.Drop) {
	if o.reason != "" {
		return
	}
	o.reason, o.check = why, nil
	o.answer.free()
	if o.kept != nil {
		o.kept.answer.free()
		o.kept.said.Answer.Lost = drop
	}
	o.answer = nil // the request's copy may still be growing: the finisher frees it
	if drop != "" {
		o.s.stats.Drop(drop)
	}
}

// streams makes the judge keep a copy of a request body that streams through.
func (o *observer) streams(length int64) *capture {
	o.reqBody = o.s.hold()
	o.reqBody.length = length
	return o.reqBody
}

// request reads what the request allows, unless it is still on its way.
func (o *observer) request(body []byte) {
	if o.reqBody != nil || o.reason != "" {
		return
	}
	w := stopwatchOf(o.t.Time)
	o.guarded(func() { o.parse(body) })
	w.lap(&o.s.stats.judgeRequest)
}

func (o *observer) parse(body []byte) {
	req, err := o.s.schemas.ParseRequest(o.path, body)
	if err != nil {
		o.give(validate.ReasonRequestMalformed, "")
		return
	}
	req.TokenRate = o.s.rates.Of(req.Model)
	o.req, o.t.Model, o.t.Stream = req, clip(req.Model), req.Stream
	o.compare(body)
	o.s.probes.saw(req.Model)
	o.converse(body)
	o.joined()
}

// begun notes the arrival of the answer's first byte.
func (o *observer) begun(now time.Time) {
	o.first = now
	o.t.TTFBMS = ms(now.Sub(o.t.Time))
}

// head learns what the answer is and decides how it is judged.
func (o *observer) head(h *answerHead) {
	o.t.Status = h.status
	o.h = validate.Head{Status: h.status, ContentType: h.contentType}
	if h.contentEncoding != "identity" {
		o.encoding = h.contentEncoding
	}
	switch {
	case o.reason != "":
	case o.encoding != "" && !decodable(o.encoding):
		o.give(validate.ReasonNotInspectable, "")
	case o.encoding != "" || o.reqBody != nil:
		o.answer = &capture{budget: o.budget()}
	default:
		o.guarded(func() { o.check = validate.NewChecker(o.req, o.h) })
	}
}

// atOnce is how many pieces of a body are taken in together.
const atOnce = 16

// data is given bytes of the body as they came, framing included, and when that
// was. f is the framing before them, and then the one behind them.
func (o *observer) data(at time.Duration, f *framing, b []byte) {
	o.at = at
	var room [atOnce][]byte
	for len(b) > 0 {
		var pieces [][]byte
		pieces, b = f.split(room[:0], b)
		o.take(pieces)
	}
}

// take takes in the next of the body's own bytes.
func (o *observer) take(pieces [][]byte) {
	for _, p := range pieces {
		o.t.BytesOut += int64(len(p))
	}
	o.learnOf(pieces)
}

// learnOf has bytes judged, and gives them to all else that learns from them.
func (o *observer) learnOf(pieces [][]byte) {
	o.judge(pieces)
	o.tagData(pieces)
	o.keepStart(pieces)
}

// judge judges the body's own bytes, or holds them until they can be.
func (o *observer) judge(pieces [][]byte) {
	defer func() {
		if p := recover(); p != nil {
			o.broke(p) // what follows is not judged either
		}
	}()
	for _, p := range pieces {
		if o.encoding == "" && o.reason == "" {
			o.kept.add(o.at, p)
		}
		switch {
		case o.answer != nil:
			if !o.answer.add(o.at, p) {
				o.give(validate.Reason(o.answer.lost), o.answer.lost) // the words are the same
			}
		case o.check != nil:
			o.check.Feed(o.at, p)
			o.weigh(len(p))
		}
	}
}

// weigh looks, now and then, what the judge keeps. It was fed with n bytes more.
func (o *observer) weigh(n int) {
	if o.unweighed -= n; o.unweighed < 0 {
		o.unweighed = weighEvery
		o.charge()
	}
}

// weighEvery is after how many bytes it is looked what the judge keeps: it can
// keep little more than it was given, and looking costs as much as judging.
const weighEvery = 8 << 10

// charge counts what the judge keeps of the turn against the budget of all, in
// steps, and gives up on the turn that finds no room.
func (o *observer) charge() {
	const step = 4 << 10
	held := int64(o.req.Held() + o.check.Held())
	if held <= o.charged {
		return
	}
	more := (held - o.charged + step - 1) / step * step
	if !o.budget().take(more) {
		o.give(validate.ReasonJudgeMemory, turn.DropJudgeMemory)
		return
	}
	o.charged += more
}

// budget bounds what is held for the turn.
func (o *observer) budget() *budget {
	if o.spare != nil {
		return o.spare
	}
	return &o.s.budget
}

// now is when the turn was judged, for what is done with it at once.
func (o *observer) now() time.Time {
	if o.over.IsZero() {
		return time.Now()
	}
	return o.over
}

// free gives back everything that was held for the judge.
func (o *observer) free() {
	o.reqBody.free()
	o.answer.free()
	o.uncompare()
	o.budget().used.Add(-o.charged)
	o.reqBody, o.answer, o.charged = nil, nil, 0
	if o.t.Capture == nil {
		o.kept.free()
	}
}

// done ends the turn and offers it to the finisher.
func (o *observer) done(how validate.Ending, sent int64) {
	o.ends(how, sent)
	o.mirror.given(how)
	o.s.finish.offer(o)
}

// ends ends the turn.
func (o *observer) ends(how validate.Ending, sent int64) {
	o.t.Ending = how
	o.t.DurationMS = ms(time.Since(o.t.Time))
	o.t.BytesIn = sent
	o.tell(TurnTags.End)
}

// keepSaid keeps what the answer says for other arms and for the sinks.
func (o *observer) keepSaid() {
	o.outlined()
	o.lend()
}

// outlined keeps what the answer says, if it is to be held against others.
func (o *observer) outlined() {
	if o.mirror != nil && o.check != nil {
		o.outline = o.check.Outline()
	}
}

// maxClientName bounds what a record takes over from a client.
const maxClientName = 256

// clip cuts a name that a client chose to the length that a record may hold.
func clip(name string) string {
	if len(name) <= maxClientName {
		return name
	}
	return strings.ToValidUTF8(name[:maxClientName-len("…")], "") + "…"
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
