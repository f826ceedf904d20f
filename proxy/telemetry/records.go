package telemetry

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/log"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/trace"

	"turnwatch/proxy/turn"
	"turnwatch/validate"
)

// records sends the journal's lines to a collector, too, as log records: the
// line is the body, and what one selects by is beside it.
type records struct {
	provider *sdklog.LoggerProvider
	logger   log.Logger
	room     *room
	own      *own
}

func newRecords(x sdklog.Exporter, res *resource.Resource, queue int, own *own) *records {
	r := &records{room: &room{size: int64(queue)}, own: own}
	counted := &logExporter{x, exporter{logs, r.room, own}}
	r.provider = sdklog.NewLoggerProvider(sdklog.WithResource(res),
		sdklog.WithProcessor(sdklog.NewBatchProcessor(counted, sdklog.WithMaxQueueSize(queue))))
	r.logger = r.provider.Logger(scope)
	return r
}

// turn sends the line of a turn.
func (r *records) turn(t *turn.Turn) {
	if !r.reserve(t.Outcome == validate.Corrupted) {
		return
	}
	var rec log.Record
	rec.SetEventName("turnwatch.turn")
	rec.SetSeverity(log.SeverityInfo)
	if t.Outcome == validate.Corrupted {
		rec.SetSeverity(log.SeverityWarn)
	}
	rec.AddAttributes(attribute.String(AttrTurnID, t.ID), attribute.String(KeyModel, t.Model), attribute.String(KeyVerdict, string(t.Outcome)),
		attribute.String(KeyArm, string(t.Arm)), attribute.String(KeyFingerprint, t.Fingerprint))
	r.emit(spanOf(t), &rec, t.Time, t.AppendJSON(nil))
}

// change sends the line of a change of the configuration.
func (r *records) change(c *turn.ConfigChange) {
	if !r.reserve(true) {
		return
	}
	var rec log.Record
	rec.SetEventName("turnwatch.config_change")
	rec.SetSeverity(log.SeverityInfo)
	r.emit(context.Background(), &rec, c.Time, c.AppendJSON(nil))
}

// restart sends the line of a server that seems to have been started anew.
func (r *records) restart(s *turn.Restart) {
	if !r.reserve(true) {
		return
	}
	var rec log.Record
	rec.SetEventName("turnwatch.server_restart")
	rec.SetSeverity(log.SeverityInfo)
	r.emit(context.Background(), &rec, s.Time, s.AppendJSON(nil))
}

func (r *records) reserve(matters bool) bool {
	if r.room.take(matters) {
		return true
	}
	r.own.dropped.add(1, logs+" "+queueFull)
	return false
}

func (r *records) emit(ctx context.Context, rec *log.Record, at time.Time, line []byte) {
	rec.SetTimestamp(at)
	rec.SetBody(attribute.StringValue(string(line)))
	r.logger.Emit(ctx, *rec)
}

// spanOf is the context of the turn's place in its trace, whether its span is
// kept or not.
func spanOf(t *turn.Turn) context.Context {
	cfg := trace.SpanContextConfig{TraceID: t.Trace.ID, SpanID: t.Trace.Span}
	if t.Trace.Sampled {
		cfg.TraceFlags = trace.FlagsSampled
	}
	return trace.ContextWithSpanContext(context.Background(), trace.NewSpanContext(cfg))
}
