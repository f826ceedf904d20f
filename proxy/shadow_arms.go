package proxy

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"turnwatch/proxy/turn"
)

// The ways in which an arm spoils a request, beside the stages of an exchange.
const (
	failStatus   = "status"    // an error, where the live server had none
	failTooLarge = "too_large" // an answer beyond its bound
	failTimeout  = "timeout"   // an exchange beyond its bound
	failPanic    = "panic"     // ours
)

// shadowFails lists them all.
func shadowFails() []string {
	all := []string{failStatus, failTooLarge, failTimeout, failPanic}
	for _, s := range stages() {
		all = append(all, string(s))
	}
	return all
}

// arm is another server and what is sent to it.
type arm struct {
	*ShadowArm
	sh    *shadow
	log   *slog.Logger
	up    *upstream
	own   Stats // of its connections
	host  string
	queue chan job // never closed

	rate, bytes, tokens *rate.Limiter
	health              health

	offered, running atomic.Int64
	paired           atomic.Int64
	dropped, failed  tally
}

// job is a request for the arm, which is the mirror's part so and so. A probe is the one
// request that an arm gets which has spoiled others.
type job struct {
	m     *mirror
	i     int
	probe bool
}

func (sh *shadow) newArm(cfg *ShadowArm) (*arm, error) {
	c := sh.now()
	a := &arm{ShadowArm: cfg, sh: sh, log: sh.armLog(cfg.Arm), queue: make(chan job, c.Queue),
		rate: limit(c.Rate, 1), bytes: limit(float64(c.Bytes), 60), tokens: limit(float64(c.Tokens), 60)}
	a.health.log = a.log
	var err error
	a.up, err = newUpstream(&Config{Upstream: cfg.URL, UpstreamTLS: cfg.TLS, ConnectTimeout: sh.s.cfg.ConnectTimeout}, &a.own, &sh.s.buffers)
	if err != nil {
		return nil, err
	}
	a.host = a.up.addr
	if a.up.network == "unix" {
		a.host = "localhost"
	}
	return a, nil
}

// limit allows n in so many seconds, and as many at once; without n all there is.
func limit(n, seconds float64) *rate.Limiter {
	if n <= 0 {
		return rate.NewLimiter(rate.Inf, 0)
	}
	return rate.NewLimiter(rate.Limit(n/seconds), burst(n))
}

// reset makes a limiter one that limit would return.
func reset(l *rate.Limiter, n, seconds float64) {
	if n <= 0 {
		l.SetLimit(rate.Inf)
		l.SetBurst(0)
		return
	}
	l.SetBurst(burst(n))
	l.SetLimit(rate.Limit(n / seconds))
}

func burst(n float64) int { return max(1, int(min(n, math.MaxInt32))) }

// offer puts a request into the queue, or says why not. It never waits.
func (a *arm) offer(m *mirror, i int) string {
	why, probe := a.shut(time.Now())
	if why != "" {
		return why
	}
	m.users.Add(1)
	select {
	case a.queue <- job{m, i, probe}:
		return ""
	default:
		m.done()
		a.health.release(probe)
		return dropQueue
	}
}

// shut says why the arm is to get no request now, or whether this one is a probe.
func (a *arm) shut(now time.Time) (why string, probe bool) {
	c := a.sh.now()
	switch {
	case a.overloaded():
		return dropMaxBatch, false
	case c.Bytes > 0 && a.bytes.TokensAt(now) <= 0, c.Tokens > 0 && a.tokens.TokensAt(now) <= 0:
		return dropBudget, false
	}
	ok, probe := a.health.admit(now)
	switch {
	case !ok:
		return dropBackoff, false
	case !a.rate.AllowN(now, 1):
		a.health.release(probe)
		return dropRate, false
	}
	return "", probe
}

func (a *arm) overloaded() bool {
	c := a.sh.now()
	return c.MaxBatch > 0 && c.Load != nil && c.Load() > c.MaxBatch
}

// run serves requests until the arms are left, then drops those that wait.
func (a *arm) run() {
	for {
		select {
		case <-a.sh.ctx.Done():
			a.drain()
			return
		case j := <-a.queue:
			a.serve(j)
		}
	}
}

func (a *arm) drain() {
	for {
		select {
		case j := <-a.queue:
			a.drop(j, dropShutdown)
			j.m.done()
		default:
			return
		}
	}
}

func (a *arm) drop(j job, why string) {
	a.health.release(j.probe)
	j.m.settle(j.i, part{side: turn.Side{State: turn.Dropped, Why: why}})
}

// serve sends one request to the arm.
func (a *arm) serve(j job) {
	a.running.Add(1)
	defer a.running.Add(-1)
	defer j.m.done()
	defer func() {
		if p := recover(); p != nil {
			a.log.Error("a request of an arm broke", "turn_id", j.m.pair.ID, "panic", p, "stack", string(debug.Stack()))
			a.health.release(j.probe)
			j.m.settle(j.i, part{side: turn.Side{State: turn.Failed, Why: failPanic}})
		}
	}()
	switch {
	case j.m.ctx.Err() != nil:
		a.drop(j, a.givenUp())
	case !j.probe && a.health.off():
		a.drop(j, dropBackoff)
	case j.m.effect():
		a.drop(j, dropEffects)
	default:
		a.exchange(j)
	}
}

// givenUp says why a mirror was given up.
func (a *arm) givenUp() string {
	if a.sh.ctx.Err() != nil {
		return dropShutdown
	}
	return dropClient
}

// count counts what became of a request.
func (a *arm) count(s *turn.Side) {
	switch s.State {
	case turn.Paired:
		a.paired.Add(1)
	case turn.Dropped:
		a.dropped.add(s.Why, 1)
	default:
		a.failed.add(s.Why, 1)
	}
}

// spend takes what an answer brought from the budgets, which it may exceed.
func (a *arm) spend(read, tokens int64) {
	now := time.Now()
	for _, s := range []struct {
		l *rate.Limiter
		n int64
	}{{a.bytes, read}, {a.tokens, tokens}} {
		if s.l.Limit() != rate.Inf {
			s.l.ReserveN(now, int(min(s.n, int64(s.l.Burst()))))
		}
	}
}

// reason is the word for how an exchange with an arm went wrong.
func reason(err error) string {
	var at *stageError
	switch {
	case errors.Is(err, errAnswerTooLarge):
		return failTooLarge
	case errors.Is(err, context.DeadlineExceeded):
		return failTimeout
	case errors.As(err, &at):
		return string(at.stage)
	}
	return string(stageBody)
}

// health knows whether an arm answers. After patience faults in a row it is left alone
// for a while, then asked with one request at a time, ever less often.
type health struct {
	log *slog.Logger

	mu      sync.Mutex
	faults  int       // in a row
	until   time.Time // it is left alone
	probing bool      // the one request is under way
}

const (
	patienceOfArm = 3
	firstBackoff  = time.Second
	mostBackoff   = time.Minute
)

// admit reports whether the arm may get a request, and whether that is the one.
func (h *health) admit(now time.Time) (ok, probe bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.faults < patienceOfArm {
		return true, false
	}
	if h.probing || now.Before(h.until) {
		return false, false
	}
	h.probing = true
	return true, true
}

// release takes back the admission of a probe that came to nothing.
func (h *health) release(probe bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.probing = h.probing && !probe
}

// good notes an answer.
func (h *health) good() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.faults >= patienceOfArm {
		h.log.Info("the arm answers again")
	}
	h.faults, h.probing = 0, false
}

// bad notes a request that the arm spoiled. Those that were under way when it was left
// alone do not count again.
func (h *health) bad(now time.Time, why string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.probing = false
	if now.Before(h.until) {
		return
	}
	if h.faults++; h.faults < patienceOfArm {
		return
	}
	wait := min(mostBackoff, firstBackoff<<min(10, h.faults-patienceOfArm))
	h.until = now.Add(wait)
	if h.faults == patienceOfArm {
		h.log.Warn("the arm spoils requests: it gets one now and then until it answers", "latest", why, "again_after", wait)
	}
}

// off reports whether the arm is left alone.
func (h *health) off() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.faults >= patienceOfArm
}
