package main

import (
	"encoding/json"
	"fmt"

	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/common"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
)

// board is a dashboard as the tables describe it.
type board struct {
	uid, title, help string
	rows             []row
}

// row is a row of panels. A panel's width is that of its row: 24 units shared.
type row struct {
	title  string
	height uint32
	panels []panel
}

// folder is where SGLang's own dashboard is provisioned, too.
const folder = "SGLang Monitoring"

// source is the data source that a user picks.
func source() common.DataSourceRef {
	return common.DataSourceRef{Type: cog.ToPtr("prometheus"), Uid: cog.ToPtr("$datasource")}
}

// json builds the dashboard. Places and ids follow from the order of the
// tables, so that they are the same whenever it is built.
func (d board) json() ([]byte, error) {
	b := dashboard.NewDashboardBuilder(d.title).
		Uid(d.uid).
		Description(d.help).
		Tags([]string{"turnwatch", "sglang"}).
		Readonly().
		Refresh("30s").
		Time("now-1h", "now").
		Timezone(common.TimeZoneBrowser).
		Tooltip(dashboard.DashboardCursorSyncCrosshair).
		Link(dashboard.NewDashboardLinkBuilder("turnwatch and SGLang").
			Type(dashboard.DashboardLinkTypeDashboards).Tags([]string{"sglang"}).
			AsDropdown(false).IncludeVars(true).KeepTime(true)).
		Link(ownDashboard())
	for _, v := range variables() {
		b.WithVariable(v)
	}
	d.lay(b)
	built, err := b.Build()
	if err != nil {
		return nil, err
	}
	raw, err := json.MarshalIndent(built, "", "  ")
	return append(raw, '\n'), err
}

// ownDashboard leads to the dashboard that SGLang comes with.
func ownDashboard() cog.Builder[dashboard.DashboardLink] {
	return dashboard.NewDashboardLinkBuilder("SGLang's own dashboard").Type(dashboard.DashboardLinkTypeLink).
		Url("/d/sglang-dashboard").Icon("dashboard").Tags([]string{}).KeepTime(true)
}

// lay puts the panels in their places.
func (d board) lay(b *dashboard.DashboardBuilder) {
	id, y := uint32(1), uint32(0)
	for _, r := range d.rows {
		b.WithRow(dashboard.NewRowBuilder(r.title).Id(id).
			GridPos(dashboard.GridPos{H: 1, W: 24, X: 0, Y: y}))
		id, y = id+1, y+1
		w := 24 / uint32(len(r.panels))
		for i, p := range r.panels {
			b.WithPanel(p.build(id, dashboard.GridPos{H: r.height, W: w, X: uint32(i) * w, Y: y}))
			id++
		}
		y += r.height
	}
}

// panels tells where a panel is, by its title.
type panels map[string]place

// place names a panel to Grafana.
type place struct {
	board string
	id    uint32
}

// add notes the panels of a dashboard, numbered as lay does.
func (p *panels) add(d board) {
	if *p == nil {
		*p = panels{}
	}
	id := uint32(1)
	for _, r := range d.rows {
		id++
		for _, q := range r.panels {
			(*p)[q.title] = place{d.uid, id}
			id++
		}
	}
}

// variables are the same in every dashboard, so that links carry them over.
func variables() []cog.Builder[dashboard.VariableModel] {
	all := []cog.Builder[dashboard.VariableModel]{
		dashboard.NewDatasourceVariableBuilder("datasource").Label("Data source").Type("prometheus"),
		choice("job", "Job", "label_values(turnwatch_build_info, job)"),
		choice("instance", "Instance", `label_values(turnwatch_build_info{job=~"$job"}, instance)`),
		choice("model", "Model", `label_values(turnwatch_turns_total{job=~"$job",instance=~"$instance"}, gen_ai_request_model)`),
		choice("arm", "Arm", `label_values(turnwatch_turns_total{job=~"$job",instance=~"$instance"}, turnwatch_arm)`),
		choice("sglang_job", "SGLang's job", `label_values({__name__=~"sglang[:_]num_running_reqs"}, job)`),
	}
	return all
}

// choice is a variable of the values that a label has.
func choice(name, label, query string) cog.Builder[dashboard.VariableModel] {
	return dashboard.NewQueryVariableBuilder(name).Label(label).
		Datasource(source()).
		Query(dashboard.StringOrMap{String: &query}).
		Refresh(dashboard.VariableRefreshOnTimeRangeChanged).
		Sort(dashboard.VariableSortAlphabeticalAsc).
		Multi(true).IncludeAll(true).AllValue(".+").
		Current(dashboard.VariableOption{
			Text:  dashboard.StringOrArrayOfString{ArrayOfString: []string{"All"}},
			Value: dashboard.StringOrArrayOfString{ArrayOfString: []string{"$__all"}},
		})
}

// ref names a query within its panel.
func ref(i int) string { return fmt.Sprintf("%c", 'A'+i) }
