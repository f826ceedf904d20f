package second

import (
	"context"

	"turnwatch/validate"
	"turnwatch/validate/opinion"
)

// replayable reports whether a request does nothing on the server but make an answer.
func replayable(path string, body []byte) bool {
	switch path {
	case "/v1/chat/completions", "/v1/completions", "/v1/messages", "/generate", "/api/chat", "/api/generate", "/invocations":
		return !validate.HasEffects(path, body)
	}
	return false
}

// replay sends the turn's request again, alone on an idle server each time, and
// holds the answers against the turn's.
func (a *Asker) replay(j *job, s opinion.Sampling) {
	switch {
	case j.replays == 0 || !replayable(j.path, j.request):
		j.unknown(NoIDs)
		return
	case !s.Stated || s.Temperature != 0:
		j.unknown(NotGreedy)
		return
	case j.answer.body == nil:
		j.unknown(NotKept)
		return
	}
	live := j.outline(j.answer)
	var again []*validate.Outline
	for range j.replays {
		if !a.calm(0) {
			j.unknown(Busy)
			return
		}
		j.o.By = byReplays
		o, why := a.once(j)
		if why != "" {
			j.unknown(why)
			return
		}
		again = append(again, o)
		j.o.Replays = len(again)
	}
	j.compared(compare(live, again, j.flags))
}

// maxReplay is the longest answer that is read of a replay: longer ones are not
// kept of turns either.
const maxReplay = 8 << 20

// once sends the request once more.
func (a *Asker) once(j *job) (*validate.Outline, opinion.Reason) {
	ctx, cancel := context.WithTimeout(a.ctx, a.cfg.Timeout)
	defer cancel()
	r, err := a.client.send(ctx, j.path, j.request, min(a.cfg.MaxAnswer, maxReplay))
	if err != nil {
		return nil, failed(err)
	}
	return j.outline(said{validate.Head{Status: 200, ContentType: r.contentType}, r.body}), ""
}

// outline returns what an answer says; nil where it cannot be read to its end.
func (j *job) outline(s said) *validate.Outline {
	req, err := validate.ParseRequest(j.path, j.request)
	if err != nil {
		return nil
	}
	req.Outline = true
	c := validate.NewChecker(req, s.head)
	c.Feed(0, s.body)
	if v := c.Finish(validate.Complete); v.Outcome == validate.Unverified {
		return nil
	}
	return c.Outline()
}

func (j *job) compared(w opinion.Word, why opinion.Reason) {
	if w == opinion.Unknown {
		j.unknown(why)
		return
	}
	j.word(w)
}

// compare holds replays against the turn's answer.
func compare(live *validate.Outline, again []*validate.Outline, flags []flag) (opinion.Word, opinion.Reason) {
	if live == nil || len(again) == 0 {
		return opinion.Unknown, Unjudged
	}
	for _, o := range again {
		if o == nil {
			return opinion.Unknown, Unjudged
		}
		if !same(again[0].Like(o)) {
			return opinion.Unknown, Disagree
		}
	}
	l := live.Like(again[0])
	switch {
	case same(l):
		return opinion.Model, ""
	case flaggedAt(live, l.FirstDiff, flags):
		return opinion.Server, ""
	}
	return opinion.Unknown, Elsewhere
}

func same(l validate.Likeness) bool { return l.Names && l.Args && l.FirstDiff < 0 }

// flaggedAt reports whether a character of the answer lies in the arguments of a flagged
// call, at its flagged byte or before it.
func flaggedAt(live *validate.Outline, diff int, flags []flag) bool {
	for _, f := range flags {
		from, to, ok := live.Span(f.choice, f.call, f.at)
		if ok && from <= diff && diff <= to {
			return true
		}
	}
	return false
}
