package proxy

import (
	"sync"
	"sync/atomic"
	"time"

	"turnwatch/proxy/turn"
)

// Stats counts what a Server does. Its zero value is ready for use and it is
// safe for concurrent use. A gauge is raised when a thing begins and lowered
// when it ends; everything else only rises.
type Stats struct {
	Requests atomic.Int64 // requests of clients, judged or not
	Judged   atomic.Int64 // requests that were taken for turns
	BytesIn  atomic.Int64 // of request bodies, relayed to the server
	BytesOut atomic.Int64 // of answers, relayed to clients

	ClientsGone     atomic.Int64 // clients that left before the end of their answer
	UpstreamDialed  atomic.Int64 // connections opened to the server
	UpstreamReused  atomic.Int64 // exchanges on a connection that had served before
	Clients         atomic.Int64 // gauge: open connections of clients
	Streams         atomic.Int64 // gauge: answers in progress
	JudgeMemory     atomic.Int64 // gauge: bytes held for judging
	AcceptErrors    atomic.Int64 // connections that could not be accepted
	RefusedRequests atomic.Int64 // requests answered 4xx by us: their framing is not safe to forward

	LoopBusy atomic.Int64 // nanoseconds that loops took for what had come
	LoopLate atomic.Int64 // times that they took longer than 10 ms for it

	behind behind

	dropped  tally
	upstream tally
	skipped  tally

	proofs proofs

	firstByte, chunk                   times // that we add to a turn's first byte, to a read
	judgeRequest, judgeChunk, judgeEnd times
}

// Turn counts the reasons why a schema was not held against a call of a turn.
func (s *Stats) Turn(t *turn.Turn) {
	for _, skip := range t.Skips {
		s.skipped.add(string(skip), 1)
	}
}

// looped counts the time that a loop took to pass on what had come.
func (s *Stats) looped(took time.Duration) {
	s.LoopBusy.Add(int64(took))
	if took > 10*time.Millisecond {
		s.LoopLate.Add(1)
	}
}

// Drop counts something that was given up so that the bytes could pass.
func (s *Stats) Drop(reason turn.Drop) { s.dropped.add(string(reason), 1) }

// UpstreamError counts an exchange that the server spoiled, by the stage at
// which it did: resolve, connect, tls, write, head, body, or first_byte and
// idle for our timeouts.
func (s *Stats) UpstreamError(stage string) { s.upstream.add(stage, 1) }

// maxLabels bounds the labels of a tally. The sets counted here are closed and
// far smaller; the bound keeps a mistake from becoming a leak.
const maxLabels = 128

// overflow is what labels beyond maxLabels are counted under.
const overflow = "other"

// tally counts by label.
type tally struct {
	mu sync.Mutex
	n  map[string]int64
}

func (t *tally) add(label string, n int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.n == nil {
		t.n = make(map[string]int64)
	}
	if _, ok := t.n[label]; !ok && len(t.n) >= maxLabels {
		label = overflow
	}
	t.n[label] += n
}

// counts returns what was counted, with every label in known.
func (t *tally) counts(known ...string) map[string]int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := make(map[string]int64, len(t.n)+len(known))
	for _, label := range known {
		out[label] = 0
	}
	for label, n := range t.n {
		out[label] = n
	}
	return out
}
