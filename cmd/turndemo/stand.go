package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"turnwatch/cmd/internal/stress"
	"turnwatch/proxy"
	"turnwatch/proxy/journal"
	"turnwatch/proxy/sglang"
	"turnwatch/proxy/sglangtest"
)

// cell is the configuration of one server.
type cell struct {
	dtype          string
	graph, overlap bool
}

// cells are the origin of the corruption, and its three neighbours: each with
// one thing changed.
var cells = []cell{
	{"bf16", true, true},
	{"fp8", true, true},
	{"bf16", false, true},
	{"bf16", true, false},
}

// stand is a server with the sidecar in front of it.
type stand struct {
	sim     *sglangtest.Server
	relay   *proxy.Server
	journal *journal.Writer
	path    string     // of the journal
	url     string     // of the sidecar
	served  chan error // what Serve returned
	untag   func()     // ends what learns of the server
}

// config returns the server of a cell. All have the fault; only the first
// meets its condition.
func (o *options) config(c cell) sglangtest.Config {
	return sglangtest.Config{
		IndexDtype: c.dtype, DisableCUDAGraph: !c.graph, DisableOverlap: !c.overlap, Step: o.step, Plugin: true,
		Faults: []sglangtest.Fault{sglangtest.Origin(o.seed, o.share)},
	}
}

// start starts a server and its sidecar, which journals to path.
func start(cfg sglangtest.Config, path string) (*stand, error) {
	w, err := journal.Open(path, journal.Options{})
	if err != nil {
		return nil, err
	}
	s := &stand{journal: w, path: path, served: make(chan error, 1)}
	s.sim = sglangtest.NewServer(cfg)
	if err := s.watch(); err != nil {
		s.sim.Close()
		return nil, errors.Join(fmt.Errorf("start the sidecar: %w", err), w.Close(context.Background()))
	}
	return s, nil
}

// watch puts the sidecar in front of the server.
func (s *stand) watch() error {
	tagger, err := sglang.New(sglang.Config{Upstream: s.sim.URL, NoPoll: true})
	if err != nil {
		return err
	}
	tagger.TellChanges(s.journal.Change)
	s.relay, err = proxy.New(proxy.Config{Upstream: s.sim.URL, Tags: func() proxy.TurnTags { return tagger.Begin() }}, s.journal)
	if err != nil {
		return err
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return errors.Join(err, s.relay.Shutdown(context.Background()))
	}
	s.url = "http://" + ln.Addr().String()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	s.untag = func() { cancel(); <-done }
	go func() { defer close(done); tagger.Run(ctx) }()
	go func() { s.served <- s.relay.Serve(ln) }()
	return nil
}

// close ends the sidecar, then its server. Nobody is being served by then.
func (s *stand) close() {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	s.relay.Shutdown(ctx)
	<-s.served
	s.untag()
	s.journal.Close(ctx)
	s.sim.Close()
}

// result is what came of one cell.
type result struct {
	cell  cell
	stand *stand
	took  time.Duration
	turns map[string]*stress.Turn // by request id
	tally stress.Tally            // from the journal
}

// measure plays the sessions and reads the journal. Every turn must be answered.
func (r *result) measure(ctx context.Context, o options, progress func(done, total int)) error {
	if err := r.play(ctx, o, progress); err != nil {
		return err
	}
	for id, t := range r.turns {
		if t.Err != nil {
			return fmt.Errorf("turn %s got no answer: %w", id, t.Err)
		}
	}
	return nil
}

// play plays the sessions and reads the journal.
func (r *result) play(ctx context.Context, o options, progress func(done, total int)) error {
	begin := time.Now()
	r.turns = map[string]*stress.Turn{}
	res, err := stress.Run(ctx, stress.Load{Targets: []stress.Target{{URL: r.stand.url, NoPoll: true}}, Work: stress.Work{Streamed: 1}, Seed: 1,
		Sessions: o.sessions, Concurrency: []int{o.concurrency}, Progress: progress,
		Turned: func(t *stress.Turn) { r.turns[t.RequestID] = t }})
	if err != nil {
		return err
	}
	if res.Interrupted {
		return ctx.Err()
	}
	r.took = time.Since(begin)
	if err := r.stand.written(ctx, len(r.turns)); err != nil {
		return err
	}
	return r.read()
}

// written waits until the journal holds n turns: they are judged after their
// last byte, and written a little later.
func (s *stand) written(ctx context.Context, n int) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for s.journal.Stats().Lines < int64(n) {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("the journal %s holds %d of %d turns", s.path, s.journal.Stats().Lines, n)
		}
	}
	return nil
}

func (r *result) read() error {
	f, err := os.Open(r.stand.path)
	if err != nil {
		return err
	}
	defer f.Close()
	r.tally, err = stress.Count(journal.Read(f))
	return err
}

// struck returns what the simulator knows of the turns it corrupted, by request
// id.
func (r *result) struck() map[string]sglangtest.Record {
	all := map[string]sglangtest.Record{}
	for _, rec := range r.stand.sim.Records() {
		if len(rec.Faults) > 0 {
			all[fmt.Sprintf("%s-%d", rec.Session, rec.Turn)] = rec
		}
	}
	return all
}

// compare holds the journal against what the simulator did.
func (r *result) compare() (struck, found, extra int) {
	truth := r.struck()
	for _, t := range r.tally.Corrupted {
		if _, ok := truth[t.RequestID]; ok {
			found++
		} else {
			extra++
		}
	}
	return len(truth), found, extra
}
