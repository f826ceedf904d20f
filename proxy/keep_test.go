package proxy_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"turnwatch/proxy"
	"turnwatch/proxy/turn"
	"turnwatch/validate"
)

// keeper copies what the turns lend.
type keeper struct {
	*recorder
	mu   sync.Mutex
	lent map[string]turn.Capture // by request id
}

func newKeeper() *keeper { return &keeper{newRecorder(), sync.Mutex{}, map[string]turn.Capture{}} }

func (k *keeper) Finish(t *turn.Turn) {
	if c := t.Capture; c != nil {
		k.mu.Lock()
		k.lent[t.RequestID] = turn.Capture{Request: copied(c.Request), Answer: copied(c.Answer)}
		k.mu.Unlock()
	}
	k.recorder.Finish(t)
}

func copied(s turn.Said) turn.Said {
	s.Head, s.Body, s.Marks = bytes.Clone(s.Head), bytes.Clone(s.Body), slices.Clone(s.Marks)
	return s
}

// corrupt is an answer whose arguments are no JSON.
const corruptEvents = `data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"f","arguments":"a}"}}]}}]}` + "\n\n" +
	`data: {"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}` + "\n\ndata: [DONE]\n\n"

const cleanEvents = `data: {"choices":[{"index":0,"delta":{"content":"ok"}}]}` + "\n\n" +
	`data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\ndata: [DONE]\n\n"

// askFor is a request whose body has so many more bytes.
func askFor(id string, more int) string {
	body := `{"model":"m","stream":true,"messages":[{"role":"user","content":"` + strings.Repeat("x", more) + `"}],"tools":[{"type":"function","function":{"name":"f"}}]}`
	return head("POST /v1/chat/completions?a=b HTTP/1.1", "Host: x", "X-Request-Id: "+id, fmt.Sprintf("Content-Length: %d", len(body))) + body
}

// TestWhatWasSaidIsLentOfCorruptedTurnsAlone, byte for byte, and given back.
func TestWhatWasSaidIsLentOfCorruptedTurnsAlone(t *testing.T) {
	up := listen(t, "tcp")
	seen := newKeeper()
	p := start(t, up, proxy.Config{Capture: 4 << 20}, seen)
	f := func(name string, more int, events, coding string) {
		t.Helper()
		request, fields := askFor(name, more), []string{"HTTP/1.1 200 OK", "Content-Type: text/event-stream", "Transfer-Encoding: chunked"}
		body := events
		if coding != "" {
			fields, body = append(fields, "Content-Encoding: "+coding), string(compress(coding, []byte(events)))
		}
		answer := head(fields...) + chunked(body, 40)
		c := p.dial()
		c.send(request)
		s := up.next()
		s.read(request)
		s.send(answer)
		c.read(answer)
		c.close()
		got := seen.of(t, name)
		lent, ok := seen.lent[name]
		if events == cleanEvents {
			if ok || got.Outcome != validate.Clean {
				t.Errorf("%s: got %s and lent: %t, want clean and not", name, got.Outcome, ok)
			}
			return
		}
		if got.Outcome != validate.Corrupted || !ok {
			t.Fatalf("%s: got %s and lent: %t, want corrupted and lent", name, got.Outcome, ok)
		}
		if whole := string(lent.Request.Head) + string(lent.Request.Body); whole != request {
			t.Errorf("%s: request: got %s, want %s", name, clip(whole), clip(request))
		}
		if string(lent.Answer.Head) != head(fields...) || string(lent.Answer.Body) != events || lent.Answer.Coding != coding {
			t.Errorf("%s: answer: got %q in %q", name, lent.Answer.Body, lent.Answer.Coding)
		}
		if m := lent.Answer.Marks; len(m) == 0 || m[0].Off != 0 || m[len(m)-1].Off >= len(events) {
			t.Errorf("%s: marks: got %v", name, m)
		}
	}
	f("corrupted", 10, corruptEvents, "")
	f("clean", 10, cleanEvents, "")
	f("full-buffer", 14<<10, corruptEvents, "")
	f("sent-aside", 200<<10, corruptEvents, "")
	f("streamed", 2<<20, corruptEvents, "")
	f("encoded", 10, corruptEvents, "gzip")
	f("encoded-clean", 10, cleanEvents, "gzip")
	emptied(t, p.Stats())
}

// TestWhatASinkWantsIsLentToo, of clients' turns that it names, and given back.
func TestWhatASinkWantsIsLentToo(t *testing.T) {
	up := listen(t, "tcp")
	seen := newKeeper()
	p := start(t, up, proxy.Config{Capture: 4 << 20, Lend: func(t *turn.Turn) bool { return t.RequestID == "wanted" }}, seen)
	whole := head("HTTP/1.1 200 OK", "Content-Type: text/event-stream", "Transfer-Encoding: chunked") + chunked(cleanEvents, 40)
	for _, name := range []string{"wanted", "other"} {
		c := p.dial()
		ask(up, c, askFor(name, 10)).send(whole)
		c.read(whole)
		if got := seen.of(t, name); got.Outcome != validate.Clean {
			t.Errorf("%s: got %s", name, got.Outcome)
		}
	}
	_, other := seen.lent["other"]
	if lent := seen.lent["wanted"]; other || string(lent.Answer.Body) != cleanEvents || len(lent.Request.Body) == 0 {
		t.Errorf("got %q lent, and that of another: %t", lent.Answer.Body, other)
	}
	emptied(t, p.Stats())
}

// TestWhatFindsNoRoomIsJudgedAllTheSame, and it is said what is missing.
func TestWhatFindsNoRoomIsJudgedAllTheSame(t *testing.T) {
	f := func(name string, cfg proxy.Config, more int, request, answer turn.Drop) {
		t.Helper()
		up := listen(t, "tcp")
		seen := newKeeper()
		p := start(t, up, cfg, seen)
		whole := head("HTTP/1.1 200 OK", "Content-Type: text/event-stream", "Transfer-Encoding: chunked") + chunked(corruptEvents, 1000)
		c := p.dial()
		ask(up, c, askFor(name, more)).send(whole)
		c.read(whole)
		if got := seen.of(t, name); got.Outcome != validate.Corrupted {
			t.Errorf("%s: got %s %s, want corrupted", name, got.Outcome, got.Reason)
		}
		lent := seen.lent[name]
		if lent.Request.Lost != request || lent.Answer.Lost != answer {
			t.Errorf("%s: lost: got %q and %q, want %q and %q", name, lent.Request.Lost, lent.Answer.Lost, request, answer)
		}
	}
	f("all", proxy.Config{Capture: 1 << 20}, 10, "", "")
	f("long-request", proxy.Config{Capture: 4 << 10}, 8<<10, turn.DropTooLarge, "")
	f("both", proxy.Config{Capture: 64}, 10, turn.DropTooLarge, turn.DropTooLarge)
	f("memory", proxy.Config{Capture: 1 << 20, JudgeMemory: 300 << 10}, 200<<10, turn.DropEvidenceMemory, "")
}
