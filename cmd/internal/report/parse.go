package report

import (
	"encoding/json"
	"hash/maphash"
	"strconv"

	"turnwatch/proxy/journal"
	"turnwatch/proxy/turn"
	"turnwatch/validate"
)

// entry is what a line holds.
type entry struct {
	row   row
	names [5]string // model, arm, reason, finish reason, configuration

	example *Example
	change  *turn.ConfigChange
	restart *turn.Restart
	opinion *turn.Opinion
	kind    string // of a line that is no turn
	fault   *Fault // of one that cannot be read
	none    bool   // a blank line
}

const (
	nameModel = iota
	nameArm
	nameReason
	nameFinish
	nameConfig
)

// parser makes entries of lines. Many may share seed and kinds.
type parser struct {
	seed  maphash.Seed
	kinds *kindTable
}

func (p *parser) line(l journal.Line) entry {
	t, kind, err := l.Parse()
	switch {
	case err != nil:
		return entry{fault: newFault(l, err)}
	case kind == "config_change":
		c := new(turn.ConfigChange)
		if err := json.Unmarshal(l.Text, c); err != nil {
			return entry{fault: newFault(l, err)}
		}
		return entry{kind: kind, change: c}
	case kind == "server_restart":
		r := new(turn.Restart)
		if err := json.Unmarshal(l.Text, r); err != nil {
			return entry{fault: newFault(l, err)}
		}
		return entry{kind: kind, restart: r}
	case kind == "opinion":
		o := new(turn.Opinion)
		if err := json.Unmarshal(l.Text, o); err != nil {
			return entry{fault: newFault(l, err)}
		}
		return entry{kind: kind, opinion: o}
	case t == nil:
		return entry{kind: kind, none: kind == ""}
	}
	return p.turn(t)
}

func (p *parser) turn(t *turn.Turn) entry {
	e := entry{row: row{at: t.Time.UnixNano(), ttfb: float32(t.TTFBMS), took: float32(t.DurationMS), calls: int32(t.Calls), onset: -1}}
	r := &e.row
	r.session = p.session(t)
	r.id, r.request, r.prefix = p.hash(t.ID), p.hash(t.RequestID), p.hash(t.Prefix)
	p.verdict(r, t)
	p.measures(r, t)
	e.names = [...]string{nameModel: t.Model, nameArm: string(t.Arm), nameReason: string(t.Reason), nameConfig: key(t)}
	if len(t.FinishReasons) > 0 {
		e.names[nameFinish] = t.FinishReasons[0]
	}
	if r.bad() {
		e.example = example(t)
	}
	return e
}

func (p *parser) hash(s string) uint64 {
	if s == "" {
		return 0
	}
	return maphash.String(p.seed, s)
}

// session returns the session's hash, which the journal's is added to. Clients
// that try servers one after the other use names again: what ran in another arm
// or under another configuration is another session. A turn without one is a
// session of its own.
func (p *parser) session(t *turn.Turn) uint64 {
	if t.Session == "" {
		return maphash.String(p.seed, "t"+t.ID)
	}
	return maphash.Comparable(p.seed, [3]string{string(t.Arm), t.Fingerprint, t.Session})
}

func (p *parser) verdict(r *row, t *turn.Turn) {
	r.outcome = outcomeOf(t.Outcome)
	r.ending = endingOf(t.Ending)
	r.flag(isSuspect, t.Suspect)
	r.flag(isConstrained, t.Constrained)
	r.flag(isStream, t.Stream)
	r.flag(isFailed, t.Status == 0 || t.Status >= 300)
	r.flag(isKnown, t.Answer != "")
	r.flag(isWrong, t.Answer == turn.Wrong)
	r.score = scoreOf(t.Vendor)
	for i := range t.Findings {
		r.flag(isFailed, broken(t.Findings[i].Kind))
		p.finding(r, &t.Findings[i])
	}
	for i := range t.Signals {
		r.signals |= p.kinds.mask(t.Signals[i].Kind)
	}
	if r.outcome == corrupted && r.kinds|r.parser == 0 {
		r.kinds = 1 << otherKind // a verdict without its findings is one all the same
	}
}

func (p *parser) finding(r *row, f *validate.Finding) {
	switch {
	case r.outcome != corrupted:
	case f.Cause == validate.CauseParser:
		r.parser |= p.kinds.mask(f.Kind)
	default:
		r.kinds |= p.kinds.mask(f.Kind)
		if at := float32(f.AtMS); r.onset < 0 || at < r.onset {
			r.onset = at
		}
	}
}

func (r *row) flag(f flags, on bool) {
	if on {
		r.flags |= f
	}
}

// measures takes in the numbers that differ from turn to turn.
func (p *parser) measures(r *row, t *turn.Turn) {
	r.tokens, r.prompt = -1, -1
	if u := t.Usage; u != nil {
		r.tokens, r.prompt = small(u.CompletionTokens), small(u.PromptTokens)
	}
	r.batch, r.bucket = number(t, "batch"), number(t, "graph_bucket")
	r.retractions, r.onsetBatch = number(t, "retractions"), number(t, "batch_at_onset")
	r.steps = stepsOf(t.Tags["batch_steps"].Value)
}

// number returns a tag that is a count, -1 where there is none.
func number(t *turn.Turn, name string) int32 {
	v, ok := t.Tags[name]
	if !ok {
		return -1
	}
	n, err := strconv.ParseInt(v.Value, 10, 32)
	if err != nil || n < 0 {
		return -1
	}
	return int32(n)
}

// small fits a count into a row; what cannot be true is not known.
func small(n int64) int32 {
	if n < 0 || n > 1<<30 {
		return -1
	}
	return int32(n)
}

// broken reports whether a turn with this finding is a failed request to a
// verifier: the server sent an error, at once or in the midst.
func broken(k validate.Kind) bool {
	return k == validate.UpstreamError || k == validate.TruncatedError || k == validate.ServerReported
}

func scoreOf(v *validate.Vendor) (s score) {
	if v == nil {
		return 0
	}
	switch v.K2VV {
	case validate.VendorValid:
		s |= k2Valid
	case validate.VendorInvalid:
		s |= k2Invalid
	case validate.VendorNoCall:
		s |= k2NoCall
	case validate.VendorUnknown:
		s |= k2Unknown
	}
	switch v.OpenRouter {
	case validate.VendorOK:
		s |= orOK
	case validate.VendorJSON:
		s |= orJSON
	case validate.VendorName:
		s |= orName
	case validate.VendorSchema:
		s |= orSchema
	}
	if v.OnlyReasoning {
		s |= onlyReasoning
	}
	if v.Cyrillic {
		s |= hasCyrillic
	}
	return s
}

func outcomeOf(o validate.Outcome) outcome {
	switch o {
	case validate.Clean:
		return clean
	case validate.Corrupted:
		return corrupted
	case validate.Truncated:
		return truncated
	}
	return unverified
}

func endingOf(e validate.Ending) ending {
	switch e {
	case validate.ServerCut:
		return serverCut
	case validate.ClientGone:
		return clientGone
	case validate.ProxyCut:
		return proxyCut
	}
	return complete
}

func example(t *turn.Turn) *Example {
	return &Example{ID: t.ID, RequestID: t.RequestID, Session: t.Session, Time: t.Time, Model: t.Model,
		Findings: t.Findings[:min(len(t.Findings), 4)], Batch: t.Tags["batch"].Value, Config: t.Fingerprint}
}
