package sglang

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestLoadsAreRead(t *testing.T) {
	f := func(body, want string) {
		t.Helper()
		r, err := parseLoads([]byte(body))
		got := fmt.Sprint(r.loads, " ", r.version)
		if err != nil {
			got = "error"
		}
		if got != want {
			t.Errorf("%s: got %s, want %s", body, got, want)
		}
	}
	f(`{"version":"0.5.18","loads":[{"dp_rank":0,"num_running_reqs":5,"num_waiting_reqs":2}]}`, "[{0 5 2}] 0.5.18")
	f(`{"loads":[{"dp_rank":0,"num_running_reqs":5},{"dp_rank":1,"num_running_reqs":9,"num_waiting_reqs":1}]}`, "[{0 5 0} {1 9 1}] ")
	f(`[{"dp_rank":0,"num_reqs":7,"num_waiting_reqs":3,"num_tokens":9}]`, "[{0 4 3}] ")
	f(`[{"dp_rank":0,"num_reqs":1,"num_waiting_reqs":3}]`, "[{0 0 3}] ")
	for _, lie := range []string{"-1", "1e9", `"five"`, "null", "[5]", "99999999999999999999"} {
		f(`{"loads":[{"num_running_reqs":`+lie+`}]}`, "error")
		f(`{"loads":[{"num_running_reqs":1},{"num_running_reqs":`+lie+`}]}`, "error")
	}
	for _, bad := range []string{"", "{", "5", `"x"`, "{}", `{"loads":{}}`, `{"loads":[]}`, "[]", "<html>"} {
		f(bad, "error")
	}
	f(`{"loads":[`+strings.TrimSuffix(strings.Repeat(`{"num_running_reqs":1},`, 300), ",")+`]}`, "error")
}

func TestMetricsAreRead(t *testing.T) {
	f := func(text, want string) {
		t.Helper()
		r, err := parseMetrics([]byte(text))
		slices.SortFunc(r.loads, func(a, b load) int { return a.rank - b.rank })
		got := fmt.Sprint(r.loads, " ", r.totals["generation_tokens_total"])
		if err != nil {
			got = "error"
		}
		if got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
	const labels = `{model_name="a,b{}\"c",engine_type="unified",tp_rank="0",pp_rank="0",dp_rank="0"}`
	f("# TYPE sglang:num_running_reqs gauge\nsglang:num_running_reqs"+labels+" 5.0\nsglang:num_queue_reqs"+labels+" 2\nsglang:generation_tokens_total"+labels+" 1.5e3 1795965975000\n", "[{0 5 2}] 1500")
	f("sglang_num_running_reqs"+labels+" 5\r\nother_num_running_reqs 9\n", "[{0 5 0}] 0")
	f("sglang:num_running_reqs 3", "[{0 3 0}] 0")
	f(`sglang:num_running_reqs{dp_rank="0",tp_rank="0"} 1
sglang:num_running_reqs{dp_rank="0",tp_rank="1"} 1
sglang:num_running_reqs{dp_rank="1",tp_rank="0"} 4
sglang:num_queue_reqs{dp_rank="1",tp_rank="0"} 6`, "[{0 1 0} {1 4 6}] 0")
	for _, bad := range []string{"", "x", "sglang:num_running_reqs", "sglang:num_running_reqs x", "sglang:num_running_reqs NaN", "sglang:num_running_reqs -1",
		"sglang:num_running_reqs +Inf", "sglang:num_running_reqs{ 5", `sglang:num_running_reqs{dp_rank="x"} 5`, "sglang", "sglang:"} {
		f(bad, "error")
	}
}

func TestInfoKeepsWhatIsOnTheListAlone(t *testing.T) {
	f := func(body string, want map[string]string, buckets ...int) {
		t.Helper()
		i, err := parseInfo([]byte(body))
		if want == nil {
			if err == nil {
				t.Errorf("%s: got %v, want an error", body, i)
			}
			return
		}
		if err != nil {
			t.Errorf("%s: %v", body, err)
			return
		}
		if fmt.Sprint(i.config) != fmt.Sprint(want) || !slices.Equal(i.buckets, buckets) {
			t.Errorf("%s:\ngot  %v %v\nwant %v %v", body, i.config, i.buckets, want, buckets)
		}
	}
	f(`{"version":"0.5.18","api_key":"sk-1","admin_api_key":"sk-2","host":"10.0.0.1","tp_size":1,"dtype":"bfloat16","quantization":null}`,
		map[string]string{"version": "0.5.18", "tp_size": "1", "dtype": "bfloat16", "quantization": "none"})
	f(`{"disable_cuda_graph":false,"disable_overlap_schedule":true,"cuda_graph_bs":[8,1,4,2],"enable_lora":false}`,
		map[string]string{"cuda_graph": "on", "overlap_schedule": "off", "enable_lora": "off"}, 1, 2, 4, 8)
	f(`{"disable_cuda_graph":false,"cuda_graph_config":{"decode":{"backend":"disabled","bs":[]}}}`,
		map[string]string{"cuda_graph": "off", "cuda_graph_decode_backend": "disabled"})
	f(`{"cuda_graph_config":{"decode":{"backend":"full","bs":[1,-2,"x",1e99]}}}`, map[string]string{"cuda_graph": "on", "cuda_graph_decode_backend": "full"}, 1)
	f(`{"model_path":{"api_key":"sk-1"},"version":"1","dtype":["a"]}`, map[string]string{"version": "1"})
	f(`{"api_key":"sk-1"}`, nil)
	f(``, nil)
	f(`[]`, nil)
	f(`not json`, nil)
}

func TestBucketIsTheNextCapturedSize(t *testing.T) {
	i := &info{buckets: []int{1, 2, 4, 8}}
	for batch, want := range map[int]int{1: 1, 2: 2, 3: 4, 5: 8, 8: 8, 9: 0} {
		if got, ok := i.bucket(batch); got != want || !ok {
			t.Errorf("bucket(%d): got %d, %t, want %d", batch, got, ok, want)
		}
	}
	if _, ok := (*info)(nil).bucket(1); ok {
		t.Error("a bucket is known of an unknown server")
	}
}

func TestLabelsAreRead(t *testing.T) {
	f := func(text, want string) {
		t.Helper()
		got, err := parseLabels(text)
		s := fmt.Sprint(got)
		if err != nil {
			s = "error"
		}
		if s != want {
			t.Errorf("%q: got %s (%v), want %s", text, s, err, want)
		}
	}
	f("", "map[]")
	f("# a launcher wrote this\n\n gpu = H200 \r\ndriver=580.1=x", "map[driver:580.1=x gpu: H200]")
	f("gpu", "error")
	f("GPU=x", "error")
	f("batch=5", "error")
	f("api_key=x", "error")
	f(strings.Repeat("a=1\n", 100), "map[a:1]")
}

func FuzzParsersNeverPanic(f *testing.F) {
	for _, s := range []string{`{"loads":[{"num_running_reqs":5}]}`, `sglang:num_running_reqs{dp_rank="0"} 5`, `{"version":"1","cuda_graph_bs":[1]}`,
		`{"rid":"r","completion_tokens":3,"decode_runs":[{"first_step":1,"last_step":2,"batch":1,"bucket":1,"t0_ms":1,"t1_ms":2}]}`,
		"HTTP/1.1 200 OK\r\nx-sglang-config-a: 1\r\n", `data: {"id":"abc"`} {
		f.Add([]byte(s), int64(3), int64(5))
	}
	f.Fuzz(func(t *testing.T, b []byte, delta, deltas int64) {
		parseLoads(b)
		parseMetrics(b)
		parseInfo(b)
		parseLabels(string(b))
		chatID(b)
		m := newMatcher(&Config{Prefixes: []string{"x-"}})
		m.sort(m.copy(b))
		if facts, err := parseFacts(b, "r"); err == nil {
			facts.largest()
			facts.at(onset{delta: delta, deltas: deltas, at: 3, end: 5, whole: true, each: 1})
			facts.at(onset{delta: delta, deltas: deltas, at: 3, end: 5, each: 4})
			facts.at(onset{tokens: delta, end: 5})
		}
	})
}
