package telemetry

import (
	"context"
	"os"
	"slices"
	"sort"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

// adder takes the values of a series.
type adder[N int64 | float64] interface{ add(context.Context, N) }

// distribution makes the series of a histogram.
type distribution[N int64 | float64] func(m *instruments, kv []attribute.KeyValue) adder[N]

// counted are the histograms that are counted here and shown to all readers, as the
// SDK would count them: it takes no two values at once, and looks through all
// attributes of a series for each.
type counted struct {
	exemplars bool // are kept
	all       []reading
}

// reading shows a histogram; not ok while it has no value.
type reading func(now time.Time) (m metricdata.Metrics, ok bool)

// newCounted returns nil where the environment wants of histograms what only the SDK
// makes: other buckets, differences, or exemplars that no span is behind.
func newCounted(x sdkmetric.Exporter) *counted {
	filter := strings.ToLower(strings.TrimSpace(os.Getenv("OTEL_METRICS_EXEMPLAR_FILTER")))
	if filter == "always_on" {
		return nil
	}
	if x != nil {
		_, buckets := x.Aggregation(sdkmetric.InstrumentKindHistogram).(sdkmetric.AggregationExplicitBucketHistogram)
		if !buckets || x.Temporality(sdkmetric.InstrumentKindHistogram) != metricdata.CumulativeTemporality {
			return nil
		}
	}
	return &counted{exemplars: filter != "always_off"}
}

// histogram is one that is counted here.
type histogram[N int64 | float64] struct {
	metric    Metric
	start     time.Time
	exemplars bool

	mu     sync.Mutex
	series map[attribute.Distinct]*buckets[N]
}

// buckets are a series of a histogram.
type buckets[N int64 | float64] struct {
	h     *histogram[N]
	attrs attribute.Set

	mu          sync.Mutex
	counts      []uint64
	n           uint64 // all of them
	sum         N
	least, most N
	exemplars   []metricdata.Exemplar[N] // the latest of each bucket; without a trace: none
}

// count makes a histogram that is counted here.
func count[N int64 | float64](c *counted, m Metric) distribution[N] {
	h := &histogram[N]{metric: m, start: time.Now(), exemplars: c.exemplars, series: map[attribute.Distinct]*buckets[N]{}}
	c.all = append(c.all, h.read)
	return func(_ *instruments, kv []attribute.KeyValue) adder[N] { return h.of(attribute.NewSet(kv...)) }
}

// of returns the series with these attributes: groups of several configurations have
// it together.
func (h *histogram[N]) of(attrs attribute.Set) *buckets[N] {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.series[attrs.Equivalent()]
	if s == nil {
		n := len(h.metric.Bounds) + 1
		s = &buckets[N]{h: h, attrs: attrs, counts: make([]uint64, n), exemplars: make([]metricdata.Exemplar[N], n)}
		h.series[attrs.Equivalent()] = s
	}
	return s
}

func (s *buckets[N]) add(ctx context.Context, v N) {
	at := sort.SearchFloat64s(s.h.metric.Bounds, float64(v))
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.n == 0 {
		s.least, s.most = v, v
	}
	s.least, s.most = min(s.least, v), max(s.most, v)
	s.counts[at]++
	s.n++
	s.sum += v
	if from := ledTo(ctx); from.IsSampled() && s.h.exemplars {
		trace, span := from.TraceID(), from.SpanID()
		s.exemplars[at] = metricdata.Exemplar[N]{Time: time.Now(), Value: v, TraceID: trace[:], SpanID: span[:]}
	}
}

// read shows what was counted; not ok while that is nothing.
func (h *histogram[N]) read(now time.Time) (m metricdata.Metrics, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	var points []metricdata.HistogramDataPoint[N]
	for _, s := range h.series {
		points = s.read(points, now)
	}
	return metricdata.Metrics{Name: h.metric.Name, Description: h.metric.Help, Unit: h.metric.Unit,
		Data: metricdata.Histogram[N]{Temporality: metricdata.CumulativeTemporality, DataPoints: points}}, len(points) > 0
}

// read appends the series, if it has a value.
func (s *buckets[N]) read(points []metricdata.HistogramDataPoint[N], now time.Time) []metricdata.HistogramDataPoint[N] {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.n == 0 {
		return points
	}
	p := metricdata.HistogramDataPoint[N]{Attributes: s.attrs, StartTime: s.h.start, Time: now, Count: s.n, Bounds: s.h.metric.Bounds,
		BucketCounts: slices.Clone(s.counts), Min: metricdata.NewExtrema(s.least), Max: metricdata.NewExtrema(s.most), Sum: s.sum}
	for _, e := range s.exemplars {
		if e.TraceID != nil {
			p.Exemplars = append(p.Exemplars, e)
		}
	}
	return append(points, p)
}
