package telemetry

import (
	"encoding/binary"
	"math"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"turnwatch/proxy/turn"
	"turnwatch/validate"
)

// Limits say how much is told. They may be changed while turns pass.
type Limits struct {
	// TraceRatio is the share of turns that nothing is wrong with, and that no
	// caller samples, whose spans are kept. From 0 to 1.
	TraceRatio float64
	// TraceRate bounds the spans a second, but for those of turns that are
	// corrupted or unverified.
	TraceRate float64
	// TraceSlow is how long a turn takes whose span is kept. 0: none is slow.
	TraceSlow time.Duration
	// LogRate bounds the lines a second about corrupted turns.
	LogRate float64
}

// keeper decides whose span is kept.
type keeper struct {
	parent bool // what the caller decided counts
	own    *own

	ratio atomic.Uint64 // as math.Float64bits
	slow  atomic.Int64
	rate  *rate.Limiter
}

// Why a span is kept, the strongest reason first.
const (
	keptCorrupted  = "corrupted"
	keptUnverified = "unverified"
	keptError      = "error"
	keptSlow       = "slow"
	keptSampled    = "sampled"
	keptRatio      = "ratio"
)

func keptReasons() []string {
	return []string{keptCorrupted, keptUnverified, keptError, keptSlow, keptSampled, keptRatio}
}

// set takes over limits. The ratio of the environment's sampler wins.
func (k *keeper) set(l Limits, env *env) {
	if env.ratio >= 0 {
		l.TraceRatio = env.ratio
	}
	k.ratio.Store(math.Float64bits(l.TraceRatio))
	k.slow.Store(int64(l.TraceSlow))
	limit(k.rate, l.TraceRate)
}

// newLimiter lets through so many a second, and as many at once.
func newLimiter(perSecond float64) *rate.Limiter {
	return rate.NewLimiter(rate.Limit(perSecond), burst(perSecond))
}

func limit(l *rate.Limiter, perSecond float64) {
	l.SetLimit(rate.Limit(perSecond))
	l.SetBurst(burst(perSecond))
}

// burst is what may come at once: a second's worth.
func burst(perSecond float64) int { return int(math.Ceil(min(perSecond, math.MaxInt32))) }

// keep says why the turn's span is kept; empty if it is not.
func (k *keeper) keep(t *turn.Turn) string {
	why := k.reason(t)
	if why == "" || why == keptCorrupted || why == keptUnverified || k.rate.Allow() {
		return why
	}
	k.own.dropped.add(1, traces+" "+rateLimited)
	return ""
}

func (k *keeper) reason(t *turn.Turn) string {
	slow := k.slow.Load()
	switch {
	case t.Outcome == validate.Corrupted:
		return keptCorrupted
	case t.Outcome == validate.Unverified:
		return keptUnverified
	case failed(t):
		return keptError
	case slow > 0 && t.DurationMS >= float64(slow)/float64(time.Millisecond):
		return keptSlow
	case k.parent && t.Trace.Sampled:
		return keptSampled
	case chosen(t.Trace.ID, math.Float64frombits(k.ratio.Load())):
		return keptRatio
	}
	return ""
}

// failed reports whether the turn failed for another reason than that its
// client left.
func failed(t *turn.Turn) bool {
	e := errorType(t)
	return e != "" && e != string(validate.ClientGone)
}

// chosen draws by the trace's id, as samplers of OpenTelemetry do, so that all
// who draw at one ratio choose the same traces.
func chosen(id [16]byte, ratio float64) bool {
	return ratio >= 1 || float64(binary.BigEndian.Uint64(id[8:])>>1) < ratio*(1<<63)
}
