package telemetry

import (
	"context"
	"sync"
	"sync/atomic"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
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
	m.settles(s)
	return s
}

// add counts n: at once where it makes the series, or an exemplar may name the
// span that the context tells.
func (s *series) add(ctx context.Context, n int64) {
	if n != 0 && !ledTo(ctx).IsValid() {
		s.waiting.Add(n)
		return
	}
	s.counter.Add(ctx, n, s.named...)
}

func (s *series) settle() {
	if n := s.waiting.Swap(0); n != 0 {
		s.counter.Add(context.Background(), n, s.named...)
	}
}

// sizes is one series of a histogram that the SDK counts. Values wait in it as counts do in a
// series. Each still takes the SDK's time, but of many in a row only the first
// finds nothing of the SDK in the processor's caches.
type sizes[N int64 | float64] struct {
	record func(context.Context, N, ...metric.RecordOption)
	named  []metric.RecordOption

	mu      sync.Mutex
	waiting []N
}

// maxWaiting bounds the values that wait in a series.
const maxWaiting = 256

func newSizes[N int64 | float64](m *instruments, record func(context.Context, N, ...metric.RecordOption), kv []attribute.KeyValue) *sizes[N] {
	s := &sizes[N]{record: record, named: []metric.RecordOption{metric.WithAttributeSet(attribute.NewSet(kv...))}}
	m.settles(s)
	return s
}

// add takes a value, which is handed on at once where an exemplar may name the span
// that the context tells.
func (s *sizes[N]) add(ctx context.Context, v N) {
	if ledTo(ctx).IsValid() {
		s.record(ctx, v, s.named...)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.waiting = append(s.waiting, v); len(s.waiting) == maxWaiting {
		s.hand()
	}
}

// hand hands on what waits. mu is held.
func (s *sizes[N]) hand() {
	for _, v := range s.waiting {
		s.record(context.Background(), v, s.named...)
	}
	s.waiting = s.waiting[:0]
}

func (s *sizes[N]) settle() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hand()
}

// settler is a series in which something may wait.
type settler interface{ settle() }

// settles has a series settled with all others.
func (m *instruments) settles(s settler) {
	m.settling.Lock()
	defer m.settling.Unlock()
	m.all = append(m.all, s)
}

// settle hands on what waits. Once it has returned, all that was counted before
// has been handed on, by whomever.
func (m *instruments) settle() {
	m.settling.Lock()
	defer m.settling.Unlock()
	for _, s := range m.all {
		s.settle()
	}
}
