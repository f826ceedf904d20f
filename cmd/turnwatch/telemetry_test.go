package main

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"turnwatch/proxy/sglangtest"
	"turnwatch/proxy/telemetry"
)

// TestEveryMetricIsDescribed: what is served has a description in the one table
// of names, and its labels are those that stand there.
func TestEveryMetricIsDescribed(t *testing.T) {
	server := sglangtest.NewServer(sglangtest.Config{Plugin: true})
	defer server.Close()
	p := launch(t, "-upstream", server.URL, "-annotate=comment", "-evidence", t.TempDir())
	p.turn("")
	p.await(p.journal, `"verdict":"clean"`)
	text := p.fetch("GET", "http://"+p.admin+"/metrics", "", "")
	known := map[string]telemetry.Metric{}
	for _, m := range telemetry.Metrics() {
		known[m.Prometheus()] = m
	}
	families := regexp.MustCompile(`(?m)^# HELP (\S+) (.*)\n# TYPE \S+ (\S+)$`).FindAllStringSubmatch(text, -1)
	if len(families) < 40 {
		t.Fatalf("got %d families", len(families))
	}
	for _, f := range families {
		m, ok := known[f[1]]
		if f[1] == "target_info" {
			continue
		}
		if !ok || m.Help != f[2] || string(m.Type) != f[3] {
			t.Errorf("%s %s: got help %q, want %q of a %s", f[1], f[3], f[2], m.Help, m.Type)
		}
		labels := map[string]bool{"le": true}
		for _, l := range append(m.Labels, telemetry.AttrServerAddress, telemetry.AttrServerPort) {
			labels[strings.ReplaceAll(l, ".", "_")] = true
		}
		for _, s := range regexp.MustCompile(`(?m)^`+f[1]+`(?:_bucket|_sum|_count)?\{(.*)\} `).FindAllStringSubmatch(text, -1) {
			for _, l := range regexp.MustCompile(`([a-z_]+)="`).FindAllStringSubmatch(s[1], -1) {
				if !labels[l[1]] {
					t.Errorf("%s has a label %s, which is not described", f[1], l[1])
				}
			}
		}
	}
}

// TestRelayMeasuresItself.
func TestRelayMeasuresItself(t *testing.T) {
	server := sglangtest.NewServer(sglangtest.Config{Plugin: true})
	defer server.Close()
	p := launch(t, "-upstream", server.URL, "-byte-check", "1")
	p.turn("")
	p.await(p.journal, `"verdict":"clean"`)
	p.shows(`turnwatch_identity_checks_total\{result="same"\} 1`, `turnwatch_identity_checks_total\{result="different"\} 0`,
		`turnwatch_queue_depth\{queue="journal"\} 0`, `turnwatch_proxy_overhead_seconds_count\{phase="first_byte"\} 1`)
}

// TestVariablesOfOpenTelemetryAreChecked before anything is opened.
func TestVariablesOfOpenTelemetryAreChecked(t *testing.T) {
	f := func(name, value, want string) {
		t.Helper()
		t.Setenv(name, value)
		defer t.Setenv(name, "")
		var out, errs bytes.Buffer
		code := run(t.Context(), []string{"-upstream", "http://127.0.0.1:1", "-check-config"}, &out, &errs)
		if code != exitUnable || !strings.Contains(errs.String(), want) {
			t.Errorf("%s=%s: got %d, %q, want %q", name, value, code, errs.String(), want)
		}
	}
	f("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json", "write grpc or http/protobuf")
	f("OTEL_TRACES_EXPORTER", "jaeger", "write otlp or none")
	f("OTEL_PROPAGATORS", "b3", "write tracecontext, baggage or none")
}
