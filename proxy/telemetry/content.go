package telemetry

import (
	"encoding/json"
	"slices"
	"sync/atomic"

	"turnwatch/proxy/turn"
	"turnwatch/validate"
)

// Bounds of what was said, where that is asked for.
const (
	maxSaid        = 1 << 20  // of request and answer together that is read
	maxText        = 16 << 10 // of one part of a message
	maxContent     = 64 << 10 // of an attribute
	maxContentHeld = 16 << 20 // of all that waits for the exporter
)

// content adds what was said to the spans of corrupted turns. A nil content adds
// nothing.
type content struct {
	// said returns request and answer, less what nobody is to see.
	said func(t *turn.Turn) (request, answer []byte)
	own  *own
	held atomic.Int64
}

// add adds what was said in a turn, if it was kept, and returns how much room that
// takes, which is given back by free.
func (c *content) add(a *attrs, t *turn.Turn) (n int64) {
	if c == nil || t.Outcome != validate.Corrupted || t.Capture == nil {
		return 0
	}
	request, answer := c.said(t)
	if len(request)+len(answer) == 0 || len(request)+len(answer) > maxSaid {
		a.yes(AttrContentCut, true)
		return 0
	}
	said, cut := wordings(t.Path, request, answer)
	for _, s := range said {
		n += int64(len(s.value))
	}
	if c.held.Add(n) > maxContentHeld {
		c.held.Add(-n)
		c.own.dropped.add(1, traces+" "+contentFull)
		a.yes(AttrContentCut, true)
		return 0
	}
	for _, s := range said {
		a.str(s.key, s.value)
	}
	if cut {
		a.yes(AttrContentCut, true)
	}
	return n
}

func (c *content) free(n int64) {
	if c != nil {
		c.held.Add(-n)
	}
}

// wording is an attribute of what was said.
type wording struct{ key, value string }

// wordings writes the attributes that the GenAI conventions have for what was said,
// each within its bound, and says whether anything had to be left out.
func wordings(path string, request, answer []byte) (all []wording, cut bool) {
	t := validate.NewTranscript(path, request, answer)
	cut = shorten(t.System)
	for _, m := range slices.Concat(t.Input, t.Output) {
		cut = shorten(m.Parts) || cut
	}
	take := func(key string) func(string, bool) {
		return func(value string, less bool) { all, cut = append(all, wording{key, value}), cut || less }
	}
	take(AttrSystem)(bounded(t.System))
	take(AttrInput)(bounded(t.Input))
	take(AttrOutput)(bounded(t.Output))
	take(AttrTools)(bounded(t.Tools))
	return all, cut
}

// shorten cuts the texts of parts that are too long.
func shorten(parts []validate.Part) (cut bool) {
	for i := range parts {
		p := &parts[i]
		for _, s := range []*string{&p.Content, &p.Response} {
			if len(*s) > maxText {
				*s, cut = valid((*s)[:maxText])+"…", true
			}
		}
		if len(p.Arguments) > maxText {
			p.Arguments, _ = json.Marshal(valid(string(p.Arguments[:maxText])) + "…") // a string always encodes
			cut = true
		}
	}
	return cut
}

// bounded is a list as JSON: the latest entries, as many as there is room for, since
// what is last is what was answered.
func bounded[T any](all []T) (s string, cut bool) {
	for ; len(all) > 0; all, cut = all[(len(all)+1)/2:], true {
		b, err := json.Marshal(all)
		if err == nil && len(b) <= maxContent {
			return string(b), cut
		}
	}
	return "", cut
}
