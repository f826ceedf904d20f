package telemetry

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"turnwatch/proxy/turn"
	"turnwatch/validate"
)

// live is a Recorder that finishes n sessions, of which the first bad are corrupted, and
// ends.
func live(t *testing.T, cfg Config, n, bad int, change ...func(*turn.Turn)) *Recorder {
	t.Helper()
	r := start(t, cfg)
	for i := range n {
		one := aTurn(change...)
		if i < bad {
			corrupted(validate.ArgsEmpty)(one)
		}
		r.Finish(one)
	}
	r.sessions.end(time.Now())
	return r
}

// TestAlarmGoesOnAfterARestart: three corrupted sessions of a life before and one of
// this are an alarm, as four of one life are.
func TestAlarmGoesOnAfterARestart(t *testing.T) {
	cfg := Config{AlarmState: filepath.Join(t.TempDir(), "alarm"), Upstream: "http://a"}
	for range 3 {
		r := live(t, cfg, 1, 1)
		has(t, r, `turnwatch_alarms_total{gen_ai_request_model="m"} 0`, `turnwatch_alarm_sessions_total{gen_ai_request_model="m"} 1`)
		end(r)
	}
	has(t, live(t, cfg, 1, 1), `turnwatch_alarms_total{gen_ai_request_model="m"} 1`)
	if info, err := os.Stat(cfg.AlarmState); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("got %v, %v, want a file for the owner only", info, err)
	}
}

// TestWhatWasLearnedSurvives: the share that is usual, and for whom a new configuration
// follows.
func TestWhatWasLearnedSurvives(t *testing.T) {
	cfg := Config{AlarmState: filepath.Join(t.TempDir(), "alarm")}
	r := live(t, cfg, learnSessions, 20)
	key := groupKey{"m", "live", "1a2b3c4d"}
	want := r.sessions.detectors[key]
	end(r)
	next := live(t, cfg, 1, 0, func(t *turn.Turn) { t.Fingerprint = "5e6f7a8b" })
	got, follows := next.sessions.detectors[key], next.sessions.detectors[groupKey{"m", "live", "5e6f7a8b"}]
	if got == nil || !got.learned || got.sr.P0 != want.sr.P0 || got.sr.Value() != want.sr.Value() || got.n != want.n || got.window != want.window || follows.sr.P0 != want.sr.P0 {
		t.Errorf("got %+v, followed by %+v, want %+v", got, follows, want)
	}
	if d := got.start.Sub(want.start); d < 0 || d > time.Hour {
		t.Errorf("it has watched since %v, want what it has watched, %v later", got.start, want.start)
	}
}

// TestSessionIsSeenByOneLife: one that had begun before the restart has been counted.
func TestSessionIsSeenByOneLife(t *testing.T) {
	cfg := Config{AlarmState: filepath.Join(t.TempDir(), "alarm"), SessionIdle: time.Hour}
	third := func(t *turn.Turn) { t.Number = 3 }
	end(live(t, cfg, 5, 0, third)) // nothing was left to this one
	r := start(t, cfg)
	for i := range 4 {
		r.Finish(aTurn(third, corrupted(validate.ArgsEmpty), inSession(fmt.Sprint(i))))
	}
	has(t, r, `turnwatch_alarm_sessions_total{gen_ai_request_model="m"} 0`, `turnwatch_alarms_total{gen_ai_request_model="m"} 0`,
		`turnwatch_sessions_total{turnwatch_cause="unknown",turnwatch_verdict="corrupted"} 4`)
	r.sessions.heirs = time.Now() // an hour later
	r.Finish(aTurn(third))
	r.sessions.end(time.Now())
	has(t, r, `turnwatch_alarm_sessions_total{gen_ai_request_model="m"} 1`)
}

// TestStateThatCannotBeTrustedIsRefused, and said so; the alarm begins anew.
func TestStateThatCannotBeTrustedIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "alarm")
	end(live(t, Config{AlarmState: path, Upstream: "http://a"}, 2, 2))
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	f := func(what, content, of string, want string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		var log safeBuffer
		r := start(t, Config{AlarmState: path, Upstream: of, Logger: log.logger()})
		if got := len(r.sessions.detectors) > 0; got != (want == "") || !log.has(want) {
			t.Errorf("%s: taken over %v, log %s, want %q", what, got, log.String(), want)
		}
		end(r)
	}
	with := func(change func(*state)) string {
		var st state
		if err := json.Unmarshal(good, &st); err != nil {
			t.Fatal(err)
		}
		change(&st)
		b, _ := json.Marshal(st)
		return string(b)
	}
	f("good", string(good), "http://a", "")
	f("torn", string(good[:len(good)/2]), "http://a", "it is torn, or no file of ours")
	f("empty", "", "http://a", "it is torn, or no file of ours")
	f("foreign", `{"v":1,"turns":[]}`, "http://a", "it is no file of ours")
	f("of the future", with(func(s *state) { s.V = 2 }), "http://a", "its version is 2, not 1")
	f("a list", `[1]`, "http://a", "no file of ours")
	f("large", strings.Repeat(" ", stateSize+1), "http://a", "it is no file of ours")
	f("of another server", string(good), "http://b", "it is of the server http://a")
	f("old", with(func(s *state) { s.Saved = s.Saved.Add(-stateAge) }), "http://a", "it is of 20")
	f("of tomorrow", with(func(s *state) { s.Saved = s.Saved.Add(24 * time.Hour) }), "http://a", "it is of 20")
	f("nonsense", with(func(s *state) { s.Detectors[0].P0 = 1 }), "http://a", "makes no sense")
	f("nonsense", with(func(s *state) { s.Detectors[0].Value = -1 }), "http://a", "makes no sense")
	f("nonsense", with(func(s *state) { s.Detectors[0].Window.K = 9 }), "http://a", "makes no sense")
	f("many", with(func(s *state) { s.Detectors = append(s.Detectors, make([]savedDetector, maxGroups)...) }), "http://a", "more than 64")
}

// TestDiskOfTheStateDelaysNobody: one that hangs, or refuses.
func TestDiskOfTheStateDelaysNobody(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "alarm")
	if err := syscall.Mkfifo(fifo+".new", 0o600); err != nil { // which nobody reads
		t.Fatal(err)
	}
	var log safeBuffer
	r := live(t, Config{AlarmState: fifo, Logger: log.logger()}, 10, 0)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := r.Shutdown(ctx); err == nil || !strings.Contains(err.Error(), "save the alarm's state") {
		t.Errorf("got %v, want that the state is not saved", err)
	}
	reader, err := os.Open(fifo + ".new") // which ends the write
	if err != nil {
		t.Fatal(err)
	}
	r.state.done.Wait()
	reader.Close()
	end(live(t, Config{AlarmState: filepath.Join(t.TempDir(), "none", "alarm"), Logger: log.logger()}, 10, 0))
	if !log.has("cannot be saved") {
		t.Errorf("log: got %s", log.String())
	}
}

// TestRestartsRaiseNoMoreAlarms: with the usual share, and a restart every 200 sessions,
// chance raises an alarm no more often than without, where the state is kept.
func TestRestartsRaiseNoMoreAlarms(t *testing.T) {
	const most = 60_000
	rnd := rand.New(rand.NewPCG(5, 6))
	now := time.Unix(0, 0)
	s := &sessions{alarm: alarmConfig(), detectors: map[groupKey]*detector{}, latest: map[string]*detector{}}
	k := groupKey{"m", string(turn.Live), "f"}
	alarms := 0
	for i := range most {
		now = now.Add(time.Minute)
		if s.detector(k, now).add(rnd.Float64() < 0.004, 1, now) {
			alarms++
		}
		if i%200 == 0 {
			left := s.saved(now)
			s = &sessions{alarm: alarmConfig(), detectors: map[groupKey]*detector{}, latest: map[string]*detector{}}
			s.inherit(left, now)
		}
	}
	if d := s.detectors[k]; d.n != most || alarms > 2 { // a spacing has 43,200 sessions
		t.Errorf("got %d alarms in %d sessions, want 2 at most in %d", alarms, d.n, most)
	}
}

// TestShutdownMayBeCalledAgain: it says what the first did.
func TestShutdownMayBeCalledAgain(t *testing.T) {
	r := live(t, Config{AlarmState: filepath.Join(t.TempDir(), "alarm")}, 1, 0)
	for range 2 {
		if err := r.Shutdown(t.Context()); err != nil {
			t.Errorf("got %v, want nil", err)
		}
	}
}
