package sglangtest

import (
	"bytes"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"turnwatch/proxy/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

func start(t *testing.T, cfg Config) *Server {
	t.Helper()
	s := NewServer(cfg)
	t.Cleanup(s.Close)
	return s
}

// raw sends bytes and returns all that comes back until the server closes.
func raw(t *testing.T, s *Server, request string) string {
	t.Helper()
	c := dial(t, s)
	io.WriteString(c, request)
	b, err := io.ReadAll(c)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func dial(t *testing.T, s *Server) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(s.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	c.SetDeadline(time.Now().Add(40 * time.Second))
	return c
}

// post sends a chat request and returns status and body.
func post(t *testing.T, s *Server, path string, body any, fields ...string) (int, string) {
	t.Helper()
	b, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	req, _ := http.NewRequest("POST", s.URL+path, bytes.NewReader(b))
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(fields); i += 2 {
		req.Header.Set(fields[i], fields[i+1])
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 40 * time.Second}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	out, _ := io.ReadAll(resp.Body) // a cut is seen in what is missing
	return resp.StatusCode, string(out)
}

func chat(t *testing.T, s *Server, content string, more object) (int, string) {
	t.Helper()
	body := object{"model": "m", "messages": []any{object{"role": "user", "content": content}}}
	for k, v := range more {
		body[k] = v
	}
	return post(t, s, "/v1/chat/completions", body)
}

// await waits for a condition that another goroutine brings about.
func await(t *testing.T, what string, cond func() bool) {
	t.Helper()
	for deadline := time.Now().Add(40 * time.Second); !cond(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: it did not come about", what)
		}
	}
}
