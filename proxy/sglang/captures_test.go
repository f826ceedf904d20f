package sglang_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"testing"

	"turnwatch/proxy"
	"turnwatch/proxy/sglang"
	"turnwatch/proxy/sglangtest"
	"turnwatch/proxy/turn"
)

// toldLoads collects turns, and what is told of the load where evidence is kept.
type toldLoads struct {
	mu    sync.Mutex
	turns map[string]turn.Turn
	loads map[string][]turn.Load
}

func (k *toldLoads) Finish(t *turn.Turn) {
	k.mu.Lock()
	defer k.mu.Unlock()
	kept := *t
	kept.Tags, kept.Own = t.AllTags(), nil
	if k.turns[t.RequestID] = kept; t.Capture != nil {
		k.loads[t.RequestID] = append([]turn.Load{}, t.Capture.Loads...)
	}
}

// TestCapturesAreTaggedByTheirFacts: turns recorded at a real server, played
// back by their bytes, get the batches that it told of them. It tells no times,
// so that the first bad byte is joined by tokens alone.
func TestCapturesAreTaggedByTheirFacts(t *testing.T) {
	all, err := sglangtest.ReadCaptures("../sglangtest/testdata/captures/turns.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := sglangtest.Play(ln, all, sglangtest.PlayConfig{AtOnce: true})
	defer p.Close()
	g, err := sglang.New(sglang.Config{Upstream: p.URL, NoPoll: true, Facts: "/turnwatch/turns"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var run sync.WaitGroup
	run.Go(func() { g.Run(ctx) })
	defer func() { cancel(); run.Wait() }()
	seen := &toldLoads{turns: map[string]turn.Turn{}, loads: map[string][]turn.Load{}}
	url, stop := relayWith(t, proxy.Config{Upstream: p.URL, Capture: 1 << 20, Tags: func() proxy.TurnTags { return g.Begin() }}, seen)
	for i := range all {
		play(t, url, strconv.Itoa(i), &all[i])
	}
	stop()
	corrupted := 0
	for i := range all {
		got, want := seen.turns[strconv.Itoa(i)], factsOf(t, &all[i])
		tag := got.Tags["batch"]
		if tag.Source != "facts" || tag.Value != strconv.Itoa(want.largest) {
			t.Errorf("turn %d: batch: got %+v, want %d by facts", i, tag, want.largest)
		}
		if got.Tags["index_dtype"].Value != "bf16" || got.Tags["rid"].Value == "" && got.Tags["batch_at_head"].Source != "header" {
			t.Errorf("turn %d: tags: got %v", i, got.Tags)
		}
		if got.Outcome != "corrupted" {
			continue
		}
		corrupted++
		onset, err := strconv.Atoi(got.Tags["batch_at_onset"].Value)
		if got.Tags["batch_at_onset"].Source == "facts" && (err != nil || !want.batches[onset]) {
			t.Errorf("turn %d: batch at onset: got %v, none of %v", i, got.Tags["batch_at_onset"], slices.Collect(maps.Keys(want.batches)))
		}
		n := 0
		for _, l := range seen.loads[strconv.Itoa(i)] {
			if l.Source == "facts" && l.First != nil && want.batches[l.Batch] {
				n++
			}
		}
		if n != want.runs {
			t.Errorf("turn %d: runs in the evidence: got %d, want %d", i, n, want.runs)
		}
	}
	if corrupted == 0 {
		t.Error("no turn was corrupted")
	}
}

// recordedFacts is what a capture's facts say.
type recordedFacts struct {
	largest, runs int
	batches       map[int]bool
}

func factsOf(t *testing.T, r *sglangtest.Recording) (f recordedFacts) {
	t.Helper()
	var raw struct {
		Runs []struct{ Batch int } `json:"decode_runs"`
	}
	if err := json.Unmarshal(r.Facts, &raw); err != nil {
		t.Fatal(err)
	}
	f.batches, f.runs = make(map[int]bool), len(raw.Runs)
	for _, run := range raw.Runs {
		f.largest, f.batches[run.Batch] = max(f.largest, run.Batch), true
	}
	return f
}

// play sends a recorded request and checks the answer.
func play(t *testing.T, url, id string, r *sglangtest.Recording) {
	t.Helper()
	req, err := http.NewRequest(r.Method, url+r.Path, bytes.NewReader(r.Body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Request-Id", id)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		t.Fatal(err)
	}
}
