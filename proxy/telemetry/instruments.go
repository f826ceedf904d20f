package telemetry

import (
	"context"
	"errors"
	"strconv"
	"sync"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/exemplar"

	"turnwatch/proxy/turn"
	"turnwatch/validate"
)

// scope names us to who reads what we export.
const scope = "turnwatch"

// instruments are what turns are measured with. They may be used concurrently.
type instruments struct {
	meter  metric.Meter
	own    *own
	kinds  map[validate.Kind]validate.KindInfo
	server []attribute.KeyValue // of series of the GenAI conventions

	turns, sessions, findings, signals, lints, calls, finishes, answers, metadata, skipped metric.Int64Counter
	batch                                                                                  distribution[int64]
	input, output                                                                          func(*group) adder[int64]
	duration, firstChunk                                                                   distribution[float64]
	config                                                                                 metric.Int64Gauge

	settling sync.Mutex
	all      []settler // guarded by settling

	mu       sync.Mutex
	plain    map[name]*series // without a group
	statuses int
}

// views bound what exemplars take: one a series of a counter, the latest since
// it was last read; one a bucket of a histogram.
func views() sdkmetric.View {
	one := func(sdkmetric.Aggregation) exemplar.ReservoirProvider { return exemplar.FixedSizeReservoirProvider(1) }
	return sdkmetric.NewView(sdkmetric.Instrument{Kind: sdkmetric.InstrumentKindCounter}, sdkmetric.Stream{ExemplarReservoirProviderSelector: one})
}

// maker makes instruments as Metrics describes them and keeps what went wrong.
type maker struct {
	meter metric.Meter
	known map[string]Metric
	errs  []error

	counted *counted // nil: the SDK counts histograms
}

func (k *maker) counter(name string) metric.Int64Counter {
	m := k.known[name]
	c, err := k.meter.Int64Counter(name, metric.WithDescription(m.Help), metric.WithUnit(m.Unit))
	k.errs = append(k.errs, err)
	return c
}

func (k *maker) sizes(name string) distribution[int64] {
	m := k.known[name]
	if k.counted != nil {
		return count[int64](k.counted, m)
	}
	h, err := k.meter.Int64Histogram(name, metric.WithDescription(m.Help), metric.WithUnit(m.Unit), metric.WithExplicitBucketBoundaries(m.Bounds...))
	k.errs = append(k.errs, err)
	return func(m *instruments, kv []attribute.KeyValue) adder[int64] { return newSizes(m, h.Record, kv) }
}

func (k *maker) times(name string) distribution[float64] {
	m := k.known[name]
	if k.counted != nil {
		return count[float64](k.counted, m)
	}
	h, err := k.meter.Float64Histogram(name, metric.WithDescription(m.Help), metric.WithUnit(m.Unit), metric.WithExplicitBucketBoundaries(m.Bounds...))
	k.errs = append(k.errs, err)
	return func(m *instruments, kv []attribute.KeyValue) adder[float64] { return newSizes(m, h.Record, kv) }
}

func (k *maker) gauge(name string) metric.Int64Gauge {
	m := k.known[name]
	g, err := k.meter.Int64Gauge(name, metric.WithDescription(m.Help), metric.WithUnit(m.Unit))
	k.errs = append(k.errs, err)
	return g
}

func newInstruments(meter metric.Meter, counted *counted, own *own, latest bool, server []attribute.KeyValue) (*instruments, error) {
	k := &maker{meter: meter, counted: counted, known: map[string]Metric{}}
	for _, m := range Metrics() {
		k.known[m.Name] = m
	}
	duration, firstChunk := MetricDuration, MetricFirstChunk
	if latest {
		duration, firstChunk = LatestDuration, LatestFirstChunk
	}
	m := &instruments{meter: meter, own: own, server: server, kinds: map[validate.Kind]validate.KindInfo{},
		plain: map[name]*series{},
		turns: k.counter("turnwatch.turns"), sessions: k.counter("turnwatch.sessions"), findings: k.counter("turnwatch.findings"),
		signals: k.counter("turnwatch.signals"), lints: k.counter("turnwatch.lints"), calls: k.counter("turnwatch.tool_calls"),
		finishes: k.counter("turnwatch.finish_reasons"), answers: k.counter("turnwatch.answers"), metadata: k.counter("turnwatch.metadata.turns"), skipped: k.counter("turnwatch.validation.skipped"),
		batch: k.sizes("turnwatch.batch.running"), config: k.gauge("turnwatch.config.info"),
		duration: k.times(duration), firstChunk: k.times(firstChunk)}
	m.countTokens(k, latest)
	for _, info := range validate.Kinds() {
		m.kinds[info.Kind] = info
	}
	m.start()
	return m, errors.Join(k.errs...)
}

// start makes the series of closed sets stand at 0.
func (m *instruments) start() {
	ctx := context.Background()
	for _, l := range validate.Lints() {
		m.lint(ctx, l, 0)
	}
	for _, why := range validate.Reasons() {
		m.skip(ctx, why, 0)
	}
	for _, s := range []string{"header", "facts", "status_log", "poll", "own", none} {
		m.source("batch", s).add(ctx, 0)
	}
	for _, s := range []string{"header", "poll", "label", none} {
		m.source("configuration", s).add(ctx, 0)
	}
	m.answer(200).add(ctx, 0)
}

// find returns a series without a group.
func (m *instruments) find(n name, make func() *series) *series {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.plain[n]
	if s == nil {
		s = make()
		m.plain[n] = s
	}
	return s
}

func (m *instruments) lint(ctx context.Context, l validate.Lint, n int64) {
	m.find(name{family: "lint", value: string(l)}, func() *series { return m.series(m.lints, attribute.String(KeyLint, string(l))) }).add(ctx, n)
}

// skip counts a turn that is unverified.
func (m *instruments) skip(ctx context.Context, why validate.Reason, n int64) {
	m.find(name{family: "reason", value: string(why)}, func() *series { return m.series(m.skipped, attribute.String(KeyReason, string(why))) }).add(ctx, n)
}

func (m *instruments) source(what, source string) *series {
	return m.find(name{"source", what, source}, func() *series {
		return m.series(m.metadata, attribute.String(KeyMetadata, what), attribute.String(KeySource, source))
	})
}

// answer counts answers of a status. A server may make up hundreds.
func (m *instruments) answer(status int) *series {
	value := none
	if status != 0 {
		value = strconv.Itoa(status)
	}
	return m.find(name{family: "status", value: value}, func() *series {
		if m.statuses++; m.statuses > maxStatuses {
			m.own.overflow.add(1, "status")
			return m.series(m.answers, attribute.String(KeyStatus, other))
		}
		return m.series(m.answers, attribute.String(KeyStatus, value))
	})
}

// tellConfig shows what is behind a fingerprint.
func (m *instruments) tellConfig(fingerprint string, tags map[string]turn.Tag) {
	kv := []attribute.KeyValue{attribute.String(KeyFingerprint, fingerprint), attribute.String(AttrVersion, or(tags["version"].Value, unknown))}
	for _, tag := range infoTags() {
		kv = append(kv, attribute.String(configKey(tag), or(tags[tag].Value, unknown)))
	}
	m.config.Record(context.Background(), 1, metric.WithAttributeSet(attribute.NewSet(kv...)))
}

// countTokens makes what tokens are counted with: a histogram, or in the newest
// version of the conventions two counters.
func (m *instruments) countTokens(k *maker, latest bool) {
	if latest {
		m.input, m.output = m.tokenCounter(k.counter(LatestInput), "input"), m.tokenCounter(k.counter(LatestOutput), "output")
		return
	}
	h := k.sizes(MetricTokens)
	m.input, m.output = m.tokenSizes(h, "input"), m.tokenSizes(h, "output")
}

func (m *instruments) tokenCounter(c metric.Int64Counter, kind string) func(*group) adder[int64] {
	return func(g *group) adder[int64] {
		return find(g, name{family: "tokens", value: kind}, func() *series { return m.series(c, m.genAILabels(g, "")...) })
	}
}

func (m *instruments) tokenSizes(of distribution[int64], kind string) func(*group) adder[int64] {
	return func(g *group) adder[int64] {
		return find(g, name{family: "tokens", value: kind}, func() adder[int64] {
			return of(m, append(m.genAILabels(g, ""), attribute.String(AttrTokenType, kind)))
		})
	}
}
