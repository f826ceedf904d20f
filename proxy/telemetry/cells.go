package telemetry

import (
	"context"
	"strconv"
	"sync"
	"sync/atomic"

	"go.opentelemetry.io/otel/attribute"

	"turnwatch/proxy/turn"
	"turnwatch/validate"
)

// Bounds of what may be told apart. What comes later is counted under other,
// and turnwatch_label_overflow_total says so.
const (
	maxModels       = 32
	maxFingerprints = 32
	maxGroups       = 64 // models, arms and fingerprints together
	maxStatuses     = 64

	other   = "other"
	unknown = "unknown"
	none    = "none"
)

// groupKey is what groups of series are told apart by.
type groupKey struct{ model, arm, fingerprint string }

// groups finds the series of turns. It may be used concurrently.
type groups struct {
	m   *instruments
	own *own

	latest       atomic.Pointer[group]
	mu           sync.RWMutex
	all          map[groupKey]*group
	models       map[string]bool
	fingerprints map[string]bool
}

func newGroups(m *instruments, own *own) *groups {
	return &groups{m: m, own: own, all: map[groupKey]*group{}, models: map[string]bool{}, fingerprints: map[string]bool{}}
}

// of returns the group that a turn belongs to.
func (g *groups) of(t *turn.Turn) *group {
	k := groupKey{or(t.Model, unknown), string(t.Arm), or(t.Fingerprint, none)}
	if latest := g.latest.Load(); latest != nil && latest.key == k {
		return latest
	}
	g.mu.RLock()
	found := g.all[k]
	g.mu.RUnlock()
	if found == nil {
		found = g.begin(k, t)
	}
	g.latest.Store(found)
	return found
}

// begin returns the group that the first turn of a key belongs to.
func (g *groups) begin(k groupKey, t *turn.Turn) *group {
	g.mu.Lock()
	defer g.mu.Unlock()
	k = g.bounded(k)
	if g.all[k] == nil {
		g.all[k] = newGroup(g.m, k, t.AllTags())
	}
	return g.all[k]
}

func or(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

// bounded puts what is beyond a bound under other.
func (g *groups) bounded(k groupKey) groupKey {
	if g.all[k] != nil {
		return k
	}
	k.model = g.capped(g.models, k.model, maxModels, "model")
	k.fingerprint = g.capped(g.fingerprints, k.fingerprint, maxFingerprints, "fingerprint")
	if g.all[k] == nil && len(g.all) >= maxGroups {
		g.own.overflow.add(1, "group")
		k.model, k.fingerprint = other, other
	}
	return k
}

func (g *groups) capped(seen map[string]bool, v string, most int, label string) string {
	if !seen[v] && len(seen) >= most {
		g.own.overflow.add(1, label)
		return other
	}
	seen[v] = true
	return v
}

// cell is one series' place among those of a group.
type cell struct {
	grade   grade
	suspect bool
	batch   batchRange
}

// grade is how bad a turn is by its verdict and its cause, the worse the greater.
type grade uint8

// The grades.
const (
	gradeClean grade = iota
	gradeUnverified
	gradeTruncated
	gradeParser // corrupted, by the parser alone
	gradeCorrupted
)

func (g grade) verdict() validate.Outcome {
	return [...]validate.Outcome{validate.Clean, validate.Unverified, validate.Truncated, validate.Corrupted, validate.Corrupted}[g]
}

func (g grade) cause() string {
	return [...]string{none, none, none, string(validate.CauseParser), string(validate.CauseUnknown)}[g]
}

// group holds the series of one model, arm and fingerprint. All that closed
// sets make of them are there from its first turn.
type group struct {
	key   groupKey
	m     *instruments
	cells map[cell]cellSeries

	valid, invalid, unchecked *series // calls

	latest  atomic.Pointer[classSeries]
	shown   atomic.Pointer[shown]
	mu      sync.Mutex
	named   map[name]any
	classes map[class]*classSeries

	// Guarded by the sessions'.
	detector *detector // nil: not looked for yet
	batches  *batches
}

// cellSeries are those of a cell.
type cellSeries struct{ turns, sessions *series }

// name is a series that a kind, a result or a reason tells apart.
type name struct {
	family, value, cause string
}

func newGroup(m *instruments, k groupKey, tags map[string]turn.Tag) *group {
	g := &group{key: k, m: m, cells: map[cell]cellSeries{}, named: map[name]any{}, classes: map[class]*classSeries{}}
	for _, c := range cells() {
		kv := g.labels(attribute.String(KeyVerdict, string(c.grade.verdict())), attribute.String(KeyCause, c.grade.cause()),
			attribute.String(KeySuspect, strconv.FormatBool(c.suspect)), attribute.String(KeyBatchRange, c.batch.String()), attribute.String(KeyFingerprint, k.fingerprint))
		s := cellSeries{m.series(m.turns, kv...), m.series(m.sessions, kv...)}
		g.cells[c] = s
		s.turns.add(context.Background(), 0)
		s.sessions.add(context.Background(), 0)
	}
	g.start()
	m.tellConfig(k.fingerprint, tags)
	return g
}

// start makes the series of closed sets stand at 0.
func (g *group) start() {
	ctx := context.Background()
	for _, k := range validate.Kinds() {
		g.finding(ctx, k.Kind, k.Cause, 0)
		if k.Outcome == validate.Corrupted && k.Cause != validate.CauseParser {
			g.finding(ctx, k.Kind, validate.CauseParser, 0)
		}
	}
	g.valid, g.invalid, g.unchecked = g.calls("valid"), g.calls("invalid"), g.calls("unchecked")
	for _, why := range finishReasons() {
		g.finish(why).add(ctx, 0)
	}
}

// cells lists what verdict, cause, suspicion and batch make together.
func cells() (all []cell) {
	for batch := range batchRanges() {
		for _, suspect := range []bool{false, true} {
			for g := gradeClean; g <= gradeCorrupted; g++ {
				all = append(all, cell{g, suspect, batchRange(batch)})
			}
		}
	}
	return all
}

// batchRange is a range of batches, by its place among batchRanges.
type batchRange uint8

func (r batchRange) String() string { return batchRanges()[r] }

func batchRanges() []string {
	return []string{unknown, "1", "2-4", "5-8", "9-16", "17-32", "33-64", "65-128", "129+"}
}

// rangeOf is the range that a batch falls into.
func rangeOf(n int) (r batchRange) {
	for _, least := range []int{1, 2, 5, 9, 17, 33, 65, 129} {
		if n >= least {
			r++
		}
	}
	return r
}
