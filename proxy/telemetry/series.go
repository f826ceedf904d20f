package telemetry

import (
	"context"
	"sync/atomic"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"
)

// series is one of a counter. Most of what is counted waits in it until metrics
// are read, or for a second at most: the SDK looks through a series' attributes
// at each call, which costs more than all else that is measured of a turn.
type series struct {
	counter metric.Int64Counter
	named   []metric.AddOption
	waiting atomic.Int64
}

// series makes one of a counter.
func (m *instruments) series(c metric.Int64Counter, kv ...attribute.KeyValue) *series {
	s := &series{counter: c, named: []metric.AddOption{metric.WithAttributeSet(attribute.NewSet(kv...))}}
	m.settling.Lock()
	defer m.settling.Unlock()
	m.all = append(m.all, s)
	return s
}

// add counts n: at once where it makes the series, or an exemplar may name the
// span that the context tells.
func (s *series) add(ctx context.Context, n int64) {
	if n != 0 && !trace.SpanContextFromContext(ctx).IsValid() {
		s.waiting.Add(n)
		return
	}
	s.counter.Add(ctx, n, s.named...)
}

// settle hands on what waits. Once it has returned, all that was counted before
// has been handed on, by whomever.
func (m *instruments) settle() {
	m.settling.Lock()
	defer m.settling.Unlock()
	for _, s := range m.all {
		if n := s.waiting.Swap(0); n != 0 {
			s.counter.Add(context.Background(), n, s.named...)
		}
	}
}
