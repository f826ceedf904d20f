package telemetry

import (
	"context"

	"go.opentelemetry.io/otel/attribute"

	"turnwatch/proxy/turn"
)

// class is what tells turns of a group apart whose series are others. Findings,
// signals, lints and calls are counted beside it.
type class struct {
	cell
	status        int
	finish, fault string // why the first choice ended; why there is no whole answer
	batch, config string // from where they are known
}

// classSeries are those of a class.
type classSeries struct {
	of class

	turns, answer, finish, batch, config *series
	size                                 adder[int64] // of the batch
	duration, firstChunk                 adder[float64]
	input, output                        adder[int64]
}

// maxClasses bounds the classes of a group whose series are at hand: servers may
// make up hundreds of statuses.
const maxClasses = 256

// classOf finds the class of a turn; finish is empty where no choice was seen
// to end.
func (g *group) classOf(p *placed, t *turn.Turn) class {
	k := class{cell: p.cell, status: t.Status, fault: errorType(t), batch: p.source, config: g.configSource(t)}
	if len(t.FinishReasons) > 0 {
		k.finish = finishReason(t.FinishReasons[0])
	}
	return k
}

// class returns the series of one, all at once: looked up by one name after the
// other, they take longer than counting does. Most turns are of the class that the
// turn before was of.
func (g *group) class(k class) *classSeries {
	s := g.latest.Load()
	if s != nil && s.of == k {
		return s
	}
	g.mu.Lock()
	s = g.classes[k]
	g.mu.Unlock()
	if s == nil {
		s = g.newClass(k)
		g.keep(s)
	}
	g.latest.Store(s)
	return s
}

// keep has the series of a class at hand.
func (g *group) keep(s *classSeries) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.classes) >= maxClasses {
		clear(g.classes)
	}
	g.classes[s.of] = s
}

func (g *group) newClass(k class) *classSeries {
	s := &classSeries{of: k, turns: g.cells[k.cell].turns, answer: g.m.answer(k.status), batch: g.m.source("batch", k.batch), config: g.m.source("configuration", k.config),
		input: g.m.input(g), output: g.m.output(g)}
	if k.finish != "" {
		s.finish = g.finish(k.finish)
	}
	verdict := string(k.grade.verdict())
	s.size = find(g, name{family: "batch", value: verdict}, func() adder[int64] {
		return g.m.batch(g.m, g.labels(attribute.String(KeyVerdict, verdict)))
	})
	s.duration = find(g, name{family: "duration", value: k.fault}, func() adder[float64] {
		return g.m.duration(g.m, g.m.genAILabels(g, k.fault))
	})
	s.firstChunk = find(g, name{family: "first chunk", value: k.fault}, func() adder[float64] {
		return g.m.firstChunk(g.m, g.m.genAILabels(g, k.fault))
	})
	return s
}

// count counts a turn of the class, which was decoded in a batch of n.
func (s *classSeries) count(ctx context.Context, n int, t *turn.Turn) {
	s.turns.add(ctx, 1)
	s.answer.add(ctx, 1)
	s.batch.add(ctx, 1)
	s.config.add(ctx, 1)
	if s.finish != nil {
		s.finish.add(ctx, 1)
	}
	if n > 0 {
		s.size.add(ctx, int64(n))
	}
	s.duration.add(ctx, t.DurationMS/1e3)
	if t.Stream && t.TTFBMS > 0 {
		s.firstChunk.add(ctx, t.TTFBMS/1e3)
	}
	if t.Usage != nil {
		s.input.add(ctx, t.Usage.PromptTokens)
		s.output.add(ctx, t.Usage.CompletionTokens)
	}
}
