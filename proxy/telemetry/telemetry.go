package telemetry

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"runtime/debug"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	otelprometheus "go.opentelemetry.io/otel/exporters/prometheus"
	otelmetric "go.opentelemetry.io/otel/metric"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	"golang.org/x/time/rate"

	"turnwatch/proxy/turn"
	"turnwatch/validate"
)

// Config says what is told of turns. Where to, the variables of OpenTelemetry
// say: see Environment.
type Config struct {
	// Version is the build's.
	Version string
	// Provider is gen_ai.provider.name. Default sglang.
	Provider string
	// Upstream is the URL of the server behind us.
	Upstream string
	// Content returns what was said in a corrupted turn whose Capture is there, less
	// what is secret, for its span. Default: no span has any of it.
	Content func(t *turn.Turn) (request, answer []byte)
	// Sources tell what others have counted.
	Sources []func() []Family
	// Limits say how much is told.
	Limits Limits
	// Alarm says how often a false alarm may come.
	Alarm AlarmConfig
	// AlarmState is a file in which what the alarm has learned survives a restart.
	// Default: none, and it begins anew.
	AlarmState string
	// SessionIdle is after how long a silence a session is over. Default 15
	// minutes.
	SessionIdle time.Duration
	// Logger gets a line about each corrupted turn, and what is wrong with us.
	// Default: discarded.
	Logger *slog.Logger
}

func (c *Config) defaults() {
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.SessionIdle == 0 {
		c.SessionIdle = 15 * time.Minute
	}
	c.Alarm.defaults()
}

func (c *Config) content() *content {
	if c.Content == nil {
		return nil
	}
	return &content{said: c.Content}
}

// Recorder measures turns and tells of them. It is a proxy.Sink.
type Recorder struct {
	log      *slog.Logger
	env      env
	own      *own
	bridge   *bridge
	metrics  *instruments
	groups   *groups
	sessions *sessions
	keeper   *keeper
	spans    *spans   // nil: no spans are exported
	records  *records // nil: no records are exported
	lines    *lineWriter
	state    *stateFile // nil: what the alarm learns is not kept

	registry *prometheus.Registry
	provider *sdkmetric.MeterProvider
	stop     chan struct{}
	swept    sync.WaitGroup
	ended    sync.Once
	endErr   error // of the one Shutdown, set by ended
}

// New makes a Recorder. The error names the variable of the environment that
// makes no sense. Nothing is waited for: a collector that is not there is met
// with each export again.
func New(ctx context.Context, cfg Config) (*Recorder, error) {
	cfg.defaults()
	env, err := readEnv()
	if err != nil {
		return nil, err
	}
	otel.SetLogger(logr.FromSlogHandler(cfg.Logger.Handler())) // which tells of variables that the SDK cannot read
	otel.SetErrorHandler(otel.ErrorHandlerFunc(complaints(cfg.Logger)))
	o := newOwn()
	r := &Recorder{log: cfg.Logger, env: env, own: o, stop: make(chan struct{}),
		bridge: newBridge(cfg.Sources, time.Now(), cfg.Logger),
		keeper: &keeper{parent: env.parent, own: o, rate: newLimiter(cfg.Limits.TraceRate)},
		lines:  &lineWriter{log: cfg.Logger, own: o, rate: newLimiter(cfg.Limits.LogRate)}}
	r.SetLimits(cfg.Limits)
	res, err := describe(ctx, cfg.Version)
	if err != nil {
		return nil, err
	}
	served := server(cfg.Provider, cfg.Upstream)
	err = errors.Join(r.measure(ctx, &cfg, res, served), r.openSpans(ctx, res, served, cfg.content()), r.openRecords(ctx, res))
	r.bridge.also(r.own.families, r.sessions.families, r.depths)
	return r, err
}

// complaintsEvery is how often it is told that exports fail.
const complaintsEvery = time.Minute

// complaints tells of what the SDK could not do, foremost of collectors that
// take nothing: the first at once, then one a minute at most.
func complaints(log *slog.Logger) func(error) {
	seldom := rate.Sometimes{Interval: complaintsEvery}
	return func(err error) {
		log.Debug("telemetry", "error", err)
		seldom.Do(func() { log.Warn("a collector does not take the telemetry", "error", err) })
	}
}

// describe says who we are. What the environment says wins.
func describe(ctx context.Context, version string) (*resource.Resource, error) {
	res, err := resource.New(ctx, resource.WithAttributes(attribute.String("service.name", "turnwatch"), attribute.String("service.version", version)),
		resource.WithTelemetrySDK(), resource.WithFromEnv())
	if errors.Is(err, resource.ErrPartialResource) || errors.Is(err, resource.ErrSchemaURLConflict) {
		err = nil
	}
	return res, err
}

// maxSeries bounds the series of one instrument, as a last resort: what they
// are made of is bounded by itself.
const maxSeries = 20000

// measure makes the instruments and what reads them: /metrics and, where it was
// asked for, an exporter.
func (r *Recorder) measure(ctx context.Context, cfg *Config, res *resource.Resource, served []attribute.KeyValue) error {
	r.registry = prometheus.NewRegistry()
	reader, err := otelprometheus.New(otelprometheus.WithRegisterer(r.registry), otelprometheus.WithoutScopeInfo(), otelprometheus.WithProducer(r.bridge))
	if err != nil {
		return err
	}
	opts := []sdkmetric.Option{sdkmetric.WithResource(res), sdkmetric.WithReader(reader), sdkmetric.WithView(views()), sdkmetric.WithCardinalityLimit(maxSeries)}
	var x sdkmetric.Exporter
	if r.env.exports[metrics] {
		x, err = newMetricExporter(ctx, r.env.protocol[metrics])
		if err != nil {
			return err
		}
		opts = append(opts, sdkmetric.WithReader(sdkmetric.NewPeriodicReader(&metricExporter{x, exporter{metrics, nil, r.own}}, sdkmetric.WithProducer(r.bridge))))
	}
	r.provider = sdkmetric.NewMeterProvider(opts...)
	ours := newCounted(x)
	r.metrics, err = newInstruments(r.provider.Meter(scope, otelmetric.WithSchemaURL(SchemaURL)), ours, r.own, r.env.latest, served)
	r.bridge.shows(ours)
	r.groups = newGroups(r.metrics, r.own)
	r.sessions = newSessions(r.metrics, cfg.SessionIdle, cfg.Alarm)
	r.sessions.raise = r.alarm
	r.openState(cfg)
	r.swept.Go(r.sweep)
	return err
}

// openState goes on with what the alarm has learned in a life before.
func (r *Recorder) openState(cfg *Config) {
	if cfg.AlarmState == "" {
		return
	}
	r.state = &stateFile{path: cfg.AlarmState, of: cfg.Upstream, log: cfg.Logger, saved: r.sessions.saved, stop: make(chan struct{})}
	r.sessions.inherit(r.state.read(time.Now()), time.Now())
	r.state.done.Go(r.state.run)
}

func (r *Recorder) openSpans(ctx context.Context, res *resource.Resource, served []attribute.KeyValue, said *content) error {
	if !r.env.exports[traces] {
		return nil
	}
	c, err := newSpanClient(ctx, r.env.protocol[traces])
	if err != nil {
		return err
	}
	room := &room{size: int64(r.env.spanQueue)}
	if said != nil {
		said.own = r.own
	}
	r.spans = newSpans(&spanSender{c, from(res), said, exporter{traces, room, r.own}}, room, r.own, served, said)
	return nil
}

func (r *Recorder) openRecords(ctx context.Context, res *resource.Resource) error {
	if !r.env.exports[logs] {
		return nil
	}
	x, err := newLogExporter(ctx, r.env.protocol[logs])
	if err == nil {
		r.records = newRecords(x, res, r.env.logQueue, r.own)
	}
	return err
}

// SetLimits takes over limits, while turns pass.
func (r *Recorder) SetLimits(l Limits) {
	r.keeper.set(l, &r.env)
	limit(r.lines.rate, l.LogRate)
}

// SetAlarm takes over how often a false alarm may come. The promise holds for the
// shortest spacing and the fewest sidecars that were ever said, since the evidence
// goes on.
func (r *Recorder) SetAlarm(c AlarmConfig) {
	c.defaults()
	r.sessions.setAlarm(c)
}

// Finish tells of a turn. What breaks in here is counted and harms nobody.
func (r *Recorder) Finish(t *turn.Turn) {
	defer func() {
		if p := recover(); p != nil {
			r.own.dropped.add(1, lines+" "+broken)
			r.log.Error("telemetry broke on a turn", "turn_id", t.ID, "panic", p, "stack", string(debug.Stack()))
		}
	}()
	t = r.traced(t)
	ctx, why := r.kept(t)
	r.count(ctx, t)
	if why != "" {
		r.spans.export(t, why)
	}
	r.lines.tell(t)
	if r.records != nil {
		r.records.turn(t)
	}
}

// traced gives a turn a trace of its own, where it has none or the caller's is
// not to be followed.
func (r *Recorder) traced(t *turn.Turn) *turn.Turn {
	if r.env.propagate && t.Trace.ID != [16]byte{} {
		return t
	}
	own := *t
	own.Trace = turn.NewTrace()
	own.Trace.Link = t.Trace.Link
	return &own
}

// kept says why the turn's span is to be exported, which there is room for, and
// in which context the turn is measured. A corrupted turn leaves exemplars also
// where no spans are exported: the log and the caller know its trace.
func (r *Recorder) kept(t *turn.Turn) (ctx context.Context, why string) {
	if r.spans != nil {
		if why = r.keeper.keep(t); why != "" && !r.spans.reserve(why) {
			why = ""
		}
	}
	if why == "" && t.Outcome != validate.Corrupted {
		return context.Background(), ""
	}
	return leading(t), why
}

func (r *Recorder) count(ctx context.Context, t *turn.Turn) {
	g, p := r.groups.of(t), r.metrics.place(t)
	r.metrics.measure(ctx, g, &p, t)
	r.sessions.add(ctx, g, &p, t, time.Now())
}

// Change tells of a change of the configuration.
func (r *Recorder) Change(c *turn.ConfigChange) {
	if r.records != nil {
		r.records.change(c)
	}
}

// Restart tells of a server that seems to have been started anew.
func (r *Recorder) Restart(s *turn.Restart) {
	if r.records != nil {
		r.records.restart(s)
	}
}

func (r *Recorder) depths() []Family {
	rooms := map[string]*room{}
	if r.spans != nil {
		rooms[traces] = r.spans.room
	}
	if r.records != nil {
		rooms[logs] = r.records.room
	}
	return []Family{depths(rooms)}
}

// alarmEvery is how often alarms of one detector are logged at most. All are
// counted: while corruption goes on, they come every few sessions.
const alarmEvery = time.Minute

func (r *Recorder) alarm(model, fingerprint string, d *detector) {
	now := time.Now()
	if now.Sub(d.told) < alarmEvery {
		return
	}
	d.told = now
	r.log.Error("corruption has risen beyond what chance explains", "model", model, "fingerprint", fingerprint, "p0", d.sr.P0, "sessions", d.n, "alarms", d.alarms)
}

// sweepEvery is how often it is looked for sessions that are over.
const sweepEvery = time.Second

func (r *Recorder) sweep() {
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	for {
		select {
		case now := <-tick.C:
			r.sessions.sweep(now)
			r.metrics.settle()
			r.lines.flush(now)
		case <-r.stop:
			return
		}
	}
}

// scrapes bounds the scrapes at once, and scrapeTime how long one may take.
const (
	scrapes    = 4
	scrapeTime = 10 * time.Second
)

// Metrics serves what was counted, as text or, with exemplars, as OpenMetrics.
func (r *Recorder) Metrics() http.Handler {
	h := promhttp.HandlerFor(r.registry, promhttp.HandlerOpts{EnableOpenMetrics: true, MaxRequestsInFlight: scrapes, Timeout: scrapeTime,
		ErrorHandling: promhttp.ContinueOnError, ErrorLog: slog.NewLogLogger(r.log.Handler(), slog.LevelWarn)})
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		r.metrics.settle()
		h.ServeHTTP(w, req)
	})
}

// Shutdown takes every session for over, exports what is left until ctx is
// done, and ends. No turn may come after it. A second call waits for the first.
func (r *Recorder) Shutdown(ctx context.Context) error {
	r.ended.Do(func() { r.endErr = r.shutdown(ctx) })
	return r.endErr
}

func (r *Recorder) shutdown(ctx context.Context) error {
	close(r.stop)
	r.swept.Wait()
	r.sessions.end(time.Now())
	r.metrics.settle()
	r.lines.end()
	ends := []func(context.Context) error{r.provider.Shutdown}
	if r.spans != nil {
		ends = append(ends, r.spans.batches.Shutdown)
	}
	if r.records != nil {
		ends = append(ends, r.records.provider.Shutdown)
	}
	if r.state != nil {
		ends = append(ends, r.state.end)
	}
	return together(ctx, ends)
}

// together ends all at once, so that one that hangs takes no time from others.
func together(ctx context.Context, ends []func(context.Context) error) error {
	var all sync.WaitGroup
	errs := make([]error, len(ends))
	for i, end := range ends {
		all.Go(func() { errs[i] = end(ctx) })
	}
	all.Wait()
	return errors.Join(errs...)
}
