package telemetry

import (
	"context"
	"encoding/hex"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"turnwatch/proxy/turn"
	"turnwatch/validate"
)

// lineWriter writes a line about each corrupted turn, within a rate. What was
// left out is told with the next line, or a while after the last.
type lineWriter struct {
	log  *slog.Logger
	own  *own
	rate *rate.Limiter

	mu         sync.Mutex
	suppressed int64
	since      time.Time // the first of those
}

// tell writes the line of a turn, if there is one.
func (w *lineWriter) tell(t *turn.Turn) {
	if t.Outcome != validate.Corrupted {
		return
	}
	if !w.rate.Allow() {
		w.suppress()
		return
	}
	attrs := []slog.Attr{slog.String("turn_id", t.ID), slog.String("trace_id", hex.EncodeToString(t.Trace.ID[:])),
		slog.String("model", t.Model), slog.String("session", t.Session), slog.Int("turn", t.Number), slog.String("arm", string(t.Arm)), slog.Any("kinds", kinds(t))}
	if t.RequestID != "" {
		attrs = append(attrs, slog.String("request_id", t.RequestID))
	}
	if t.Fingerprint != "" {
		attrs = append(attrs, slog.String("fingerprint", t.Fingerprint))
	}
	for _, tag := range []string{"batch", "graph_bucket", "rid"} {
		if v, ok := t.Tag(tag); ok {
			attrs = append(attrs, slog.String(tag, v.Value))
		}
	}
	if n := w.take(); n > 0 {
		attrs = append(attrs, slog.Int64("suppressed", n))
	}
	w.log.LogAttrs(context.Background(), slog.LevelWarn, "a turn is corrupted", attrs...)
}

// kinds are those of a turn's findings, each once.
func kinds(t *turn.Turn) (all []validate.Kind) {
	seen := map[validate.Kind]bool{}
	for i := range t.Findings {
		if k := t.Findings[i].Kind; !seen[k] {
			seen[k] = true
			all = append(all, k)
		}
	}
	return all
}

func (w *lineWriter) suppress() {
	w.own.dropped.add(1, lines+" "+rateLimited)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.suppressed++; w.suppressed == 1 {
		w.since = time.Now()
	}
}

// take returns how many lines were left out since it was last asked.
func (w *lineWriter) take() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := w.suppressed
	w.suppressed = 0
	return n
}

// suppressedFor is after how long it is told that lines were left out, where no
// other line tells it.
const suppressedFor = 10 * time.Second

// flush tells what was left out, if that is due.
func (w *lineWriter) flush(now time.Time) {
	w.mu.Lock()
	due := w.suppressed > 0 && now.Sub(w.since) >= suppressedFor
	w.mu.Unlock()
	if due {
		w.end()
	}
}

// end tells what was left out.
func (w *lineWriter) end() {
	if n := w.take(); n > 0 {
		w.log.Warn("corrupted turns were left out of the log: see -log-rate, or the journal", "suppressed", n)
	}
}
