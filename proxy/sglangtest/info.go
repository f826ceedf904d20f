package sglangtest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// info answers the paths that say something about the server.
func (s *Server) info(w *writer, req *http.Request) {
	shape, ok := map[string]func() any{
		"/model_info": s.modelInfo, "/get_model_info": s.modelInfo,
		"/server_info": s.serverInfo, "/get_server_info": s.serverInfo,
		"/v1/loads": s.loads, "/v1/models": s.models,
	}[req.URL.Path]
	switch {
	case ok:
		if s.allow(w, req, "GET") {
			b, _ := json.Marshal(shape()) // plain data
			w.json(http.StatusOK, b)
		}
	case strings.HasPrefix(req.URL.Path, FactsPath+"/") && s.plugged("facts"):
		if s.allow(w, req, "GET") {
			s.facts(w, strings.TrimPrefix(req.URL.Path, FactsPath+"/"), s.owns(req))
		}
	case req.URL.Path == "/turnwatch/healthz" && s.cfg.Plugin:
		w.json(http.StatusOK, []byte(`{"status":"ok"}`))
	case req.URL.Path == "/metrics":
		if s.allow(w, req, "GET") {
			w.full(http.StatusOK, "text/plain; version=0.0.4; charset=utf-8", []byte(s.metrics()))
		}
	case req.URL.Path == "/ping":
		if s.allow(w, req, "GET") {
			w.full(http.StatusOK, "", nil)
		}
	default:
		s.notFound(w)
	}
}

type object = map[string]any

func (s *Server) modelInfo() any {
	return object{
		"model_path": s.cfg.Model, "served_model_name": s.cfg.Model, "tokenizer_path": s.cfg.Model, "is_generation": true,
		"preferred_sampling_params": nil, "weight_version": "default", "load_format": "auto", "reasoning_parser": nil,
		"tool_call_parser": s.cfg.Parser, "has_image_understanding": false, "has_audio_understanding": false,
		"model_type": "deepseek_v4", "architectures": []string{"DeepseekV4ForCausalLM"},
	}
}

// serverInfo shows the arguments a reader of configurations looks at. The type
// of the index keys has no argument of its own in SGLang; the one nearest to
// it stands in.
func (s *Server) serverInfo() any {
	graph := object{"backend": "full", "max_bs": s.cfg.Buckets[len(s.cfg.Buckets)-1], "bs": s.cfg.Buckets}
	if s.cfg.DisableCUDAGraph {
		graph = object{"backend": "disabled", "max_bs": 0, "bs": []int{}}
	}
	load, count := s.Load(), s.Counters()
	return object{
		"model_path": s.cfg.Model, "served_model_name": s.cfg.Model, "weight_version": "default", "load_format": "auto",
		"dtype": "bfloat16", "quantization": "fp8", "kv_cache_dtype": "fp8_e4m3", "tool_call_parser": s.cfg.Parser, "reasoning_parser": nil,
		"dsa_indexer_dtype": s.cfg.IndexDtype, "attention_backend": "dsa", "sampling_backend": "flashinfer", "grammar_backend": "xgrammar",
		"disable_cuda_graph": s.cfg.DisableCUDAGraph, "cuda_graph_config": object{"decode": graph}, "disable_overlap_schedule": s.cfg.DisableOverlap,
		"tp_size": 1, "dp_size": 1, "ep_size": 1, "pp_size": 1, "page_size": 64, "stream_interval": 1, "enable_metrics": true,
		"max_running_requests": s.cfg.MaxRunning, "random_seed": s.cfg.Seed, "api_key": orNil(s.cfg.APIKey), "admin_api_key": orNil(s.cfg.AdminAPIKey),
		"status": "ready", "max_total_num_tokens": 1 << 20, "max_req_input_len": 131072, "startup_time": seconds(s.begin), "version": s.cfg.Version,
		"internal_states": []any{object{"last_gen_throughput": s.throughput(count), "effective_max_running_requests_per_dp": s.cfg.MaxRunning,
			"num_running_reqs": load.Running, "memory_usage": object{"weight": 0.0, "kvcache": 0.0, "token_capacity": 1 << 20, "graph": 0.0}}},
	}
}

func orNil(s string) any {
	if s == "" {
		return nil
	}
	return s
}

func seconds(t time.Time) float64 { return float64(t.UnixMicro()) / 1e6 }

// throughput is the mean since the start.
func (s *Server) throughput(c Counters) float64 {
	return float64(c.Tokens) / max(time.Since(s.begin).Seconds(), 1e-3)
}

func (s *Server) loads() any {
	load, c, now := s.told(), s.Counters(), seconds(time.Now())
	return object{"timestamp": now, "version": s.cfg.Version, "accelerator": "simulated", "num_accelerators": 1, "loads": []any{object{
		"timestamp": now, "dp_rank": 0, "num_running_reqs": load.Running, "num_waiting_reqs": load.Waiting, "num_waiting_uncached_tokens": 0,
		"num_used_tokens": 0, "num_total_tokens": 0, "num_active_tokens": 0, "max_total_num_tokens": 1 << 20, "max_running_requests": s.cfg.MaxRunning,
		"token_usage": 0.0, "gen_throughput": s.throughput(c), "total_prefill_uncached_tokens": c.PromptTokens, "cache_hit_rate": 0.0, "utilization": float64(load.Running) / float64(s.cfg.MaxRunning),
		"memory":      object{"weight_gb": 0.0, "kv_cache_gb": 0.0, "graph_gb": 0.0, "token_capacity": 1 << 20},
		"speculative": object{"accept_length": 0.0, "accept_rate": 0.0},
		"queues":      object{"waiting": load.Waiting, "grammar": 0, "paused": 0, "retracted": 0, "prealloc_ready": 0},
	}}}
}

func (s *Server) models() any {
	return object{"object": "list", "data": []any{object{"id": s.cfg.Model, "object": "model", "created": s.begin.Unix(), "owned_by": "sglang",
		"root": s.cfg.Model, "parent": nil, "max_model_len": 131072}}}
}

// metrics writes SGLang's names in the Prometheus text format.
func (s *Server) metrics() string {
	load, c := s.Load(), s.Counters()
	labels := fmt.Sprintf(`model_name=%q,engine_type="unified",tp_rank="0",pp_rank="0",dp_rank="0"`, s.cfg.Model)
	var b strings.Builder
	put := func(kind, name string, value float64) {
		fmt.Fprintf(&b, "# TYPE sglang:%s %s\nsglang:%s{%s} %v\n", name, kind, name, labels, value)
	}
	put("gauge", "num_running_reqs", float64(load.Running))
	put("gauge", "num_queue_reqs", float64(load.Waiting))
	put("gauge", "token_usage", 0)
	put("gauge", "gen_throughput", s.throughput(c))
	put("gauge", "max_total_num_tokens", 1<<20)
	put("counter", "prompt_tokens_total", float64(c.PromptTokens))
	put("counter", "generation_tokens_total", float64(c.Tokens))
	put("counter", "num_requests_total", float64(c.Finished))
	put("counter", "num_aborted_requests_total", float64(c.Aborted))
	fmt.Fprint(&b, "# TYPE sglang:cuda_graph_passes_total counter\n")
	for _, m := range []struct {
		mode string
		n    int64
	}{{"decode_cuda_graph", c.GraphSteps}, {"decode_none", c.Steps - c.GraphSteps}, {"prefill_none", c.Prefills}} {
		fmt.Fprintf(&b, "sglang:cuda_graph_passes_total{%s,mode=%q} %d\n", labels, m.mode, m.n)
	}
	return b.String()
}
