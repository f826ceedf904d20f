package telemetry

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	metricdata "go.opentelemetry.io/proto/otlp/metrics/v1"
	"google.golang.org/protobuf/proto"

	"turnwatch/proxy/turn"
	"turnwatch/validate"
)

// sized are turns whose sizes and times lie in, between and beyond buckets, of two
// configurations that have series together. No bucket has two that are corrupted: which
// of them the SDK tells is chance.
func sized() []*turn.Turn {
	var all []*turn.Turn
	for i, ms := range []float64{0, 15.625, 62.5, 250, 2500, 80_000, 1e9} { // whose sum no order changes
		other := func(t *turn.Turn) {
			t.DurationMS, t.TTFBMS, t.Usage = ms, ms/2, &validate.Usage{PromptTokens: 3 << (2 * i), CompletionTokens: 4 << (2 * i)}
			t.Tags["batch"] = turn.Tag{Value: strconv.Itoa(1 << i), Source: "facts"}
			if i%2 == 1 {
				t.Fingerprint = "5e6f7a8b"
			}
		}
		all = append(all, aTurn(other), aTurn(other, func(t *turn.Turn) { t.Stream, t.Status = false, 503 }))
		if i > 0 {
			all = append(all, aTurn(other, corrupted(validate.ArgsEmpty)))
		}
	}
	return all
}

// exportedHistograms are what a collector gets of turns, without what differs from run to run.
func exportedHistograms(t *testing.T, ours bool, turns []*turn.Turn, env ...string) map[string]*metricdata.Metric {
	t.Helper()
	t.Setenv("OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE", "")
	c := newCollector(t)
	r := start(t, Config{}, append([]string{"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT=" + c.url + "/v1/metrics"}, env...)...)
	if got := r.bridge.counted != nil; got != ours {
		t.Fatalf("%q: counted by us: got %t, want %t", env, got, ours)
	}
	for _, one := range turns {
		r.Finish(one)
	}
	end(r)
	all := map[string]*metricdata.Metric{}
	for _, name := range []string{MetricDuration, MetricFirstChunk, MetricTokens, "turnwatch.batch.running"} {
		m := c.metrics[name]
		h := m.GetHistogram()
		if h == nil {
			t.Fatalf("%q: no histogram %s", env, name)
		}
		h.AggregationTemporality = 0
		for _, p := range h.DataPoints {
			p.StartTimeUnixNano, p.TimeUnixNano = 0, 0
			for _, e := range p.Exemplars {
				e.TimeUnixNano = 0
			}
			slices.SortFunc(p.Exemplars, func(a, b *metricdata.Exemplar) int { return strings.Compare(a.String(), b.String()) })
		}
		slices.SortFunc(h.DataPoints, func(a, b *metricdata.HistogramDataPoint) int { return strings.Compare(labelled(a), labelled(b)) })
		all[name] = m
	}
	return all
}

func labelled(p *metricdata.HistogramDataPoint) (s string) {
	for _, kv := range p.Attributes {
		s += kv.Key + "=" + kv.Value.GetStringValue() + " "
	}
	return s
}

// TestHistogramsAreThoseOfTheSDK: what is counted here is what the SDK would count, for
// collectors and at /metrics.
func TestHistogramsAreThoseOfTheSDK(t *testing.T) {
	f := func(env ...string) {
		t.Helper()
		turns := sized()
		got := exportedHistograms(t, true, turns, env...)
		want := exportedHistograms(t, false, turns, append(env, "OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE=delta")...)
		for name := range want {
			if !proto.Equal(got[name], want[name]) {
				t.Errorf("%q, %s:\ngot  %v\nwant %v", env, name, got[name], want[name])
			}
		}
	}
	f()
	f("OTEL_METRICS_EXEMPLAR_FILTER=trace_based")
	f("OTEL_METRICS_EXEMPLAR_FILTER=always_off")
}

// TestHistogramsAreTheSDKsWhereOnlyItCanMakeThem.
func TestHistogramsAreTheSDKsWhereOnlyItCanMakeThem(t *testing.T) {
	for _, env := range []string{"OTEL_METRICS_EXEMPLAR_FILTER=always_on", "OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE=delta"} {
		exportedHistograms(t, false, sized(), env)
	}
	t.Setenv("OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE", "")
	c := newCollector(t)
	r := start(t, Config{}, "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT="+c.url+"/v1/metrics", "OTEL_EXPORTER_OTLP_METRICS_DEFAULT_HISTOGRAM_AGGREGATION=base2_exponential_bucket_histogram")
	r.Finish(aTurn())
	end(r)
	if c.metrics[MetricDuration].GetExponentialHistogram() == nil {
		t.Errorf("got %v, want an exponential histogram", c.metrics[MetricDuration])
	}
}

// TestHistogramsAtMetricsAreThoseOfTheSDK, exemplars included.
func TestHistogramsAtMetricsAreThoseOfTheSDK(t *testing.T) {
	turns, exemplar := sized(), regexp.MustCompile(`# \{.*(trace_id="\w+").*\} (\S+) \S+`) // less its span and when it was
	shown := func(env ...string) []string {
		r := start(t, Config{}, env...)
		for _, one := range turns {
			r.Finish(one)
		}
		var lines []string
		for line := range strings.Lines(scrape(t, r, true)) {
			if strings.Contains(line, "gen_ai_client_") || strings.Contains(line, "turnwatch_batch_running") {
				lines = append(lines, exemplar.ReplaceAllString(line, "$1 $2"))
			}
		}
		return lines
	}
	got := shown()
	t.Setenv("OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE", "delta")
	want := shown("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT=" + newCollector(t).url + "/v1/metrics")
	if len(want) < 50 || !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}
