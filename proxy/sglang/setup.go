package sglang

import (
	"slices"
	"sync"
	"time"

	"turnwatch/proxy/turn"
)

// setup is what turns of one configuration have in common. It does not change.
type setup struct {
	of       basis
	config   *turn.Config
	fields   []field // the part that the fingerprint is made of, as it was put in
	print    string  // that fingerprint
	taken    slots   // whose names config has
	noGraphs bool    // CUDA graphs are off
}

// basis is what a setup is put together from, in the order of their
// precedence.
type basis struct {
	head     []field   // told by the turn's own head, or by the latest
	told     time.Time // when the latest one told it; zero: it is the turn's own
	info     *info     // nil: none
	labels   *read[[]field]
	declared *[]field
}

func (b *basis) same(o *basis) bool {
	return b.info == o.info && b.labels == o.labels && b.declared == o.declared && b.told.Equal(o.told) && slices.Equal(b.head, o.head)
}

func newSetup(of basis) *setup {
	u := &setup{of: of}
	tags := u.add(nil, of.head, fromHeader, of.told)
	if of.info != nil {
		tags = u.add(tags, of.info.fields, fromPoll, of.info.at)
	}
	if of.labels != nil {
		tags = u.add(tags, of.labels.v, fromLabel, of.labels.since)
	}
	tags = u.add(tags, *of.declared, fromLabel, time.Time{})
	u.config, u.print = turn.NewConfig(tags), fingerprint(u.fields)
	for at, name := range slotNames[:] {
		if u.config.Has(name) {
			u.taken |= 1 << at
		}
	}
	return u
}

// add adds what a source says, where none before it did. The seed of a server
// differs from start to start and makes no other configuration.
func (u *setup) add(tags []turn.ConfigTag, fields []field, source string, at time.Time) []turn.ConfigTag {
	for _, f := range fields {
		if f.name == "" || len(tags) == maxTags || slices.ContainsFunc(tags, func(t turn.ConfigTag) bool { return t.Name == f.name }) {
			continue
		}
		tags = append(tags, turn.ConfigTag{Name: f.name, Value: f.value, Source: source, At: at})
		if f.name != "random_seed" || source == fromLabel {
			u.fields = append(u.fields, f)
			u.noGraphs = u.noGraphs || f.name == "cuda_graph" && f.value == "off"
		}
	}
	return tags
}

// setups are the latest few: most turns are made under one of them.
type setups struct {
	mu     sync.Mutex
	latest [4]*setup
	next   int // the oldest
}

// of returns the setup that is put together on a basis.
func (l *setups) of(p basis) *setup {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, u := range l.latest {
		if u != nil && u.of.same(&p) {
			return u
		}
	}
	u := newSetup(p)
	l.latest[l.next] = u
	l.next = (l.next + 1) % len(l.latest)
	return u
}
