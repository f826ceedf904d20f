package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/prometheus/prometheus/promql/parser"
	"go.yaml.in/yaml/v3"
)

// rules are those of ../prometheus/rules.yaml.
type rules struct {
	raw    []byte
	Groups []struct {
		Name  string
		Rules []rule
	}
}

// rule is one of them: it records a series, or it calls somebody.
type rule struct {
	Record, Alert, Expr string
	For                 string
	KeepFiringFor       string `yaml:"keep_firing_for"`
	Labels              map[string]string
	Annotations         map[string]string
}

func readRules() (*rules, error) {
	raw, err := os.ReadFile(filepath.Join(deploy, "prometheus", "rules.yaml"))
	if err != nil {
		return nil, err
	}
	r := &rules{raw: raw}
	dec := yaml.NewDecoder(bytes.NewReader(raw))
	dec.KnownFields(true)
	return r, dec.Decode(r)
}

const made = "# Made from deploy/prometheus/rules.yaml by deploy/grafana; change that one.\n"

// groups is the part of the file that a PrometheusRule's spec has too.
func (r *rules) groups() []byte {
	_, rest, _ := bytes.Cut(r.raw, []byte("\ngroups:\n"))
	return append([]byte(made+"groups:\n"), rest...)
}

// operator is the rules as the Prometheus operator takes them.
func (r *rules) operator() []byte {
	var b strings.Builder
	b.WriteString(made + `apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata:
  name: turnwatch
  labels:
    app.kubernetes.io/name: turnwatch
spec:
`)
	for line := range strings.Lines(strings.TrimPrefix(string(r.groups()), made)) {
		if line != "\n" {
			line = "  " + line
		}
		b.WriteString(line)
	}
	return []byte(b.String())
}

// alerts returns the rules that call somebody.
func (r *rules) alerts() (all []rule) {
	for _, g := range r.Groups {
		for _, q := range g.Rules {
			if q.Alert != "" {
				all = append(all, q)
			}
		}
	}
	return all
}

// spelled returns an expression with the expressions of recorded series in the
// place of their names, for those who evaluate alerts and record nothing.
func (r *rules) spelled(expr string) (string, error) {
	recorded := map[string]string{}
	for _, g := range r.Groups {
		for _, q := range g.Rules {
			recorded[q.Record] = q.Expr
		}
	}
	e, err := parse(expr)
	if err != nil {
		return "", err
	}
	e, err = spell(e, recorded)
	if err != nil {
		return "", err
	}
	return parser.Prettify(e), nil
}

func parse(expr string) (parser.Expr, error) {
	return parser.NewParser(parser.Options{}).ParseExpr(expr)
}

// spell replaces recorded series where alerts name them: alone, or within
// binary expressions and parentheses.
func spell(e parser.Expr, recorded map[string]string) (parser.Expr, error) {
	var err error
	switch e := e.(type) {
	case *parser.BinaryExpr:
		if e.LHS, err = spell(e.LHS, recorded); err == nil {
			e.RHS, err = spell(e.RHS, recorded)
		}
		return e, err
	case *parser.ParenExpr:
		e.Expr, err = spell(e.Expr, recorded)
		return e, err
	case *parser.VectorSelector:
		full, ok := recorded[e.Name]
		if !ok {
			return e, nil
		}
		if len(e.LabelMatchers) > 1 || e.OriginalOffset != 0 {
			return nil, fmt.Errorf("%s: an alert may name a recorded series without more", e)
		}
		inner, err := parse(full)
		return &parser.ParenExpr{Expr: inner}, err
	}
	return e, nil
}
