package sglangtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// converse asks for an answer and returns its head and body.
func converse(t *testing.T, s *Server, key string, stream bool) (*http.Response, string) {
	t.Helper()
	body := fmt.Sprintf(`{"model":"m","stream":%t,"messages":[{"role":"user","content":"hi"}]}`, stream)
	return do(t, s, key, "POST", "/v1/chat/completions", body)
}

func do(t *testing.T, s *Server, key, method, path, body string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequest(method, s.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Connection", "close")
	if key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(b)
}

func TestPluginTellsConfigurationAndBatch(t *testing.T) {
	for _, stream := range []bool{true, false} {
		s := NewServer(Config{Plugin: true, DisableOverlap: true, IndexDtype: "fp8"})
		defer s.Close()
		resp, _ := converse(t, s, "", stream)
		rid := s.Records()[0].RID
		for name, want := range map[string]string{
			"x-sglang-rid": rid, "x-sglang-version": "0.5.18", "x-sglang-dp-rank": "0", "x-sglang-batch-size": "1", "x-sglang-graph-bucket": "1",
			"x-sglang-queue-depth": "0", "x-sglang-config-index-dtype": "fp8", "x-sglang-config-cuda-graph": "on",
			"x-sglang-config-overlap": "off", "x-sglang-turn-facts": FactsPath,
		} {
			if got := resp.Header.Get(name); got != want {
				t.Errorf("stream %t: %s: got %q, want %q", stream, name, got, want)
			}
		}
		_, body := do(t, s, "", "GET", FactsPath+"/"+rid, "")
		var facts struct {
			RID              string `json:"rid"`
			CompletionTokens int    `json:"completion_tokens"`
			Runs             []struct {
				First int     `json:"first_step"`
				Last  int     `json:"last_step"`
				Batch int     `json:"batch"`
				T0    float64 `json:"t0_ms"`
				T1    float64 `json:"t1_ms"`
			} `json:"decode_runs"`
		}
		if err := json.Unmarshal([]byte(body), &facts); err != nil {
			t.Fatalf("%s: %v", body, err)
		}
		n := facts.CompletionTokens
		if r := facts.Runs; facts.RID != rid || len(r) != 1 || r[0].Last-r[0].First+1 != n-1 || r[0].Batch != 1 || r[0].T0 <= 0 || r[0].T1 < r[0].T0 {
			t.Errorf("facts: got %s, want one run of %d steps", body, n-1)
		}
		if resp, _ := do(t, s, "", "GET", FactsPath+"/unknown", ""); resp.StatusCode != 404 {
			t.Errorf("facts of an unknown turn: got %d", resp.StatusCode)
		}
	}
}

func TestPluginIsLeftOut(t *testing.T) {
	f := func(cfg Config, headers bool, facts int) {
		t.Helper()
		s := NewServer(cfg)
		defer s.Close()
		resp, _ := converse(t, s, "", true)
		if got := resp.Header.Get("x-sglang-batch-size") != ""; got != headers {
			t.Errorf("%+v: batch-size: got %t, want %t", cfg, got, headers)
		}
		if got := resp.Header.Get("x-sglang-rid") != ""; got != cfg.Plugin {
			t.Errorf("%+v: rid: got %t, want %t", cfg, got, cfg.Plugin)
		}
		if resp, _ := do(t, s, "", "GET", FactsPath+"/"+s.Records()[0].RID, ""); resp.StatusCode != facts {
			t.Errorf("%+v: facts: got %d, want %d", cfg, resp.StatusCode, facts)
		}
	}
	f(Config{}, false, 404)
	f(Config{Plugin: true}, true, 200)
	f(Config{Plugin: true, Omit: []string{"batch-size"}}, false, 200)
	f(Config{Plugin: true, Omit: []string{"facts"}}, true, 404)
}

func TestKeysAreWantedAndShown(t *testing.T) {
	s := NewServer(Config{APIKey: "key-a", AdminAPIKey: "key-b"})
	defer s.Close()
	f := func(key, path string, want int) string {
		t.Helper()
		resp, body := do(t, s, key, "GET", path, "")
		if resp.StatusCode != want {
			t.Errorf("%s with %q: got %d, want %d", path, key, resp.StatusCode, want)
		}
		return body
	}
	f("", "/server_info", 401)
	f("wrong", "/v1/loads", 401)
	f("", "/metrics", 200)
	f("", "/ping", 200)
	if body := f("key-a", "/server_info", 200); !strings.Contains(body, `"api_key":"key-a"`) || !strings.Contains(body, `"admin_api_key":"key-b"`) {
		t.Errorf("/server_info shows no keys: %s", body)
	}
	if resp, _ := converse(t, s, "", true); resp.StatusCode != 401 {
		t.Errorf("a turn without a key: got %d", resp.StatusCode)
	}
}

// lines collects what is written.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func TestStatusLogTellsWhoSharesTheBatch(t *testing.T) {
	var log lines
	s := NewServer(Config{StatusLog: &log, StatusEvery: time.Nanosecond})
	defer s.Close()
	s.Pause()
	done := make(chan struct{})
	for range 2 {
		go func() { converse(t, s, "", true); done <- struct{}{} }()
	}
	for s.Load().Waiting < 2 {
		time.Sleep(time.Millisecond)
	}
	s.Resume()
	<-done
	<-done
	log.mu.Lock()
	defer log.mu.Unlock()
	first, _, _ := strings.Cut(log.b.String(), "\n")
	for _, r := range s.Records() {
		if !strings.Contains(first, `"`+r.RID+`"`) {
			t.Errorf("the first line has no %s: %s", r.RID, first)
		}
	}
	if !strings.Contains(first, `"event":"scheduler.status"`) {
		t.Errorf("got %s", first)
	}
}

func TestLoadsTellTheEndAtOnce(t *testing.T) {
	s := NewServer(Config{LoadsEvery: 1 << 30})
	defer s.Close()
	converse(t, s, "", true)
	if _, body := do(t, s, "", "GET", "/v1/loads", ""); !strings.Contains(body, `"num_running_reqs":0`) {
		t.Errorf("idle: got %s", body)
	}
}

func TestEachEventTellsItsUsage(t *testing.T) {
	s := NewServer(Config{})
	defer s.Close()
	_, body := do(t, s, "", "POST", "/v1/chat/completions",
		`{"model":"m","stream":true,"stream_options":{"continuous_usage_stats":true},"messages":[{"role":"user","content":"hi"}]}`)
	last := 0
	for line := range strings.Lines(body) {
		data, ok := strings.CutPrefix(line, "data: {")
		if !ok {
			continue
		}
		var e struct {
			Usage struct {
				CompletionTokens int `json:"completion_tokens"`
			}
		}
		if err := json.Unmarshal([]byte("{"+data), &e); err != nil {
			t.Fatal(err)
		}
		if got := e.Usage.CompletionTokens; got < max(last, 1) {
			t.Errorf("got %d tokens after %d: %s", got, last, line)
		}
		last = e.Usage.CompletionTokens
	}
	if want := s.Records()[0].CompletionTokens; last != want {
		t.Errorf("the last event tells %d tokens, want %d", last, want)
	}
}
