package main

import (
	"flag"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"turnwatch/proxy"
	"turnwatch/proxy/evidence"
)

// change is a setting that has another value than the one in use.
type change struct{ name, from, to string }

// reloadable are the settings that are taken over while turns pass, and how.
// All others are lasting.
func (s *service) reloadable() map[string]func(*options) error {
	all := map[string]func(*options) error{
		"log-level":     func(o *options) error { s.level.Set(o.level()); return nil },
		"byte-check":    func(o *options) error { s.relay.SetProveShare(float64(o.telemetry.byteCheck)); return nil },
		"drain-timeout": func(o *options) error { s.drainTimeout = o.drain; return nil },
		"judge-memory":  func(o *options) error { s.relay.SetJudgeMemory(int64(o.judgeMemory)); return nil },
		"label":         s.setLabels,
	}
	for _, g := range []struct {
		take  func(*options) error
		names []string
	}{
		{func(o *options) error { s.telemetry.SetLimits(o.telemetry.limits()); return nil }, []string{"trace-ratio", "trace-rate", "trace-slow", "log-rate"}},
		{func(o *options) error { s.telemetry.SetAlarm(o.telemetry.alarm()); return nil }, []string{"alarm-spacing", "replicas"}},
		{func(o *options) error { s.relay.SetShadowLimits(o.shadow.config()); return nil }, []string{"shadow-ratio", "shadow-max-body", "shadow-max-answer", "shadow-rate",
			"shadow-byte-budget", "shadow-token-budget", "shadow-max-batch", "shadow-first-byte-timeout", "shadow-idle-timeout", "shadow-timeout"}},
		{func(o *options) error { s.relay.SetProbes(s.probeConfig(o)); return nil }, []string{"probe-rate", "probe-max-tokens", "probe-max-streams"}},
		{s.setJournalLimits, []string{"journal-max-size", "journal-max-age", "journal-max-total"}},
		{s.setEvidenceLimits, []string{"evidence-max-total", "evidence-max-turn"}},
	} {
		for _, name := range g.names {
			all[name] = g.take
		}
	}
	return all
}

func (s *service) setJournalLimits(o *options) error {
	if s.journal == nil {
		return nil
	}
	return s.journal.SetLimits(s.journalOptions(o))
}

func (s *service) setEvidenceLimits(o *options) error {
	if s.evidence == nil {
		return nil
	}
	s.relay.SetCapture(max(int64(o.evidence.maxTurn), s.opinionCapture()))
	return s.evidence.SetLimits(evidence.Options{MaxTotal: int64(o.evidence.maxTotal), MaxTurn: int64(o.evidence.maxTurn)})
}

func (s *service) setLabels(o *options) error {
	labels, err := parts("-label", "NAME=VALUE", o.tags.labels.values)
	if err != nil || s.tagger == nil {
		return err
	}
	return s.tagger.SetLabels(labels)
}

// reading is what the settings are by now, or why they are no good.
type reading struct {
	next *options
	f    *flags
	err  error
}

// filePatience is how long the settings may take to be read before it is said.
const filePatience = 2 * time.Second

// read reads and checks the settings again, aside: on a mount that is dead a
// file may never answer, and a signal that ends the process must be heard all the same.
func (s *service) read(done chan<- reading) {
	slow := time.AfterFunc(filePatience, func() {
		s.log.Error("the settings are not read yet: their files do not answer; the old ones stay", "patience", filePatience)
	})
	defer slow.Stop()
	r := reading{next: new(options)}
	r.f = newFlags(r.next)
	l, err := r.f.load(s.o.args)
	if err == nil {
		err = r.next.beside(s.o).check(l)
	}
	if err == nil {
		_, err = parts("-label", "NAME=VALUE", r.next.tags.labels.values)
	}
	r.err = err
	done <- r
}

// reload takes over what can change while turns pass, and has the files of
// secrets and certificates looked at. It says what a setting was, or why
// nothing was taken: then all is as before. No stream is touched.
func (s *service) reload(r reading) {
	taken, later, err := s.take(r)
	if err != nil {
		s.reloads.kept.Add(1)
		s.log.Error("kept the old settings", "error", strings.ReplaceAll(err.Error(), "\n", "; "))
		return
	}
	s.reloads.taken.Add(1)
	s.certs.Refresh()
	if s.admin != nil {
		s.admin.Refresh()
	}
	for _, c := range taken {
		s.log.Info("took over a setting", "name", c.name, "from", mask(c.from), "to", mask(c.to))
	}
	why := lasting()
	for _, c := range later {
		s.log.Warn("a setting has changed that needs a new start", "name", c.name, "in_use", mask(c.from), "now", mask(c.to), "why", why[c.name])
	}
	s.log.Info("read the settings again", "taken", len(taken), "need_a_new_start", len(later))
}

// take takes over what was read and returns what changed. With an error nothing did.
func (s *service) take(r reading) (taken, later []change, err error) {
	if r.err != nil {
		return nil, nil, r.err
	}
	apply := s.reloadable()
	for _, c := range s.differences(r.f) {
		how, ok := apply[c.name]
		if !ok {
			later = append(later, c)
			continue
		}
		if err := how(r.next); err != nil {
			return nil, nil, err
		}
		s.inUse[c.name] = c.to
		taken = append(taken, c)
	}
	return taken, later, nil
}

// beside are the settings as they would be in use: what names a journal or a folder
// stays as it is.
func (o *options) beside(old *options) *options {
	next := *o
	next.journal, next.evidence.dir = old.journal, old.evidence.dir
	return &next
}

// differences compares settings with those in use; labels first, since they
// alone may still be refused.
func (s *service) differences(f *flags) (all []change) {
	f.set.VisitAll(func(fl *flag.Flag) {
		if to := fl.Value.String(); f.settable(fl.Name) && s.inUse[fl.Name] != to {
			all = append(all, change{fl.Name, s.inUse[fl.Name], to})
		}
	})
	first := map[string]int{"label": -1}
	slices.SortStableFunc(all, func(a, b change) int { return first[a.name] - first[b.name] })
	return all
}

// values are the settings as they stand.
func (f *flags) values() map[string]string {
	all := map[string]string{}
	f.set.VisitAll(func(fl *flag.Flag) { all[fl.Name] = fl.Value.String() })
	return all
}

// reloads counts what became of reading the settings again.
type reloads struct{ taken, kept atomic.Int64 }

func (s *service) reloadMetrics() []proxy.Metric {
	return []proxy.Metric{proxy.ByLabel("turnwatch_reloads_total", "result",
		map[string]int64{"taken": s.reloads.taken.Load(), "kept_old": s.reloads.kept.Load()})}
}

// level is the least one that is logged.
func (o *options) level() slog.Level {
	return map[string]slog.Level{"debug": slog.LevelDebug, "warn": slog.LevelWarn, "error": slog.LevelError}[o.logLevel.value]
}
