package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"turnwatch/proxy/pairs"
	"turnwatch/proxy/turn"
)

// The counts of all replicas, added up.
const (
	pairsQuery = `sum by (gen_ai_request_model, turnwatch_arm, against, sglang_config_fingerprint, outcome) (turnwatch_shadow_pairs_total)`
	votesQuery = `sum by (gen_ai_request_model, turnwatch_arm, against, sglang_config_fingerprint, worse) (turnwatch_shadow_votes_total)`
)

// prometheusTimeout bounds each question.
const prometheusTimeout = 30 * time.Second

// askPrometheus takes counts from a Prometheus. What batches the arms ran in is not among
// them.
func askPrometheus(ctx context.Context, client *http.Client, base string, limits pairs.Limits) (*history, error) {
	sums := map[pairs.Sum]*pairs.Counts{}
	err := query(ctx, client, base, pairsQuery, func(s series, n int) {
		s.in(sums).Outcome(turn.Outcome(s.Metric["outcome"]), n)
	})
	if err == nil {
		err = query(ctx, client, base, votesQuery, func(s series, n int) { s.in(sums).Vote(turn.Arm(s.Metric["worse"]), n) })
	}
	if err != nil {
		return nil, fmt.Errorf("ask -prometheus %s: %w", base, err)
	}
	h := &history{Report: pairs.Summed(sums, limits), Events: []event{}, Periods: []period{},
		Note: "whether the arms ran in like batches is not known from counts: GET /shadow and journals tell"}
	for _, c := range h.Current {
		h.Pairs += c.Corrupted.Pairs + c.Corrupted.Unjudged
	}
	return h, nil
}

// series is one series of an answer.
type series struct {
	Metric map[string]string `json:"metric"`
	Value  [2]any            `json:"value"` // a time, and a number in quotes
}

// in is the comparison that the series belongs to.
func (s *series) in(sums map[pairs.Sum]*pairs.Counts) *pairs.Counts {
	k := pairs.Sum{Model: s.Metric["gen_ai_request_model"], Against: turn.Arm(s.Metric["against"]), Print: s.Metric["sglang_config_fingerprint"]}
	if sums[k] == nil {
		sums[k] = &pairs.Counts{Against: k.Against}
	}
	return sums[k]
}

// maxAnswer bounds what is read of an answer.
const maxAnswer = 16 << 20

// query gives do each series of an instant query.
func query(ctx context.Context, client *http.Client, base, q string, do func(series, int)) error {
	ctx, cancel := context.WithTimeout(ctx, prometheusTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimRight(base, "/")+"/api/v1/query?query="+url.QueryEscape(q), nil)
	if err != nil {
		return err
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	var a struct {
		Status, Error string
		Data          struct{ Result []series }
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxAnswer)).Decode(&a); err != nil {
		return fmt.Errorf("status %d: %w", resp.StatusCode, err)
	}
	if a.Status != "success" {
		return errors.New(a.Error)
	}
	for _, s := range a.Data.Result {
		text, _ := s.Value[1].(string)
		n, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return fmt.Errorf("read a value: %w", err)
		}
		do(s, int(n))
	}
	return nil
}
