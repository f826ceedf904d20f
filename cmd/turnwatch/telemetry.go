package main

import (
	"context"
	"errors"
	"net/http"
	"os"
	"strconv"
	"time"

	"turnwatch/proxy"
	"turnwatch/proxy/telemetry"
	"turnwatch/proxy/turn"
)

// telemetryOptions say what is told of turns, and how often.
type telemetryOptions struct {
	traceRatio part
	traceRate  number
	traceSlow  time.Duration
	logRate    number
	propagate  choice
	provider   string
	byteCheck  part

	spacing  time.Duration
	replicas count
	state    string
	content  bool
}

func (f *flags) telemetry(o *options) {
	t := &o.telemetry
	f.group("Telemetry (to a collector where OTEL_EXPORTER_OTLP_ENDPOINT says; proxy/telemetry/README.md lists the variables)")
	t.traceRatio, t.traceRate, t.logRate, t.byteCheck = 0.01, 100, 5, 0.01
	f.value(&t.traceRatio, "trace-ratio", "`SHARE` of the turns nothing is wrong with whose spans are kept, from 0 to 1.\n"+
		"Kept in any case: those of turns that are corrupted, unverified, failed or slow, or whose caller\nsamples them")
	f.value(&t.traceRate, "trace-rate", "`NUMBER` of spans a second at most, but for those of corrupted and unverified turns")
	f.span(&t.traceSlow, "trace-slow", 2*time.Minute, "a turn that takes so long is slow; 0: none is")
	t.propagate = choice{value: "passthrough", of: []string{"passthrough", "inject"}}
	f.value(&t.propagate, "propagate", "`HOW` a caller's trace reaches the server: passthrough leaves its header alone; inject makes our\n"+
		"span the parent of the server's. Neither makes a server record that was not asked to")
	f.text(&t.provider, "provider", "sglang", "`NAME` of the kind of server, as gen_ai.provider.name")
	f.yes(&t.content, "content", "put what was said into the spans of corrupted turns, masked as evidence is. Needs -evidence-bodies:\n"+
		"only what is kept anyway is told")
	f.value(&t.logRate, "log-rate", "`NUMBER` of lines a second about corrupted turns at most; what was left out is counted")
	f.value(&t.byteCheck, "byte-check", "`SHARE` of the answers to turns whose bytes are compared at both sockets, from 0 to 1")
	f.span(&t.spacing, "alarm-spacing", 30*24*time.Hour, "how long it takes on average until chance alone raises an alarm, in the whole fleet")
	t.replicas = 1
	f.value(&t.replicas, "replicas", "`NUMBER` of sidecars in the fleet, for -alarm-spacing")
	f.text(&t.state, "alarm-state", "auto", "`FILE` in which what the alarm has learned survives a restart; auto is -journal's name with .alarm after it,\n"+
		"where that is a file; off is none")
}

// limits are those that may change while turns pass.
func (t *telemetryOptions) limits() telemetry.Limits {
	return telemetry.Limits{TraceRatio: float64(t.traceRatio), TraceRate: float64(t.traceRate), TraceSlow: t.traceSlow, LogRate: float64(t.logRate)}
}

// alarmState is the file of -alarm-state; empty for none. Beside a journal that is no
// regular file there is none by itself.
func (o *options) alarmState() string {
	switch o.telemetry.state {
	case "off", "":
		return ""
	case "auto":
		if info, err := os.Stat(o.journal); o.journal == "" || o.journal == "-" || err == nil && !info.Mode().IsRegular() {
			return ""
		}
		return o.journal + ".alarm"
	}
	return o.telemetry.state
}

func (t *telemetryOptions) alarm() telemetry.AlarmConfig {
	return telemetry.AlarmConfig{Spacing: t.spacing, Replicas: int(t.replicas)}
}

func (t *telemetryOptions) check(e *evidenceOptions) error {
	if t.content && (e.dir == "" || !e.bodies) {
		return hinted{errors.New("-content needs -evidence and -evidence-bodies: only what is kept anyway is told"), "-evidence-redact masks it in both"}
	}
	if t.spacing == 0 {
		return errors.New("-alarm-spacing cannot be 0: every session would raise an alarm")
	}
	return telemetry.CheckEnvironment()
}

// openTelemetry begins to measure.
func (s *service) openTelemetry() (err error) {
	t := &s.o.telemetry
	s.telemetry, err = telemetry.New(context.Background(), telemetry.Config{
		Version:     version(),
		Provider:    t.provider,
		Upstream:    s.o.upstream,
		Sources:     []func() []telemetry.Family{s.families},
		Limits:      t.limits(),
		Content:     s.said(),
		Alarm:       t.alarm(),
		AlarmState:  s.o.alarmState(),
		SessionIdle: s.o.sessions.idle,
		Logger:      s.log,
	})
	return err
}

// said returns what was said in a turn, masked as its evidence is; nil where spans are
// to have none of it.
func (s *service) said() func(*turn.Turn) (request, answer []byte) {
	if !s.o.telemetry.content {
		return nil
	}
	return func(t *turn.Turn) (request, answer []byte) {
		c := t.Capture
		return s.evidence.Masked(c.Request.Body), s.evidence.Masked(c.Answer.Body)
	}
}

// exportTimeout is what of the closeTimeout a collector may take for the rest.
const exportTimeout = 3 * time.Second

func (s *service) endTelemetry(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, exportTimeout)
	defer cancel()
	if err := s.telemetry.Shutdown(ctx); err != nil {
		s.log.Warn("a collector did not take the last of the telemetry", "error", err)
	}
}

// serveMetrics is /metrics, once there is something to show.
func (s *service) serveMetrics(w http.ResponseWriter, r *http.Request) {
	s.telemetry.Metrics().ServeHTTP(w, r)
}

// families asks everything that counts.
func (s *service) families() (all []telemetry.Family) {
	for _, ask := range []func() []proxy.Metric{s.relayMetrics, s.certs.Metrics, s.journalMetrics, s.evidenceMetrics, s.tagMetrics, s.shadowMetrics, s.opinionMetrics,
		s.ownMetrics, s.reloadMetrics} {
		for _, m := range ask() {
			all = append(all, family(m))
		}
	}
	return all
}

func (s *service) ownMetrics() []proxy.Metric { return proxy.ProcessMetrics(version(), s.started) }

// family is a metric in the words of the package that shows it: who counts
// does not know who shows.
func family(m proxy.Metric) telemetry.Family {
	f := telemetry.Family{Name: m.Name}
	for _, s := range m.Series {
		to := telemetry.Sample{Value: s.Value}
		for _, l := range s.Labels {
			to.Labels = append(to.Labels, telemetry.Label(l))
		}
		if s.Times != nil {
			times := telemetry.Times(*s.Times)
			to.Times = &times
		}
		f.Series = append(f.Series, to)
	}
	return f
}

// part is a number from 0 to 1.
type part float64

func (v *part) String() string { return (*number)(v).String() }

func (v *part) Set(s string) error {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || !(0 <= f && f <= 1) {
		return errors.New("it is not a share from 0 to 1")
	}
	*v = part(f)
	return nil
}
