package main

import (
	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/common"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/heatmap"
	"github.com/grafana/grafana-foundation-sdk/go/prometheus"
	"github.com/grafana/grafana-foundation-sdk/go/stat"
	"github.com/grafana/grafana-foundation-sdk/go/table"
	"github.com/grafana/grafana-foundation-sdk/go/timeseries"
)

// shape is how a panel shows its numbers.
type shape int

// The shapes.
const (
	lines  shape = iota
	number       // the latest value
	heat         // a histogram over time
	grid         // a table of labels
)

// panel is one panel as the tables describe it.
type panel struct {
	title, help string
	shape       shape
	unit        string
	queries     []query
	points      bool     // lines: draw points, where a line between them says nothing
	signed      bool     // lines: below zero is as good as above
	right       string   // lines: the legend of the series that has an axis of its own
	bad         *float64 // number: from here on it is red
	hide        []string // grid: labels that are not shown
}

// query is a question to Prometheus.
type query struct {
	expr, legend string
	exemplars    bool
}

// builder builds a panel of any shape.
type builder = cog.Builder[dashboard.Panel]

func (p panel) build(id uint32, at dashboard.GridPos) builder {
	switch p.shape {
	case number:
		return p.number(id, at)
	case heat:
		return p.heat(id, at)
	case grid:
		return p.table(id, at)
	}
	return p.lines(id, at)
}

func (p panel) lines(id uint32, at dashboard.GridPos) builder {
	b := timeseries.NewPanelBuilder().Id(id).Title(p.title).Description(p.help).
		Datasource(source()).GridPos(at).Unit(p.unit).
		FillOpacity(8).ShowPoints(common.VisibilityModeNever).
		Legend(common.NewVizLegendOptionsBuilder().ShowLegend(true).DisplayMode(common.LegendDisplayModeTable).
			Placement(common.LegendPlacementBottom).Calcs([]string{"lastNotNull", "max"})).
		Tooltip(common.NewVizTooltipOptionsBuilder().Mode(common.TooltipDisplayModeMulti).Sort(common.SortOrderDescending))
	if !p.signed {
		b.Min(0)
	}
	if p.points {
		b.ShowPoints(common.VisibilityModeAlways)
	}
	if p.right != "" {
		b.Links([]cog.Builder[dashboard.DashboardLink]{ownDashboard()})
		b.OverrideByName(p.right, []dashboard.DynamicConfigValue{
			{Id: "custom.axisPlacement", Value: "right"}, {Id: "unit", Value: "short"}, {Id: "custom.fillOpacity", Value: 0},
			{Id: "custom.lineStyle", Value: map[string]any{"fill": "dash", "dash": []int{4, 4}}},
		})
	}
	for i, q := range p.queries {
		b.WithTarget(q.build(ref(i)).Range())
	}
	return b
}

func (p panel) number(id uint32, at dashboard.GridPos) builder {
	b := stat.NewPanelBuilder().Id(id).Title(p.title).Description(p.help).
		Datasource(source()).GridPos(at).Unit(p.unit).
		GraphMode(common.BigValueGraphModeNone).ColorMode(common.BigValueColorModeValue).
		ReduceOptions(common.NewReduceDataOptionsBuilder().Calcs([]string{"lastNotNull"}))
	if p.bad != nil {
		b.Thresholds(dashboard.NewThresholdsConfigBuilder().Mode(dashboard.ThresholdsModeAbsolute).
			Steps([]dashboard.Threshold{{Color: "green"}, {Color: "red", Value: p.bad}}))
	}
	for i, q := range p.queries {
		b.WithTarget(q.build(ref(i)).Instant())
	}
	return b
}

func (p panel) heat(id uint32, at dashboard.GridPos) builder {
	b := heatmap.NewPanelBuilder().Id(id).Title(p.title).Description(p.help).
		Datasource(source()).GridPos(at).Unit(p.unit).
		YAxis(heatmap.NewYAxisConfigBuilder().Unit(p.unit).AxisPlacement(common.AxisPlacementLeft)).
		Color(heatmap.NewHeatmapColorOptionsBuilder().Mode(heatmap.HeatmapColorModeScheme).Scheme("Oranges").Steps(64)).
		CellGap(1)
	for i, q := range p.queries {
		b.WithTarget(q.build(ref(i)).Range().Format(prometheus.PromQueryFormatHeatmap))
	}
	return b
}

func (p panel) table(id uint32, at dashboard.GridPos) builder {
	hide := map[string]any{"Time": true, "Value": true, "__name__": true}
	for _, l := range p.hide {
		hide[l] = true
	}
	b := table.NewPanelBuilder().Id(id).Title(p.title).Description(p.help).
		Datasource(source()).GridPos(at).Unit(p.unit).
		Footer(common.NewTableFooterOptionsBuilder().Show(false).Reducer([]string{})).
		WithTransformation(dashboard.DataTransformerConfig{Id: "organize", Options: map[string]any{"excludeByName": hide}})
	for i, q := range p.queries {
		b.WithTarget(q.build(ref(i)).Instant().Format(prometheus.PromQueryFormatTable))
	}
	return b
}

func (q query) build(ref string) *prometheus.DataqueryBuilder {
	b := prometheus.NewDataqueryBuilder().RefId(ref).Expr(q.expr).LegendFormat(q.legend).Datasource(source())
	if q.exemplars {
		b.Exemplar(true)
	}
	return b
}
