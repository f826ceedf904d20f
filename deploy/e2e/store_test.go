//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"time"
)

// store is a Prometheus, or what speaks its API.
type store struct{ url string }

// series is one of an answer.
type series struct {
	Metric map[string]string
	Value  [2]any
	Values [][2]any
}

// last is the latest value of a series.
func (s series) last() float64 {
	v := s.Value
	if len(s.Values) > 0 {
		v = s.Values[len(s.Values)-1]
	}
	text, _ := v[1].(string)
	f, _ := strconv.ParseFloat(text, 64)
	return f
}

// ask decodes the data of an answer into to.
func (s store) ask(path string, params url.Values, to any) error {
	b, err := get(s.url + path + "?" + params.Encode())
	if err != nil {
		return err
	}
	answer := struct {
		Status, Error string
		Data          any
	}{Data: to}
	if err := json.Unmarshal(b, &answer); err != nil {
		return err
	}
	if answer.Status != "success" {
		return fmt.Errorf("%s: %s", path, answer.Error)
	}
	return nil
}

// now evaluates an expression.
func (s store) now(expr string) ([]series, error) {
	var data struct{ Result []series }
	err := s.ask("/api/v1/query", url.Values{"query": {expr}}, &data)
	return data.Result, err
}

// over evaluates an expression over the last minutes, as a panel does.
func (s store) over(expr string) ([]series, error) {
	var data struct{ Result []series }
	end := time.Now()
	err := s.ask("/api/v1/query_range", url.Values{"query": {expr}, "step": {"5s"},
		"start": {stamp(end.Add(-5 * time.Minute))}, "end": {stamp(end)}}, &data)
	return data.Result, err
}

func stamp(t time.Time) string { return strconv.FormatFloat(float64(t.UnixMilli())/1000, 'f', 3, 64) }

// sum is the value of an expression that has one.
func (s store) sum(expr string) (float64, error) {
	r, err := s.now("sum(" + expr + ")")
	if err == nil && len(r) != 1 {
		err = fmt.Errorf("%s: got no series", expr)
	}
	if err != nil {
		return 0, err
	}
	return r[0].last(), nil
}

// exemplar is an example of what a series counted.
type exemplar struct {
	Labels map[string]string
	Value  string
}

func (s store) exemplars(expr string) (all []exemplar, err error) {
	var data []struct{ Exemplars []exemplar }
	end := time.Now()
	err = s.ask("/api/v1/query_exemplars", url.Values{"query": {expr}, "start": {stamp(end.Add(-time.Hour))}, "end": {stamp(end)}}, &data)
	for _, d := range data {
		all = append(all, d.Exemplars...)
	}
	return all, err
}
