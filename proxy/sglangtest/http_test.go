package sglangtest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

const plainBody = `{"model":"m","messages":[{"role":"user","content":"x"}]}`

func request(path, fields, body string) string {
	return fmt.Sprintf("POST %s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n%sContent-Length: %d\r\n\r\n%s", path, fields, len(body), body)
}

func TestErrorsHaveSGLangsShapes(t *testing.T) {
	s := start(t, Config{})
	f := func(req, wantStatus, wantBody string) {
		t.Helper()
		got := raw(t, s, req)
		status, _, _ := strings.Cut(got, "\r\n")
		if !strings.HasPrefix(status, "HTTP/1.1 "+wantStatus+" ") || !strings.Contains(got, wantBody) {
			t.Errorf("%.60q: got %q, want %s and %s", req, got, wantStatus, wantBody)
		}
	}
	closing := "Connection: close\r\n"
	f("GET /nothing HTTP/1.1\r\nHost: x\r\n"+closing+"\r\n", "404", `{"detail":"Not Found"}`)
	f("GET /v1/chat/completions HTTP/1.1\r\nHost: x\r\n"+closing+"\r\n", "405", "allow: POST\r\n")
	f("POST /ping HTTP/1.1\r\nHost: x\r\n"+closing+"Content-Length: 0\r\n\r\n", "405", `{"detail":"Method Not Allowed"}`)
	f(request("/v1/chat/completions", closing, `{"messages":[]}`), "400",
		`{"object":"error","message":"Messages cannot be empty.","type":"BadRequestError","param":null,"code":400}`)
	f(request("/v1/chat/completions", closing, strings.Replace(plainBody, "{", `{"max_tokens":-1,`, 1)), "400", "must be positive")
	f(request("/v1/chat/completions", closing, strings.Replace(plainBody, "{", `{"tool_choice":"required",`, 1)), "400", "Tools cannot be empty")
	f(request("/v1/chat/completions", closing, `{`), "400", `"type":"Bad Request","param":null,"code":400}`)
	f(request("/v1/chat/completions", closing, `{"messages":7}`), "400", "1 validation error: body.messages")
	f(request("/v1/messages", closing, plainBody), "404", `{"detail":"Not Found"}`)
	f(strings.Replace(request("/v1/chat/completions", closing, plainBody), "application/json", "text/plain", 1), "400", "Unsupported Media Type")
	f("nonsense\r\n\r\n", "400", "Invalid HTTP request received.")
}

func TestConnectionIsKept(t *testing.T) {
	s := start(t, Config{})
	one := request("/v1/chat/completions", "", plainBody)
	got := raw(t, s, one+one+request("/invocations", "Connection: close\r\n", plainBody)) // pipelined
	if n := strings.Count(got, "HTTP/1.1 200 OK\r\n"); n != 3 {
		t.Errorf("%d answers on one connection, want 3: %q", n, got)
	}
	if n := strings.Count(got, "Connection: close"); n != 1 {
		t.Errorf("Connection: close %d times, want once", n)
	}
}

func TestIdleConnectionIsClosed(t *testing.T) {
	s := start(t, Config{KeepAlive: 20 * time.Millisecond})
	if got := raw(t, s, request("/v1/chat/completions", "", plainBody)); !strings.HasPrefix(got, "HTTP/1.1 200 OK") {
		t.Error(got)
	}
}

func TestHTTP10GetsNoChunks(t *testing.T) {
	s := start(t, Config{})
	body := strings.Replace(plainBody, "{", `{"stream":true,`, 1)
	got := raw(t, s, strings.Replace(request("/v1/chat/completions", "", body), "HTTP/1.1", "HTTP/1.0", 1))
	if strings.Contains(got, "chunked") || !strings.HasSuffix(got, done) {
		t.Error(got)
	}
}

func TestExpectIsAnswered(t *testing.T) {
	s := start(t, Config{})
	got := raw(t, s, request("/v1/chat/completions", "Expect: 100-continue\r\nConnection: close\r\n", plainBody))
	if !strings.HasPrefix(got, "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n") {
		t.Error(got)
	}
}

func TestChunkedRequestIsRead(t *testing.T) {
	s := start(t, Config{})
	req := fmt.Sprintf("POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n",
		len(plainBody), plainBody)
	if got := raw(t, s, req); !strings.HasPrefix(got, "HTTP/1.1 200 OK") {
		t.Error(got)
	}
}

func TestServerSaysWhatItIs(t *testing.T) {
	s := start(t, Config{Model: "sim/model", Version: "0.5.17", Parser: "kimi_k2", DisableCUDAGraph: true, IndexDtype: "fp8"})
	f := func(path string, want ...string) {
		t.Helper()
		resp, err := http.Get(s.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		b, _ := io.ReadAll(resp.Body)
		if resp.StatusCode != 200 || resp.Header.Get("Server") != "uvicorn" {
			t.Errorf("%s: %d %v", path, resp.StatusCode, resp.Header)
		}
		if strings.HasPrefix(resp.Header.Get("Content-Type"), "application/json") && !json.Valid(b) {
			t.Errorf("%s: %s is no JSON", path, b)
		}
		for _, w := range want {
			if !strings.Contains(string(b), w) {
				t.Errorf("%s: no %s in %s", path, w, b)
			}
		}
	}
	defer http.DefaultClient.CloseIdleConnections()
	chat(t, s, "x", nil)
	f("/model_info", `"tool_call_parser":"kimi_k2"`, `"served_model_name":"sim/model"`)
	f("/get_model_info", `"model_path":"sim/model"`)
	f("/server_info", `"disable_cuda_graph":true`, `"version":"0.5.17"`, `"dsa_indexer_dtype":"fp8"`, `"internal_states":[{`)
	f("/get_server_info", `"disable_overlap_schedule":false`)
	f("/v1/loads?include=all", `"num_running_reqs":0`, `"queues":{`)
	f("/v1/models", `"id":"sim/model"`)
	f("/metrics", "sglang:num_running_reqs{", `sglang:cuda_graph_passes_total{model_name="sim/model",engine_type="unified",tp_rank="0",pp_rank="0",dp_rank="0",mode="decode_none"}`)
	f("/health")
	f("/health_generate")
	f("/ping")
}

func TestHealthJoinsTheBatch(t *testing.T) {
	s := start(t, Config{})
	s.Pause()
	go http.Get(s.URL + "/health")
	defer http.DefaultClient.CloseIdleConnections()
	await(t, "it waits", func() bool { return s.Load().Waiting == 1 })
	s.Resume()
	await(t, "it is done", func() bool { return s.Counters().Finished == 1 })
}

func TestCloseCutsWhatRuns(t *testing.T) {
	s := NewServer(Config{Step: time.Millisecond, Script: endless})
	got := make(chan string, 1)
	go func() {
		defer close(got)
		resp, err := http.Post(s.URL+"/v1/chat/completions", "application/json", strings.NewReader(`{"stream":true,`+plainBody[1:]))
		if err != nil {
			return // it was cut before its answer had begun
		}
		defer resp.Body.Close()
		body, _ := io.ReadAll(resp.Body)
		got <- string(body)
	}()
	await(t, "it runs", func() bool { return s.Load().Running == 1 })
	s.Close()
	s.Close() // again does nothing
	if body := <-got; strings.Contains(body, "[DONE]") {
		t.Error(body)
	}
}
