package sglang

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"time"
)

// poller asks the server about itself. It belongs to the goroutine of run, but
// for what is handed out.
type poller struct {
	c     *client
	cfg   *Config
	busy  func() bool   // whether turns run
	wake  chan struct{} // holds one: turns run again
	stats *stats

	infos *infos
	heads *heads
	loads *timeline

	modelInfo, serverInfo, load, metrics route
	server, model                        *info // the latest answers
	unsaid                               bool  // they are not handed out yet
	last                                 map[string]float64
	version                              string
	lost                                 bool // the server could not be reached since its info was asked for
	doubted                              time.Time
	noticed                              time.Time // when the latest restart was
	told                                 func(why string)

	unanswered atomic.Bool // set by others: a turn had no answer
	answered   atomic.Bool // set by others: a turn had one after all
	dark       atomic.Bool // the server could not be reached
	hoping     atomic.Bool // it has not said yet who it is, but may
}

// light is told that the server answers a turn: what was put off because it
// could not be reached is due. It does not wait.
func (p *poller) light() {
	if !p.dark.Load() || !p.dark.CompareAndSwap(true, false) {
		return
	}
	p.answered.Store(true)
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// undark makes due what was put off in the dark.
func (p *poller) undark() {
	if !p.answered.Swap(false) {
		return
	}
	for _, r := range []*route{&p.modelInfo, &p.serverInfo, &p.load, &p.metrics} {
		if r.fails > 0 {
			r.fails, r.due = 0, time.Time{}
		}
	}
}

// route is what is known of how an endpoint answers.
type route struct {
	name  string
	due   time.Time
	fails int
}

// The waits after failures: twice as long after each.
const (
	firstWait   = time.Second
	longestWait = time.Minute
)

// enough is how many failures it takes to believe that one of the two
// descriptions of the server is not to be had. Until then neither is handed
// out, because half of a configuration would pass for another one.
const enough = 3

// wait puts a route off after a failure.
func (r *route) wait(now time.Time) {
	r.due = now.Add(min(firstWait<<min(r.fails, 10), longestWait))
	r.fails++
}

// run polls until ctx is done.
func (p *poller) run(ctx context.Context) {
	p.modelInfo, p.serverInfo = route{name: pollModel}, route{name: pollServer}
	p.load, p.metrics = route{name: pollLoads}, route{name: pollMetrics}
	p.hoping.Store(true)
	for ctx.Err() == nil {
		p.round(ctx)
		p.sleep(ctx)
	}
}

// doubtEvery is how often a turn without an answer may make us ask the server
// anew who it is: one that often breaks off is not to be asked as often.
const doubtEvery = time.Minute

// doubt takes turns that had no answer for a sign of a restart.
func (p *poller) doubt() {
	if p.unanswered.Swap(false) && (p.model != nil || p.server != nil) && time.Since(p.doubted) >= doubtEvery {
		p.lost, p.doubted = true, time.Now()
	}
}

// round asks what is due.
func (p *poller) round(ctx context.Context) {
	p.doubt()
	p.undark()
	if p.model == nil {
		p.ask(ctx, &p.modelInfo, maxInfo, p.takeModel, "/model_info", "/get_model_info")
	}
	if p.server == nil {
		p.ask(ctx, &p.serverInfo, maxInfo, p.takeServer, "/server_info", "/get_server_info")
	}
	if p.unsaid && (p.model != nil || p.modelInfo.fails >= enough) && (p.server != nil || p.serverInfo.fails >= enough) {
		p.publish()
	}
	if !p.busy() {
		return
	}
	p.ask(ctx, &p.load, maxInfo, p.takeLoads, "/v1/loads", "/get_load")
	if p.cfg.PollMetrics {
		p.ask(ctx, &p.metrics, maxInfo, p.takeMetrics, "/metrics")
	}
}

// sleep waits for what is due next. While no turn runs that is the info that
// is not known yet; there may be none.
func (p *poller) sleep(ctx context.Context) {
	now := time.Now()
	next := now.Add(time.Hour)
	sooner := func(r *route) {
		if r.due.Before(next) {
			next = r.due
		}
	}
	if p.model == nil {
		sooner(&p.modelInfo)
	}
	if p.server == nil {
		sooner(&p.serverInfo)
	}
	if p.busy() {
		sooner(&p.load)
		if p.cfg.PollMetrics {
			sooner(&p.metrics)
		}
	}
	t := time.NewTimer(next.Sub(now))
	defer t.Stop()
	select {
	case <-t.C:
	case <-p.wake:
	case <-ctx.Done():
	}
}

// ask polls a route that is due, under the first of its names that the server
// knows.
func (p *poller) ask(ctx context.Context, r *route, most int64, take func([]byte) error, names ...string) {
	if ctx.Err() != nil || time.Now().Before(r.due) {
		return
	}
	limit, cancel := context.WithTimeout(ctx, p.cfg.PollTimeout)
	defer cancel()
	body, err := p.c.either(limit, most, names...)
	if err == nil {
		p.found(r)
		err = take(body)
	}
	clear(body) // it may have held keys
	now := time.Now()
	if err == nil {
		r.fails, r.due = 0, now.Add(p.cfg.PollEvery)
		p.stats.poll(r.name, true)
		return
	}
	if ctx.Err() != nil {
		return
	}
	p.failed(r, err)
	r.wait(now)
}

// found notes that the server answers. One that could not be reached before
// may be another: it is asked again who it is.
func (p *poller) found(r *route) {
	if p.lost && r != &p.modelInfo && r != &p.serverInfo {
		p.restarted("it answers again")
	}
}

func (p *poller) failed(r *route, err error) {
	p.stats.poll(r.name, false)
	var op *net.OpError
	if errors.As(err, &op) {
		p.lost = p.lost || p.server != nil || p.model != nil
		p.dark.Store(true)
	} else if p.modelInfo.fails >= enough && p.serverInfo.fails >= enough {
		p.hoping.Store(false)
	}
	if r.fails == 0 {
		p.cfg.Logger.Info("a poll of the server failed; it is tried again, ever less often", "poll", r.name, "error", err)
	}
}

// restarted makes the server be asked again who it is.
func (p *poller) restarted(why string) {
	p.cfg.Logger.Info("the server seems to have been started anew: it is asked who it is", "noticed", why)
	p.stats.restarted()
	if p.told != nil {
		p.told(why)
	}
	p.heads.forget()
	p.noticed = time.Now()
	p.lost, p.model, p.server, p.last, p.version = false, nil, nil, nil, ""
	p.modelInfo.due, p.serverInfo.due = time.Time{}, time.Time{}
}

func (p *poller) takeModel(body []byte) (err error) {
	p.model, err = p.know(body)
	return err
}

func (p *poller) takeServer(body []byte) (err error) {
	p.server, err = p.know(body)
	return err
}

func (p *poller) know(body []byte) (*info, error) {
	i, err := parseInfo(body)
	if err == nil {
		p.lost, p.unsaid = false, true
	}
	return i, err
}

// publish hands out what both answers tell together; /server_info, which knows
// more, goes first.
func (p *poller) publish() {
	p.unsaid = false
	p.hoping.Store(false)
	now := &info{at: time.Now(), since: p.noticed, config: make(map[string]string)}
	for _, i := range []*info{p.server, p.model} {
		if i == nil {
			continue
		}
		for name, v := range i.config {
			if _, ok := now.config[name]; !ok {
				now.config[name] = v
			}
		}
		now.buckets = append(now.buckets, i.buckets...)
		now.interval = max(now.interval, i.interval)
	}
	p.infos.add(now)
}

func (p *poller) takeLoads(body []byte) error {
	r, err := parseLoads(body)
	return p.take(r, err)
}

func (p *poller) takeMetrics(body []byte) error {
	r, err := parseMetrics(body)
	return p.take(r, err)
}

// take puts a reading on the timeline. A total that has fallen, or another
// version, is another start of the server.
func (p *poller) take(r reading, err error) error {
	if err != nil {
		return err
	}
	p.loads.add(sample{time.Now(), r.loads})
	fell := false
	if p.last == nil {
		p.last = make(map[string]float64)
	}
	for name, v := range r.totals {
		fell = fell || v < p.last[name]
		p.last[name] = v
	}
	other := r.version != "" && p.version != "" && r.version != p.version
	if r.version != "" {
		p.version = r.version
	}
	if fell || other {
		p.restarted("its counters began anew, or its version is another")
	}
	return nil
}
