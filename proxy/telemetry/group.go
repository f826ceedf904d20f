package telemetry

import (
	"context"

	"go.opentelemetry.io/otel/attribute"

	"turnwatch/validate"
)

// find returns a series that a value tells apart, and makes it at its first
// use. The values are closed sets.
func (g *group) find(n name, make func() add) add {
	g.mu.Lock()
	defer g.mu.Unlock()
	s := g.named[n]
	if s == nil {
		s = make()
		g.named[n] = s
	}
	return s
}

// finding counts one of a kind.
func (g *group) finding(ctx context.Context, k validate.Kind, c validate.Cause, n int64) {
	g.m.findings.Add(ctx, n, g.find(name{"finding", string(k), string(c)}, func() add {
		return g.series(attribute.String(KeyKind, string(k)), attribute.String(KeySeverity, string(g.m.kinds[k].Severity)),
			attribute.String(KeyCause, string(c)), attribute.String(KeyFingerprint, g.key.fingerprint))
	})...)
}

func (g *group) signal(ctx context.Context, k validate.Kind) {
	g.m.signals.Add(ctx, 1, g.find(name{family: "signal", value: string(k)}, func() add {
		return g.series(attribute.String(KeyKind, string(k)))
	})...)
}

func (g *group) call(ctx context.Context, result string, n int64) {
	g.m.calls.Add(ctx, n, g.find(name{family: "call", value: result}, func() add {
		return g.series(attribute.String(KeyResult, result))
	})...)
}

func (g *group) finish(ctx context.Context, why string, n int64) {
	g.m.finishes.Add(ctx, n, g.find(name{family: "finish", value: why}, func() add {
		return g.series(attribute.String(KeyFinish, why))
	})...)
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
