package sglang

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"turnwatch/proxy/turn"
)

// tagged gives a turn its tags after an answer with the given head.
func tagged(t *testing.T, g *Tagger, head string) *turn.Turn {
	t.Helper()
	w := g.Begin()
	w.Head([]byte(head))
	w.End()
	u := &turn.Turn{ID: "t", Time: time.Now(), Status: 200, Ending: "complete"}
	done := make(chan struct{})
	tag(w, u, func() { close(done) })
	select {
	case <-done:
	case <-time.After(slack):
		t.Fatal("the turn was not recorded")
	}
	return u
}

// show writes the tags that are not our own view.
func show(tags map[string]turn.Tag) string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(tags)) {
		if tag := tags[name]; tag.Source != fromOwn {
			all = append(all, fmt.Sprintf("%s=%s/%s", name, tag.Value, tag.Source))
		}
	}
	return strings.Join(all, " ")
}

func TestHeadersBecomeTags(t *testing.T) {
	f := func(cfg Config, head, want string) {
		t.Helper()
		g := newTagger(t, cfg, nil)
		head = "HTTP/1.1 200 OK\r\n" + strings.ReplaceAll(head, "\n", "\r\n") + "\r\n\r\n"
		if got := show(tagged(t, g, head).Tags); got != want {
			t.Errorf("%q:\ngot  %s\nwant %s", head, got, want)
		}
	}
	none := Config{}
	f(none, "content-type: x", "")
	f(none, "x-sglang-batch-size: 7\nX-SGLang-Graph-Bucket: 8\nx-sglang-queue-depth: 0",
		"batch_at_head=7/header graph_bucket=8/header graph_bucket_at_head=8/header queue_at_head=0/header")
	f(none, "x-sglang-rid: abc\nx-sglang-dp-rank: 3\nx-sglang-version: 0.5.18", "dp_rank=3/header rid=abc/header version=0.5.18/header")
	f(none, "x-sglang-config-index-dtype: bf16\nx-sglang-config-cuda-graph: True\nx-sglang-config-overlap: 0",
		"cuda_graph=on/header index_dtype=bf16/header overlap=off/header")
	f(none, "x-sglang-config-disable-overlap-schedule: true\nx-sglang-config-disable-cuda-graph: false", "cuda_graph=on/header overlap_schedule=off/header")
	f(none, "x-sglang-config-tp-size: 1\nx-sglang-config-kv-cache-dtype: fp8_e4m3\nx-sglang-config-quantization: None",
		"kv_cache_dtype=fp8_e4m3/header quantization=none/header tp_size=1/header")
	f(none, "x-sglang-config-version: r1\nx-sglang-gpu-name:  H200 \nx-sglang-gpu-name: second", "gpu_name=H200/header version=r1/header")
	f(none, "x-sglang-turn-facts: /nowhere\nx-sglang-: v\nx-sglang-config-: v\nx-sglang-empty:", "")
	// Graphs are off: there is no bucket, whatever is said.
	f(none, "x-sglang-config-cuda-graph: off\nx-sglang-batch-size: 3\nx-sglang-graph-bucket: 4",
		"batch_at_head=3/header cuda_graph=off/header graph_bucket_at_head=0/header")
	// Lies are not taken.
	f(none, "x-sglang-batch-size: -1\nx-sglang-graph-bucket: many\nx-sglang-queue-depth: 99999999999999999999\nx-sglang-dp-rank: x", "")
	f(none, "x-sglang-batch-size: 0\nx-sglang-batch-size: 1e3\nx-sglang-queue-depth: 1048577", "")
	// What is measured cannot be declared by another way, nor a key be told.
	f(none, "x-sglang-config-batch: 5\nx-sglang-batch: 5\nx-sglang-own-batch-max: 5\nx-sglang-batch-at-onset: 5", "")
	f(none, "x-sglang-config-api-key: k\nx-sglang-admin-api-key: k\nx-sglang-config-hf-secret: k", "")
	f(Config{Prefixes: []string{"X-SGLang-", "x-sgl-"}}, "x-sgl-decode-url: http://d\nx-sglang-a: 1\nx-other: 2", "a=1/header decode_url=http://d/header")
	f(Config{Headers: map[string]string{"X-Request-ID": "gateway_id"}}, "x-request-id: r-1\nx-request-id-more: n", "gateway_id=r-1/header")
	f(Config{Labels: map[string]string{"gpu": "H200", "index_dtype": "fp8"}}, "x-sglang-config-index-dtype: bf16", "gpu=H200/label index_dtype=bf16/header")
}

func TestHostileHeadersAreHarmless(t *testing.T) {
	g := newTagger(t, Config{}, nil)
	f := func(head string) *turn.Turn {
		t.Helper()
		u := tagged(t, g, head)
		if len(u.Tags) > maxTags {
			t.Errorf("%d tags", len(u.Tags))
		}
		for name, tag := range u.Tags {
			if len(name) > maxName || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789_.") != "" {
				t.Errorf("name %q", name)
			}
			if len(tag.Value) > 3*maxValue || !utf8.ValidString(tag.Value) || strings.ContainsFunc(tag.Value, func(r rune) bool { return r < ' ' || r == 0x7f }) {
				t.Errorf("%s: value %q", name, tag.Value)
			}
		}
		return u
	}
	big := strings.Repeat("é", 5<<20)
	head := "HTTP/1.1 200 OK\r\nx-sglang-big: " + big + "\r\nx-sglang-" + big + ": v\r\nx-sglang-rid: " + big + "\r\n\r\n"
	for _, kept := range g.match.copy([]byte(head)) {
		if len(kept.name)+len(kept.value) > 2*maxName+maxValue+8 {
			t.Errorf("of a field %d bytes are kept", len(kept.name)+len(kept.value))
		}
	}
	u := f(head)
	if got := u.Tags["big"].Value; got != strings.Repeat("é", maxValue/2) {
		t.Errorf("big: got %d bytes", len(got))
	}
	u = f("HTTP/1.1 200 OK\r\nx-sglang-a: a\x00b\x1b[31m\xff\xfe\u2028\r\nx-sglang-b\x00\xff: v\r\n\r\n")
	if got := u.Tags["a"].Value; got != "a\uFFFDb\uFFFD[31m\uFFFD\uFFFD" {
		t.Errorf("a: got %q", got)
	}
	var many strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&many, "x-sglang-n%d: %d\r\n", i, i)
	}
	if u = f("HTTP/1.1 200 OK\r\n" + many.String() + "\r\n"); len(u.Tags) > maxFields+10 {
		t.Errorf("5000 fields make %d tags", len(u.Tags))
	}
	for _, head := range []string{"", "\r\n", ":", "x-sglang-", "x-sglang-a", "x-sglang-:\r\n", strings.Repeat("\n", 1000), strings.Repeat(":", 1000)} {
		f(head)
	}
}

func TestSettingsThatWouldBeLostAreErrors(t *testing.T) {
	f := func(cfg Config, want string) {
		t.Helper()
		cfg.Upstream = "http://x"
		if _, err := New(cfg); want == "" != (err == nil) || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: got %v, want %q", cfg, err, want)
		}
	}
	f(Config{}, "")
	f(Config{Labels: map[string]string{"gpu": "x"}, Headers: map[string]string{"X-Y": "y"}, Facts: "/turnwatch/turns"}, "")
	f(Config{Prefixes: []string{""}}, "-tag-prefix")
	f(Config{Prefixes: []string{"a b"}}, "-tag-prefix")
	f(Config{Labels: map[string]string{"Batch": "1"}}, "-label Batch")
	f(Config{Labels: map[string]string{"batch": "1"}}, "-label batch")
	f(Config{Labels: map[string]string{"own_batch_mean": "1"}}, "-label own_batch_mean")
	f(Config{Labels: map[string]string{"api_key": "1"}}, "-label api_key")
	f(Config{Headers: map[string]string{"": "x"}}, "-tag")
	f(Config{Headers: map[string]string{"x-a": "rid"}}, "-tag x-a=rid")
	f(Config{Facts: "http://elsewhere/"}, "-turn-facts")
	f(Config{Facts: "//elsewhere/"}, "-turn-facts")
	f(Config{Facts: "/health"}, "-turn-facts")
	f(Config{Facts: "/a/../b"}, "-turn-facts")
	f(Config{KeyFile: "/nonexistent"}, "-upstream-key-file")
	f(Config{LabelFile: "/nonexistent"}, "-label-file")
}

func TestFingerprintTellsConfigurationsApart(t *testing.T) {
	f := func(same bool, a, b map[string]string) {
		t.Helper()
		if got := fingerprint(listed(a)) == fingerprint(listed(b)); got != same {
			t.Errorf("%v and %v: same is %t", a, b, got)
		}
	}
	one := map[string]string{"a": "1", "b": "2"}
	f(true, one, map[string]string{"b": "2", "a": "1"})
	f(false, one, map[string]string{"a": "1"})
	f(false, one, map[string]string{"a": "1", "b": ""})
	f(false, map[string]string{"a": "1=2"}, map[string]string{"a=1": "2", "x": ""})
	// printf 'a=1\nb=2\n' | sha256sum
	if got := fingerprint(listed(one)); got != "4a73850f" || fingerprint(nil) != "" {
		t.Errorf("got %q and %q", got, fingerprint(nil))
	}
	g := newTagger(t, Config{}, nil)
	const head = "HTTP/1.1 200 OK\r\nx-sglang-config-a: 1\r\nx-sglang-config-b: 2\r\n"
	a := tagged(t, g, head+"x-sglang-rid: 1\r\nx-sglang-batch-size: 1\r\nx-sglang-dp-rank: 1\r\n\r\n")
	b := tagged(t, g, head+"x-sglang-rid: 2\r\nx-sglang-batch-size: 2\r\nx-sglang-dp-rank: 2\r\nx-sglang-worker: w\r\n\r\n")
	if a.Fingerprint != b.Fingerprint || a.Fingerprint == "" {
		t.Errorf("turns of one configuration: got %q and %q", a.Fingerprint, b.Fingerprint)
	}
}

func TestChangeOfConfigurationIsTold(t *testing.T) {
	var told []*turn.ConfigChange
	g := newTagger(t, Config{}, nil)
	g.TellChanges(func(c *turn.ConfigChange) { told = append(told, c) })
	dtype := func(v string) *turn.Turn {
		return tagged(t, g, "HTTP/1.1 200 OK\r\nx-sglang-config-index-dtype: "+v+"\r\n\r\n")
	}
	a, _, b := dtype("bf16"), dtype("bf16"), dtype("fp8")
	if len(told) != 1 || told[0].From != a.Fingerprint || told[0].To != b.Fingerprint ||
		!slices.Equal(told[0].Changed, []turn.Change{{Tag: "index_dtype", From: "bf16", To: "fp8"}}) {
		t.Errorf("got %+v", told)
	}
	for range 50 {
		dtype("bf16")
		dtype("fp8")
	}
	if got := g.Stats().Changes; got != 101 || len(told) > burst+1 {
		t.Errorf("101 changes: %d were counted, %d told", got, len(told))
	}
	// One that began earlier and is tagged later changes nothing.
	w := g.Begin()
	w.Head([]byte("HTTP/1.1 200 OK\r\nx-sglang-config-index-dtype: old\r\n\r\n"))
	w.End()
	dtype("fp8")
	tag(w, &turn.Turn{Time: time.Now()}, func() {})
	if got := g.Stats().Changes; got != 101 {
		t.Errorf("after an older turn: %d changes", got)
	}
}

// TestErrorsChangeNoConfiguration, though they carry no head of the plugin and
// some of what it tells is known from nothing else.
func TestErrorsChangeNoConfiguration(t *testing.T) {
	const good = "HTTP/1.1 200 OK\r\nx-sglang-config-overlap: on\r\nx-sglang-config-index-dtype: bf16\r\n\r\n"
	g := newTagger(t, Config{Labels: map[string]string{"gpu": "h200"}}, nil)
	turnOf := func(status int, head string) *turn.Turn {
		t.Helper()
		w := g.Begin()
		if head != "" {
			w.Head([]byte(head))
		}
		w.End()
		u := &turn.Turn{ID: "t", Time: time.Now(), Status: status}
		tag(w, u, func() {})
		return u
	}
	bad, none := "HTTP/1.1 400 Bad Request\r\n\r\n", ""
	turnOf(502, none) // the server is not up yet
	want := turnOf(200, good).Fingerprint
	for _, u := range []*turn.Turn{turnOf(400, bad), turnOf(200, good), turnOf(502, none), turnOf(200, good)} {
		if got := show(u.Tags); u.Fingerprint != want || got != "gpu=h200/label index_dtype=bf16/header overlap=on/header" {
			t.Errorf("status %d: got %s %s, want %s", u.Status, u.Fingerprint, got, want)
		}
	}
	// A success without a head is of a server without the plugin: nothing is
	// made up for it, and it is no change of those that have it.
	if u := turnOf(200, "HTTP/1.1 200 OK\r\n\r\n"); show(u.Tags) != "gpu=h200/label" {
		t.Errorf("success without a head: got %s", show(u.Tags))
	}
	turnOf(200, good)
	// After a restart nothing of before is told, and an error is no change.
	g.heads.forget()
	if u := turnOf(400, bad); show(u.Tags) != "gpu=h200/label" {
		t.Errorf("error after a restart: got %s", show(u.Tags))
	}
	turnOf(200, good)
	if got := g.Stats().Changes; got != 0 {
		t.Errorf("got %d changes, want none", got)
	}
	turnOf(200, strings.Replace(good, "bf16", "fp8", 1))
	turnOf(502, none)
	if got := g.Stats().Changes; got != 1 {
		t.Errorf("after another dtype: got %d changes, want 1", got)
	}
}

// TestLabelsMayBeDeclaredAnew, while turns pass; bad ones change nothing.
func TestLabelsMayBeDeclaredAnew(t *testing.T) {
	g, err := New(Config{Upstream: "http://127.0.0.1:1", NoPoll: true, Labels: map[string]string{"gpu": "H200"}})
	if err != nil {
		t.Fatal(err)
	}
	gpu := func() turn.Tag { return tagged(t, g, "HTTP/1.1 200 OK\r\n\r\n").Tags["gpu"] }
	if got := gpu(); got.Value != "H200" || got.Source != fromLabel {
		t.Errorf("at first: got %+v", got)
	}
	if err := g.SetLabels(map[string]string{"gpu": "B200"}); err != nil || gpu().Value != "B200" {
		t.Errorf("anew: got %+v, %v", gpu(), err)
	}
	if err := g.SetLabels(map[string]string{"Not A Name": "x"}); err == nil || gpu().Value != "B200" {
		t.Errorf("bad ones: got %+v, %v", gpu(), err)
	}
}
