package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"strings"
	"time"

	"turnwatch/proxy"
	"turnwatch/proxy/sglang"
	"turnwatch/proxy/turn"
)

// tagOptions say where it is learned what the server was like while it made a
// turn.
type tagOptions struct {
	prefixes  list
	headers   list
	labels    list
	labelFile string

	facts       string
	keyFile     string
	noPoll      bool
	pollMetrics bool
	statusLog   string
}

func (f *flags) tags(o *options) {
	t := &o.tags
	f.group("Tags (under which configuration and in which batch a turn was made)")
	t.prefixes = list{values: []string{sglang.DefaultPrefix}}
	f.value(&t.prefixes, "tag-prefix", "`PREFIX` of the names of response headers that are tags: the name less the prefix. Repeatable")
	f.value(&t.headers, "tag", "`HEADER=NAME` of another response header that is a tag, such as one of a gateway's. Repeatable")
	f.value(&t.labels, "label", "`NAME=VALUE` of a tag that you know: an environment flag, a GPU, a driver. Repeatable")
	f.text(&t.labelFile, "label-file", "", "`FILE` with more of them, one a line; re-read when it changes. It wins over -label")
	f.text(&t.facts, "turn-facts", "", "`PATH` to ask the server for the facts of a turn, as PATH/ID, also when its head named none:\n"+
		"/turnwatch/turns for our server plugin")
	f.text(&t.keyFile, "upstream-key-file", "", "`FILE` with the key for our own requests to the server, never for those of clients; re-read\nwhen it changes")
	f.yes(&t.noPoll, "no-poll", "do not ask the server for its configuration and, while turns run, its load")
	f.yes(&t.pollMetrics, "poll-metrics", "also poll the server's /metrics while turns run")
	f.text(&t.statusLog, "status-log", "", "`FILE` of SGLang's status log, or the folder of such files: it tells who shared a batch")
}

// tagger is what tags turns, and how it is stopped.
type tagger struct {
	*sglang.Tagger
	arm    turn.Arm // "" is the live one
	cancel context.CancelFunc
	done   chan struct{} // closed when nothing of it runs any more
}

// prepareTags reads the files that the settings name.
func (s *service) prepareTags() error {
	if s.o.relayOnly {
		return nil
	}
	t := &s.o.tags
	g, err := s.newTagger(s.o.upstream, s.cfg.UpstreamTLS, "-upstream-key-file", t.keyFile, t.labels.values, t.labelFile)
	if err != nil {
		return err
	}
	s.tagger = &tagger{Tagger: g}
	s.cfg.Tags = func() proxy.TurnTags { return g.Begin() }
	return nil
}

// newTagger makes what learns of a server. What the server is told by is the same for all.
func (s *service) newTagger(upstream string, tls *tls.Config, keyName, keyFile string, labels []string, labelFile string) (*sglang.Tagger, error) {
	t := &s.o.tags
	cfg := sglang.Config{
		Upstream:    upstream,
		TLS:         tls,
		KeyFile:     keyFile,
		KeyName:     keyName,
		Prefixes:    t.prefixes.values,
		LabelFile:   labelFile,
		Facts:       t.facts,
		NoPoll:      t.noPoll,
		PollMetrics: t.pollMetrics,
		Tokens:      upstream == s.o.upstream && !s.o.opinion.off(),
		Logger:      s.log,
	}
	if upstream == s.o.upstream {
		cfg.StatusLog = t.statusLog
	}
	var err error
	if cfg.Headers, err = parts("-tag", "HEADER=NAME", t.headers.values); err != nil {
		return nil, err
	}
	if cfg.Labels, err = parts("-label", "NAME=VALUE", labels); err != nil {
		return nil, err
	}
	return sglang.New(cfg)
}

// parts reads the values of a flag that have two parts.
func parts(flag, form string, values []string) (map[string]string, error) {
	all := make(map[string]string, len(values))
	for _, v := range values {
		name, value, ok := strings.Cut(v, "=")
		if !ok || name == "" || value == "" {
			return nil, fmt.Errorf("%s %q is not %s", flag, v, form)
		}
		if _, ok := all[name]; ok {
			return nil, fmt.Errorf("%s %s is given twice", flag, name)
		}
		all[name] = value
	}
	return all, nil
}

// startTags starts to learn. Changes of the configuration, and restarts of the
// arms, go where turns go.
func (s *service) startTags() {
	for _, g := range s.taggers() {
		s.tell(g)
		ctx, cancel := context.WithCancel(context.Background())
		g.cancel, g.done = cancel, make(chan struct{})
		go func() {
			defer close(g.done)
			g.Run(ctx)
		}()
	}
}

// taggers are all there are.
func (s *service) taggers() []*tagger {
	if s.tagger == nil {
		return nil
	}
	return append([]*tagger{s.tagger}, s.arms...)
}

// tell makes the collector and the journal be told of changes and restarts.
func (s *service) tell(g *tagger) {
	g.TellChanges(func(c *turn.ConfigChange) {
		c.Arm = g.arm
		s.telemetry.Change(c)
		if s.journal != nil {
			s.journal.Change(c)
		}
	})
	g.TellRestarts(func(why string) {
		r := &turn.Restart{V: turn.Version, Time: time.Now(), Arm: cmp.Or(g.arm, turn.Live), Why: why}
		s.telemetry.Restart(r)
		if s.journal != nil {
			s.journal.Restart(r)
		}
	})
}

// stopTags ends what startTags started, or leaves it behind when ctx is done: a
// file may hang.
func (s *service) stopTags(ctx context.Context) {
	for _, g := range s.taggers() {
		g.cancel()
		select {
		case <-g.done:
		case <-ctx.Done():
		}
	}
}

// tagMetrics says what became of asking the server.
func (s *service) tagMetrics() []proxy.Metric {
	if s.tagger == nil {
		return nil
	}
	st := s.tagger.Stats()
	facts := proxy.Metric{Name: "turnwatch_turn_facts_total"}
	for _, what := range sglang.FactsOutcomes() {
		facts.Series = append(facts.Series, proxy.Sample{Labels: []proxy.Label{{Name: "outcome", Value: what}}, Value: float64(st.Facts[what])})
	}
	polls := proxy.Metric{Name: "turnwatch_polls_total"}
	for _, p := range st.Polls {
		polls.Series = append(polls.Series,
			proxy.Sample{Labels: []proxy.Label{{Name: "poll", Value: p.Name}, {Name: "outcome", Value: "ok"}}, Value: float64(p.OK)},
			proxy.Sample{Labels: []proxy.Label{{Name: "poll", Value: p.Name}, {Name: "outcome", Value: "failed"}}, Value: float64(p.Failed)})
	}
	return []proxy.Metric{facts, polls,
		proxy.Counter("turnwatch_config_changes_total", st.Changes),
		proxy.Counter("turnwatch_server_restarts_total", st.Restarts),
	}
}
