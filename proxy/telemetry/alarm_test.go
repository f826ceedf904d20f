package telemetry

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"turnwatch/proxy/turn"
	"turnwatch/validate"
)

// runTo feeds a detector sessions of which a share is corrupted, a minute
// apart, until so many alarms, and returns how many it took; most at most.
func runTo(d *detector, rnd *rand.Rand, share float64, alarms int64, most int) int {
	now := d.start.Add(time.Duration(d.n) * time.Minute)
	for n := 1; n <= most; n++ {
		now = now.Add(time.Minute)
		if d.add(rnd.Float64() < share, 1, now); d.alarms >= alarms {
			return n
		}
	}
	return most
}

func alarmConfig() AlarmConfig { return AlarmConfig{Spacing: 30 * 24 * time.Hour, Replicas: 1} }

// TestChanceRaisesFewAlarms: with the share that is taken for usual, an alarm
// comes after as many sessions or more, on average, as come in the spacing that
// was asked for; with a healthy server none comes.
func TestChanceRaisesFewAlarms(t *testing.T) {
	const runs, most = 20, 150_000 // a spacing has 43,200 sessions
	rnd := rand.New(rand.NewPCG(5, 1))
	var sum float64
	for range runs {
		d := newDetector(alarmConfig(), time.Unix(0, 0))
		d.learned = true // p0 as it stands
		sum += float64(runTo(d, rnd, usualP0, 1, most))
	}
	if mean := sum / runs; mean < 43_200 {
		t.Errorf("sessions to a false alarm: got %.0f on average, want 43200 or more", mean)
	}
	healthy := newDetector(alarmConfig(), time.Unix(0, 0))
	if n := runTo(healthy, rnd, 0, 1, most); n < most {
		t.Errorf("a healthy server: an alarm after %d sessions", n)
	}
}

// TestRiseIsSeenSoon: in the median, with the usual share and after a healthy
// month.
func TestRiseIsSeenSoon(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 2))
	f := func(before int, share float64, want int) {
		t.Helper()
		const runs = 15
		var took [runs]int
		for i := range took {
			d := newDetector(alarmConfig(), time.Unix(0, 0))
			runTo(d, rnd, 0, 1, before)
			took[i] = runTo(d, rnd, share, 1, 100_000)
		}
		if got := median(took[:]); got > want {
			t.Errorf("%v corrupted after %d healthy sessions: an alarm after %d, want %d at most", share, before, got, want)
		}
	}
	f(0, 0.15, 60)
	f(10_000, 0.15, 60)
	f(10_000, 0.05, 250)
	f(10_000, 1, 5)
}

func median(all []int) int {
	sorted := append([]int(nil), all...)
	for i := range sorted {
		for j := i; j > 0 && sorted[j] < sorted[j-1]; j-- {
			sorted[j], sorted[j-1] = sorted[j-1], sorted[j]
		}
	}
	return sorted[len(sorted)/2]
}

// TestModelThatIsWrongByItselfIsLearned: it raises alarms while it is new, and
// none afterwards until it becomes worse.
func TestModelThatIsWrongByItselfIsLearned(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 3))
	d := newDetector(alarmConfig(), time.Unix(0, 0))
	runTo(d, rnd, 0.1, math.MaxInt64, learnSessions)
	if d.sr.P0 < 0.1 || d.sr.P0 > 0.3 {
		t.Errorf("p0: got %v, want a bound of 0.1", d.sr.P0)
	}
	at := d.alarms
	if n := runTo(d, rnd, 0.1, at+1, 20_000); n < 20_000 {
		t.Errorf("the same as ever: an alarm after %d sessions", n)
	}
	if n := runTo(d, rnd, 0.9, at+1, 20_000); n > 100 {
		t.Errorf("much worse: an alarm after %d sessions", n)
	}
	next := newDetector(alarmConfig(), time.Unix(0, 0))
	if next.follow(d); next.sr.P0 != d.sr.P0 {
		t.Errorf("another configuration of the model: got p0 %v, want %v", next.sr.P0, d.sr.P0)
	}
}

// TestThresholdIsTheSessionsOfTheSpacing: of the whole fleet, and no less than
// ten thousand.
func TestThresholdIsTheSessionsOfTheSpacing(t *testing.T) {
	f := func(sessions int, in time.Duration, detectors, replicas int, want float64) {
		t.Helper()
		d := newDetector(AlarmConfig{Spacing: 30 * 24 * time.Hour, Replicas: replicas}, time.Unix(0, 0))
		d.n = sessions
		if got := d.threshold(detectors, time.Unix(0, 0).Add(in)); math.Abs(got-want) > 1e-6*want {
			t.Errorf("%d sessions in %v: got %v, want %v", sessions, in, got, want)
		}
	}
	f(0, 0, 1, 1, 1e4)
	f(1000, time.Minute, 1, 1, 30_000)
	f(1000, 10*24*time.Hour, 1, 1, 1e4)
	f(100_000, 10*24*time.Hour, 1, 1, 300_000)
	f(100_000, 10*24*time.Hour, 2, 10, 6_000_000)
}

func TestLargerBatchesAreHeldAgainstSingleTurns(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 4))
	f := func(alone, together float64) float64 {
		var b batches
		for range 3000 {
			b.add(1, rnd.Float64() < alone)
			b.add(2+rnd.IntN(30), rnd.Float64() < together)
		}
		return b.log10E()
	}
	if e := f(0, 0.05); e < 3 {
		t.Errorf("only in larger ones: got %v, want 3 or more", e)
	}
	if e := f(0.05, 0); e != 0 {
		t.Errorf("only alone: got %v, want 0", e)
	}
	if e := f(0.02, 0.02); e > 1.3 {
		t.Errorf("in both: got %v, want less than 1.3", e)
	}
	var b batches
	for range 10 * maxAhead {
		b.add(1, false)
	}
	if b.ahead != maxAhead {
		t.Errorf("waiting: got %d, want %d", b.ahead, maxAhead)
	}
}

// TestSessionsAreCountedOnce: at the first corrupted turn, or when it is over.
func TestSessionsAreCountedOnce(t *testing.T) {
	r := start(t, Config{SessionIdle: time.Hour})
	for range 3 {
		r.Finish(aTurn(inSession("good")))
		r.Finish(aTurn(inSession("bad"), corrupted(validate.ArgsEmpty), func(t *turn.Turn) { t.Tags["batch"] = turn.Tag{Value: "20", Source: "facts"} }))
	}
	r.Finish(aTurn(inSession("parser")))
	r.Finish(aTurn(inSession("parser"), corrupted(validate.NameRepeated), func(t *turn.Turn) { t.Findings[0].Cause = validate.CauseParser }))
	r.Finish(aTurn(inSession("unknown"), func(t *turn.Turn) {
		t.Verdict = validate.Verdict{Outcome: validate.Unverified, Reason: validate.ReasonNoAnswer}
	}))
	has(t, r, `turnwatch_sessions_total{turnwatch_batch_range="17-32",turnwatch_cause="unknown",turnwatch_verdict="corrupted"} 1`,
		`turnwatch_sessions_total{turnwatch_batch_range="5-8",turnwatch_verdict="clean"} 0`, `turnwatch_sessions_open 3`,
		`turnwatch_alarm_sessions_total{gen_ai_request_model="m"} 1`)
	r.sessions.sweep(time.Now().Add(59 * time.Minute))
	has(t, r, `turnwatch_sessions_open 3`)
	r.sessions.sweep(time.Now().Add(2 * time.Hour))
	has(t, r, `turnwatch_sessions_total{turnwatch_batch_range="5-8",turnwatch_cause="none",turnwatch_verdict="clean"} 1`,
		`turnwatch_sessions_total{turnwatch_cause="parser",turnwatch_verdict="corrupted"} 1`, `turnwatch_sessions_total{turnwatch_verdict="unverified"} 1`,
		`turnwatch_sessions_open 0`, `turnwatch_alarm_sessions_total{gen_ai_request_model="m"} 3`)
}

// TestAlarmIsLatchedAndTold.
func TestAlarmIsLatchedAndTold(t *testing.T) {
	var log safeBuffer
	r := start(t, Config{Logger: log.logger()})
	for i := range 5 {
		r.Finish(aTurn(inSession(fmt.Sprint(i)), corrupted(validate.ArgsEmpty)))
	}
	has(t, r, `turnwatch_alarms_total{gen_ai_request_model="m",sglang_config_fingerprint="1a2b3c4d"} 1`, `turnwatch_alarm_log10_threshold{gen_ai_request_model="m"} 4`)
	if !log.has("corruption has risen beyond what chance explains") {
		t.Errorf("log: got %s", log.String())
	}
	for range 10 {
		r.Finish(aTurn())
	}
	r.sessions.end(time.Now())
	has(t, r, `turnwatch_alarms_total{gen_ai_request_model="m"} 1`)
}

// TestAlarmsThatGoOnAreLoggedOnce: while a server corrupts every session, alarms
// are counted every few sessions and logged once a minute.
func TestAlarmsThatGoOnAreLoggedOnce(t *testing.T) {
	var log safeBuffer
	r := start(t, Config{Logger: log.logger()})
	for i := range 20 {
		r.Finish(aTurn(inSession(fmt.Sprint(i)), corrupted(validate.ArgsEmpty)))
	}
	has(t, r, `turnwatch_alarms_total{gen_ai_request_model="m",sglang_config_fingerprint="1a2b3c4d"} 5`)
	if n := strings.Count(log.String(), "risen beyond what chance"); n != 1 {
		t.Errorf("lines of alarms: got %d, want 1:\n%s", n, log.String())
	}
}

// TestSessionsAreBounded.
func TestSessionsAreBounded(t *testing.T) {
	r := start(t, Config{})
	for i := range maxOpen + 100 {
		one := aTurn(inSession(fmt.Sprint(i)))
		g, p := r.groups.of(one), r.metrics.place(one)
		r.sessions.add(t.Context(), g, &p, one, time.Now())
	}
	has(t, r, fmt.Sprintf(`turnwatch_sessions_open %d`, maxOpen), `turnwatch_sessions_total{turnwatch_batch_range="5-8",turnwatch_suspect="false",turnwatch_verdict="clean"} 100`)
}
