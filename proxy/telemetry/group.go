package telemetry

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"turnwatch/validate"
)

// find returns a series of the group that a value tells apart, and makes it at
// its first use. The values are closed sets.
func find[S any](g *group, n name, make func() S) S {
	g.mu.Lock()
	defer g.mu.Unlock()
	s, ok := g.named[n]
	if !ok {
		s = make()
		g.named[n] = s
	}
	return s.(S)
}

// series makes one that tells the group apart, too.
func (g *group) series(c metric.Int64Counter, kv ...attribute.KeyValue) *series {
	return g.m.series(c, g.labels(kv...)...)
}

// finding counts one of a kind.
func (g *group) finding(ctx context.Context, k validate.Kind, c validate.Cause, n int64) {
	find(g, name{"finding", string(k), string(c)}, func() *series {
		return g.series(g.m.findings, attribute.String(KeyKind, string(k)), attribute.String(KeySeverity, string(g.m.kinds[k].Severity)),
			attribute.String(KeyCause, string(c)), attribute.String(KeyFingerprint, g.key.fingerprint))
	}).add(ctx, n)
}

func (g *group) signal(ctx context.Context, k validate.Kind) {
	find(g, name{family: "signal", value: string(k)}, func() *series {
		return g.series(g.m.signals, attribute.String(KeyKind, string(k)))
	}).add(ctx, 1)
}

// calls makes the series of calls with a result, which stands at 0.
func (g *group) calls(result string) *series {
	s := g.series(g.m.calls, attribute.String(KeyResult, result))
	s.add(context.Background(), 0)
	return s
}

func (g *group) finish(why string) *series {
	return find(g, name{family: "finish", value: why}, func() *series {
		return g.series(g.m.finishes, attribute.String(KeyFinish, why))
	})
}

// finishReasons are those that are told apart.
func finishReasons() []string {
	return []string{"stop", "length", "tool_calls", "content_filter", "function_call", "abort", "error", other}
}

func finishReason(s string) string {
	switch s {
	case "stop", "length", "tool_calls", "content_filter", "function_call", "abort", "error":
		return s
	case "tool_use":
		return "tool_calls"
	case "end_turn", "stop_sequence", "completed":
		return "stop"
	case "max_tokens", "incomplete":
		return "length"
	}
	return other
}
