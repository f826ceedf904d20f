package telemetry

import (
	"math"
	"time"

	"turnwatch/validate/stats"
)

// AlarmConfig says how often a false alarm may come.
type AlarmConfig struct {
	// Spacing is the time in which all sidecars together raise one false alarm
	// at most, on average. Default 30 days.
	Spacing time.Duration
	// Replicas is how many sidecars there are. Default 1.
	Replicas int
}

func (c *AlarmConfig) defaults() {
	if c.Spacing == 0 {
		c.Spacing = 30 * 24 * time.Hour
	}
	c.Replicas = max(1, c.Replicas)
}

// Bounds of what a detector learns.
const (
	leastP0       = 0.001
	usualP0       = 0.005 // until more is known
	leastA        = 1e4   // sessions to a false alarm
	learnSessions = 200
	checkSessions = 2000
	learnConf     = 0.95
	leastElapsed  = 24 * time.Hour // in which sessions are counted to tell their rate
)

// detector watches the sessions of one model and configuration for a rise of
// corruption. It takes a share p0 of corrupted sessions for usual and
// multiplies up, session by session, the evidence of a greater share
// (Shiryaev–Roberts). As long as the true share is p0 or less, an alarm at A
// comes after A sessions or more on average, however few or many there are and
// whenever one looks; so A is the number of sessions that come in the spacing
// which was asked for.
//
// p0 is 0.5 % at first. After 200 sessions it is raised once, where more than
// one of them was corrupted, to the upper bound of the always-valid interval
// of their share: a model that is wrong now and then by itself raises no alarm
// for that. Every 2,000 sessions it is lowered to that bound of those, if that
// is less. It is never raised again, since a fault that grows slowly would
// teach its own alarm.
type detector struct {
	cfg   AlarmConfig
	sr    stats.ShiryaevRoberts
	start time.Time

	n       int       // sessions
	before  int       // of them, those that a life before has seen
	window  stats.Arm // those that are learned from
	learned bool

	last          time.Time // session
	alarms        int64
	told          time.Time // when an alarm was last logged
	now, greatest float64   // of the statistic
}

func newDetector(cfg AlarmConfig, start time.Time) *detector {
	d := &detector{cfg: cfg, start: start}
	d.expect(usualP0)
	return d
}

// expect takes a share for usual, and ten times that, at least one in twenty,
// for the rise that is looked for.
func (d *detector) expect(p0 float64) {
	d.sr.P0 = max(leastP0, min(p0, 0.9))
	d.sr.P1 = min(max(0.05, 10*d.sr.P0), (1+d.sr.P0)/2)
}

// add takes in a session when so many detectors run, and reports whether it
// raises an alarm. The statistic then begins anew.
func (d *detector) add(corrupted bool, detectors int, now time.Time) bool {
	d.last = now
	a := d.threshold(detectors, now)
	d.now = d.sr.Add(corrupted)
	d.greatest = max(d.greatest, d.now)
	d.learn(corrupted)
	if d.now < a {
		return false
	}
	d.alarms++
	d.sr = stats.ShiryaevRoberts{P0: d.sr.P0, P1: d.sr.P1}
	d.now = 0
	return true
}

// threshold is A. The rate of sessions is what came since the start, over no
// less than a day, so that a busy hour is not taken for a busy month.
func (d *detector) threshold(detectors int, now time.Time) float64 {
	elapsed := max(leastElapsed, now.Sub(d.start))
	expected := float64(d.n) * float64(d.cfg.Spacing) / float64(elapsed)
	return max(leastA, expected*float64(max(1, detectors)*d.cfg.Replicas))
}

func (d *detector) learn(corrupted bool) {
	d.n++
	d.window.N++
	if corrupted {
		d.window.K++
	}
	switch {
	case !d.learned && d.window.N == learnSessions:
		d.learned = true
		if d.window.K > 1 {
			d.expect(max(d.sr.P0, d.usual()))
		}
	case d.window.N == checkSessions:
		d.expect(min(d.sr.P0, d.usual()))
	default:
		return
	}
	d.window = stats.Arm{}
}

// usual is the most that the share of corrupted sessions may be.
func (d *detector) usual() float64 {
	_, hi := stats.Prior{}.Sequence(d.window.K, d.window.N, learnConf)
	return hi
}

// follow takes over what was learned of the configuration before.
func (d *detector) follow(before *detector) {
	if before != nil && before.learned {
		d.learned = true
		d.expect(before.sr.P0)
	}
}

func log10(x float64) float64 { return math.Log10(max(x, 1)) }

// batches compares turns that were decoded alone with those in larger batches,
// as they come. A session counts up to its first corrupted turn, so that one
// that is broken does not speak again and again.
type batches struct {
	blocks stats.Blocks
	ahead  int // turns of batches of one that wait for others; below 0: others wait for them
}

// maxAhead bounds what waits: of the class that comes more often, the rest is
// left out, whatever became of it.
const maxAhead = 1024

func (b *batches) add(batch int, corrupted bool) {
	switch {
	case batch == 1 && b.ahead < maxAhead:
		b.ahead++
		b.blocks.AddA(corrupted)
	case batch > 1 && b.ahead > -maxAhead:
		b.ahead--
		b.blocks.AddB(corrupted)
	}
}

// log10E is the evidence that turns in larger batches are corrupted more often;
// 0 where they are not.
func (b *batches) log10E() float64 {
	alone, together := b.blocks.Arms()
	if alone.N == 0 || together.Rate() <= alone.Rate() {
		return 0
	}
	return b.blocks.LogE() / math.Ln10
}
