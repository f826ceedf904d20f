package sglang

import (
	"time"

	"turnwatch/proxy/turn"
)

// Peek returns what is known before the end of the turn: the configuration,
// its fingerprint as if that were a tag, and the load when its answer began. It asks nobody, and waits for none.
func (w *Watch) Peek() map[string]turn.Tag {
	h := w.g.match.sort(w.fields)
	began := w.head
	if began.IsZero() {
		began = time.Now()
	}
	x := filling{Watch: w, t: &turn.Turn{Time: began, Status: 200}, h: h, s: new(set), info: w.g.infos.at(began), rank: -1}
	x.configuration()
	for _, o := range h.other {
		if x.s.name(o.name, o.value, fromHeader, 0) && o.name == "dp_rank" {
			x.rank, _ = count(o.value)
		}
	}
	if !w.head.IsZero() {
		x.atHead()
	}
	if x.s.print != "" {
		x.s.name("fingerprint", x.s.print, fromOwn, 0)
	}
	x.give(began)
	return x.t.AllTags()
}
