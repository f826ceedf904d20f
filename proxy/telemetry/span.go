package telemetry

import (
	"context"
	"slices"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	tracedata "go.opentelemetry.io/proto/otlp/trace/v1"

	"turnwatch/proxy/turn"
	"turnwatch/validate"
)

// spans makes the span of a turn when the turn is over: one, of kind CLIENT,
// with the times and the ids that the turn had, within the SDK's limits. Nothing
// is sampled by the SDK, for nothing is made that is not to be exported. Its
// processor makes batches of them.
type spans struct {
	batches sdktrace.SpanProcessor
	limits  sdktrace.SpanLimits
	room    *room
	own     *own
	server  []attribute.KeyValue
	content *content  // nil: nothing that was said is told
	scratch sync.Pool // of *message
}

// newSpans makes spans that go to x, which gives back their room.
func newSpans(x sdktrace.SpanExporter, room *room, own *own, server []attribute.KeyValue, said *content) *spans {
	s := &spans{room: room, own: own, server: server, content: said, limits: sdktrace.NewSpanLimits()}
	s.scratch.New = func() any { m := make(message, 0, 4<<10); return &m }
	s.batches = sdktrace.NewBatchSpanProcessor(x, sdktrace.WithMaxQueueSize(int(room.size)))
	return s
}

// written is a span as it goes over the wire. Of what the SDK may ask a span,
// its processor asks the context alone.
type written struct {
	sdktrace.ReadOnlySpan // nil
	message
	said int64 // of what was said, to be given back
}

// SpanContext is one that is sampled: what is not is not written.
func (*written) SpanContext() trace.SpanContext {
	return trace.NewSpanContext(trace.SpanContextConfig{TraceFlags: trace.FlagsSampled})
}

// leading is the context of a turn whose span is kept: what is measured in it
// leaves exemplars that lead to that span.
func leading(t *turn.Turn) context.Context {
	return trace.ContextWithSpanContext(context.Background(), trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: t.Trace.ID, SpanID: t.Trace.Span, TraceFlags: trace.FlagsSampled,
	}))
}

// ledTo is the span that a context leads to, which is of few turns any.
func ledTo(ctx context.Context) trace.SpanContext {
	if ctx == context.Background() {
		return trace.SpanContext{}
	}
	return trace.SpanContextFromContext(ctx)
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
	m := s.scratch.Get().(*message)
	*m = (*m)[:0]
	said := s.write(m, t, why)
	s.batches.OnEnd(&written{message: slices.Clone(*m), said: said})
	s.scratch.Put(m)
}

// The fields of OTLP's message Span.
const (
	spanTrace, spanID, spanState, spanParent, spanName, spanKind, spanStart, spanEnd = 1, 2, 3, 4, 5, 6, 7, 8
	spanAttrs, spanAttrsDropped, spanEvents, spanEventsDropped                       = 9, 10, 11, 12
	spanLinks, spanLinksDropped, spanStatus, spanFlags                               = 13, 14, 15, 16
)

// write writes a span of a list of them, and returns how much of it was said.
func (s *spans) write(m *message, t *turn.Turn, why string) (said int64) {
	begin := m.begin()
	m.bytes(spanTrace, t.Trace.ID[:])
	m.bytes(spanID, t.Trace.Span[:])
	flags := sampledHere
	if t.Trace.Parent != [8]byte{} {
		flags = sampledAfar
		m.bytes(spanParent, t.Trace.Parent[:])
		m.state(t.Trace.State)
	}
	m.text(spanName, operation(t.Path)+" "+or(t.Model, unknown))
	m.number(spanKind, uint64(tracedata.Span_SPAN_KIND_CLIENT))
	m.fixed64(spanStart, nanos(t.Time))
	m.fixed64(spanEnd, nanos(at(t, t.DurationMS)))
	a := attrs{to: m, field: spanAttrs, left: s.limits.AttributeCountLimit, length: s.limits.AttributeValueLengthLimit}
	s.attributes(&a, t, why)
	said = s.content.add(&a, t)
	m.some(spanAttrsDropped, a.dropped)
	s.events(m, t)
	s.link(m, t.Trace.Link)
	m.status(t)
	m.fixed32(spanFlags, flags)
	m.end(scopeSpans, begin)
	return said
}

// The flags of what is recorded: it, or for a span its parent, is another
// process's or not.
const (
	sampledHere = uint32(trace.FlagsSampled) | uint32(tracedata.SpanFlags_SPAN_FLAGS_CONTEXT_HAS_IS_REMOTE_MASK)
	sampledAfar = sampledHere | uint32(tracedata.SpanFlags_SPAN_FLAGS_CONTEXT_IS_REMOTE_MASK)
)

// state adds a caller's tracestate, if it is one.
func (m *message) state(s string) {
	if s == "" {
		return
	}
	if state, err := trace.ParseTraceState(s); err == nil && state.Len() > 0 {
		m.text(spanState, state.String())
	}
}

func nanos(t time.Time) uint64 { return uint64(max(0, t.UnixNano())) }

// link tells of the turn that this one was made beside.
func (s *spans) link(m *message, l *turn.Link) {
	const id, span, linkAttrs, dropped, flags = 1, 2, 4, 5, 6
	switch {
	case l == nil:
		return
	case s.limits.LinkCountLimit == 0:
		m.number(spanLinksDropped, 1)
		return
	}
	begin := m.begin()
	m.bytes(id, l.ID[:])
	m.bytes(span, l.Span[:])
	a := attrs{to: m, field: linkAttrs, left: s.limits.AttributePerLinkCountLimit, length: -1}
	a.text("", AttrLinkKind, "shadow_of")
	m.some(dropped, a.dropped)
	m.fixed32(flags, sampledAfar)
	m.end(spanLinks, begin)
}

// at is a time so many milliseconds after the request's head.
func at(t *turn.Turn, ms float64) time.Time {
	return t.Time.Add(time.Duration(ms * float64(time.Millisecond)))
}

// maxEvents bounds the findings that a span tells one by one.
const maxEvents = 32

// events adds what happened in the course of the turn. Beyond the limit the
// first are left out, as the SDK does.
func (s *spans) events(m *message, t *turn.Turn) {
	name := EventFinding
	if t.Outcome == validate.Truncated {
		name = EventTruncated
	}
	findings := t.Findings[:min(len(t.Findings), maxEvents)]
	label, score := evaluation(t)
	all := len(findings) + len(label)/len("pass")
	left := all
	if l := s.limits.EventCountLimit; l >= 0 {
		left = min(all, l)
	}
	for i := range findings {
		if f := &findings[i]; i >= all-left {
			s.event(m, name, at(t, t.TTFBMS+f.AtMS), func(a *attrs) { a.finding(f) })
		}
	}
	if label != "" && left > 0 {
		s.event(m, EventEvaluation, at(t, t.DurationMS), func(a *attrs) {
			a.text("", AttrEvaluationName, "tool_call_integrity")
			a.text("", AttrEvaluationLabel, label)
			a.double(AttrEvaluationValue, score)
		})
	}
	m.some(spanEventsDropped, all-left)
}

func (s *spans) event(m *message, name string, at time.Time, tell func(*attrs)) {
	const when, what, eventAttrs, dropped = 1, 2, 3, 4
	begin := m.begin()
	m.fixed64(when, nanos(at))
	m.text(what, name)
	a := attrs{to: m, field: eventAttrs, left: s.limits.AttributePerEventCountLimit, length: -1}
	tell(&a)
	m.some(dropped, a.dropped)
	m.end(spanEvents, begin)
}

// evaluation tells the verdict as the GenAI conventions do: pass or fail. What
// is truncated or unverified is neither.
func evaluation(t *turn.Turn) (label string, score float64) {
	switch t.Outcome {
	case validate.Corrupted:
		return "fail", 0
	case validate.Clean:
		return "pass", 1
	}
	return "", 0
}

// status says that a turn failed, and nothing of another.
func (m *message) status(t *turn.Turn) {
	const words, code = 2, 3
	begin := m.begin()
	if t.Outcome == validate.Corrupted || failed(t) {
		m.text(words, string(t.Outcome)+": "+spanError(t))
		m.number(code, uint64(tracedata.Status_STATUS_CODE_ERROR))
	}
	m.end(spanStatus, begin)
}
