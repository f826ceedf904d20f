package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"
)

// gathered is all that was sent to a server.
type gathered struct {
	mu  sync.Mutex
	all []byte
}

func (g *gathered) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	b, _ := io.ReadAll(r.Body)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.all = append(g.all, b...)
}

func (g *gathered) has(s string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return bytes.Contains(g.all, []byte(s))
}

// TestContentIsToldWhereItIsAskedFor, of corrupted turns alone, and masked.
func TestContentIsToldWhereItIsAskedFor(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"id":"x","object":"chat.completion","model":"m","choices":[{"index":0,"finish_reason":"tool_calls","message":{"role":"assistant","content":null,`+
			`"tool_calls":[{"id":"c","type":"function","function":{"name":"locate","arguments":"{\"planet\":\"Mars\",\"key\":\"sk-abc123\",}"}}]}}]}`)
	}))
	defer server.Close()
	f := func(told bool, args ...string) {
		t.Helper()
		var sent gathered
		sink := httptest.NewServer(&sent)
		defer sink.Close()
		t.Setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", sink.URL+"/v1/traces")
		t.Setenv("OTEL_BSP_SCHEDULE_DELAY", "10")
		p := launch(t, append([]string{"-upstream", server.URL, "-evidence", t.TempDir(), "-evidence-bodies", "-evidence-redact", "sk-[a-z0-9]+"}, args...)...)
		p.fetch("POST", "http://"+p.addr+"/v1/chat/completions", "", `{"model":"m","messages":[{"role":"user","content":"My key is sk-abc123, where is Mars?"}],`+
			`"tools":[{"type":"function","function":{"name":"locate","parameters":{"type":"object"}}}]}`)
		for begin := time.Now(); !sent.has("turnwatch.verdict") && time.Since(begin) < patience; time.Sleep(5 * time.Millisecond) {
		}
		for _, s := range []string{"gen_ai.input.messages", "gen_ai.output.messages", "gen_ai.tool.definitions", "where is Mars?", `\"planet\":\"Mars\"`} {
			if sent.has(s) != told {
				t.Errorf("%v: %s is told %v, want %v", args, s, sent.has(s), told)
			}
		}
		if !sent.has("turnwatch.verdict") || sent.has("sk-abc123") {
			t.Errorf("%v: no span was sent, or one with the secret", args)
		}
	}
	f(false)
	f(true, "-content")
}
