package proxy_test

import (
	"flag"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"turnwatch/proxy"
	"turnwatch/proxy/sglangtest"
	"turnwatch/proxy/turn"
	"turnwatch/validate/agents"
)

// rounds is how often each relay gets its share of the sessions. The full size is
//
//	go test ./proxy -run CostsTheClientNothing -v -rounds 60
//
// whose figures are to be looked at: the test itself holds what no busy machine changes.
var rounds = flag.Int("rounds", 2, "rounds of the relays with and without bad arms")

// cost is what clients of one relay saw.
type cost struct {
	name   string
	m      *mirrored
	mu     sync.Mutex
	took   []time.Duration // of turns
	bytes  int64
	errors int
	memory int64 // greatest that was held for judging
}

// round plays sessions, four at a time.
func (c *cost) round(from, sessions int) {
	var next atomic.Int64
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for i := next.Add(1); i <= int64(sessions); i = next.Add(1) {
				s := agents.NewSession(uint64(from) + uint64(i))
				for n := 1; n <= s.Turns(); n++ {
					begin := time.Now()
					answer, err := c.m.ask(s, n)
					c.note(time.Since(begin), int64(len(answer)), err)
				}
			}
		})
	}
	wg.Wait()
}

func (c *cost) note(took time.Duration, n int64, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.took = append(c.took, took)
	c.bytes += n
	if err != nil {
		c.errors++
	}
	c.memory = max(c.memory, c.m.Stats().JudgeMemory.Load())
}

func (c *cost) quantile(q float64) time.Duration {
	slices.Sort(c.took)
	return c.took[int(q*float64(len(c.took)-1))].Round(10 * time.Microsecond)
}

// TestShadowOfBadArmsCostsTheClientNothing: with all requests sent to an arm that is
// dead, stalled, slow or flooding, and to a good one, clients get the same bytes without
// an error, and memory stays bounded. The relays take turns, so that their times can be
// compared.
func TestShadowOfBadArmsCostsTheClientNothing(t *testing.T) {
	const perRound, limit = 8, 64 << 20
	live := simulator(t, sglangtest.Config{Step: time.Millisecond})
	relays := []*cost{{name: "off"}}
	relays[0].m = mirrors(t, live.URL, proxy.Config{JudgeMemory: limit})
	good := simulator(t, sglangtest.Config{Step: time.Millisecond})
	for _, arm := range []struct{ name, url string }{{"good", good.URL}, {"dead", dead(t)}, {"stalled", stalled(t)}, {"slow reader", slowReader(t)}, {"flooding", flooding(t)}} {
		m := mirrors(t, live.URL, proxy.Config{JudgeMemory: limit, Shadow: hasty(proxy.ShadowConfig{Arms: []proxy.ShadowArm{{Arm: turn.Candidate, URL: arm.url}}})})
		relays = append(relays, &cost{name: arm.name, m: m})
	}
	var heap uint64
	for r := range *rounds {
		for _, c := range relays {
			c.round(1000*r, perRound)
			var ms runtime.MemStats
			runtime.ReadMemStats(&ms)
			heap = max(heap, ms.HeapAlloc)
		}
	}
	for _, c := range relays {
		t.Logf("%-12s p50 %v, p99 %v, max %v of %d turns; %d errors, %d bytes, %d KiB held for judging at most", c.name, c.quantile(0.5), c.quantile(0.99), c.quantile(1),
			len(c.took), c.errors, c.bytes, c.memory>>10)
		if c.errors != 0 || c.bytes != relays[0].bytes {
			t.Errorf("%s: got %d errors and %d bytes, want none and %d", c.name, c.errors, c.bytes, relays[0].bytes)
		}
		if c.memory > limit {
			t.Errorf("%s: got %d bytes held, want %d at most", c.name, c.memory, limit)
		}
		if c.name != "off" {
			c.m.await(len(c.took))
			c.m.balanced(turn.Candidate, len(c.took))
			t.Logf("%-12s %v", "", fmt.Sprint(c.m.why(turn.Candidate)))
		}
	}
	t.Logf("heap of all at most %d MiB", heap>>20)
}
