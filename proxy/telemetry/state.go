package telemetry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math"
	"os"
	"slices"
	"sync"
	"time"

	"turnwatch/proxy/turn"
	"turnwatch/validate/stats"
)

// What the detectors have learned survives a restart in a small file, written
// beside the turns and renamed into place. It keeps the promise of the alarm:
// the statistic goes on with the sessions that come next, none counts twice
// (see sessions.inherit), and what the time between two lives has brought is
// left out, whatever it was. A file that cannot be trusted costs what it holds:
// the detectors begin anew, which raises no false alarm that is not bounded
// either.
const (
	stateVersion = 1
	stateEvery   = 10 * time.Second
	stateAge     = 7 * 24 * time.Hour // of what is still believed
	stateSize    = 1 << 20
	statePatient = 5 * time.Second // with a disk that does not answer
)

// stateType is the file's type, which no turn has: whoever reads it among the files of
// a journal passes over it.
const stateType = "alarm_state"

// state is what the file holds, as JSON.
type state struct {
	V         int             `json:"v"`
	Type      string          `json:"type"`
	Of        string          `json:"of"` // the server behind us
	Saved     time.Time       `json:"saved"`
	Detectors []savedDetector `json:"detectors"`
}

type savedDetector struct {
	Model       string    `json:"model"`
	Fingerprint string    `json:"fingerprint"`
	Last        time.Time `json:"last"`  // session
	Hours       float64   `json:"hours"` // that it has watched
	Sessions    int       `json:"sessions"`
	Window      stats.Arm `json:"window"` // that is learned from
	Learned     bool      `json:"learned"`
	P0          float64   `json:"p0"`
	Value       float64   `json:"value"` // of the statistic
}

// saved is what the detectors know. The latest of each model comes last, since a
// new configuration follows it.
func (s *sessions) saved(now time.Time) []savedDetector {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all, latest []savedDetector
	for k, d := range s.detectors {
		one := savedDetector{k.model, k.fingerprint, d.last, now.Sub(d.start).Hours(), d.n, d.window, d.learned, d.sr.P0, d.sr.Value()}
		switch {
		case d.n == 0:
		case s.latest[k.model] == d:
			latest = append(latest, one)
		default:
			all = append(all, one)
		}
	}
	return append(all, latest...)
}

// inherit goes on with what a life before has learned. Sessions that had begun then
// have been shown to the detectors, and are no more; until all of them are over, who
// comes in the middle of a session is taken for one of these.
func (s *sessions) inherit(all []savedDetector, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range all {
		one := &all[i]
		d := newDetector(s.alarm, now.Add(-time.Duration(one.Hours*float64(time.Hour))))
		d.expect(one.P0)
		d.sr.Resume(one.Value)
		d.before, d.n, d.window, d.learned, d.last = one.Sessions, one.Sessions, one.Window, one.Learned, one.Last
		d.now, d.greatest = one.Value, one.Value
		s.detectors[groupKey{one.Model, string(turn.Live), one.Fingerprint}] = d
		s.latest[one.Model] = d
	}
	if len(all) > 0 {
		s.heirs = now.Add(s.idle)
	}
}

// check says why a state is not to be believed.
func (st *state) check(of string, now time.Time) error {
	switch {
	case st.Type != stateType:
		return errors.New("it is no file of ours")
	case st.V != stateVersion:
		return fmt.Errorf("its version is %d, not %d", st.V, stateVersion)
	case st.Of != of:
		return fmt.Errorf("it is of the server %s", st.Of)
	case now.Sub(st.Saved) > stateAge, st.Saved.Sub(now) > time.Hour:
		return fmt.Errorf("it is of %s", st.Saved.Format(time.RFC3339))
	case len(st.Detectors) > maxGroups:
		return fmt.Errorf("it has %d detectors, more than %d", len(st.Detectors), maxGroups)
	}
	for i := range st.Detectors {
		if d := &st.Detectors[i]; !d.sound() {
			return fmt.Errorf("its detector of %q %q makes no sense", d.Model, d.Fingerprint)
		}
	}
	return nil
}

// sound reports whether a detector may have been left so.
func (d *savedDetector) sound() bool {
	return d.Model != "" && d.Fingerprint != "" && d.P0 >= leastP0 && d.P0 <= 0.9 && d.Value >= 0 && d.Value < math.MaxFloat64 && d.Hours >= 0 && d.Hours < 1e6 &&
		d.Sessions > 0 && d.Window.K >= 0 && d.Window.K <= d.Window.N && d.Window.N <= d.Sessions && d.Window.N < checkSessions
}

// stateFile is where the state is kept. After read it belongs to run.
type stateFile struct {
	path, of string
	log      *slog.Logger
	saved    func(time.Time) []savedDetector
	stop     chan struct{}
	done     sync.WaitGroup
	failing  bool
}

// read returns what a life before has left; nothing, and a line in the log, where that
// is not to be believed.
func (k *stateFile) read(now time.Time) []savedDetector {
	st, err := k.load()
	if err == nil && st != nil {
		err = st.check(k.of, now)
	}
	switch {
	case err != nil:
		k.log.Warn("what the alarm had learned is not taken over: its detectors begin anew", "file", k.path, "why", err)
		return nil
	case st == nil:
		return nil
	}
	all := slices.DeleteFunc(st.Detectors, func(d savedDetector) bool { return now.Sub(d.Last) > stateAge })
	k.log.Info("took over what the alarm had learned", "file", k.path, "saved", st.Saved, "detectors", len(all))
	return all
}

// load reads the file; nil where there is none. A disk that hangs is not waited for.
func (k *stateFile) load() (*state, error) {
	type result struct {
		st  *state
		err error
	}
	got := make(chan result, 1)
	go func() {
		st, err := loadState(k.path)
		got <- result{st, err}
	}()
	select {
	case r := <-got:
		return r.st, r.err
	case <-time.After(statePatient):
		return nil, errors.New("the disk does not answer")
	}
}

func loadState(path string) (*state, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular() || info.Size() > stateSize:
		return nil, errors.New("it is no file of ours")
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	st := new(state)
	if err := json.Unmarshal(b, st); err != nil {
		return nil, fmt.Errorf("it is torn, or no file of ours: %w", err)
	}
	return st, nil
}

// run saves until it is stopped, and once more then.
func (k *stateFile) run() {
	tick := time.NewTicker(stateEvery)
	defer tick.Stop()
	for {
		select {
		case now := <-tick.C:
			k.save(now)
		case <-k.stop:
			k.save(time.Now())
			return
		}
	}
}

// save writes the file anew, so that it is there whole at every moment.
func (k *stateFile) save(now time.Time) {
	b, err := json.Marshal(state{stateVersion, stateType, k.of, now.UTC(), append([]savedDetector{}, k.saved(now)...)})
	tmp := k.path + ".new"
	if err == nil {
		err = os.WriteFile(tmp, b, 0o600)
	}
	if err == nil {
		err = os.Rename(tmp, k.path)
	}
	if err != nil && !k.failing {
		k.log.Warn("what the alarm learns cannot be saved: a restart would begin anew", "error", err)
	}
	k.failing = err != nil
}

// end saves what there is, until ctx is done.
func (k *stateFile) end(ctx context.Context) error {
	close(k.stop)
	ended := make(chan struct{})
	go func() { k.done.Wait(); close(ended) }()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("save the alarm's state to %s: %w", k.path, ctx.Err())
	}
}
