package telemetry

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"turnwatch/proxy/turn"
	"turnwatch/validate"
)

// TestSeriesStandAtZeroBeforeTheirFirstEvent: increase misses the first
// increment of a series that comes with it, and of a fault that is rare there
// may be no other.
func TestSeriesStandAtZeroBeforeTheirFirstEvent(t *testing.T) {
	r := start(t, Config{})
	has(t, r, `turnwatch_telemetry_dropped_total{reason="queue_full",signal="traces"} 0`, `turnwatch_traces_kept_total{reason="corrupted"} 0`,
		`turnwatch_label_overflow_total{label="fingerprint"} 0`, `turnwatch_metadata_turns_total{metadata="batch",source="none"} 0`,
		`turnwatch_answers_total{http_response_status_code="200"} 0`, `turnwatch_lints_total{turnwatch_lint="missing_done"} 0`)
	r.Finish(aTurn())
	var zero []string
	for _, batch := range batchRanges() {
		for _, suspect := range []string{"true", "false"} {
			labels := fmt.Sprintf(`{gen_ai_request_model="m",sglang_config_fingerprint="1a2b3c4d",turnwatch_arm="live",turnwatch_batch_range="%s",turnwatch_cause="unknown",turnwatch_suspect="%s",turnwatch_verdict="corrupted"} 0`, batch, suspect)
			zero = append(zero, "turnwatch_turns_total"+labels, "turnwatch_sessions_total"+labels)
		}
	}
	for _, k := range validate.Kinds() {
		zero = append(zero, fmt.Sprintf(`turnwatch_findings_total{turnwatch_cause="%s",turnwatch_finding_kind="%s",turnwatch_finding_severity="%s"} 0`, k.Cause, k.Kind, k.Severity))
	}
	has(t, r, zero...)
	has(t, r, `turnwatch_tool_calls_total{result="invalid"} 0`, `turnwatch_finish_reasons_total{gen_ai_response_finish_reason="length"} 0`,
		`turnwatch_alarms_total{gen_ai_request_model="m",sglang_config_fingerprint="1a2b3c4d"} 0`,
		`turnwatch_alarm_log10_evidence{gen_ai_request_model="m",sglang_config_fingerprint="1a2b3c4d"} 0`,
		`turnwatch_batch_log10_e{gen_ai_request_model="m",sglang_config_fingerprint="1a2b3c4d"} 0`)
}

func TestTurnsAreCounted(t *testing.T) {
	r := start(t, Config{Upstream: "http://10.0.0.1:30000"})
	r.Finish(aTurn())
	r.Finish(aTurn(corrupted(validate.SchemaValue, validate.ArgsSchemaViolated)))
	r.Finish(aTurn(corrupted(validate.NameRepeated), func(t *turn.Turn) { t.Findings[0].Cause = validate.CauseParser }))
	r.Finish(aTurn(func(t *turn.Turn) {
		t.Verdict = validate.Verdict{Outcome: validate.Unverified, Reason: validate.ReasonNoAnswer}
		t.Status, t.Model, t.Fingerprint, t.Tags = 0, "", "", nil
	}))
	r.Finish(aTurn(func(t *turn.Turn) {
		t.Suspect, t.Signals, t.Lints = true, []validate.Signal{{Kind: validate.SwallowedText}}, []validate.Lint{validate.LintMissingDone}
	}))
	has(t, r,
		`turnwatch_turns_total{turnwatch_batch_range="5-8",turnwatch_cause="none",turnwatch_suspect="false",turnwatch_verdict="clean"} 1`,
		`turnwatch_turns_total{turnwatch_cause="none",turnwatch_suspect="true",turnwatch_verdict="clean"} 1`,
		`turnwatch_turns_total{turnwatch_batch_range="5-8",turnwatch_cause="unknown",turnwatch_verdict="corrupted"} 1`,
		`turnwatch_turns_total{turnwatch_batch_range="5-8",turnwatch_cause="parser",turnwatch_verdict="corrupted"} 1`,
		`turnwatch_turns_total{gen_ai_request_model="unknown",sglang_config_fingerprint="none",turnwatch_batch_range="unknown",turnwatch_verdict="unverified"} 1`,
		`turnwatch_findings_total{turnwatch_cause="unknown",turnwatch_finding_kind="schema_value",turnwatch_finding_severity="major"} 1`,
		`turnwatch_findings_total{turnwatch_cause="parser",turnwatch_finding_kind="name_repeated"} 1`,
		`turnwatch_signals_total{turnwatch_finding_kind="swallowed_text"} 1`, `turnwatch_lints_total{turnwatch_lint="missing_done"} 1`,
		`turnwatch_tool_calls_total{result="valid"} 2`, `turnwatch_tool_calls_total{result="invalid"} 2`,
		`turnwatch_finish_reasons_total{gen_ai_response_finish_reason="tool_calls"} 4`,
		`turnwatch_answers_total{http_response_status_code="200"} 4`, `turnwatch_answers_total{http_response_status_code="none"} 1`,
		`turnwatch_metadata_turns_total{metadata="batch",source="facts"} 4`, `turnwatch_metadata_turns_total{metadata="configuration",source="none"} 1`,
		`turnwatch_batch_running_sum{turnwatch_verdict="corrupted"} 14`,
		`turnwatch_validation_skipped_total{reason="no_answer"} 1`, `turnwatch_validation_skipped_total{reason="judge_memory"} 0`,
		`turnwatch_config_info{sglang_config_cuda_graph="on",sglang_config_fingerprint="1a2b3c4d",sglang_config_index_dtype="bf16",sglang_config_overlap="unknown",sglang_version="0.5.18"} 1`,
		`gen_ai_client_operation_duration_seconds_count{gen_ai_operation_name="chat",gen_ai_provider_name="sglang",gen_ai_request_model="m",server_address="10.0.0.1",server_port="30000"} 4`,
		`gen_ai_client_operation_duration_seconds_count{error_type="no_answer",gen_ai_request_model="unknown"} 1`,
		`gen_ai_client_operation_time_to_first_chunk_seconds_bucket{gen_ai_request_model="m",le="0.02"} 4`,
		`gen_ai_client_token_usage_sum{gen_ai_token_type="input"} 400`, `gen_ai_client_token_usage_sum{gen_ai_token_type="output"} 80`)
}

// TestSeriesAreBounded: clients choose models, and servers statuses.
func TestSeriesAreBounded(t *testing.T) {
	r := start(t, Config{})
	const n = 100
	for i := range n {
		r.Finish(aTurn(func(t *turn.Turn) {
			t.Model, t.Fingerprint, t.Status = fmt.Sprint("m", i), fmt.Sprintf("%08x", i), 200+i%700
			t.FinishReasons = []string{fmt.Sprint("f", i)}
		}))
	}
	text := scrape(t, r, false)
	if got, most := strings.Count(text, "\n"), 30000; got > most {
		t.Errorf("got %d lines, want %d at most", got, most)
	}
	has(t, r, `turnwatch_label_overflow_total{label="model"} `+fmt.Sprint(n-maxModels), `turnwatch_label_overflow_total{label="fingerprint"} `+fmt.Sprint(n-maxFingerprints))
	if got := strings.Count(text, "\nturnwatch_answers_total{"); got > maxStatuses+1 {
		t.Errorf("statuses: got %d series", got)
	}
	if strings.Contains(text, "otel_metric_overflow") {
		t.Error("the SDK's own bound was met")
	}
}

// TestPushedSeriesAreTheServedOnes, by name and number of series, of our own
// and of others.
func TestPushedSeriesAreTheServedOnes(t *testing.T) {
	c := newCollector(t)
	others := func() []Family {
		return []Family{{Name: "turnwatch_requests_total", Series: []Sample{{Value: 7}}}, {Name: "turnwatch_dropped_total", Series: []Sample{{Labels: []Label{{"reason", "a"}}, Value: 1}}},
			{Name: "turnwatch_dropped_total", Series: []Sample{{Labels: []Label{{"reason", "a"}}, Value: 2}, {Labels: []Label{{"reason", "b"}}}}},
			{Name: "turnwatch_proxy_overhead_seconds", Series: []Sample{{Labels: []Label{{"phase", "chunk"}}, Times: &Times{Bounds: []float64{1}, Counts: []uint64{2, 3}, Sum: 9}}}}}
	}
	r := start(t, Config{Sources: []func() []Family{others}}, "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT="+c.url+"/v1/metrics")
	r.Finish(aTurn(corrupted(validate.SchemaValue)))
	r.sessions.end(time.Now()) // as the last push has it
	served := regexp.MustCompile(`(?m)^# TYPE (\S+) `).FindAllStringSubmatch(scrape(t, r, false), -1)
	has(t, r, `turnwatch_dropped_total{reason="a"} 3`, `turnwatch_requests_total 7`, `turnwatch_proxy_overhead_seconds_bucket{phase="chunk",le="1"} 2`, `turnwatch_proxy_overhead_seconds_count{phase="chunk"} 5`)
	end(r)
	known := map[string]Metric{}
	for _, m := range Metrics() {
		known[m.Prometheus()] = m
	}
	for _, f := range served {
		if f[1] != "target_info" && c.metrics[known[f[1]].Name] == nil {
			t.Errorf("%s is served and not pushed", f[1])
		}
	}
	if got, want := len(c.metrics), len(served)-1; got != want {
		t.Errorf("families: got %d pushed, want the %d served", got, want)
	}
	if got := len(c.metrics["turnwatch.turns"].GetSum().GetDataPoints()); got != len(cells()) {
		t.Errorf("series of turns: got %d pushed, want %d", got, len(cells()))
	}
}

// TestSourceOfAConfigurationIsItsFirstTags: of the tags that a configuration is shown
// with the first one tells, be it the turn's own or shared, whatever turn came before.
func TestSourceOfAConfigurationIsItsFirstTags(t *testing.T) {
	r := start(t, Config{})
	g := r.groups.of(aTurn())
	f := func(config *turn.Config, own map[string]turn.Tag, want string) {
		t.Helper()
		for range 2 {
			if got := g.configSource(&turn.Turn{Fingerprint: "1a2b3c4d", Config: config, Tags: own}); got != want {
				t.Errorf("%v: got %q, want %q", own, got, want)
			}
		}
	}
	polled := turn.NewConfig([]turn.ConfigTag{{Name: "overlap", Value: "on", Source: "poll"}, {Name: "site", Value: "a", Source: "label"}})
	named := turn.NewConfig([]turn.ConfigTag{{Name: "site", Value: "a", Source: "label"}})
	before, after := map[string]turn.Tag{"cuda_graph": {Source: "header"}}, map[string]turn.Tag{"tp_size": {Source: "header"}}
	f(nil, nil, none)
	f(polled, nil, "poll")
	f(named, nil, "label")
	f(polled, before, "header")
	f(polled, after, "poll")
	f(named, after, "header")
	f(nil, map[string]turn.Tag{"gpu": {Source: "label"}}, "label")
}
