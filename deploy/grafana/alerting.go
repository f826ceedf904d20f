package main

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// The shape of Grafana's files for provisioning alert rules.
type (
	alertFile struct {
		APIVersion int          `yaml:"apiVersion"`
		Groups     []alertGroup `yaml:"groups"`
	}
	alertGroup struct {
		OrgID    int         `yaml:"orgId"`
		Name     string      `yaml:"name"`
		Folder   string      `yaml:"folder"`
		Interval string      `yaml:"interval"`
		Rules    []alertRule `yaml:"rules"`
	}
	alertRule struct {
		UID           string            `yaml:"uid"`
		Title         string            `yaml:"title"`
		Condition     string            `yaml:"condition"`
		Data          []alertQuery      `yaml:"data"`
		NoDataState   string            `yaml:"noDataState"`
		ExecErrState  string            `yaml:"execErrState"`
		For           string            `yaml:"for"`
		KeepFiringFor string            `yaml:"keepFiringFor,omitempty"`
		Annotations   map[string]string `yaml:"annotations"`
		Labels        map[string]string `yaml:"labels"`
		DashboardUID  string            `yaml:"dashboardUid"`
		PanelID       uint32            `yaml:"panelId"`
		IsPaused      bool              `yaml:"isPaused"`
	}
	alertQuery struct {
		RefID             string         `yaml:"refId"`
		RelativeTimeRange alertRange     `yaml:"relativeTimeRange"`
		DatasourceUID     string         `yaml:"datasourceUid"`
		Model             map[string]any `yaml:"model"`
	}
	alertRange struct {
		From int `yaml:"from"`
		To   int `yaml:"to"`
	}
)

// prometheusUID is the data source of provisioning/datasources/turnwatch.yaml.
const prometheusUID = "turnwatch-prometheus"

// shown says on which panel one looks first when an alert calls.
func shown() map[string]string {
	return map[string]string{
		"TurnwatchAlarm":                 "Alarm",
		"TurnwatchCorruptionBurnsFast":   "Corrupted turns by model",
		"TurnwatchCorruptionBurnsSlowly": "Corrupted turns by model",
		"TurnwatchCorruptionOverBudget":  "Corrupted turns, share",
		"TurnwatchCorruptedTurn":         "Findings by kind",
		"TurnwatchBatchCorrelation":      "Corrupted, by batch range",
		"TurnwatchShadowDivergence":      "Evidence that an arm is worse",
		"TurnwatchProbesWrong":           "Evidence that probes come back wrong",
		"TurnwatchDown":                  "Requests and open streams",
		"TurnwatchUpstreamDown":          "Errors of the server, by stage",
		"TurnwatchBytesDiffer":           "Bytes compared at both sockets",
		"TurnwatchBlind":                 "Not judged, by reason",
		"TurnwatchMetadataMissing":       "Where the batch is known from",
		"TurnwatchTelemetryDropping":     "Telemetry given up",
		"TurnwatchRecordsDropping":       "Given up",
		"TurnwatchJournalErrors":         "Given up",
		"TurnwatchFault":                 "Given up",
		"TurnwatchCardinalityOverflow":   "Counted under other",
		"TurnwatchAddedLatency":          "Added latency",
	}
}

// grafana is the alerts as Grafana evaluates them by itself, where there is no
// Prometheus that takes rules. A root policy is not among it: it would replace
// the one that is there.
func (r *rules) grafana(places panels) ([]byte, error) {
	file := alertFile{APIVersion: 1}
	for _, g := range r.Groups {
		group := alertGroup{OrgID: 1, Name: g.Name, Folder: folder, Interval: "1m"}
		for _, q := range g.Rules {
			if q.Alert == "" {
				continue
			}
			a, err := r.managed(q, places)
			if err != nil {
				return nil, fmt.Errorf("alert %s: %w", q.Alert, err)
			}
			group.Rules = append(group.Rules, a)
		}
		if len(group.Rules) > 0 {
			file.Groups = append(file.Groups, group)
		}
	}
	b := bytes.NewBufferString(made)
	enc := yaml.NewEncoder(b)
	enc.SetIndent(2)
	err := enc.Encode(file)
	return b.Bytes(), err
}

// managed is one alert as Grafana has it: query A has everything that the rule
// asks for, and B holds for whatever A returns.
func (r *rules) managed(q rule, places panels) (alertRule, error) {
	expr, err := r.spelled(q.Expr)
	at, ok := places[shown()[q.Alert]]
	if err == nil && !ok {
		err = fmt.Errorf("panel %q is on no dashboard", shown()[q.Alert])
	}
	return alertRule{
		UID: strings.ToLower(q.Alert), Title: q.Alert, Condition: "B",
		Data: []alertQuery{
			{RefID: "A", RelativeTimeRange: alertRange{From: 600}, DatasourceUID: prometheusUID,
				Model: map[string]any{"refId": "A", "expr": expr, "instant": true, "range": false, "editorMode": "code"}},
			{RefID: "B", DatasourceUID: "__expr__", Model: map[string]any{"refId": "B", "type": "threshold", "expression": "A",
				"conditions": []any{map[string]any{"evaluator": map[string]any{"type": "gt", "params": []int{-1}}}}}},
		},
		NoDataState: "OK", ExecErrState: "Error",
		For: orZero(q.For), KeepFiringFor: q.KeepFiringFor,
		Annotations: ownValues(q.Annotations), Labels: q.Labels,
		DashboardUID: at.board, PanelID: at.id,
	}, err
}

func orZero(d string) string {
	if d == "" {
		return time.Duration(0).String()
	}
	return d
}

// ownValues spells the value of a query as Grafana's templates do.
func ownValues(annotations map[string]string) map[string]string {
	own := map[string]string{}
	for name, text := range annotations {
		own[name] = strings.ReplaceAll(text, "$value", "$values.A.Value")
	}
	return own
}
