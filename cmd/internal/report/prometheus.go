package report

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Prometheus is a server that keeps series and answers its query API:
// Prometheus, VictoriaMetrics, Mimir, Thanos.
type Prometheus struct {
	URL   string // without /api/v1
	Match string // label matchers without braces, such as job="turnwatch"; "" for all
	Token string // sent as a bearer token; "" for none
	TLS   *tls.Config
}

// series is a counter of one sidecar, as what was added when.
type series struct {
	labels map[string]string
	target string // of the scrapes: the labels that are no turnwatch's
	added  []addition
}

// addition is by how much a counter rose from one sample to the next.
type addition struct {
	at int64 // Unix nanoseconds of the later sample
	n  float64
}

// promClient asks one server.
type promClient struct {
	Prometheus
	http *http.Client
}

func (p Prometheus) client() *promClient {
	t := &http.Transport{TLSClientConfig: p.TLS, Proxy: http.ProxyFromEnvironment, IdleConnTimeout: time.Second}
	return &promClient{p, &http.Client{Transport: t, Timeout: 2 * time.Minute}}
}

// sample is a value at a moment, as the API spells it: [1700000000.1,"42"].
type sample struct {
	at int64
	v  float64
}

// UnmarshalJSON reads the pair.
func (s *sample) UnmarshalJSON(b []byte) error {
	var at float64
	var v string
	if err := json.Unmarshal(b, &[2]any{&at, &v}); err != nil {
		return err
	}
	f, err := strconv.ParseFloat(v, 64)
	s.at, s.v = int64(math.Round(at*1000))*1e6, f
	return err
}

// matrix is what a range selects.
type matrix []struct {
	Metric map[string]string `json:"metric"`
	Values []sample          `json:"values"`
}

// errTooMuch says that the server does not want to load so many samples.
var errTooMuch = errors.New("too many samples")

// ask returns the raw samples of a metric in the span that ends at end.
func (c *promClient) ask(ctx context.Context, metric string, end time.Time, span time.Duration) (matrix, error) {
	form := url.Values{
		"query": {fmt.Sprintf("%s{%s}[%dms]", metric, c.Match, span.Milliseconds())},
		"time":  {strconv.FormatFloat(float64(end.UnixMilli())/1000, 'f', 3, 64)},
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimRight(c.URL, "/")+"/api/v1/query", strings.NewReader(form.Encode()))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if c.Token != "" {
		req.Header.Set("Authorization", "Bearer "+c.Token)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	return decodeMatrix(resp)
}

// maxAnswer bounds an answer of the server.
const maxAnswer = 1 << 30

func decodeMatrix(resp *http.Response) (matrix, error) {
	var a struct {
		Status string `json:"status"`
		Error  string `json:"error"`
		Data   struct {
			Type   string `json:"resultType"`
			Result matrix `json:"result"`
		} `json:"data"`
	}
	err := json.NewDecoder(io.LimitReader(resp.Body, maxAnswer)).Decode(&a)
	switch {
	case resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden:
		return nil, fmt.Errorf("%s: see -prometheus-token-file", resp.Status)
	case strings.Contains(a.Error, "too many samples") || strings.Contains(a.Error, "cannot select more than"):
		return nil, errTooMuch
	case a.Status != "success" && a.Error != "":
		return nil, fmt.Errorf("%s: %s", resp.Status, a.Error)
	case err != nil || a.Status != "success":
		return nil, fmt.Errorf("%s: it does not answer as Prometheus does", resp.Status)
	case a.Data.Type != "matrix":
		return nil, fmt.Errorf("it answers with a %s where raw samples were asked for", a.Data.Type)
	}
	return a.Data.Result, nil
}

// longestSpan is how much is asked for at once, and shortestSpan how little.
const (
	longestSpan  = 6 * time.Hour
	shortestSpan = time.Minute
)

// raw returns the samples of a metric in [since, until), by series, in the order
// of time. What is too much at once is asked for in pieces.
func (c *promClient) raw(ctx context.Context, metric string, since, until time.Time) (map[string]*history, error) {
	all := map[string]*history{}
	span := longestSpan
	for at := since; at.Before(until); {
		end := at.Add(min(span, until.Sub(at)))
		m, err := c.ask(ctx, metric, end, end.Sub(at))
		switch {
		case errors.Is(err, errTooMuch) && span > shortestSpan:
			span /= 2
			continue
		case err != nil:
			return nil, fmt.Errorf("ask %s for %s: %w", c.URL, metric, err)
		}
		for i := range m {
			keep(all, m[i].Metric, m[i].Values)
		}
		at = end
	}
	return all, nil
}

// history is what one series was over time.
type history struct {
	labels map[string]string
	values []sample
}

// keep adds samples that are later than those there: where two spans meet, some
// servers give one sample twice.
func keep(all map[string]*history, labels map[string]string, values []sample) {
	delete(labels, "__name__")
	id := spell(labels, func(string) bool { return true })
	h := all[id]
	if h == nil {
		h = &history{labels: labels}
		all[id] = h
	}
	for _, v := range values {
		if n := len(h.values); (n == 0 || v.at > h.values[n-1].at) && !math.IsNaN(v.v) {
			h.values = append(h.values, v)
		}
	}
}

// spell spells the labels that are wanted, sorted.
func spell(labels map[string]string, want func(string) bool) string {
	var all []string
	for k, v := range labels {
		if want(k) {
			all = append(all, k+"="+v)
		}
	}
	slices.Sort(all)
	return strings.Join(all, "\x00")
}

// foreign reports whether a label is the scraper's rather than turnwatch's.
func foreign(label string) bool {
	return !strings.HasPrefix(label, "turnwatch_") && !strings.HasPrefix(label, "gen_ai_") && !strings.HasPrefix(label, "sglang_") &&
		label != "reason" && label != "result" && label != "http_response_status_code" && label != "outcome"
}

// starts are when the processes of each target began, and seen when each was
// first scraped.
type starts struct {
	began map[string][]int64
	seen  map[string]int64
}

// note takes in the first samples of a metric.
func (s *starts) note(all map[string]*history) {
	for _, h := range all {
		if len(h.values) == 0 {
			continue
		}
		t := spell(h.labels, foreign)
		if at, ok := s.seen[t]; !ok || h.values[0].at < at {
			s.seen[t] = h.values[0].at
		}
	}
}

// rises makes additions of samples. A counter that falls was reset: it rose from
// 0. So did one that appears while its target was watched, or whose process
// began in the time that is asked for; of any other the first sample is where it
// stood.
func (s *starts) rises(all map[string]*history, since int64) []series {
	var out []series
	for _, h := range all {
		r := series{labels: h.labels, target: spell(h.labels, foreign)}
		for i, v := range h.values {
			n := v.v
			switch {
			case i > 0 && v.v >= h.values[i-1].v:
				n -= h.values[i-1].v
			case i == 0 && !s.fromZero(r.target, v.at, since):
				n = 0
			}
			if n > 0 {
				r.added = append(r.added, addition{v.at, n})
			}
		}
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b series) int {
		return strings.Compare(spell(a.labels, func(string) bool { return true }), spell(b.labels, func(string) bool { return true }))
	})
	return out
}

func (s *starts) fromZero(target string, at, since int64) bool {
	if first, ok := s.seen[target]; ok && first < at {
		return true
	}
	return slices.ContainsFunc(s.began[target], func(b int64) bool { return since <= b && b <= at })
}
