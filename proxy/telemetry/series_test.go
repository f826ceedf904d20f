package telemetry

import (
	"sync"
	"testing"
)

// TestNothingThatWaitsIsLost: turns are counted while metrics are read.
func TestNothingThatWaitsIsLost(t *testing.T) {
	r := start(t, Config{})
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 200 {
				r.Finish(aTurn())
			}
		})
	}
	for range 20 {
		scrape(t, r, false)
	}
	all.Wait()
	has(t, r, `turnwatch_answers_total{http_response_status_code="200"} 800`, `turnwatch_tool_calls_total{result="valid"} 800`,
		`gen_ai_client_token_usage_count{gen_ai_token_type="output"} 800`, `turnwatch_batch_running_sum{turnwatch_verdict="clean"} 5600`)
}
