package proxy

import (
	"runtime"
	"time"
)

// ProcessMetrics says how the process itself fares, under the names that
// dashboards for Go programs already use. What the system does not tell is
// left out.
func ProcessMetrics(version string, started time.Time) []Metric {
	build := []Label{{"version", version}, {"goversion", runtime.Version()}}
	all := []Metric{
		{Name: "turnwatch_build_info", Series: []Sample{{Labels: build, Value: 1}}},
		Gauge("go_goroutines", float64(runtime.NumGoroutine())),
		Gauge("process_start_time_seconds", float64(started.UnixMilli())/1e3),
	}
	return append(all, systemMetrics()...)
}
