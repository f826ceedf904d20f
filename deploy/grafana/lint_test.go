package main

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/grafana/grafana-foundation-sdk/go/cog/plugins"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/prometheus/prometheus/promql/parser"
)

// target is a query of a panel, as it stands in the JSON.
type target struct {
	RefID, Expr  string
	Instant      bool
	LegendFormat string
	Datasource   struct{ Type, UID string }
}

// shownPanel is a panel as it stands in the JSON.
type shownPanel struct {
	ID                 int
	Type               string
	Title, Description string
	GridPos            struct{ H, W, X, Y int }
	Datasource         struct{ Type, UID string }
	FieldConfig        struct {
		Defaults struct {
			Unit     string
			Mappings []any
		}
	}
	Targets []target
}

// shownBoard is a dashboard as it stands in the JSON.
type shownBoard struct {
	raw        map[string]any
	UID, Title string
	Editable   bool
	Tags       []string
	Panels     []shownPanel
	Templating struct {
		List []struct {
			Type, Name, Label, AllValue string
			Multi, IncludeAll           bool
			Refresh                     int
			Query                       any
			Datasource                  struct{ UID string }
		}
	}
	Links []struct{ Tags []string }
}

// each calls f for every dashboard.
func each(t *testing.T, f func(t *testing.T, raw []byte, d shownBoard)) {
	for _, b := range dashboards() {
		t.Run(b.uid, func(t *testing.T) {
			raw, err := b.json()
			if err != nil {
				t.Fatal(err)
			}
			var d shownBoard
			if err := json.Unmarshal(raw, &d); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(raw, &d.raw); err != nil {
				t.Fatal(err)
			}
			f(t, raw, d)
		})
	}
}

// some reports whether an error of the SDK is one: it also returns empty lists.
func some(err error) bool { return err != nil && err.Error() != "" }

func TestDashboardsHoldToTheirSchema(t *testing.T) {
	plugins.RegisterDefaultPlugins()
	each(t, func(t *testing.T, raw []byte, _ shownBoard) {
		var d dashboard.Dashboard
		if err := d.UnmarshalJSONStrict(raw); some(err) {
			t.Error(err)
		}
		if err := d.Validate(); some(err) {
			t.Error(err)
		}
		if err := new(dashboard.Dashboard).UnmarshalJSONStrict(append([]byte(`{"unheard":1,`), raw[1:]...)); !some(err) {
			t.Error("a field that is not in the schema: got no error")
		}
	})
}

func TestDashboardsArePortable(t *testing.T) {
	each(t, func(t *testing.T, _ []byte, d shownBoard) {
		if !regexp.MustCompile(`^[a-z0-9-]{1,40}$`).MatchString(d.UID) || d.Title == "" || d.Editable || !slices.Contains(d.Tags, "sglang") {
			t.Errorf("got uid %q, title %q, editable %v, tags %v", d.UID, d.Title, d.Editable, d.Tags)
		}
		for _, key := range []string{"__inputs", "__requires", "id"} {
			if _, ok := d.raw[key]; ok {
				t.Errorf("got %s, which belongs to one Grafana alone", key)
			}
		}
		if len(d.Links) == 0 || !slices.Contains(d.Links[0].Tags, "sglang") {
			t.Errorf("links: got %v, want one to SGLang's dashboards", d.Links)
		}
	})
}

func TestVariables(t *testing.T) {
	each(t, func(t *testing.T, _ []byte, d shownBoard) {
		var names []string
		for i, v := range d.Templating.List {
			names = append(names, v.Name)
			if i == 0 {
				if v.Type != "datasource" || v.Label != "Data source" || v.Query != "prometheus" {
					t.Errorf("data source: got %+v", v)
				}
				continue
			}
			if !v.Multi || !v.IncludeAll || v.AllValue != ".+" || v.Refresh != 2 || v.Datasource.UID != "$datasource" || v.Label == "" {
				t.Errorf("%s: got %+v", v.Name, v)
			}
		}
		if want := []string{"datasource", "job", "instance", "model", "arm", "sglang_job"}; !slices.Equal(names, want) {
			t.Errorf("variables: got %v, want %v", names, want)
		}
	})
}

func TestPanels(t *testing.T) {
	each(t, func(t *testing.T, _ []byte, d shownBoard) {
		ids, titles := map[int]bool{}, map[string]bool{}
		for _, p := range d.Panels {
			if ids[p.ID] || titles[p.Title] || p.ID == 0 {
				t.Errorf("%s: got id %d or title twice", p.Title, p.ID)
			}
			ids[p.ID], titles[p.Title] = true, true
			if p.GridPos.X+p.GridPos.W > 24 || p.GridPos.W < 4 {
				t.Errorf("%s: got place %+v", p.Title, p.GridPos)
			}
			if p.Type == "row" {
				continue
			}
			if p.Title == "" || !strings.HasSuffix(p.Description, ".") || p.Datasource.UID != "$datasource" {
				t.Errorf("%s: got description %q, data source %+v", p.Title, p.Description, p.Datasource)
			}
			if p.FieldConfig.Defaults.Unit == "" && len(p.FieldConfig.Defaults.Mappings) == 0 {
				t.Errorf("%s: got no unit", p.Title)
			}
			if len(p.Targets) == 0 {
				t.Errorf("%s: got no query", p.Title)
			}
			for _, q := range p.Targets {
				for _, fault := range faults(q) {
					t.Errorf("%s %s: %s", p.Title, q.RefID, fault)
				}
				if q.Datasource.UID != "$datasource" {
					t.Errorf("%s %s: got data source %+v", p.Title, q.RefID, q.Datasource)
				}
				if p.Type == "timeseries" && q.LegendFormat == "" {
					t.Errorf("%s %s: got no legend", p.Title, q.RefID)
				}
			}
		}
	})
}

// faults says what is wrong with a query. Of increases over what a panel shows,
// instant queries alone may ask.
func faults(q target) (all []string) {
	plain := strings.NewReplacer("$__rate_interval", "91s", "$__range", "1h1m1s").Replace(q.Expr)
	e, err := parse(plain)
	if err != nil {
		return []string{err.Error()}
	}
	parser.Inspect(e, func(node parser.Node, path []parser.Node) error {
		switch n := node.(type) {
		case *parser.VectorSelector:
			all = append(all, unselected(n)...)
			if counter(n) && !slices.ContainsFunc(path, isRate) {
				all = append(all, fmt.Sprintf("%s is a counter and read as it is", n))
			}
		case *parser.MatrixSelector:
			ok := n.Range.String() == "1m31s" || n.Range.String() == "1h1m1s" && q.Instant || n.Range.String() == "1h0m0s"
			if !ok {
				all = append(all, fmt.Sprintf("%s: want $__rate_interval", n))
			}
		}
		return nil
	})
	return all
}

// unselected says when series are not selected by what the user picked.
func unselected(n *parser.VectorSelector) []string {
	want := []string{`job=~"$job"`, `instance=~"$instance"`}
	text := n.String()
	if strings.Contains(text, "sglang[:_]") {
		want = []string{`job=~"$sglang_job"`}
	}
	for _, w := range want {
		if !strings.Contains(text, w) {
			return []string{fmt.Sprintf("%s has no %s", text, w)}
		}
	}
	return nil
}

func counter(n *parser.VectorSelector) bool {
	return strings.HasSuffix(n.Name, "_total") || strings.HasSuffix(n.Name, "_bucket") || strings.HasSuffix(n.Name, "_count") || strings.HasSuffix(n.Name, "_sum")
}

func isRate(n parser.Node) bool {
	c, ok := n.(*parser.Call)
	return ok && slices.Contains([]string{"rate", "increase"}, c.Func.Name)
}

func TestFaultsAreSeen(t *testing.T) {
	f := func(expr string, instant bool, want int) {
		t.Helper()
		if got := faults(target{Expr: expr, Instant: instant}); len(got) != want {
			t.Errorf("%s: got %q, want %d", expr, got, want)
		}
	}
	f(`sum(rate(turnwatch_turns_total{job=~"$job",instance=~"$instance"}[$__rate_interval]))`, false, 0)
	f(`sum(increase(turnwatch_turns_total{job=~"$job",instance=~"$instance"}[$__range]))`, true, 0)
	f(`sum(increase(turnwatch_turns_total{job=~"$job",instance=~"$instance"}[$__range]))`, false, 1)
	f(`sum(rate(turnwatch_turns_total{job=~"$job",instance=~"$instance"}[5m]))`, false, 1)
	f(`sum(turnwatch_turns_total{job=~"$job",instance=~"$instance"})`, false, 1)
	f(`turnwatch_open_streams{job=~"$job"}`, false, 1)
	f(`sum(`, false, 1)
}
