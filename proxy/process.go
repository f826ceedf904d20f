package proxy

import (
	"runtime"
	"time"
)

// processMetrics says how the process itself fares, under the names that
// dashboards for Go programs already use. What the system does not tell is
// left out.
func processMetrics(version string, started time.Time) []Metric {
	build := []Label{{"version", version}, {"goversion", runtime.Version()}}
	all := []Metric{
		{Name: "turnwatch_build_info", Help: "The build that runs.", Gauge: true, Series: []Sample{{build, 1}}},
		Gauge("go_goroutines", "Goroutines that exist.", float64(runtime.NumGoroutine())),
		Gauge("process_start_time_seconds", "When the process started, in seconds since 1970.", float64(started.UnixMilli())/1e3),
	}
	return append(all, systemMetrics()...)
}
