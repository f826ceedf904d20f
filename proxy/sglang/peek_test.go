package sglang

import (
	"testing"
	"time"

	"turnwatch/proxy/turn"
)

// TestPeekTellsWhatIsKnownAtTheHead, as Tag does later.
func TestPeekTellsWhatIsKnownAtTheHead(t *testing.T) {
	g := newTagger(t, Config{Labels: map[string]string{"gpu": "h200"}}, nil)
	w := g.Begin()
	if got, want := show(w.Peek()), "gpu=h200/label"; got != want {
		t.Errorf("before the head: got %s, want %s", got, want)
	}
	w.Head([]byte("HTTP/1.1 200 OK\r\nx-sglang-batch-size: 7\r\nx-sglang-config-cuda-graph: 1\r\nx-sglang-dp-rank: 3\r\n\r\n"))
	peek := w.Peek()
	if got, want := show(peek), "batch_at_head=7/header cuda_graph=on/header dp_rank=3/header gpu=h200/label"; got != want {
		t.Errorf("after the head: got %s, want %s", got, want)
	}
	if own := peek["batch_at_head"]; own.Value != "7" {
		t.Errorf("batch_at_head: got %v, want the header's", own)
	}
	w.End()
	u := &turn.Turn{Time: time.Now(), Status: 200}
	if tag(w, u, func() {}); peek["fingerprint"].Value != u.Fingerprint {
		t.Errorf("fingerprint: got %v, want %s", peek["fingerprint"], u.Fingerprint)
	}
}
