package proxy_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"turnwatch/proxy"
	"turnwatch/proxy/turn"
	"turnwatch/validate"
)

// sink makes a sink of a function.
type sink func(*turn.Turn)

func (f sink) Finish(t *turn.Turn) { f(t) }

// turns relays n turns, one after the other, each on a connection of its own.
func turns(t *testing.T, up *upstream, p *relay, n int) {
	t.Helper()
	whole := head("HTTP/1.1 200 OK", "Content-Type: text/event-stream", "Transfer-Encoding: chunked") + chunked("data: [DONE]\n\n", 99)
	for range n {
		c := p.dial()
		ask(up, c, post).send(whole)
		c.read(whole)
		again(t, up, c)
		c.close()
	}
}

// dropped is what the server gave up for a reason.
func dropped(p *relay, reason turn.Drop) int {
	for _, m := range p.Stats().Metrics() {
		for _, s := range m.Series {
			if m.Name == "turnwatch_dropped_total" && s.Labels[0].Value == string(reason) {
				return int(s.Value)
			}
		}
	}
	return -1
}

// TestSinkThatPanicsHarmsNobody: not the bytes, not the other sinks.
func TestSinkThatPanicsHarmsNobody(t *testing.T) {
	const n = 20
	up := listen(t, "tcp")
	seen := newRecorder()
	p := start(t, up, proxy.Config{}, sink(func(*turn.Turn) { panic("sink") }), seen)
	turns(t, up, p, n)
	if !seen.bell.await(patience, func() bool { return len(seen.turns) == n }) {
		t.Errorf("turns that the other sink was given: got %d, want %d", len(seen.turns), n)
	}
	if got := dropped(p, turn.DropSinkPanic); got != n {
		t.Errorf("dropped for a sink's panic: got %d, want %d", got, n)
	}
}

// TestSinkThatBlocksDoesNotDelayClients: the bytes pass, and every turn is
// judged, or unverified for a reason, or lost and counted.
func TestSinkThatBlocksDoesNotDelayClients(t *testing.T) {
	const n, queue = 60, 4
	up := listen(t, "tcp")
	release := make(chan struct{})
	seen := newRecorder()
	p := start(t, up, proxy.Config{FinishQueue: queue}, sink(func(*turn.Turn) { <-release }), seen)
	let := sync.OnceFunc(func() { close(release) })
	t.Cleanup(let)
	turns(t, up, p, n)
	lost := dropped(p, turn.DropRecordQueue)
	if lost == 0 || dropped(p, turn.DropFinishQueue) < lost {
		t.Errorf("dropped: got %d records and %d judgements, want some of both", lost, dropped(p, turn.DropFinishQueue))
	}
	let()
	if !seen.bell.await(patience, func() bool { return len(seen.turns)+lost == n }) {
		t.Fatalf("turns: got %d recorded and %d lost, want %d together", len(seen.turns), lost, n)
	}
	for _, got := range seen.turns {
		if got.Outcome == validate.Clean || got.Outcome == validate.Unverified && got.Reason == "" {
			t.Errorf("verdict: got %s %q, want unverified with a reason", got.Outcome, got.Reason)
		}
	}
}

// TestSinkThatBlocksForEverDoesNotHoldShutdown for long: it says what it gave up.
func TestSinkThatBlocksForEverDoesNotHoldShutdown(t *testing.T) {
	t.Parallel()
	up := listen(t, "tcp")
	release := make(chan struct{})
	p := start(t, up, proxy.Config{}, sink(func(*turn.Turn) { <-release }))
	t.Cleanup(func() { close(release) })
	turns(t, up, p, 3)
	begin := time.Now()
	if err := p.Shutdown(t.Context()); err == nil {
		t.Error("Shutdown: got nil, want an error: turns are not recorded")
	}
	if took := time.Since(begin); took > patience {
		t.Errorf("Shutdown took %v", took)
	}
}

// TestSinkThatIsSlowLosesNothing while there is room.
func TestSinkThatIsSlowLosesNothing(t *testing.T) {
	const n = 30
	up := listen(t, "tcp")
	var slow atomic.Int64
	p := start(t, up, proxy.Config{}, sink(func(*turn.Turn) {
		time.Sleep(5 * time.Millisecond)
		slow.Add(1)
	}))
	turns(t, up, p, n)
	if err := p.Shutdown(t.Context()); err != nil {
		t.Errorf("Shutdown: got %v, want nil", err)
	}
	if got := slow.Load(); got != n {
		t.Errorf("turns given to the sink before Shutdown returned: got %d, want %d", got, n)
	}
}

// TestTurnThatFindsNoMemoryIsUnverified, and its bytes pass.
func TestTurnThatFindsNoMemoryIsUnverified(t *testing.T) {
	up := listen(t, "tcp")
	seen := newRecorder()
	c := start(t, up, proxy.Config{JudgeMemory: 1 << 20}, seen).dial()
	request := head("POST /v1/chat/completions HTTP/1.1", "Host: x", "X-Request-Id: large", fmt.Sprintf("Content-Length: %d", 3<<20)) + pattern(3<<20)
	c.send(request)
	s := up.next()
	s.read(request)
	s.send(encoded("gzip"))
	c.read(encoded("gzip"))
	if got := seen.of(t, "large"); got.Outcome != validate.Unverified || got.Reason == "" {
		t.Errorf("verdict: got %s %q, want unverified with a reason", got.Outcome, got.Reason)
	}
}

// outOfDescriptors is a listener that fails as one does that has none left.
type outOfDescriptors struct {
	net.Listener
	left atomic.Int64
	errs []syscall.Errno
}

func (l *outOfDescriptors) Accept() (net.Conn, error) {
	if n := l.left.Add(-1); n >= 0 {
		return nil, &net.OpError{Op: "accept", Net: "tcp", Err: os.NewSyscallError("accept4", l.errs[n])}
	}
	return l.Listener.Accept()
}

// TestListenerThatRunsOutOfDescriptorsRecovers.
func TestListenerThatRunsOutOfDescriptorsRecovers(t *testing.T) {
	up := listen(t, "tcp")
	ln, _ := bind(t, "tcp")
	failing := &outOfDescriptors{Listener: ln, errs: []syscall.Errno{syscall.EMFILE, syscall.ENFILE, syscall.ECONNABORTED, syscall.ENOBUFS, syscall.EMFILE}}
	failing.left.Store(int64(len(failing.errs)))
	p := serve(t, "tcp", failing, proxy.Config{Upstream: up.url})
	again(t, up, p.dial())
	if got := p.Stats().AcceptErrors.Load(); got != int64(len(failing.errs)) {
		t.Errorf("accept errors: got %d, want %d", got, len(failing.errs))
	}
}

// TestShutdownLetsAnswersEnd: no new clients, idle ones are let go, the
// others get their bytes.
func TestShutdownLetsAnswersEnd(t *testing.T) {
	up := listen(t, "tcp")
	seen := newRecorder()
	p := start(t, up, proxy.Config{}, seen)
	idle := p.dial()
	again(t, up, idle)
	waiting, streaming := p.dial(), p.dial()
	first := ask(up, waiting, post)
	second := ask(up, streaming, post)
	second.send(encoded("gzip")[:150])
	streaming.read(encoded("gzip")[:150])

	done := make(chan error, 1)
	go func() { done <- p.Shutdown(context.Background()) }()
	idle.ends()
	if !refusesSoon(p) {
		t.Error("a new client was still accepted")
	}
	first.send(encoded("br"))
	waiting.read(encoded("br"))
	waiting.ends()
	second.send(encoded("gzip")[150:])
	streaming.read(encoded("gzip")[150:])
	streaming.ends()
	if err := <-done; err != nil {
		t.Errorf("Shutdown: got %v, want nil: nothing was cut", err)
	}
	if got := len(seen.turns); got != 2 {
		t.Errorf("turns recorded when Shutdown returned: got %d, want 2", got)
	}
	first.ends()
	second.ends()
}

func refusesSoon(p *relay) bool {
	for begin := time.Now(); time.Since(begin) < patience; time.Sleep(time.Millisecond) {
		c, err := p.connect()
		if err != nil {
			return true
		}
		c.Close()
	}
	return false
}

// TestShutdownCutsWhatDoesNotEnd when its time is up: on both sides, and the
// turns are recorded as cut by us.
func TestShutdownCutsWhatDoesNotEnd(t *testing.T) {
	for _, network := range []string{"tcp", "tls"} {
		t.Run(network, func(t *testing.T) {
			up := listen(t, "tcp")
			seen := newRecorder()
			p := startOn(t, network, proxy.Config{Upstream: up.url}, seen)
			waiting, streaming, sending := p.dial(), p.dial(), p.dial()
			first := ask(up, waiting, post)
			second := ask(up, streaming, post)
			second.send(encoded("gzip")[:150])
			streaming.read(encoded("gzip")[:150])
			sending.send(head("POST /v1/files HTTP/1.1", "Host: x", "Content-Length: 8388608") + pattern(2<<20))
			third := up.next()
			third.until("\r\n\r\n")

			ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
			defer cancel()
			var both sync.WaitGroup
			for range 2 { // the second call waits for the first
				both.Go(func() {
					if err := p.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) || err.Error() != "cut 3 answers that were still in progress" {
						t.Errorf("Shutdown: got %v, want context.DeadlineExceeded: answers were cut", err)
					}
				})
			}
			both.Wait()
			waiting.rest()
			streaming.ends()
			sending.rest()
			first.ends()
			second.ends()
			third.rest()
			for _, got := range seen.turns {
				if got.Ending != validate.ProxyCut {
					t.Errorf("ending: got %s, want %s", got.Ending, validate.ProxyCut)
				}
			}
			if got := len(seen.turns); got != 2 {
				t.Errorf("turns recorded when Shutdown returned: got %d, want 2", got)
			}
		})
	}
}

// TestShutdownWithNothingToDo returns at once, also before Serve and twice.
func TestShutdownWithNothingToDo(t *testing.T) {
	srv, err := proxy.New(proxy.Config{Upstream: "http://127.0.0.1:1"})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := srv.Shutdown(t.Context()); err != nil {
			t.Errorf("Shutdown: got %v, want nil", err)
		}
	}
	ln, _ := bind(t, "tcp")
	defer ln.Close()
	if err := srv.Serve(ln); err != nil {
		t.Errorf("Serve after Shutdown: got %v, want nil", err)
	}
}

// TestShutdownEndsATunnel.
func TestShutdownEndsATunnel(t *testing.T) {
	up := listen(t, "tcp")
	p := start(t, up, proxy.Config{})
	c := p.dial()
	s := ask(up, c, upgrade)
	s.send(switching)
	c.read(switching)
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	if err := p.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Shutdown: got %v, want context.DeadlineExceeded", err)
	}
	c.ends()
	s.ends()
}

// TestProcessThatRunsOutOfDescriptorsRecovers: who has a connection is served,
// the others wait in line until some have left.
func TestProcessThatRunsOutOfDescriptorsRecovers(t *testing.T) {
	const files, clients = 64, 100
	up := listen(t, "tcp")
	p, pid := child(t, up.url, fmt.Sprintf("%s=%d", childFiles, files))
	first := p.dial()
	again(t, up, first)
	var all []*peer
	for range clients {
		all = append(all, p.dial())
	}
	for open := 0; open < files; {
		fds, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
		if err != nil {
			t.Fatal(err)
		}
		open = len(fds)
	}
	again(t, up, first)
	for _, c := range all[:len(all)-1] {
		c.close()
	}
	again(t, up, all[len(all)-1])
	again(t, up, first)
}
