package report

import (
	"slices"
	"time"

	"turnwatch/proxy/turn"
	"turnwatch/validate/stats"
)

// Timeline is what happened when.
type Timeline struct {
	Width  float64 `json:"width_s"` // of a bin
	Bins   []Bin   `json:"bins"`
	Events []Event `json:"events"`
	More   int     `json:"more_events,omitempty"` // events that are left out
}

// Bin is a stretch of time: the sessions that began in it, and their turns.
type Bin struct {
	Begin    time.Time `json:"begin"`
	Sessions Rate      `json:"sessions"`
	Turns    Rate      `json:"turns"`
	Batch    int       `json:"largest_batch,omitempty"`
}

// Event is a change of configuration, or a restart.
type Event struct {
	Time    time.Time `json:"time"`
	Restart string    `json:"restart,omitempty"` // what it was noticed by
	From    string    `json:"from"`
	To      string    `json:"to"`
	Changed []Changed `json:"changed"`
}

// Changed is a tag with another value.
type Changed struct {
	Tag  string `json:"tag"`
	From string `json:"from"`
	To   string `json:"to"`
}

// The bounds of a timeline.
const (
	maxBins   = 48
	maxEvents = 40
)

// timeline counts the sessions by when they began.
func (v view) timeline() Timeline {
	t := Timeline{Bins: []Bin{}, Events: []Event{}}
	if len(v.rows) == 0 {
		return t
	}
	from, to := v.rows[0].at, v.rows[len(v.rows)-1].at
	width := binWidth(time.Duration(to - from))
	t.Width = width.Seconds()
	base := time.Unix(0, from).UTC().Truncate(width)
	lists := make([][]stats.Cluster, (to-base.UnixNano())/int64(width)+1)
	batch := make([]int32, len(lists))
	for _, s := range v.spans() {
		i := (s.begin - base.UnixNano()) / int64(width)
		lists[i] = append(lists[i], s.Cluster)
		batch[i] = max(batch[i], s.batch)
	}
	for i, list := range lists {
		b := Bin{Begin: base.Add(time.Duration(i) * width), Batch: int(batch[i])}
		b.Sessions, b.Turns = ratesOf(list)
		t.Bins = append(t.Bins, b)
	}
	t.events(v.d.changes, from, to)
	t.restarts(v.d.restarts, from, to)
	return t
}

// spans returns the sessions with their beginnings, under whatever
// configuration they ran, in the order of their first judged turns.
func (v view) spans() []unit {
	at := make(map[uint64]int, len(v.rows)/4)
	var all []unit
	for _, r := range v.rows {
		if !r.judged() {
			continue
		}
		i, ok := at[r.session]
		if !ok {
			i = len(all)
			at[r.session] = i
			all = append(all, unit{begin: r.at})
		}
		all[i].add(r, v.what(r))
	}
	return all
}

func (t *Timeline) events(changes []turn.ConfigChange, from, to int64) {
	for _, c := range changes {
		if at := c.Time.UnixNano(); at < from || at > to {
			continue
		}
		if len(t.Events) == maxEvents {
			t.More++
			continue
		}
		e := Event{Time: c.Time.UTC(), From: c.From, To: c.To, Changed: []Changed{}}
		for _, d := range c.Changed {
			e.Changed = append(e.Changed, Changed(d))
		}
		t.Events = append(t.Events, e)
	}
}

func (t *Timeline) restarts(all []turn.Restart, from, to int64) {
	for _, r := range all {
		if at := r.Time.UnixNano(); at < from || at > to {
			continue
		}
		if len(t.Events) == maxEvents {
			t.More++
			continue
		}
		t.Events = append(t.Events, Event{Time: r.Time.UTC(), Restart: or(r.Why, "?"), Changed: []Changed{}})
	}
	slices.SortStableFunc(t.Events, func(a, b Event) int { return a.Time.Compare(b.Time) })
}

// binWidth returns a width that people count in, for at most maxBins.
func binWidth(span time.Duration) time.Duration {
	const day = 24 * time.Hour
	for _, w := range []time.Duration{time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 30 * time.Second,
		time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 30 * time.Minute,
		time.Hour, 2 * time.Hour, 6 * time.Hour, 12 * time.Hour, day, 2 * day, 7 * day, 14 * day, 30 * day, 90 * day} {
		if span <= w*(maxBins-1) {
			return w
		}
	}
	return span/(maxBins-1) + 1
}
