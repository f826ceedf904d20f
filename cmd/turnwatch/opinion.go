package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"turnwatch/proxy"
	"turnwatch/proxy/second"
	"turnwatch/proxy/turn"
)

// opinionOptions say who is asked for second opinions, and what that may cost.
type opinionOptions struct {
	server  string
	keyFile string

	control     part
	rate        perTime
	budget      count
	tokens      count
	concurrency count
	queue       count
	running     count
	wait        time.Duration
	timeout     time.Duration
	replays     number
	show        bool
}

func (f *flags) opinion(o *options) {
	p := &o.opinion
	f.group("Second opinions (is it the server or the model? the model scores flagged turns again)")
	f.text(&p.server, "opinion", "off", "`SERVER` that is asked about corrupted and suspect turns: live, which is -upstream itself, or the URL of\n"+
		"another with the same model, such as one with CUDA graphs off. It takes the ids of tokens, which\n"+
		"the server plugin tells with TURNWATCH_KEEP_TOKENS=1, or requests with temperature 0. off is none")
	f.text(&p.keyFile, "opinion-key-file", "", "`FILE` with the key for a server that is not -upstream, for which -upstream-key-file is used")
	p.control, p.rate, p.budget, p.tokens = 0.01, 30, 1_000_000, 1<<17
	f.value(&p.control, "opinion-control", "`SHARE` of clean turns that are asked about, too, from 0 to 1: they tell how often the word is wrong")
	f.value(&p.rate, "opinion-rate", "`RATE` of turns that are asked about, such as 30/min; more are dropped")
	f.value(&p.budget, "opinion-token-budget", "`NUMBER` of tokens, prompts included, that may be asked about in a minute")
	f.value(&p.tokens, "opinion-max-tokens", "`NUMBER` of tokens of a turn above which it is not asked about")
	p.concurrency, p.queue, p.running = 1, 64, 8
	f.value(&p.concurrency, "opinion-concurrency", "`NUMBER` of questions at a time")
	f.value(&p.queue, "opinion-queue", "`NUMBER` of turns that wait to be asked about; more are dropped")
	f.value(&p.running, "opinion-max-running", "`NUMBER` of requests that the server may be running for a question to be asked. None is while\n"+
		"requests wait there, or the relay is late")
	f.span(&p.wait, "opinion-wait", time.Minute, "how long a turn waits for that; then the opinion is unknown")
	f.span(&p.timeout, "opinion-timeout", time.Minute, "bounds a question")
	p.replays = 3
	f.value(&p.replays, "opinion-replays", "`NUMBER` of times that a request with temperature 0 is sent again, alone on an idle server, where\n"+
		"there are no ids of tokens; 0 is never")
	f.yes(&p.show, "opinion-tokens", "put the token that is absurd, and the one that the model had there instead, into the journal,\n"+
		"by id and as text. Without it there are places and probabilities")
}

func (p *opinionOptions) off() bool { return p.server == "" || p.server == "off" }

// check finds what contradicts.
func (p *opinionOptions) check(relayOnly bool) error {
	switch {
	case p.off() && (p.keyFile != "" || p.show):
		return errors.New("-opinion-key-file and -opinion-tokens need -opinion")
	case p.off():
		return nil
	case relayOnly:
		return errors.New("-opinion and -relay-only contradict each other: without a judge no turn is flagged")
	case p.rate == 0:
		return errors.New("-opinion-rate is off: no turn would ever be asked about; to ask about none leave -opinion off")
	case p.wait == 0 || p.timeout == 0:
		return errors.New("-opinion-wait and -opinion-timeout cannot be 0: no question would be answered in time; -opinion off asks none")
	case p.server == string(turn.Live) && p.keyFile != "":
		return errors.New("-opinion live is asked with the key of -upstream-key-file: leave -opinion-key-file out")
	case p.server != string(turn.Live) && !serverURL(p.server):
		return hinted{fmt.Errorf("-opinion %q is no server", mask(p.server)), "write live, http://host:port, https://host:port or unix:/path/of.sock"}
	case p.replays != number(int(p.replays)) || p.replays > 16:
		return fmt.Errorf("-opinion-replays=%v is no whole number from 0 to 16", p.replays)
	}
	return nil
}

// opinionCapture is the largest request, and the largest answer, that is kept for a second
// opinion.
func (s *service) opinionCapture() int64 {
	if s.o.opinion.off() {
		return 0
	}
	return 8 << 20
}

// prepareOpinions makes what asks, without asking anything.
func (s *service) prepareOpinions() error {
	p := &s.o.opinion
	if p.off() {
		return nil
	}
	cfg := second.Config{URL: p.server, Control: float64(p.control), Rate: float64(p.rate), Tokens: int(p.budget), MaxTokens: int(p.tokens),
		Concurrency: int(p.concurrency), Queue: int(p.queue), MaxRunning: int(p.running), Patience: p.wait, Timeout: p.timeout,
		Replays: int(p.replays), Show: p.show, Logger: s.log, Tell: s.opine, Strained: s.strained()}
	asked, err := s.opinionServer(&cfg)
	if err != nil {
		return fmt.Errorf("-opinion %s: %w", mask(p.server), err)
	}
	cfg.Load, cfg.Key = asked.AskLoad, asked.Key
	if cfg.Live {
		cfg.Load = s.liveLoad
	}
	s.opinions = cfg
	s.cfg.Capture = max(s.cfg.Capture, s.opinionCapture())
	s.cfg.Lend = func(t *turn.Turn) bool { return s.asker.Wants(t) }
	return nil
}

// opinionServer is what knows the server that is asked.
func (s *service) opinionServer(cfg *second.Config) (g *tagger, err error) {
	p := &s.o.opinion
	if cfg.Live = p.server == string(turn.Live); cfg.Live {
		cfg.URL, cfg.TLS = s.o.upstream, s.cfg.UpstreamTLS
		return s.tagger, nil
	}
	if strings.HasPrefix(p.server, "https://") {
		if cfg.TLS, err = s.certs.Upstream(s.upstreamFiles(serverNameOf(p.server))); err != nil {
			return nil, err
		}
	}
	other, err := s.newTagger(p.server, cfg.TLS, "-opinion-key-file", p.keyFile, nil, "")
	return &tagger{Tagger: other}, err
}

// liveLoad is what the live server is running: what it says, or what passes through us if
// that is more.
func (s *service) liveLoad(ctx context.Context) (running, waiting int, err error) {
	running, waiting, err = s.tagger.AskLoad(ctx)
	return max(running, int(s.relay.Stats().Streams.Load())), waiting, err
}

// strained returns what reports whether a loop of the relay has been late since it was
// last asked.
func (s *service) strained() func() bool {
	var before atomic.Int64
	return func() bool {
		now := s.relay.Stats().LoopLate.Load()
		return before.Swap(now) != now
	}
}

// openOpinions begins to ask, and returns the sink of turns for it.
func (s *service) openOpinions() (sinks []proxy.Sink, err error) {
	if s.o.opinion.off() {
		return nil, nil
	}
	s.asker, err = second.New(s.opinions)
	return []proxy.Sink{s.asker}, err
}

// opine takes a second opinion to the journal.
func (s *service) opine(o *turn.Opinion) {
	if s.journal != nil {
		s.journal.Opinion(o)
	}
}

func (s *service) closeOpinions(ctx context.Context) {
	if s.asker != nil {
		s.asker.Close(ctx)
		if n := s.asker.Stats().Dropped[second.DropClosed]; n > 0 {
			s.log.Info("turns were left without a second opinion at the end", "turns", n)
		}
	}
}

// opinionMetrics says what the opinions were, and what was not asked.
func (s *service) opinionMetrics() []proxy.Metric {
	if s.asker == nil {
		return nil
	}
	st := s.asker.Stats()
	words := proxy.Metric{Name: "turnwatch_opinions_total"}
	for c, n := range st.Opinions {
		words.Series = append(words.Series, proxy.Sample{Value: float64(n), Labels: []proxy.Label{
			{Name: "word", Value: c.Word}, {Name: "of", Value: string(c.Of)}, {Name: "by", Value: c.By}}})
	}
	slices.SortFunc(words.Series, func(a, b proxy.Sample) int { return strings.Compare(fmt.Sprint(a.Labels), fmt.Sprint(b.Labels)) })
	return []proxy.Metric{words,
		proxy.ByLabel("turnwatch_opinion_unknown_total", "reason", st.Unknown),
		proxy.ByLabel("turnwatch_opinion_dropped_total", "reason", st.Dropped),
		proxy.ByLabel("turnwatch_queue_depth", "queue", map[string]int64{"opinion": int64(st.Waiting)}),
	}
}
