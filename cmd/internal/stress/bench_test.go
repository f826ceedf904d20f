package stress

import (
	"context"
	"testing"
	"time"

	"turnwatch/proxy/sglangtest"
)

func BenchmarkRun(b *testing.B) {
	s := sglangtest.NewServer(sglangtest.Config{Step: 5 * time.Millisecond, Plugin: true})
	defer s.Close()
	for b.Loop() {
		res, err := Run(context.Background(), Load{Targets: []Target{{URL: s.URL}}, Sessions: 100, Concurrency: []int{10}, Work: Work{Streamed: 1}})
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(res.Client.PerEvent())/1e3, "µs/event")
		b.ReportMetric(float64(res.Client.Events)/res.Client.Took.Seconds(), "events/s")
	}
}
