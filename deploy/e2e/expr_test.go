package e2e

import (
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/promql/parser"
)

// observed returns what an alert looks at: its expression without the comparisons
// that decide. Where several must hold, each is one.
func observed(expr string) ([]string, error) {
	e, err := parser.NewParser(parser.Options{}).ParseExpr(expr)
	if err != nil {
		return nil, err
	}
	return sides(e), nil
}

// sides takes an expression apart at and, or and unless, down to comparisons.
func sides(e parser.Expr) []string {
	switch e := e.(type) {
	case *parser.ParenExpr:
		return sides(e.Expr)
	case *parser.BinaryExpr:
		if e.Op.IsSetOperator() && e.Op == parser.LUNLESS {
			return sides(e.LHS) // what must not be there need not be
		}
		if e.Op.IsSetOperator() {
			return slices.Concat(sides(e.LHS), sides(e.RHS))
		}
		if e.Op.IsComparisonOperator() {
			return []string{e.LHS.String()}
		}
	}
	return []string{e.String()}
}

func TestObserved(t *testing.T) {
	f := func(expr string, want ...string) {
		t.Helper()
		if got, err := observed(expr); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: got %q, %v, want %q", expr, got, err, want)
		}
	}
	f("up == 0", "up")
	f("a / b > 0.5 and c >= 3", "a / b", "c")
	f("a > 1 * 0.001 and b > 2 and c > 3", "a", "b", "c")
	f("increase(x[15m]) > 0 or (x > 0 unless x offset 15m)", "increase(x[15m])", "x")
	f("sum(a > 1) > 2", "sum(a > 1)")
}

// filled replaces what Grafana would, as it would for the last minutes.
func filled(expr string) string {
	return strings.NewReplacer("$__rate_interval", "2m", "$__range", "5m",
		"$sglang_job", ".+", "$job", ".+", "$instance", ".+", "$model", ".+", "$arm", ".+").Replace(expr)
}
