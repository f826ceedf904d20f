package report

import (
	"context"
	"fmt"
	"time"
)

// Names of the families that are read, and of labels, as package telemetry has
// them; a test holds them against it.
const (
	familyTurns    = "turnwatch_turns_total"
	familySessions = "turnwatch_sessions_total"
	familyFindings = "turnwatch_findings_total"
	familySkipped  = "turnwatch_validation_skipped_total"
	familyCalls    = "turnwatch_tool_calls_total"
	familyFinish   = "turnwatch_finish_reasons_total"
	familyConfig   = "turnwatch_config_info"
	familyStart    = "process_start_time_seconds"

	labelModel       = "gen_ai_request_model"
	labelArm         = "turnwatch_arm"
	labelVerdict     = "turnwatch_verdict"
	labelCause       = "turnwatch_cause"
	labelSuspect     = "turnwatch_suspect"
	labelBatch       = "turnwatch_batch_range"
	labelFingerprint = "sglang_config_fingerprint"
	labelKind        = "turnwatch_finding_kind"
	labelReason      = "reason"
	labelResult      = "result"
	labelFinish      = "gen_ai_response_finish_reason"

	configPrefix = "sglang_config_"
)

// Series are the counters that a Prometheus keeps of turnwatch.
type Series struct {
	url          string
	since, until time.Time
	targets      int
	turns        []series
	sessions     []series
	findings     []series
	skipped      []series
	calls        []series
	finish       []series
	configs      map[string]map[string]string // tags of each fingerprint
}

// ReadPrometheus reads the counters' rises in [since, until).
func ReadPrometheus(ctx context.Context, p Prometheus, since, until time.Time) (*Series, error) {
	c := p.client()
	defer c.http.CloseIdleConnections()
	s := &Series{url: p.URL, since: since, until: until, configs: map[string]map[string]string{}}
	at, err := c.starts(ctx, since, until)
	if err != nil {
		return nil, err
	}
	families := []struct {
		name string
		to   *[]series
	}{{familyTurns, &s.turns}, {familySessions, &s.sessions}, {familyFindings, &s.findings}, {familySkipped, &s.skipped}, {familyCalls, &s.calls}, {familyFinish, &s.finish}}
	histories := make([]map[string]*history, len(families))
	for i, f := range families {
		if histories[i], err = c.raw(ctx, f.name, since, until); err != nil {
			return nil, err
		}
		at.note(histories[i])
	}
	for i, f := range families {
		*f.to = at.rises(histories[i], since.UnixNano())
	}
	s.targets = len(at.seen)
	if len(histories[0]) == 0 {
		return nil, fmt.Errorf("read %s: it has no series %s in that time; see -since and -prometheus-match", p.URL, familyTurns)
	}
	return s, s.readConfigs(ctx, c)
}

// starts reads when the processes began.
func (c *promClient) starts(ctx context.Context, since, until time.Time) (*starts, error) {
	s := &starts{began: map[string][]int64{}, seen: map[string]int64{}}
	all, err := c.raw(ctx, familyStart, since, until)
	if err != nil {
		return nil, err
	}
	for _, h := range all {
		t := spell(h.labels, foreign)
		for _, v := range h.values {
			s.began[t] = append(s.began[t], int64(v.v*1e9))
		}
	}
	return s, nil
}

func (s *Series) readConfigs(ctx context.Context, c *promClient) error {
	all, err := c.raw(ctx, familyConfig, s.since, s.until)
	if err != nil {
		return err
	}
	for _, h := range all {
		tags := map[string]string{}
		for k, v := range h.labels {
			if len(k) > len(configPrefix) && k[:len(configPrefix)] == configPrefix && k != labelFingerprint && v != "" {
				tags[k[len(configPrefix):]] = v
			}
		}
		s.configs[h.labels[labelFingerprint]] = tags
	}
	return nil
}

// property returns what a series counts under, by the names of a Selector.
func (s *Series) property(r *series, name string) string {
	switch name {
	case "arm":
		return r.labels[labelArm]
	case "model":
		return r.labels[labelModel]
	case "fingerprint":
		return r.labels[labelFingerprint]
	case "batch":
		return r.labels[labelBatch]
	case "replica":
		return r.target
	}
	return s.configs[r.labels[labelFingerprint]][name]
}
