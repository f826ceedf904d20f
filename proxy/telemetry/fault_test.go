package telemetry

import (
	"context"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"sync"
	"testing"
	"time"

	"turnwatch/proxy/turn"
	"turnwatch/validate"
)

// faultTurns is how many turns are finished while a collector is at fault. The
// full size is -fault-turns 200000, which is paced at 10,000 a second.
var faultTurns = flag.Int("fault-turns", 600, "turns to finish while a collector is at fault")

// hung accepts connections and says nothing.
func hung(t testing.TB) string {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	done := make(chan struct{})
	all.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			all.Go(func() { <-done; c.Close() })
		}
	})
	t.Cleanup(func() { ln.Close(); close(done); all.Wait() })
	return "http://" + ln.Addr().String()
}

// answering is a collector that answers so.
func answering(t testing.TB, f http.HandlerFunc) string {
	s := httptest.NewServer(f)
	t.Cleanup(s.Close)
	return s.URL
}

// TestCollectorAtFaultCostsCountedRecords: dead, hung, slow or lying, what it
// does not take is counted, no turn waits for it, and what is held is bounded.
func TestCollectorAtFaultCostsCountedRecords(t *testing.T) {
	for name, url := range map[string]func() string{
		"dead": func() string { return "http://127.0.0.1:1" },
		"hung": func() string { return hung(t) },
		"slow": func() string {
			return answering(t, func(w http.ResponseWriter, r *http.Request) {
				io.Copy(io.Discard, r.Body)
				select {
				case <-time.After(200 * time.Millisecond):
				case <-r.Context().Done():
				}
			})
		},
		"lying": func() string {
			return answering(t, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "application/x-protobuf")
				fmt.Fprint(w, "\xff\xff\xff no protobuf")
			})
		},
		"refusing": func() string {
			return answering(t, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Retry-After", "100000")
				w.WriteHeader(http.StatusServiceUnavailable)
			})
		},
		"endless": func() string {
			return answering(t, func(w http.ResponseWriter, r *http.Request) {
				for b := make([]byte, 1<<16); r.Context().Err() == nil; {
					if _, err := w.Write(b); err != nil {
						return
					}
				}
			})
		},
	} {
		t.Run(name, func(t *testing.T) { atFault(t, url()) })
	}
}

func atFault(t *testing.T, url string) {
	before := heap()
	queue := 256
	if *faultTurns >= 100_000 {
		queue = 2048
	}
	r := start(t, Config{}, fmt.Sprint("OTEL_BSP_MAX_QUEUE_SIZE=", queue), fmt.Sprint("OTEL_BLRP_MAX_QUEUE_SIZE=", queue), "OTEL_EXPORTER_OTLP_ENDPOINT="+url, "OTEL_LOGS_EXPORTER=otlp", "OTEL_BSP_SCHEDULE_DELAY=10", "OTEL_BLRP_SCHEDULE_DELAY=10",
		"OTEL_METRIC_EXPORT_INTERVAL=50", "OTEL_EXPORTER_OTLP_TIMEOUT=300", "OTEL_BSP_EXPORT_TIMEOUT=300", "OTEL_BLRP_EXPORT_TIMEOUT=300")
	var slowest time.Duration
	began := time.Now()
	for i := range *faultTurns {
		if *faultTurns >= 100_000 {
			time.Sleep(time.Until(began.Add(time.Duration(i) * 100 * time.Microsecond)))
		}
		one := aTurn(corrupted(validate.SchemaValue), inSession(fmt.Sprint(i%100)))
		at := time.Now()
		r.Finish(one)
		slowest = max(slowest, time.Since(at))
	}
	held := heap() - before
	t.Logf("%d turns in %v, the slowest took %v; %.1f MiB held", *faultTurns, time.Since(began).Round(time.Millisecond), slowest, float64(held)/(1<<20))
	if held > 64<<20 {
		t.Errorf("memory: got %d MiB more, want 64 at most", held>>20)
	}
	if slowest > patience/3 {
		t.Errorf("a turn waited for %v", slowest)
	}
	endWithin(r, time.Second)
	for _, signal := range []string{traces, logs} {
		sent, full, failed := r.own.exported.get(signal), r.own.dropped.get(signal+" "+queueFull), r.own.dropped.get(signal+" "+exportFailed)
		if got := sent + full + failed; got > int64(*faultTurns) || got < int64(*faultTurns-queue-512) {
			t.Errorf("%s: got %d sent, %d without room and %d failed of %d", signal, sent, full, failed, *faultTurns)
		}
	}
}

// heap is what is held, after what is not was freed.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestEveryCorruptedTurnIsExported while there is room, whatever comes beside
// them; and where there is little, they have it before others.
func TestEveryCorruptedTurnIsExported(t *testing.T) {
	c := newCollector(t)
	r := start(t, Config{Limits: Limits{TraceRate: 1e6, TraceRatio: 1}}, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT="+c.url+"/v1/traces", "OTEL_BSP_SCHEDULE_DELAY=60000", "OTEL_BSP_MAX_EXPORT_BATCH_SIZE=100",
		"OTEL_BSP_MAX_QUEUE_SIZE=600")
	want := map[string]bool{}
	var all sync.WaitGroup
	var mu sync.Mutex
	for range 4 {
		all.Go(func() {
			for i := range 300 {
				one := aTurn()
				if i%10 == 0 {
					one = aTurn(corrupted(validate.SchemaValue))
					_, id := ids(one)
					mu.Lock()
					want[id] = true
					mu.Unlock()
				}
				r.Finish(one)
			}
		})
	}
	all.Wait()
	end(r)
	for id := range want {
		c.span(t, id)
	}
}

// TestManyScrapesAtOnce find the same and disturb nobody.
func TestManyScrapesAtOnce(t *testing.T) {
	r := start(t, Config{})
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			for ctx.Err() == nil {
				scrape(t, r, true)
			}
		})
	}
	for range 500 {
		r.Finish(aTurn(func(t *turn.Turn) { t.Session = "s" }))
	}
	cancel()
	all.Wait()
	has(t, r, `turnwatch_turns_total{turnwatch_batch_range="5-8",turnwatch_suspect="false",turnwatch_verdict="clean"} 500`)
}
