package report

import (
	"cmp"
	"fmt"
	"slices"

	"turnwatch/validate/stats"
)

// unit is a session as far as it ran under one configuration: what is counted
// under tags, and what an explanation is made of.
type unit struct {
	session uint64
	config  int32
	model   int32
	boot    int32
	batch   int32 // the largest of its turns; -1 where not known
	bucket  int32
	tokens  int32
	retries int32 // retractions
	begin   int64 // of its first turn
	stats.Cluster
}

// units returns the judged turns as units, those of one session side by side.
func (v view) units() []unit {
	type id struct {
		session       uint64
		config, model int32
	}
	at := make(map[id]int, len(v.rows)/4)
	var all []unit
	for _, r := range v.rows {
		if !r.judged() {
			continue
		}
		k := id{r.session, r.config, r.model}
		i, ok := at[k]
		if !ok {
			i = len(all)
			at[k] = i
			all = append(all, unit{session: r.session, config: r.config, model: r.model, boot: r.boot, begin: r.at,
				batch: -1, bucket: -1, tokens: -1, retries: -1})
		}
		all[i].add(r, v.what(r))
	}
	slices.SortStableFunc(all, func(a, b unit) int { return cmp.Compare(a.session, b.session) })
	return all
}

func (u *unit) add(r *row, bad bool) {
	u.batch, u.bucket = max(u.batch, r.batch), max(u.bucket, r.bucket)
	u.tokens, u.retries = max(u.tokens, r.tokens), max(u.retries, r.retractions)
	u.N++
	if bad {
		u.K++
	}
}

// boots numbers the starts of servers: by a tag that tells them apart, else one
// for each configuration of a journal. There may have been more.
func (d *Data) boots() {
	var seen names
	for _, r := range d.rows {
		id := d.configs.fingerprint(r.config)
		for _, name := range bootTags() {
			if v := d.configs.value(r.config, name); v != "" {
				id = name + "=" + v
			}
		}
		r.boot = seen.of(fmt.Sprint(r.replica, " ", id))
	}
}

// bootTags are tags that differ from one start of a server to the next.
func bootTags() []string { return []string{"boot", "boot_id", "run_id", "server_start"} }

// Level is one value of what is counted by.
type Level struct {
	Value    string `json:"value"`
	Sessions Rate   `json:"sessions"`
	Turns    Rate   `json:"turns"`
	// P is the exact one-sided p-value, by session, for "more often corrupted
	// here than elsewhere", not corrected for how many levels there are.
	P     float64 `json:"p"`
	Boots int     `json:"boots,omitempty"` // starts of servers that these turns come from
}

// tally counts the units by a property. A session counts once under each value
// that it had; an empty value is left out.
type tally struct {
	at    map[string]int
	lists []bin
	run   []int // for the session at hand, by place in lists: where its cluster is, -1 for none
	used  []int
	last  uint64
}

type bin struct {
	value string
	all   []stats.Cluster
	boots map[int32]bool
}

func tallied(units []unit, of func(*unit) string) []Level {
	t := tally{at: map[string]int{}}
	for i := range units {
		if value := of(&units[i]); value != "" {
			t.add(&units[i], value)
		}
	}
	return t.levels()
}

func (t *tally) add(u *unit, value string) {
	if u.session != t.last {
		for _, i := range t.used {
			t.run[i] = -1
		}
		t.used, t.last = t.used[:0], u.session
	}
	i, ok := t.at[value]
	if !ok {
		i = len(t.lists)
		t.at[value] = i
		t.lists = append(t.lists, bin{value: value, boots: map[int32]bool{}})
		t.run = append(t.run, -1)
	}
	b := &t.lists[i]
	if t.run[i] < 0 {
		t.run[i] = len(b.all)
		t.used = append(t.used, i)
		b.all = append(b.all, stats.Cluster{})
	}
	c := &b.all[t.run[i]]
	c.K, c.N = c.K+u.K, c.N+u.N
	b.boots[u.boot] = true
}

func (t *tally) levels() []Level {
	all := make([]Level, 0, len(t.lists))
	for _, b := range t.lists {
		l := Level{Value: b.value, Boots: len(b.boots)}
		l.Sessions, l.Turns = ratesOf(b.all)
		all = append(all, l)
	}
	return ranked(all)
}

// ranked holds each level against all the others together, the worst first.
func ranked(all []Level) []Level {
	var total stats.Arm
	for _, l := range all {
		total.K, total.N = total.K+l.Sessions.Corrupted, total.N+l.Sessions.All
	}
	for i := range all {
		in := all[i].Sessions.Arm()
		all[i].P = stats.FisherGreater(in, stats.Arm{K: total.K - in.K, N: total.N - in.N})
	}
	slices.SortFunc(all, worstFirst)
	return all
}

func worstFirst(a, b Level) int {
	return cmp.Or(-cmp.Compare(a.Sessions.Rate, b.Sessions.Rate), -cmp.Compare(a.Sessions.All, b.Sessions.All), cmp.Compare(a.Value, b.Value))
}
