package telemetry

import (
	"encoding/hex"
	"regexp"
	"strings"
	"testing"
	"time"

	tracedata "go.opentelemetry.io/proto/otlp/trace/v1"

	"turnwatch/proxy/turn"
	"turnwatch/validate"
)

const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-0"

func under(flags, state string) func(*turn.Turn) {
	return func(t *turn.Turn) { t.Trace = turn.Continue([]string{parent + flags}, []string{state}) }
}

// exportedTurns makes a Recorder whose spans go to a collector, lets it finish turns
// and ends it.
func exportedTurns(t *testing.T, cfg Config, env []string, turns ...*turn.Turn) *collector {
	t.Helper()
	c := newCollector(t)
	r := start(t, cfg, append([]string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + c.url}, env...)...)
	for _, one := range turns {
		r.Finish(one)
	}
	end(r)
	return c
}

func TestSpanTellsTheTurn(t *testing.T) {
	bad := aTurn(corrupted(validate.SchemaValue, validate.ArgsSchemaViolated), under("1", "a=1,b=2"))
	bad.Conversation, bad.MaxTokens, bad.Choices, bad.Thinking = "of-the-client", 64, 2, 9
	c := exportedTurns(t, Config{Upstream: "http://10.0.0.1:30000", Version: "v1"}, nil, bad)
	_, id := ids(bad)
	s := c.span(t, id)
	if s.Name != "chat m" || s.Kind != tracedata.Span_SPAN_KIND_CLIENT || hex.EncodeToString(s.TraceId) != parent[3:35] ||
		hex.EncodeToString(s.ParentSpanId) != parent[36:52] || s.TraceState != "a=1,b=2" {
		t.Errorf("got %s %s in %x below %x with %q", s.Name, s.Kind, s.TraceId, s.ParentSpanId, s.TraceState)
	}
	if begin, took := int64(s.StartTimeUnixNano), int64(s.EndTimeUnixNano-s.StartTimeUnixNano); begin != bad.Time.UnixNano() || took != int64(800*time.Millisecond) {
		t.Errorf("got %d and %d ns long, want the turn's times", begin, took)
	}
	for key, want := range map[string]string{AttrOperation: "chat", AttrProvider: "sglang", KeyModel: "m", AttrServerAddress: "10.0.0.1", AttrServerPort: "30000",
		AttrStream: "true", AttrFinishReasons: "tool_calls", AttrMaxTokens: "64", AttrChoices: "2", AttrThinking: "9", AttrInputTokens: "100", AttrOutputTokens: "20", KeyVerdict: "corrupted", KeyArm: "live",
		AttrFindings: "schema_value,args_schema_violation", AttrErrorType: "schema_value", AttrBatch: "7", KeyBatchRange: "5-8", AttrMetaSource: "facts",
		KeyFingerprint: "1a2b3c4d", configKey("index_dtype"): "bf16", configKey("cuda_graph"): "on", AttrVersion: "0.5.18", AttrRID: "abc",
		AttrCalls: "1", AttrInvalid: "1", AttrTurnID: bad.ID, AttrRequestID: "r1", AttrSession: bad.Session, AttrConversation: "of-the-client", AttrKept: keptCorrupted} {
		if got := value(s.Attributes, key); got != want {
			t.Errorf("%s: got %q, want %q", key, got, want)
		}
	}
	events(t, s, EventFinding, EventFinding, EventEvaluation)
	f := s.Events[0]
	if at := int64(f.TimeUnixNano) - bad.Time.UnixNano(); at != int64(312*time.Millisecond) || value(f.Attributes, KeyKind) != "schema_value" ||
		value(f.Attributes, AttrPointer) != "/a" || value(f.Attributes, AttrOffset) != "99" || value(f.Attributes, AttrCall) != "0" {
		t.Errorf("finding: got %v at %d", f.Attributes, at)
	}
	if v := s.Events[2]; value(v.Attributes, AttrEvaluationName) != "tool_call_integrity" || value(v.Attributes, AttrEvaluationLabel) != "fail" {
		t.Errorf("evaluation: got %v", v.Attributes)
	}
	if s.Status.Code != tracedata.Status_STATUS_CODE_ERROR || s.Status.Message != "corrupted: schema_value" {
		t.Errorf("status: got %v", s.Status)
	}
	if value(c.resource, "service.name") != "turnwatch" || value(c.resource, "service.version") != "v1" || c.scopes[scope] != SchemaURL {
		t.Errorf("resource: got %v, schema %v", c.resource, c.scopes)
	}
}

// TestSpanTellsNoZeros: what a turn does not tell is no attribute.
func TestSpanTellsNoZeros(t *testing.T) {
	one := aTurn(corrupted(validate.ArgsEmpty), func(t *turn.Turn) { t.Status = 0 })
	c := exportedTurns(t, Config{}, nil, one)
	_, id := ids(one)
	for _, key := range []string{AttrMaxTokens, AttrChoices, AttrThinking, KeyStatus} {
		if got := value(c.span(t, id).Attributes, key); got != "" {
			t.Errorf("%s: got %q of a turn that tells none", key, got)
		}
	}
}

func events(t *testing.T, s *tracedata.Span, want ...string) {
	t.Helper()
	var got []string
	for _, e := range s.Events {
		got = append(got, e.Name)
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("events: got %v, want %v", got, want)
	}
}

// TestSpansAreKeptForAReason: what is wrong always, the rest by ratio.
func TestSpansAreKeptForAReason(t *testing.T) {
	cut := func(t *turn.Turn) {
		t.Ending, t.Outcome, t.FinishReasons = validate.ServerCut, validate.Truncated, nil
		t.Findings = []validate.Finding{{Kind: validate.TruncatedStreamCut}}
	}
	f := func(want string, limits Limits, env string, changes ...func(*turn.Turn)) {
		t.Helper()
		one := aTurn(changes...)
		c := exportedTurns(t, Config{Limits: limits}, []string{env}, one)
		c.mu.Lock()
		defer c.mu.Unlock()
		got := ""
		if len(c.spans) > 0 {
			got = value(c.spans[0].Attributes, AttrKept)
		}
		if got != want {
			t.Errorf("%v %s: kept for %q, want %q", limits, env, got, want)
		}
	}
	plenty := Limits{TraceRate: 1e6}
	f("", plenty, "")
	f(keptCorrupted, plenty, "", corrupted(validate.ArgsEmpty))
	f(keptCorrupted, Limits{LogRate: 1}, "", corrupted(validate.ArgsEmpty)) // no rate bounds these
	f(keptUnverified, Limits{LogRate: 1}, "", func(t *turn.Turn) { t.Outcome, t.Reason = validate.Unverified, validate.ReasonJudgeMemory })
	f(keptError, plenty, "", cut)
	f("", Limits{LogRate: 1}, "", cut)
	f("", plenty, "", func(t *turn.Turn) { t.Ending, t.Outcome = validate.ClientGone, validate.Truncated })
	f(keptSlow, Limits{TraceRate: 1e6, TraceSlow: 700 * time.Millisecond}, "")
	f("", Limits{TraceRate: 1e6, TraceSlow: time.Second}, "")
	f(keptSampled, plenty, "", under("1", ""))
	f("", plenty, "", under("0", ""))
	f(keptRatio, Limits{TraceRate: 1e6, TraceRatio: 1}, "")
	f("", Limits{LogRate: 1, TraceRatio: 1}, "")
	f("", Limits{TraceRate: 1e6, TraceRatio: 1}, "OTEL_TRACES_SAMPLER=always_off", under("1", ""))
	f(keptCorrupted, plenty, "OTEL_TRACES_SAMPLER=always_off", corrupted(validate.ArgsEmpty))
	f(keptRatio, plenty, "OTEL_TRACES_SAMPLER=always_on")
	f(keptSampled, plenty, "OTEL_TRACES_SAMPLER=parentbased_always_off", under("1", ""))
}

// TestSpanOfAnUnsampledParentIsExported where the turn is corrupted, with the
// caller's ids.
func TestSpanOfAnUnsampledParentIsExported(t *testing.T) {
	bad := aTurn(corrupted(validate.ArgsEmpty), under("0", ""))
	_, id := ids(bad)
	s := exportedTurns(t, Config{}, nil, bad).span(t, id)
	if hex.EncodeToString(s.ParentSpanId) != parent[36:52] {
		t.Errorf("parent: got %x", s.ParentSpanId)
	}
}

// TestShadowTurnIsARootWithALink, so that it does not colour the caller's
// trace.
func TestShadowTurnIsARootWithALink(t *testing.T) {
	live := aTurn(under("1", ""))
	shadow := aTurn(corrupted(validate.ArgsEmpty), func(t *turn.Turn) { t.Arm, t.Trace = turn.Candidate, live.Trace.Beside() })
	_, id := ids(shadow)
	s := exportedTurns(t, Config{}, nil, live, shadow).span(t, id)
	trace, span := ids(live)
	if len(s.ParentSpanId) != 0 || len(s.Links) != 1 || hex.EncodeToString(s.Links[0].TraceId) != trace || hex.EncodeToString(s.Links[0].SpanId) != span ||
		value(s.Links[0].Attributes, AttrLinkKind) != "shadow_of" {
		t.Errorf("got %v below %x", s.Links, s.ParentSpanId)
	}
}

// TestCutStreamEndsForAnError, as the GenAI conventions have it.
func TestCutStreamEndsForAnError(t *testing.T) {
	cut := aTurn(func(t *turn.Turn) {
		t.Ending, t.Outcome, t.FinishReasons = validate.ServerCut, validate.Truncated, nil
		t.Findings = []validate.Finding{{Kind: validate.TruncatedStreamCut}}
	})
	_, id := ids(cut)
	s := exportedTurns(t, Config{}, nil, cut).span(t, id)
	if got := value(s.Attributes, AttrFinishReasons); got != "error" || value(s.Attributes, AttrErrorType) != "server_cut" {
		t.Errorf("got %q, %q", got, value(s.Attributes, AttrErrorType))
	}
	events(t, s, EventTruncated)
}

// TestCorruptedTurnLeavesAnExemplarThatLeadsToItsSpan, at every counter and
// histogram, whichever turns come beside it.
func TestCorruptedTurnLeavesAnExemplarThatLeadsToItsSpan(t *testing.T) {
	c := newCollector(t)
	r := start(t, Config{}, "OTEL_EXPORTER_OTLP_ENDPOINT="+c.url)
	for range 50 {
		r.Finish(aTurn())
	}
	var last *turn.Turn
	for range 3 {
		last = aTurn(corrupted(validate.SchemaValue))
		r.Finish(last)
		scrape(t, r, true)
	}
	trace, span := ids(last)
	text := scrape(t, r, true)
	for _, series := range []string{`turnwatch_turns_total\{[^}]*turnwatch_verdict="corrupted"`, `turnwatch_findings_total\{[^}]*turnwatch_finding_kind="schema_value"`,
		`turnwatch_sessions_total\{[^}]*turnwatch_verdict="corrupted"`, `gen_ai_client_operation_duration_seconds_bucket\{[^}]*`} {
		m := regexp.MustCompile(`(?m)^` + series + `[^}]*\} \S+ # (\{[^}]*"` + span + `"[^}]*\}) `).FindStringSubmatch(text)
		if m == nil || !strings.Contains(m[1], `trace_id="`+trace+`"`) {
			t.Errorf("%s has no exemplar of span %s:\n%s", series, span, regexp.MustCompile(`(?m)^`+series+`.*$`).FindString(text))
		}
	}
	end(r)
	c.span(t, span)
}

// TestPropagatorsMayBeNone: the caller is not followed then.
func TestPropagatorsMayBeNone(t *testing.T) {
	one := aTurn(corrupted(validate.ArgsEmpty), under("1", ""))
	c := exportedTurns(t, Config{}, []string{"OTEL_PROPAGATORS=none"}, one)
	if s := c.spans[0]; len(s.ParentSpanId) != 0 || hex.EncodeToString(s.TraceId) == parent[3:35] {
		t.Errorf("got %x below %x", s.TraceId, s.ParentSpanId)
	}
}
