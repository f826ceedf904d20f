package telemetry

import (
	"cmp"
	"context"
	"slices"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	tracedata "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"turnwatch/proxy/turn"
	"turnwatch/validate"
)

// TestSpansAreThoseOfTheSDK: what we write is what the SDK and its exporter make
// of the same name, times, attributes, events, link and status, under all limits.
func TestSpansAreThoseOfTheSDK(t *testing.T) {
	off := int64(7)
	turns := []*turn.Turn{
		aTurn(), aTurn(under("1", "a=1,b=2")), aTurn(linked, corrupted(validate.ArgsEmpty)),
		aTurn(corrupted(validate.SchemaValue, validate.ArgsSchemaViolated), under("0", "a=1,,"), func(t *turn.Turn) {
			t.Findings[0].ArgOffset, t.Conversation, t.MaxTokens, t.Choices, t.Constrained = &off, "länger als zwei", 64, 2, true
			t.Lints, t.Signals = validate.Lints()[:2], []validate.Signal{{Kind: "echo_near_miss"}}
		}),
		aTurn(func(t *turn.Turn) {
			t.Status, t.Stream, t.Usage, t.Model, t.Tags, t.FinishReasons = 0, false, nil, "", nil, nil
		}),
		aTurn(func(t *turn.Turn) {
			t.Outcome, t.Ending = validate.Truncated, validate.ServerCut
			t.Findings = []validate.Finding{{Kind: validate.TruncatedStreamCut}}
		}),
	}
	all := Limits{TraceRate: 1e6, TraceRatio: 1}
	whole := exportedTurns(t, Config{Limits: all}, nil, turns...)
	for _, limit := range []string{"", "OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT=5", "OTEL_SPAN_EVENT_COUNT_LIMIT=1", "OTEL_SPAN_EVENT_COUNT_LIMIT=2", "OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT=2",
		"OTEL_EVENT_ATTRIBUTE_COUNT_LIMIT=2", "OTEL_LINK_ATTRIBUTE_COUNT_LIMIT=0", "OTEL_SPAN_LINK_COUNT_LIMIT=1", "OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT=-1"} {
		ours := exportedTurns(t, Config{Limits: all}, []string{limit}, turns...)
		theirs := newCollector(t)
		t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", theirs.url)
		for _, s := range whole.spans {
			bySDK(t, s)
		}
		for i, want := range theirs.spans {
			if got := ours.spans[i]; !proto.Equal(sorted(got), sorted(want)) {
				t.Errorf("%q:\ngot  %v\nwant %v", limit, got, want)
			}
		}
		if len(theirs.spans) != len(turns) || len(ours.spans) != len(turns) {
			t.Errorf("%q: got %d and %d spans, want %d", limit, len(ours.spans), len(theirs.spans), len(turns))
		}
	}
}

func sorted(s *tracedata.Span) *tracedata.Span {
	slices.SortFunc(s.Attributes, func(a, b *common.KeyValue) int { return cmp.Compare(a.Key, b.Key) })
	return s
}

// bySDK makes a span anew and exports it.
func bySDK(t *testing.T, s *tracedata.Span) {
	x, err := otlptracehttp.New(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	p := sdktrace.NewTracerProvider(sdktrace.WithSyncer(x), sdktrace.WithIDGenerator(sameIDs{s}), sdktrace.WithSampler(sdktrace.AlwaysSample()))
	defer p.Shutdown(context.Background())
	opts := []trace.SpanStartOption{trace.WithTimestamp(since(s.StartTimeUnixNano)), trace.WithSpanKind(trace.SpanKindClient)}
	for _, l := range s.Links {
		opts = append(opts, trace.WithLinks(trace.Link{SpanContext: remote(l.TraceId, l.SpanId, "", trace.FlagsSampled), Attributes: made(l.Attributes)}))
	}
	ctx := t.Context()
	if len(s.ParentSpanId) > 0 {
		ctx = trace.ContextWithRemoteSpanContext(ctx, remote(s.TraceId, s.ParentSpanId, s.TraceState, 0))
	}
	_, span := p.Tracer(scope).Start(ctx, s.Name, opts...)
	span.SetAttributes(made(s.Attributes)...)
	for _, e := range s.Events {
		span.AddEvent(e.Name, trace.WithTimestamp(since(e.TimeUnixNano)), trace.WithAttributes(made(e.Attributes)...))
	}
	if s.Status.Code == tracedata.Status_STATUS_CODE_ERROR {
		span.SetStatus(codes.Error, s.Status.Message)
	}
	span.End(trace.WithTimestamp(since(s.EndTimeUnixNano)))
}

// sameIDs gives a span the ids of another.
type sameIDs struct{ *tracedata.Span }

func (s sameIDs) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	id := trace.TraceID(s.TraceId)
	return id, s.NewSpanID(ctx, id)
}

func (s sameIDs) NewSpanID(context.Context, trace.TraceID) trace.SpanID {
	return trace.SpanID(s.SpanId)
}

func since(nanos uint64) time.Time { return time.Unix(0, int64(nanos)) }

func remote(id, span []byte, state string, flags trace.TraceFlags) trace.SpanContext {
	parsed, _ := trace.ParseTraceState(state)
	return trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID(id), SpanID: trace.SpanID(span), TraceState: parsed, TraceFlags: flags, Remote: true})
}

func made(all []*common.KeyValue) (kv []attribute.KeyValue) {
	for _, a := range all {
		switch v := a.Value.Value.(type) {
		case *common.AnyValue_StringValue:
			kv = append(kv, attribute.String(a.Key, v.StringValue))
		case *common.AnyValue_BoolValue:
			kv = append(kv, attribute.Bool(a.Key, v.BoolValue))
		case *common.AnyValue_IntValue:
			kv = append(kv, attribute.Int64(a.Key, v.IntValue))
		case *common.AnyValue_DoubleValue:
			kv = append(kv, attribute.Float64(a.Key, v.DoubleValue))
		case *common.AnyValue_ArrayValue:
			var list []string
			for _, e := range v.ArrayValue.Values {
				list = append(list, e.GetStringValue())
			}
			kv = append(kv, attribute.StringSlice(a.Key, list))
		}
	}
	return kv
}

// TestTextThatIsNoUTF8CostsNoSpan, neither its own nor others.
func TestTextThatIsNoUTF8CostsNoSpan(t *testing.T) {
	for _, limit := range []string{"", "OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT=3"} {
		bad := aTurn(corrupted(validate.ArgsEmpty), func(t *turn.Turn) { t.Model, t.RequestID = "m\xff\xfeodel", "r\xff" })
		bad.Findings[0].Path, bad.FinishReasons = "/\xc3", []string{"sto\xc3"}
		c := exportedTurns(t, Config{}, []string{limit}, bad, aTurn(corrupted(validate.ArgsEmpty)))
		if n := c.spanCount(); n != 2 {
			t.Fatalf("%q: got %d spans, want 2", limit, n)
		}
		want := "m\uFFFDodel"
		if limit != "" {
			want = "mod"
		}
		if got := value(c.spans[0].Attributes, KeyModel); got != want {
			t.Errorf("%q: got model %q, want %q", limit, got, want)
		}
	}
}
