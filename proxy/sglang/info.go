package sglang

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tidwall/gjson"
)

// kept are the fields of /server_info and /model_info that are kept: what can
// change an answer, and nothing else. What is not on the list is not looked at.
func kept() []string {
	return strings.Fields(`
		model_path served_model_name weight_version dtype quantization kv_cache_dtype load_format model_type
		attention_backend prefill_attention_backend decode_attention_backend sampling_backend grammar_backend
		dsa_prefill_backend dsa_decode_backend dsa_topk_backend dsa_paged_mqa_logits_backend dsa_indexer_dtype qsa_indexer_dtype
		enable_deepseek_v4_fp4_indexer fp8_gemm_runner_backend fp4_gemm_runner_backend bf16_gemm_backend
		moe_runner_backend moe_a2a_backend tp_size dp_size ep_size pp_size dcp_size enable_dp_attention enable_dp_lm_head
		page_size chunked_prefill_size enable_mixed_chunk disable_overlap_schedule disable_radix_cache
		disable_cuda_graph cuda_graph_max_bs disable_cuda_graph_padding debug_cuda_graph
		enable_two_batch_overlap enable_single_batch_overlap enable_torch_compile enable_flashinfer_allreduce_fusion
		disable_custom_all_reduce speculative_algorithm speculative_num_steps speculative_eagle_topk
		speculative_num_draft_tokens enable_deterministic_inference random_seed max_running_requests mem_fraction_static
		stream_interval incremental_streaming_output tool_call_parser reasoning_parser disaggregation_mode
		enable_hierarchical_cache enable_hisparse enable_lora kv_canary`)
}

// The fields that are read for more than their tag.
const (
	graphBackend = "cuda_graph_config.decode.backend"
	graphSizes   = "cuda_graph_config.decode.bs"
	oldSizes     = "cuda_graph_bs"
	version      = "version"
	interval     = "stream_interval"
)

// info is what a server says of itself. It does not change once it is made.
type info struct {
	at       time.Time         // when it was told
	since    time.Time         // when that start of the server was noticed; zero: the first
	config   map[string]string // canonical
	fields   []field           // the same, listed as it is added to infos
	buckets  []int             // batch sizes that graphs were captured for, ascending
	interval int               // tokens an event
}

var errNoInfo = errors.New("its answer is no object that says something")

// parseInfo reads an answer of /server_info or /model_info.
func parseInfo(body []byte) (*info, error) {
	if !gjson.ValidBytes(body) {
		return nil, errNoInfo
	}
	names := append(kept(), graphBackend, graphSizes, oldSizes, version)
	values := gjson.GetManyBytes(body, names...)
	i := &info{config: make(map[string]string, len(names))}
	for n, v := range values {
		i.take(names[n], v)
	}
	if len(i.config) == 0 {
		return nil, errNoInfo
	}
	slices.Sort(i.buckets)
	return i, nil
}

// take takes one field in. A list or an object is no value of a tag.
func (i *info) take(name string, v gjson.Result) {
	switch {
	case !v.Exists():
	case name == graphSizes, name == oldSizes:
		for _, n := range v.Array() {
			if b := int(n.Int()); b > 0 && plausible(b) && len(i.buckets) < 4096 {
				i.buckets = append(i.buckets, b)
			}
		}
	case name == graphBackend:
		i.backend(v.String())
	case v.IsObject() || v.IsArray():
	default:
		if name == interval {
			i.interval = int(v.Int())
		}
		i.set(name, v)
	}
}

func (i *info) set(name string, v gjson.Result) {
	text := "none"
	switch v.Type {
	case gjson.Null:
	case gjson.True, gjson.False:
		text = word(name, v.Raw)
	default:
		text = clean(v.String())
	}
	if name, text = canonical(name, text); text != "" {
		if _, ok := i.config[name]; !ok {
			i.config[name] = text
		}
	}
}

// backend notes how newer servers replay graphs: what they say there stands
// above the older flag.
func (i *info) backend(name string) {
	i.config["cuda_graph"] = "on"
	if name == "disabled" || name == "" {
		i.config["cuda_graph"] = "off"
	}
	i.config["cuda_graph_decode_backend"] = clean(name)
}

// bucket returns the padded size of a batch, 0 when no graph was captured for
// it; ok is false when that is not known.
func (i *info) bucket(batch int) (n int, ok bool) {
	if i == nil || len(i.buckets) == 0 {
		return 0, false
	}
	at, _ := slices.BinarySearch(i.buckets, batch)
	if at == len(i.buckets) {
		return 0, true
	}
	return i.buckets[at], true
}

// infos are the latest few descriptions of the server, the newest last: a turn
// may be tagged when a new one is known already.
type infos struct {
	mu   sync.Mutex
	list []*info
}

func (l *infos) add(i *info) {
	i.fields = listed(i.config)
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.list) == 4 {
		l.list = slices.Delete(l.list, 0, 1)
	}
	l.list = append(l.list, i)
}

// at returns the description of the server that was known to answer at t;
// before the first, that one; nil if there is none.
func (l *infos) at(t time.Time) (found *info) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for n, i := range l.list {
		if n == 0 || !i.since.After(t) {
			found = i
		}
	}
	return found
}
