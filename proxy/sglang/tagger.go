package sglang

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"turnwatch/proxy/turn"
)

// Tagger says what is known of one server. Begin is for every turn; Run must
// run meanwhile.
type Tagger struct {
	cfg    Config
	match  *matcher
	own    *own
	infos  *infos
	heads  *heads
	loads  *timeline
	log    *statusLog
	ask    *asker
	poll   *poller
	key    *watched[string]
	labels *watched[[]field]
	stats  *stats

	declared atomic.Pointer[[]field] // labels
	setups   setups
	watches  sync.Pool // of *Watch, of turns that are over

	changed func(*turn.ConfigChange) // set before the first Begin; nil: nobody is told

	mu      sync.Mutex
	latest  *setup    // of the latest turn; nil before the first
	from    origin    // what it was made of
	since   time.Time // when that turn's answer began
	allowed float64   // changes that may still be told in detail
	refill  time.Time
}

// New makes a Tagger. The error is that of a setting, or of a file that cannot
// be read.
func New(cfg Config) (*Tagger, error) {
	cfg.defaults()
	if err := cfg.check(); err != nil {
		return nil, err
	}
	g := &Tagger{cfg: cfg, match: newMatcher(&cfg), own: newOwn(), infos: new(infos), heads: new(heads),
		loads: new(timeline), stats: newStats(), allowed: burst}
	var err error
	if g.key, err = watch(cfg.KeyName, cfg.KeyFile, cfg.Logger, parseKey); err != nil {
		return nil, err
	}
	if g.labels, err = watch("-label-file", cfg.LabelFile, cfg.Logger, readLabels); err != nil {
		return nil, err
	}
	g.declare(cfg.Labels)
	c := newClient(&g.cfg, g.key)
	g.log = &statusLog{path: cfg.StatusLog, log: cfg.Logger, stats: g.stats}
	g.ask = &asker{c: c, limit: cfg.FactsTimeout, stats: g.stats, queue: make(chan question, factsQueue)}
	g.poll = &poller{c: c, cfg: &g.cfg, busy: g.own.running, wake: make(chan struct{}, 1), stats: g.stats, infos: g.infos, heads: g.heads, loads: g.loads}
	return g, nil
}

// TellChanges makes f be told when turns come from another configuration than
// those before them. It must be called before the first Begin, and f must not
// wait.
func (g *Tagger) TellChanges(f func(*turn.ConfigChange)) { g.changed = f }

// TellRestarts makes f be told when the server seems to have been started anew, and by
// what that was noticed. It must be called before Run, and f must not wait.
func (g *Tagger) TellRestarts(f func(why string)) { g.poll.told = f }

// Key returns the key that authenticates our own requests to the server; "" for none.
func (g *Tagger) Key() string { return g.key.get() }

// SetLabels declares other labels than those of the Config. The error is that
// of a label; then those before stay.
func (g *Tagger) SetLabels(labels map[string]string) error {
	if err := (&Config{Labels: labels}).check(); err != nil {
		return err
	}
	g.declare(labels)
	return nil
}

func (g *Tagger) declare(labels map[string]string) {
	all := labelled(labels)
	g.declared.Store(&all)
}

// Load returns how many requests the server is decoding, as far as is known: those of
// ours, or those that it told of last, whichever are more.
func (g *Tagger) Load() int {
	n := g.own.decoding()
	if polled, _, ok := g.loads.at(time.Now(), -1); ok {
		n = max(n, polled.running)
	}
	return n
}

// Run polls, reads and asks until ctx is done, and returns when nothing of it
// is left.
func (g *Tagger) Run(ctx context.Context) {
	var wg sync.WaitGroup
	wg.Go(func() { g.ask.run(ctx, g.cfg.FactsWorkers) })
	wg.Go(func() { g.log.run(ctx) })
	wg.Go(func() { g.key.run(ctx) })
	wg.Go(func() { g.labels.run(ctx) })
	if !g.cfg.NoPoll {
		wg.Go(func() { g.poll.run(ctx) })
	}
	wg.Wait()
	g.ask.c.http.CloseIdleConnections()
}

// Begin begins to watch a turn.
func (g *Tagger) Begin() *Watch {
	if g.own.begin() {
		select {
		case g.poll.wake <- struct{}{}:
		default:
		}
	}
	if w, ok := g.watches.Get().(*Watch); ok {
		return w
	}
	return &Watch{g: g}
}

// burst is how many changes of the configuration are told in detail at once;
// one more may be told every refillEvery. A gateway in front of unlike servers
// would fill log and journal otherwise.
const (
	burst       = 10
	refillEvery = 10 * time.Second
)

// compare notes under which configuration a turn was made, tells of a change
// and returns the fingerprint. Turns are tagged out of order: one that began
// before the latest changes nothing. Neither does one whose configuration lacks
// what only a head tells.
func (g *Tagger) compare(t *turn.Turn, u *setup, from origin) string {
	g.mu.Lock()
	defer g.mu.Unlock()
	if t.Began.Before(g.since) || !g.comparable(from) {
		return u.print
	}
	g.since, g.from = t.Began, from
	if g.latest == u {
		return u.print
	}
	before := g.latest
	if g.latest = u; before != nil && !sameConfig(before.fields, u.fields) {
		g.change(t, before.fields, u.fields)
	}
	return u.print
}

// change counts a change, and tells of it unless there were too many. mu is held.
func (g *Tagger) change(t *turn.Turn, before, config []field) {
	g.stats.changed()
	now := time.Now()
	g.allowed = min(burst, g.allowed+float64(now.Sub(g.refill))/float64(refillEvery))
	if g.refill = now; g.allowed < 1 {
		return
	}
	g.allowed--
	c := difference(t, before, config)
	g.cfg.Logger.Warn("turns come from another configuration", "turn_id", t.ID, "from", c.From, "to", c.To, "changed", fmt.Sprint(c.Names()))
	if g.changed != nil {
		g.changed(c)
	}
}

func difference(t *turn.Turn, before, now []field) *turn.ConfigChange {
	c := &turn.ConfigChange{V: turn.Version, Time: t.Time, From: fingerprint(before), To: fingerprint(now), Turn: t.ID}
	for _, f := range before {
		if v, _ := valueOf(now, f.name); v != f.value {
			c.Changed = append(c.Changed, turn.Change{Tag: f.name, From: f.value, To: v})
		}
	}
	for _, f := range now {
		if _, ok := valueOf(before, f.name); !ok {
			c.Changed = append(c.Changed, turn.Change{Tag: f.name, To: f.value})
		}
	}
	return c.Sort()
}

func valueOf(fields []field, name string) (string, bool) {
	i := slices.IndexFunc(fields, func(f field) bool { return f.name == name })
	if i < 0 {
		return "", false
	}
	return fields[i].value, true
}
