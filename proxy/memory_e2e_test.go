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

// TestSilentStreamIsCheap: 5,000 open at once, or as many as there are descriptors
// for, judged, of 16 KiB requests.
func TestSilentStreamIsCheap(t *testing.T) {
	const most, least = 40 << 10, 1500
	var lim unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &lim); err != nil || lim.Cur < 2*least+200 {
		t.Fatalf("descriptors: got %d, %v, want %d: ulimit -n", lim.Cur, err, 2*least+200)
	}
	n := min(5000, int(lim.Cur-200)/2)
	ln, url := bind(t, "tcp")
	var serving sync.WaitGroup
	serving.Go(func() { beginStreams(ln, &serving) })
	p, pid := child(t, url)
	var clients []net.Conn
	t.Cleanup(func() {
		for _, c := range clients {
			c.Close()
		}
		ln.Close()
		serving.Wait()
	})

	clients = append(clients, stream(t, p)) // what the first one costs, the process costs
	before := resident(t, pid)
	for range n {
		clients = append(clients, stream(t, p))
	}
	each := (resident(t, pid) - before) / n
	t.Logf("%d KiB before, %d bytes each", before>>10, each)
	if each > most {
		t.Errorf("a silent stream: got %d bytes, want at most %d", each, most)
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
