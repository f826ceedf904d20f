package sglang_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"turnwatch/proxy"
	"turnwatch/proxy/sglang"
	"turnwatch/proxy/turn"
)

// counter is a sink that counts.
type counter struct{ n, tagged atomic.Int64 }

func (c *counter) Finish(t *turn.Turn) {
	c.n.Add(1)
	if len(t.Own) > 0 {
		c.tagged.Add(1)
	}
}

// TestServerThatHangsDelaysNoAnswer: while every poll and every question for
// facts hangs, for longer than the test may last, and heads are as large and as
// ugly as they can be, clients get their answers one after the other.
func TestServerThatHangsDelaysNoAnswer(t *testing.T) {
	const n, hang = 100, 5 * time.Minute
	release := make(chan struct{})
	ugly := strings.Repeat("\xff\x80é", 12<<10)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			select {
			case <-release:
			case <-r.Context().Done():
			}
			return
		}
		io.Copy(io.Discard, r.Body)
		h := w.Header()
		h.Set("x-sglang-rid", "r1")
		h.Set("x-sglang-turn-facts", "/turns")
		h.Set("x-sglang-ugly", ugly)
		for i := range 300 {
			h.Set(fmt.Sprintf("x-sglang-n%d", i), "v")
		}
		fmt.Fprint(w, `{"id":"r1","choices":[{"index":0,"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}]}`)
	}))
	defer server.Close()
	g, err := sglang.New(sglang.Config{Upstream: server.URL, FactsTimeout: hang, PollTimeout: hang, FactsWorkers: 1, PollMetrics: true})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var run sync.WaitGroup
	run.Go(func() { g.Run(ctx) })
	var seen counter
	url, stop := relay(t, server.URL, func() proxy.TurnTags { return g.Begin() }, &seen)
	client := &http.Client{Timeout: hang / 2, Transport: new(http.Transport)}
	begin := time.Now()
	for range n {
		resp, err := client.Post(url+"/v1/chat/completions", "application/json", strings.NewReader(`{"model":"m","messages":[]}`))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, resp.Body); err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if got := resp.Header.Get("x-sglang-ugly"); got != ugly {
			t.Fatalf("the header came as %d bytes, want %d", len(got), len(ugly))
		}
	}
	t.Logf("%d turns took %v", n, time.Since(begin))
	client.CloseIdleConnections()
	cancel()
	run.Wait()
	close(release)
	stop()
	if got := seen.n.Load(); got != n || seen.tagged.Load() != n {
		t.Errorf("turns: got %d recorded and %d tagged, want %d", got, seen.tagged.Load(), n)
	}
}
