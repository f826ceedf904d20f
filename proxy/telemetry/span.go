package telemetry

import (
	"context"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"turnwatch/proxy/turn"
	"turnwatch/validate"
)

// spans makes the span of a turn when the turn is over: one, of kind CLIENT,
// with the times and the ids that the turn had. Nothing is sampled by the SDK,
// for nothing is made that is not to be exported.
type spans struct {
	provider *sdktrace.TracerProvider
	tracer   trace.Tracer
	room     *room
	own      *own
	server   []attribute.KeyValue
	attrs    sync.Pool // of *attrs
}

// newSpans makes spans that go to x.
func newSpans(x sdktrace.SpanExporter, res *resource.Resource, queue int, own *own, server []attribute.KeyValue) *spans {
	s := &spans{room: &room{size: int64(queue)}, own: own, server: server}
	s.attrs.New = func() any { a := make(attrs, 0, 64); return &a }
	counted := &spanExporter{x, exporter{traces, s.room, own}}
	s.provider = sdktrace.NewTracerProvider(
		sdktrace.WithResource(res),
		sdktrace.WithIDGenerator(turnIDs{}),
		sdktrace.WithSampler(sdktrace.AlwaysSample()),
		sdktrace.WithSpanProcessor(sdktrace.NewBatchSpanProcessor(counted, sdktrace.WithMaxQueueSize(queue))),
	)
	s.tracer = s.provider.Tracer(scope, trace.WithSchemaURL(SchemaURL))
	return s
}

// turnIDs gives a span the ids that its turn has had from its beginning.
type turnIDs struct{}

type turnKey struct{}

func (turnIDs) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	t := ctx.Value(turnKey{}).(*turn.Turn)
	return t.Trace.ID, t.Trace.Span
}

func (turnIDs) NewSpanID(ctx context.Context, _ trace.TraceID) trace.SpanID {
	return ctx.Value(turnKey{}).(*turn.Turn).Trace.Span
}

// leading is the context of a turn whose span is kept: what is measured in it
// leaves exemplars that lead to that span.
func leading(t *turn.Turn) context.Context {
	return trace.ContextWithSpanContext(context.Background(), trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: t.Trace.ID, SpanID: t.Trace.Span, TraceFlags: trace.FlagsSampled,
	}))
}

// reserve finds room for a span that is kept for a reason.
func (s *spans) reserve(why string) bool {
	if s.room.take(why == keptCorrupted) {
		return true
	}
	s.own.dropped.add(1, traces+" "+queueFull)
	return false
}

// export makes the span of a turn for which there is room.
func (s *spans) export(t *turn.Turn, why string) {
	s.own.kept.add(1, why)
	ctx := context.WithValue(caller(&t.Trace), turnKey{}, t)
	opts := []trace.SpanStartOption{trace.WithTimestamp(t.Time), trace.WithSpanKind(trace.SpanKindClient)}
	if l := t.Trace.Link; l != nil {
		opts = append(opts, trace.WithLinks(link(l)))
	}
	_, span := s.tracer.Start(ctx, operation(t.Path)+" "+or(t.Model, unknown), opts...)
	a := s.attrs.Get().(*attrs)
	*a = s.attributes((*a)[:0], t, why)
	span.SetAttributes(*a...) // which copies them
	s.attrs.Put(a)
	s.tell(span, t)
	span.End(trace.WithTimestamp(at(t, t.DurationMS)))
}

// caller is the context of the caller's span, if there is one.
func caller(t *turn.Trace) context.Context {
	ctx := context.Background()
	if t.Parent == [8]byte{} {
		return ctx
	}
	state, err := trace.ParseTraceState(t.State)
	if err != nil {
		state = trace.TraceState{}
	}
	cfg := trace.SpanContextConfig{TraceID: t.ID, SpanID: t.Parent, TraceState: state, Remote: true}
	if t.Sampled {
		cfg.TraceFlags = trace.FlagsSampled
	}
	return trace.ContextWithRemoteSpanContext(ctx, trace.NewSpanContext(cfg))
}

func link(l *turn.Link) trace.Link {
	return trace.Link{
		SpanContext: trace.NewSpanContext(trace.SpanContextConfig{TraceID: l.ID, SpanID: l.Span, TraceFlags: trace.FlagsSampled, Remote: true}),
		Attributes:  []attribute.KeyValue{attribute.String(AttrLinkKind, "shadow_of")},
	}
}

// at is a time so many milliseconds after the request's head.
func at(t *turn.Turn, ms float64) time.Time {
	return t.Time.Add(time.Duration(ms * float64(time.Millisecond)))
}

// maxEvents bounds the findings that a span tells one by one.
const maxEvents = 32

// tell adds what happened in the course of the turn.
func (s *spans) tell(span trace.Span, t *turn.Turn) {
	for i := range min(len(t.Findings), maxEvents) {
		f := &t.Findings[i]
		name := EventFinding
		if t.Outcome == validate.Truncated {
			name = EventTruncated
		}
		span.AddEvent(name, trace.WithTimestamp(at(t, t.TTFBMS+f.AtMS)), trace.WithAttributes(finding(f)...))
	}
	if verdict, ok := evaluation(t); ok {
		span.AddEvent(EventEvaluation, trace.WithTimestamp(at(t, t.DurationMS)), trace.WithAttributes(verdict...))
	}
	if t.Outcome == validate.Corrupted || failed(t) {
		span.SetStatus(codes.Error, string(t.Outcome)+": "+spanError(t))
	}
}

// evaluation tells the verdict as the GenAI conventions do: pass or fail. What
// is truncated or unverified is neither.
func evaluation(t *turn.Turn) ([]attribute.KeyValue, bool) {
	label, value := "pass", 1.0
	switch t.Outcome {
	case validate.Corrupted:
		label, value = "fail", 0
	case validate.Clean:
	default:
		return nil, false
	}
	return []attribute.KeyValue{attribute.String(AttrEvaluationName, "tool_call_integrity"),
		attribute.String(AttrEvaluationLabel, label), attribute.Float64(AttrEvaluationValue, value)}, true
}
