package telemetry

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

// Family is what another part of turnwatch has counted: the series of one name.
// What the name means stands in Metrics.
type Family struct {
	Name   string // as Prometheus spells it
	Series []Sample
}

// Sample is the value of one series: a number, or the times of a histogram.
type Sample struct {
	Labels []Label
	Value  float64
	Times  *Times // nil: a number
}

// Label is a name and a value.
type Label struct{ Name, Value string }

// Times is how often something took how long, as a histogram has it: one count
// more than bounds.
type Times struct {
	Bounds []float64
	Counts []uint64
	Sum    float64
}

// bridge shows the counts of others to every reader of ours, so that they are
// the same wherever they are read. Those who count need no OpenTelemetry, and
// what they count costs nothing until it is asked for.
type bridge struct {
	known map[string]Metric // by the name at /metrics
	start time.Time
	log   *slog.Logger

	mu      sync.Mutex
	counted []reading
	sources []func() []Family
	strange map[string]bool // names that are not known, once each
}

func newBridge(sources []func() []Family, start time.Time, log *slog.Logger) *bridge {
	b := &bridge{sources: sources, known: map[string]Metric{}, start: start, log: log, strange: map[string]bool{}}
	for _, m := range Metrics() {
		b.known[m.Prometheus()] = m
	}
	return b
}

// also asks more sources. Readers may be reading already.
func (b *bridge) also(sources ...func() []Family) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.sources = slices.Concat(b.sources, sources)
}

// shows shows histograms, too. Readers may be reading already.
func (b *bridge) shows(c *counted) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if c != nil {
		b.counted = c.all
	}
}

// Produce is called by a reader.
func (b *bridge) Produce(context.Context) ([]metricdata.ScopeMetrics, error) {
	var all []metricdata.Metrics
	now := time.Now()
	for _, f := range b.families() {
		if len(f.Series) > 0 {
			all = append(all, b.metric(f, now))
		}
	}
	return []metricdata.ScopeMetrics{{Scope: instrumentation.Scope{Name: scope}, Metrics: all}, b.histograms(now)}, nil
}

// histograms are shown in the scope in which the SDK has the other measures of turns.
func (b *bridge) histograms(now time.Time) metricdata.ScopeMetrics {
	b.mu.Lock()
	counted := b.counted
	b.mu.Unlock()
	all := metricdata.ScopeMetrics{Scope: instrumentation.Scope{Name: scope, SchemaURL: SchemaURL}}
	for _, read := range counted {
		if m, ok := read(now); ok {
			all.Metrics = append(all.Metrics, m)
		}
	}
	return all
}

// families asks all sources and joins families of one name, adding up series
// of one name and labels: a reader takes each once.
func (b *bridge) families() []Family {
	var all []Family
	at := map[string]int{}
	b.mu.Lock()
	sources := b.sources
	b.mu.Unlock()
	for _, ask := range sources {
		for _, f := range ask() {
			i, ok := at[f.Name]
			if !ok {
				i = len(all)
				at[f.Name] = i
				all = append(all, Family{Name: f.Name})
			}
			all[i].Series = joined(all[i].Series, f.Series)
		}
	}
	return all
}

func joined(series, more []Sample) []Sample {
	for _, s := range more {
		found := false
		for i := range series {
			if found = slices.Equal(series[i].Labels, s.Labels); found {
				series[i].Value += s.Value
				break
			}
		}
		if !found {
			series = append(series, s)
		}
	}
	return series
}

func attributes(labels []Label) *attribute.Set {
	kv := make([]attribute.KeyValue, len(labels))
	for i, l := range labels {
		kv[i] = attribute.String(l.Name, l.Value)
	}
	set := attribute.NewSet(kv...)
	return &set
}

// metric describes a family as Metrics has it. One that is not there is shown
// as it is, and the log says so.
func (b *bridge) metric(f Family, now time.Time) metricdata.Metrics {
	m, ok := b.known[f.Name]
	if !ok {
		b.complain(f.Name)
		m = Metric{Name: f.Name, Type: Gauge}
	}
	out := metricdata.Metrics{Name: m.Name, Description: m.Help, Unit: m.Unit}
	switch m.Type {
	case Histogram:
		out.Data = metricdata.Histogram[float64]{Temporality: metricdata.CumulativeTemporality, DataPoints: b.histogram(f.Series, now)}
	case Counter:
		out.Data = metricdata.Sum[float64]{Temporality: metricdata.CumulativeTemporality, IsMonotonic: true, DataPoints: b.numbers(f.Series, now)}
	default:
		out.Data = metricdata.Gauge[float64]{DataPoints: b.numbers(f.Series, now)}
	}
	return out
}

func (b *bridge) complain(name string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.strange[name] {
		b.strange[name] = true
		b.log.Error("a metric has no description", "name", name)
	}
}

func (b *bridge) numbers(series []Sample, now time.Time) []metricdata.DataPoint[float64] {
	points := make([]metricdata.DataPoint[float64], len(series))
	for i, s := range series {
		points[i] = metricdata.DataPoint[float64]{Attributes: *attributes(s.Labels), StartTime: b.start, Time: now, Value: s.Value}
	}
	return points
}

func (b *bridge) histogram(series []Sample, now time.Time) []metricdata.HistogramDataPoint[float64] {
	var points []metricdata.HistogramDataPoint[float64]
	for _, s := range series {
		if s.Times == nil {
			continue
		}
		p := metricdata.HistogramDataPoint[float64]{Attributes: *attributes(s.Labels), StartTime: b.start, Time: now,
			Bounds: s.Times.Bounds, BucketCounts: s.Times.Counts, Sum: s.Times.Sum}
		for _, n := range s.Times.Counts {
			p.Count += n
		}
		points = append(points, p)
	}
	return points
}
