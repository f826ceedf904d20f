package telemetry

import (
	"context"
	"hash/maphash"
	"sync"
	"time"

	"turnwatch/proxy/turn"
	"turnwatch/validate"
)

// maxOpen bounds the sessions that are followed at once. Beyond it the one that
// was silent longest is taken for over.
const maxOpen = 1 << 16

// session is what is known of one that is not over.
type session struct {
	key          uint64
	older, newer *session // that were silent longer, and less long
	last         time.Time

	g       *group
	cell    cell // of the worst turn, in the largest batch so far
	batch   int
	heir    bool // it had begun in a life before, whose detectors have seen it
	judged  bool // at least one turn was
	counted bool // it had a corrupted turn, and was counted by it
}

// sessions follows sessions and watches them for alarms. It may be used
// concurrently. A session is one object, and nothing of it is elsewhere: of
// thousands, most is no more in the processor's caches when its next turn comes,
// and the garbage collector follows each pointer.
type sessions struct {
	m     *instruments
	seed  maphash.Seed
	idle  time.Duration
	alarm AlarmConfig
	raise func(model, fingerprint string, d *detector) // an alarm was raised

	mu        sync.Mutex
	open      map[uint64]*session // by a hash of arm and id
	order     session             // its newer is the one that was silent longest, its older the latest
	waiting   int                 // those that are not counted yet
	detectors map[groupKey]*detector
	latest    map[string]*detector // by model
	heirs     time.Time            // until when sessions may be heirs
	batches   map[groupKey]*batches
}

func newSessions(m *instruments, idle time.Duration, alarm AlarmConfig) *sessions {
	s := &sessions{m: m, seed: maphash.MakeSeed(), idle: idle, alarm: alarm, open: map[uint64]*session{},
		detectors: map[groupKey]*detector{}, latest: map[string]*detector{}, batches: map[groupKey]*batches{}}
	s.order.older, s.order.newer = &s.order, &s.order
	return s
}

func (s *sessions) setAlarm(c AlarmConfig) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.alarm = c
	for _, d := range s.detectors {
		d.cfg = c
	}
}

// add takes in a turn of a session.
func (s *sessions) add(ctx context.Context, g *group, p *placed, t *turn.Turn, now time.Time) {
	if t.Session == "" || t.Reason == validate.ReasonClientSchemaRejected {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if t.Arm == turn.Live {
		s.watch(g, now)
	}
	one := s.find(t, g, now)
	if one.counted {
		return
	}
	convicted := p.grade == gradeCorrupted
	if t.Arm == turn.Live && t.Outcome != validate.Unverified {
		s.weigh(g, p.n, convicted)
	}
	one.take(g, p)
	if convicted {
		one.counted = true
		s.waiting--
		s.count(ctx, one, now)
	}
}

// find returns the session of a turn, which a first turn opens.
func (s *sessions) find(t *turn.Turn, g *group, now time.Time) *session {
	key := maphash.Comparable(s.seed, [...]string{string(t.Arm), t.Session})
	one := s.open[key]
	if one == nil {
		one = s.room(now)
		*one = session{key: key, g: g, heir: t.Number > 1 && now.Before(s.heirs)}
		s.open[key] = one
		s.waiting++
	} else {
		one.leave()
	}
	one.last = now
	one.join(&s.order)
	return one
}

// room returns the place of one more session, in no order.
func (s *sessions) room(now time.Time) *session {
	if len(s.open) < maxOpen {
		return new(session)
	}
	one := s.order.newer
	s.close(one, now)
	return one
}

// join makes the session the latest in order.
func (one *session) join(order *session) {
	one.older, one.newer = order.older, order
	one.older.newer, order.older = one, one
}

// leave takes the session out of its order.
func (one *session) leave() { one.older.newer, one.newer.older = one.newer, one.older }

// take makes the session as bad as its worst turn. It has the configuration of
// its latest one.
func (one *session) take(g *group, p *placed) {
	one.g = g
	one.judged = one.judged || p.grade != gradeUnverified
	one.batch = max(one.batch, p.n)
	one.cell.batch = rangeOf(one.batch)
	one.cell.suspect = one.cell.suspect || p.suspect
	one.cell.grade = max(one.cell.grade, p.grade)
	if p.grade == gradeCorrupted {
		one.cell.batch = p.batch
	}
}

// count counts a session and shows it to its detector. One in which nothing
// could be judged says nothing.
func (s *sessions) count(ctx context.Context, one *session, now time.Time) {
	one.g.cells[one.cell].sessions.add(ctx, 1)
	k := one.g.key
	if !one.judged || one.heir || k.arm != string(turn.Live) || k.model == other || k.fingerprint == other {
		return
	}
	d := s.watch(one.g, now)
	if d.add(one.cell.grade == gradeCorrupted, len(s.detectors), now) {
		s.raise(k.model, k.fingerprint, d)
	}
}

// watch returns the detector of a group.
func (s *sessions) watch(g *group, now time.Time) *detector {
	if g.detector == nil {
		g.detector = s.detector(g.key, now)
	}
	return g.detector
}

// detector returns that of a model and a configuration. A new configuration
// begins with what the model's latest one has learned.
func (s *sessions) detector(k groupKey, now time.Time) *detector {
	d := s.detectors[k]
	if d == nil {
		d = newDetector(s.alarm, now)
		d.follow(s.latest[k.model])
		s.detectors[k], s.latest[k.model] = d, d
	}
	return d
}

func (s *sessions) weigh(g *group, batch int, convicted bool) {
	if g.batches == nil {
		g.batches = &batches{}
		s.batches[g.key] = g.batches
	}
	g.batches.add(batch, convicted)
}

// close ends a session, whose place is the caller's.
func (s *sessions) close(one *session, now time.Time) {
	one.leave()
	delete(s.open, one.key)
	if !one.counted {
		one.counted = true
		s.waiting--
		s.count(context.Background(), one, now)
	}
}

// sweep ends the sessions that were silent for long.
func (s *sessions) sweep(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for one := s.order.newer; one != &s.order && now.Sub(one.last) >= s.idle; one = s.order.newer {
		s.close(one, now)
	}
}

// end ends all of them.
func (s *sessions) end(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for one := s.order.newer; one != &s.order; one = s.order.newer {
		s.close(one, now)
	}
}

// families tells how sessions and alarms stand.
func (s *sessions) families() []Family {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	all := []Family{{Name: "turnwatch_sessions_open", Series: []Sample{{Value: float64(s.waiting)}}}}
	for _, f := range []struct {
		name string
		of   func(*detector) float64
	}{
		{"turnwatch_alarms_total", func(d *detector) float64 { return float64(d.alarms) }},
		{"turnwatch_alarm_sessions_total", func(d *detector) float64 { return float64(d.n - d.before) }},
		{"turnwatch_alarm_log10_evidence", func(d *detector) float64 { return log10(d.now) }},
		{"turnwatch_alarm_log10_evidence_max", func(d *detector) float64 { return log10(d.greatest) }},
		{"turnwatch_alarm_log10_threshold", func(d *detector) float64 { return log10(d.threshold(len(s.detectors), now)) }},
		{"turnwatch_alarm_p0", func(d *detector) float64 { return d.sr.P0 }},
	} {
		all = append(all, family(f.name, s.detectors, f.of))
	}
	return append(all, family("turnwatch_batch_log10_e", s.batches, (*batches).log10E))
}

// family has a series for each model and configuration.
func family[T any](name string, by map[groupKey]*T, of func(*T) float64) Family {
	f := Family{Name: name}
	for k, v := range by {
		f.Series = append(f.Series, Sample{Labels: []Label{{KeyModel, k.model}, {KeyFingerprint, k.fingerprint}}, Value: of(v)})
	}
	return f
}
