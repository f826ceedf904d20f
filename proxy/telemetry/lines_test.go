package telemetry

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"turnwatch/proxy/turn"
	"turnwatch/validate"
)

// safeBuffer is a log that may be read while it is written.
type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *safeBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *safeBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

func (s *safeBuffer) has(what string) bool { return strings.Contains(s.String(), what) }

func (s *safeBuffer) logger() *slog.Logger { return slog.New(slog.NewJSONHandler(s, nil)) }

// TestCorruptedTurnIsALineOfTheLog: one, with what finds it elsewhere.
func TestCorruptedTurnIsALineOfTheLog(t *testing.T) {
	var log safeBuffer
	r := start(t, Config{Logger: log.logger()})
	bad := aTurn(corrupted(validate.SchemaValue, validate.ArgsSchemaViolated, validate.SchemaValue))
	r.Finish(aTurn())
	r.Finish(bad)
	var line struct {
		Msg, Level                                                          string
		TurnID, RequestID, TraceID, Model, Session, Fingerprint, Batch, RID string
		Kinds                                                               []string
	}
	text := strings.NewReplacer("turn_id", "TurnID", "request_id", "RequestID", "trace_id", "TraceID").Replace(log.String())
	if strings.Count(text, "\n") != 1 || json.Unmarshal([]byte(text), &line) != nil {
		t.Fatalf("log: got %s", text)
	}
	trace, _ := ids(bad)
	if line.Level != "WARN" || line.TurnID != bad.ID || line.RequestID != "r1" || line.TraceID != trace || line.Model != "m" || line.Session != bad.Session ||
		line.Fingerprint != "1a2b3c4d" || line.Batch != "7" || line.RID != "abc" || strings.Join(line.Kinds, " ") != "schema_value args_schema_violation" {
		t.Errorf("got %+v", line)
	}
	r.Finish(aTurn(corrupted(validate.ArgsEmpty), func(t *turn.Turn) { t.RequestID = "" }))
	if got := log.String(); strings.Count(got, "a turn is corrupted") != 2 || strings.Count(got, `"request_id"`) != 1 {
		t.Errorf("got %s, want two lines, and an id in the first alone", got)
	}
}

// TestLogIsBoundedAndSaysWhatItLeftOut.
func TestLogIsBoundedAndSaysWhatItLeftOut(t *testing.T) {
	var log safeBuffer
	r := start(t, Config{Logger: log.logger(), Limits: Limits{LogRate: 2}, Alarm: AlarmConfig{Spacing: 1 << 62}})
	for range 100 {
		r.Finish(aTurn(inSession("s"), corrupted(validate.ArgsEmpty)))
	}
	lines := strings.Count(log.String(), "a turn is corrupted")
	if lines < 2 || lines > 10 {
		t.Errorf("lines: got %d, want about 2", lines)
	}
	r.lines.flush(time.Now())
	if log.has("left out") {
		t.Error("what was left out is told at once")
	}
	r.lines.flush(time.Now().Add(2 * suppressedFor))
	if !log.has(`"suppressed":`) {
		t.Errorf("what was left out is not told: %s", log.String())
	}
	r.SetLimits(Limits{LogRate: 1e6})
	r.Finish(aTurn(inSession("s"), corrupted(validate.ArgsEmpty)))
	if got := strings.Count(log.String(), "a turn is corrupted"); got != lines+1 {
		t.Errorf("lines after the limit was raised: got %d, want %d", got, lines+1)
	}
}

// TestCollectorThatIsAwayIsToldOnce in a while, at the usual level of the log.
func TestCollectorThatIsAwayIsToldOnce(t *testing.T) {
	var log safeBuffer
	r := start(t, Config{Logger: log.logger(), Alarm: AlarmConfig{Spacing: 1 << 62}}, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=http://127.0.0.1:1/v1/traces", "OTEL_BSP_SCHEDULE_DELAY=10")
	for i := range 3 {
		r.Finish(aTurn(corrupted(validate.ArgsEmpty)))
		await(t, "another export that fails", func() bool { return r.own.exports.get(traces+" failed") > int64(i) })
	}
	const told = "a collector does not take the telemetry"
	await(t, "a line of the log", func() bool { return log.has(told) })
	end(r)
	if got := strings.Count(log.String(), told); got != 1 || !log.has("127.0.0.1:1") {
		t.Errorf("got %d lines in\n%s", got, log.String())
	}
}

// TestRecordsAreTheJournalsLines, with what one selects by beside them.
func TestRecordsAreTheJournalsLines(t *testing.T) {
	c := newCollector(t)
	r := start(t, Config{}, "OTEL_EXPORTER_OTLP_ENDPOINT="+c.url, "OTEL_LOGS_EXPORTER=otlp")
	bad := aTurn(corrupted(validate.ArgsEmpty))
	r.Finish(bad)
	change := &turn.ConfigChange{V: 1, Time: time.Now(), From: "a", To: "b"}
	r.Change(change)
	r.Restart(&turn.Restart{V: 1, Time: time.Now(), Why: "counters"})
	end(r)
	if len(c.records) != 3 {
		t.Fatalf("got %d records", len(c.records))
	}
	one := c.records[0]
	if text(one.Body) != string(bad.AppendJSON(nil)) || one.EventName != "turnwatch.turn" || value(one.Attributes, KeyVerdict) != "corrupted" ||
		string(one.TraceId) != string(bad.Trace.ID[:]) || string(one.SpanId) != string(bad.Trace.Span[:]) {
		t.Errorf("turn: got %v", one)
	}
	if text(c.records[1].Body) != string(change.AppendJSON(nil)) || c.records[2].EventName != "turnwatch.server_restart" {
		t.Errorf("others: got %v", c.records[1:])
	}
}

// TestPanicIsCountedAndHarmsNobody.
func TestPanicIsCountedAndHarmsNobody(t *testing.T) {
	r := start(t, Config{})
	r.lines.log = nil // what breaks
	r.Finish(aTurn(corrupted(validate.ArgsEmpty)))
	r.lines.log = discard()
	has(t, r, `turnwatch_telemetry_dropped_total{reason="panic",signal="lines"} 1`)
}
