//go:build e2e

package proxy_test

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// The most that a silent stream may hold: altogether, and beyond what -judge-memory
// accounts for.
const (
	mostOfAll  = 48 << 10
	mostBeyond = 20 << 10
	mostStack  = 9 << 10 // the runtime's have 8 KiB or 16
)

// TestSilentStreamIsCheap: 5,000 and 9,000 open at once, or as many as there are
// descriptors for; judged, of 16 KiB requests.
func TestSilentStreamIsCheap(t *testing.T) {
	const least = 4000
	var lim unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &lim); err != nil || lim.Cur < 2*least+200 {
		t.Fatalf("descriptors: got %d, %v, want %d: ulimit -n", lim.Cur, err, 2*least+200)
	}
	room := int(lim.Cur-200) / 2
	silent(t, min(5000, room))
	if room > 5000 {
		silent(t, min(9000, room))
	}
}

// silent opens n streams and looks at what they hold.
func silent(t *testing.T, n int) {
	ln, url := bind(t, "tcp")
	var serving sync.WaitGroup
	serving.Go(func() { beginStreams(ln, &serving) })
	p, pid := child(t, url)
	var clients []net.Conn
	defer func() {
		for _, c := range clients {
			c.Close()
		}
		ln.Close()
		serving.Wait()
	}()

	clients = append(clients, stream(t, p)) // what the first one costs, the process costs
	before := resident(t, pid)
	for range n {
		clients = append(clients, stream(t, p))
	}
	held, stacks := p.held()
	all, held, stack := (resident(t, pid)-before)/n, held/n, stacks/n
	t.Logf("%d streams: %d KiB before, %d bytes each, of which %d are accounted for, and stacks of %d", n, before>>10, all, held, stack)
	if stack > mostStack {
		t.Errorf("a silent stream of %d: got a stack of %d bytes, want at most %d: a frame on the way to it has grown", n, stack, mostStack)
	}
	if all > mostOfAll || all-held > mostBeyond {
		t.Errorf("a silent stream of %d: got %d bytes, %d of them accounted for; want at most %d, and %d beyond", n, all, held, mostOfAll, mostBeyond)
	}
}

// firstEvent is the start of an answer that goes on.
var firstEvent = strings.TrimSuffix(head("HTTP/1.1 200 OK", "Content-Type: text/event-stream", "Transfer-Encoding: chunked")+
	chunked(`data: {"id":"x","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"role":"assistant","content":"hello"}}]}`+"\n\n", 999), "0\r\n\r\n")

// beginStreams answers each connection's request with a first event, and then
// with nothing until the client has left.
func beginStreams(ln net.Listener, serving *sync.WaitGroup) {
	for {
		c, err := ln.Accept()
		if err != nil {
			return
		}
		serving.Go(func() {
			defer c.Close()
			if _, err := io.ReadFull(c, make([]byte, len(request16K()))); err == nil {
				io.WriteString(c, firstEvent)
			}
			io.ReadFull(c, make([]byte, 1))
		})
	}
}

// request16K is made when it is wanted: a child must not hold it.
var request16K = sync.OnceValue(func() string {
	const tools = `"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object","properties":{"a":{"type":"string"}}}}}]`
	start, end := `{"model":"m","stream":true,"messages":[{"role":"user","content":"`, `"}],`+tools+`}`
	body := start + pattern(16<<10-len(start)-len(end)) + end
	return head("POST /v1/chat/completions HTTP/1.1", "Host: x", fmt.Sprintf("Content-Length: %d", len(body))) + body
})

// stream opens one and waits for its first event.
func stream(t *testing.T, p *relay) net.Conn {
	t.Helper()
	c, err := p.connect()
	if err != nil {
		t.Fatal(err)
	}
	got := make([]byte, len(firstEvent))
	io.WriteString(c, request16K())
	if n, err := io.ReadFull(c, got); err != nil || string(got) != firstEvent {
		t.Fatalf("first event: got %q, %v", got[:n], err)
	}
	return c
}

// resident is how much memory a process holds.
func resident(t *testing.T, pid int) (size int) {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, line, _ := bytes.Cut(status, []byte("VmRSS:"))
	if _, err := fmt.Sscan(string(line), &size); err != nil {
		t.Fatal(err)
	}
	return size << 10
}
