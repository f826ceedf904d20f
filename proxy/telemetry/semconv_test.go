package telemetry

import (
	"strings"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/propagation"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/semconv/v1.41.0/genaiconv"
	"go.opentelemetry.io/otel/trace"
	tracedata "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"turnwatch/proxy/turn"
)

// TestNamesAreThoseOfTheConventions, as the last official Go package that holds
// them spells them.
func TestNamesAreThoseOfTheConventions(t *testing.T) {
	for got, want := range map[string]attribute.Key{
		KeyModel: semconv.GenAIRequestModelKey, KeyStatus: semconv.HTTPResponseStatusCodeKey, AttrOperation: semconv.GenAIOperationNameKey,
		AttrProvider: semconv.GenAIProviderNameKey, AttrTokenType: semconv.GenAITokenTypeKey, AttrStream: semconv.GenAIRequestStreamKey,
		AttrMaxTokens: semconv.GenAIRequestMaxTokensKey, AttrChoices: semconv.GenAIRequestChoiceCountKey, AttrThinking: semconv.GenAIUsageReasoningOutputTokensKey,
		AttrFinishReasons: semconv.GenAIResponseFinishReasonsKey, AttrFirstChunk: semconv.GenAIResponseTimeToFirstChunkKey,
		AttrInputTokens: semconv.GenAIUsageInputTokensKey, AttrOutputTokens: semconv.GenAIUsageOutputTokensKey, AttrErrorType: semconv.ErrorTypeKey,
		AttrSystem: semconv.GenAISystemInstructionsKey, AttrInput: semconv.GenAIInputMessagesKey, AttrOutput: semconv.GenAIOutputMessagesKey, AttrTools: semconv.GenAIToolDefinitionsKey,
		AttrConversation: semconv.GenAIConversationIDKey, AttrServerAddress: semconv.ServerAddressKey, AttrServerPort: semconv.ServerPortKey, AttrEvaluationName: semconv.GenAIEvaluationNameKey,
		AttrEvaluationLabel: semconv.GenAIEvaluationScoreLabelKey, AttrEvaluationValue: semconv.GenAIEvaluationScoreValueKey,
	} {
		if got != string(want) {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	for got, want := range map[string]string{
		MetricDuration: genaiconv.ClientOperationDuration{}.Name(), MetricFirstChunk: genaiconv.ClientOperationTimeToFirstChunk{}.Name(),
		MetricTokens: genaiconv.ClientTokenUsage{}.Name(), SchemaURL: semconv.SchemaURL,
		operation("/v1/chat/completions"): string(genaiconv.OperationNameChat), operation("/v1/completions"): string(genaiconv.OperationNameTextCompletion),
	} {
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	for name, unit := range map[string]string{MetricDuration: genaiconv.ClientOperationDuration{}.Unit(), MetricTokens: genaiconv.ClientTokenUsage{}.Unit()} {
		for _, m := range Metrics() {
			if m.Name == name && m.Unit != unit {
				t.Errorf("unit of %s: got %s, want %s", name, m.Unit, unit)
			}
		}
	}
}

// TestTraceContextIsReadAsOfficially: whatever comes, the official propagator
// reads the same of it.
func TestTraceContextIsReadAsOfficially(t *testing.T) {
	const id, span = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
	f := func(parent, state string) {
		t.Helper()
		carrier := propagation.MapCarrier{"traceparent": parent, "tracestate": state}
		want := trace.SpanContextFromContext(propagation.TraceContext{}.Extract(t.Context(), carrier))
		ours := turn.Continue([]string{parent}, []string{state})
		var m message
		m.state(ours.State)
		if want.IsValid() != (ours.Parent != [8]byte{}) || want.IsValid() && (want.TraceID() != ours.ID || want.SpanID() != ours.Parent || want.IsSampled() != ours.Sampled) {
			t.Errorf("%q: got %+v, want %v", parent, ours, want)
		}
		var got tracedata.Span
		if err := proto.Unmarshal(m, &got); err != nil || want.IsValid() && got.TraceState != want.TraceState().String() {
			t.Errorf("%q, %q: got %q, %v, want %v", parent, state, got.TraceState, err, want)
		}
	}
	good := "00-" + id + "-" + span + "-01"
	for _, parent := range []string{good, good[:53] + "00", "", "00-" + id + "-" + span, "ff" + good[2:], strings.ToUpper(good), good + "-x",
		"00-" + strings.Repeat("0", 32) + "-" + span + "-01", "00-" + id + "-" + strings.Repeat("0", 16) + "-01", good[1:], "01" + good[2:], "01" + good[2:] + "-x"} {
		f(parent, "")
		f(parent, "congo=t61rcWkgMzE,rojo=00f067aa0ba902b7")
	}
	for _, state := range []string{"a=1", "a=1,b=2", " a=1 , b=2 ", "a=1,,b=2", "a=1,a=2", "A=1", "a@b=1", "a", "=1", "a=1\t", strings.Repeat("a", 257) + "=1",
		strings.TrimSuffix(strings.Repeat("k=1,", 33), ","), many(32), many(33)} {
		f(good, state)
	}
}

// many is a tracestate with so many entries.
func many(n int) string {
	var all []string
	for i := range n {
		all = append(all, "k"+strings.Repeat("x", i)+"=1")
	}
	return strings.Join(all, ",")
}
