package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"turnwatch/cmd/internal/report"
	"turnwatch/proxy/journal"
	"turnwatch/proxy/pairs"
	"turnwatch/proxy/turn"
)

// history is what shadow traffic has shown, as a whole and between events.
type history struct {
	pairs.Report
	Note     string   `json:"note,omitempty"` // what the word does not know
	Replicas int      `json:"replicas"`       // journals that hold pairs
	Pairs    int      `json:"pairs"`          // requests that were offered to an arm
	Events   []event  `json:"events"`
	Periods  []period `json:"periods"` // between the events, where there are pairs
}

// event is something that happened to a server.
type event struct {
	Time time.Time `json:"time"`
	Arm  turn.Arm  `json:"arm"`
	What string    `json:"what"` // restart or config_change
	Text string    `json:"text"`
}

// period is a time without events, judged by itself.
type period struct {
	From   time.Time    `json:"from"`
	Until  time.Time    `json:"until"`
	Pairs  int          `json:"pairs"`
	Report pairs.Report `json:"report"`
}

// lines are what is read of journals.
type lines struct {
	pairs    []*turn.Pair
	events   []event
	replicas map[string]bool
}

// readHistory reads journals. Those of replicas are put in the order of time.
func readHistory(ctx context.Context, paths []string, in io.Reader, limits pairs.Limits) (*history, error) {
	l := lines{replicas: map[string]bool{}}
	if err := report.EachLine(ctx, paths, in, l.take); err != nil {
		return nil, err
	}
	slices.SortStableFunc(l.pairs, func(a, b *turn.Pair) int { return a.Time.Compare(b.Time) })
	slices.SortStableFunc(l.events, func(a, b event) int { return a.Time.Compare(b.Time) })
	all := pairs.NewBook(limits)
	for _, p := range l.pairs {
		all.Add(p)
	}
	h := &history{Report: all.Report(), Replicas: len(l.replicas), Pairs: len(l.pairs), Events: l.merged(), Periods: []period{}}
	h.divide(l.pairs, limits)
	return h, nil
}

// take reads a line, if it is one of ours. What cannot be read is passed over, as
// turnreport itself counts it.
func (l *lines) take(replica string, line journal.Line) {
	if !bytes.Contains(line.Text, []byte(`"type":`)) {
		return
	}
	var head struct {
		V    int    `json:"v"`
		Type string `json:"type"`
	}
	if json.Unmarshal(line.Text, &head) != nil || head.V > turn.Version {
		return
	}
	switch head.Type {
	case "shadow_pair":
		if p := new(turn.Pair); json.Unmarshal(line.Text, p) == nil {
			l.pairs = append(l.pairs, p)
			l.replicas[replica] = true
		}
	case "server_restart":
		l.restart(line.Text)
	case "config_change":
		l.change(line.Text)
	}
}

func (l *lines) restart(text []byte) {
	var r turn.Restart
	if json.Unmarshal(text, &r) == nil {
		l.events = append(l.events, event{r.Time, otherArm(r.Arm), "restart", fmt.Sprintf("the server was started anew, noticed because %s", r.Why)})
	}
}

func (l *lines) change(text []byte) {
	var c turn.ConfigChange
	if json.Unmarshal(text, &c) != nil {
		return
	}
	var all []string
	for _, d := range c.Changed {
		all = append(all, fmt.Sprintf("%s %s → %s", d.Tag, orNothing(d.From), orNothing(d.To)))
	}
	l.events = append(l.events, event{c.Time, otherArm(c.Arm), "config_change",
		fmt.Sprintf("the configuration changed from %s to %s: %s", orNothing(c.From), orNothing(c.To), strings.Join(all, ", "))})
}

func orNothing(s string) string {
	if s == "" {
		return "(unknown)"
	}
	return s
}

// sameEvent is how far apart replicas may notice one event.
const sameEvent = 5 * time.Second

// merged leaves out what several replicas have noticed of one event.
func (l *lines) merged() []event {
	all := []event{}
	for _, e := range l.events {
		if !slices.ContainsFunc(all, func(had event) bool {
			return had.Arm == e.Arm && had.What == e.What && had.Text == e.Text && e.Time.Sub(had.Time) < sameEvent
		}) {
			all = append(all, e)
		}
	}
	return all
}

// divide judges the pairs between each two events by themselves.
func (h *history) divide(all []*turn.Pair, limits pairs.Limits) {
	for _, e := range append(slices.Clone(h.Events), event{}) {
		n := len(all)
		if !e.Time.IsZero() {
			n, _ = slices.BinarySearchFunc(all, e.Time, func(p *turn.Pair, t time.Time) int { return p.Time.Compare(t) })
		}
		if n > 0 {
			h.Periods = append(h.Periods, judge(all[:n], limits))
		}
		all = all[n:]
	}
}

func judge(all []*turn.Pair, limits pairs.Limits) period {
	b := pairs.NewBook(limits)
	for _, p := range all {
		b.Add(p)
	}
	return period{From: all[0].Time, Until: all[len(all)-1].Time, Pairs: len(all), Report: b.Report().Most()}
}

// print writes the history for people.
func (h *history) print(w io.Writer) error {
	p := &printer{w: w}
	p.line("SHADOW %s: %s", h.Word, h.Text)
	if p.line("%d requests were offered, %d journals", h.Pairs, h.Replicas); h.Note != "" {
		p.line("note: %s", h.Note)
	}
	for _, c := range h.Current {
		p.comparison("now", &c)
	}
	for _, c := range h.Earlier {
		p.comparison("earlier", &c)
	}
	p.arms(h.Arms)
	if len(h.Events) > 0 {
		p.line("")
		p.line("events, and what each period between them says by itself")
		p.periods(h)
	}
	return p.err
}

// printer writes lines until one cannot be written.
type printer struct {
	w   io.Writer
	err error
}

func (p *printer) line(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format+"\n", args...)
	}
}

func (p *printer) comparison(when string, c *pairs.Comparison) {
	p.line("")
	p.line("%s: model %s, %s %s against %s %s, %s to %s", when, c.Model, c.Arm, orNothing(c.Print), c.Against, orNothing(c.Versus), stamp(c.Since), stamp(c.Last))
	p.line("  %s: %s", c.Word, c.Text)
	p.question("corrupted", c, &c.Corrupted)
	p.question("suspect", c, &c.Suspect)
	p.question("unanswered", c, &c.Unanswered)
	for _, s := range c.Strata {
		p.question(s.Tokens+" tokens", c, &s.Question)
	}
	for _, arm := range []turn.Arm{turn.Live, turn.Control, turn.Candidate} {
		if m, ok := c.Arms[arm]; ok {
			p.line("  %-15s batch %.1f, first byte %.1f ms, %.1f ms a token, %.0f tokens an answer", arm, m.Batch, m.TTFBMS, m.TokenMS, m.Tokens)
		}
	}
	d := &c.Differ
	p.line("  not alike       finish reasons %d, call names %d, arguments %d, texts %d, prompt tokens %d", d.Finish, d.Names, d.Args, d.Text, d.Prompt)
}

func (p *printer) question(name string, c *pairs.Comparison, q *pairs.Question) {
	p.line("  %-15s %s: %d pairs, only %s %d, only %s %d, both %d; %+.1f points [%+.1f, %+.1f], sessions %d to %d, E %.3g worse, %.3g better; %d unjudged", name, q.Word, q.Pairs,
		c.Arm, q.First, c.Against, q.Second, q.Both, 100*q.Seen, 100*q.Low, 100*q.High, q.Votes[0], q.Votes[1], q.EWorse, q.EBetter, q.Unjudged)
}

func (p *printer) arms(arms map[turn.Arm]pairs.Arm) {
	p.line("")
	for _, name := range []turn.Arm{turn.Control, turn.Candidate} {
		if a, ok := arms[name]; ok {
			p.line("%-10s offered %d = paired %d + dropped %s + failed %s", name, a.Offered, a.Paired, reasons(a.Dropped), reasons(a.Failed))
		}
	}
}

// reasons writes counts by reason.
func reasons(counts map[string]int) string {
	total, all := 0, []string{}
	for why, n := range counts {
		total += n
		all = append(all, fmt.Sprintf("%s %d", why, n))
	}
	slices.Sort(all)
	if total == 0 {
		return "0"
	}
	return fmt.Sprintf("%d (%s)", total, strings.Join(all, ", "))
}

// periods writes events and periods in the order of time.
func (p *printer) periods(h *history) {
	events := h.Events
	for _, d := range h.Periods {
		for len(events) > 0 && !events[0].Time.After(d.From) {
			p.event(events[0])
			events = events[1:]
		}
		p.line("  %s to %s: %d requests, %s: %s", stamp(d.From), stamp(d.Until), d.Pairs, d.Report.Word, d.Report.Text)
	}
	for _, e := range events {
		p.event(e)
	}
}

func (p *printer) event(e event) { p.line("  %s %s: %s", stamp(e.Time), e.Arm, e.Text) }

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }
