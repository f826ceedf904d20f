package proxy_test

import (
	"encoding/hex"
	"net"
	"strings"
	"testing"

	"turnwatch/proxy"
	"turnwatch/proxy/turn"
)

const (
	traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	doneStream  = "data: [DONE]\n\n"
)

// traced relays one turn with these trace fields, and returns what the server
// saw of them and the turn's own place.
func traced(t *testing.T, cfg proxy.Config, fields ...string) (saw []string, trace, span string, parent bool) {
	t.Helper()
	up := listen(t, "tcp")
	seen := newRecorder()
	c := start(t, up, cfg, seen).dial()
	body := `{"model":"m","messages":[]}`
	c.send(head(append([]string{"POST /v1/chat/completions HTTP/1.1", "Host: x", "X-Request-Id: one", "Content-Length: 27"}, fields...)...) + body)
	s := up.next()
	request := s.until(body)
	s.send(head("HTTP/1.1 200 OK", "Content-Type: text/event-stream", "Transfer-Encoding: chunked") + chunked(doneStream, 99))
	got := seen.of(t, "one")
	for line := range strings.SplitSeq(request, "\r\n") {
		if name, value, _ := strings.Cut(line, ": "); strings.HasPrefix(strings.ToLower(name), "trace") {
			saw = append(saw, value)
		}
	}
	return saw, hex.EncodeToString(got.Trace.ID[:]), hex.EncodeToString(got.Trace.Span[:]), got.Trace.Parent != [8]byte{}
}

// TestTraceOfTheCallerPassesUnchanged, and the turn is put into it.
func TestTraceOfTheCallerPassesUnchanged(t *testing.T) {
	saw, trace, _, parent := traced(t, proxy.Config{}, "Traceparent: "+traceparent, "tracestate: a=1", "tracestate: b=2")
	if strings.Join(saw, " ") != traceparent+" a=1 b=2" || trace != traceparent[3:35] || !parent {
		t.Errorf("got %q, trace %s, parent %v", saw, trace, parent)
	}
	saw, trace, _, parent = traced(t, proxy.Config{})
	if len(saw) != 0 || trace == traceparent[3:35] || parent {
		t.Errorf("without: got %q, trace %s, parent %v", saw, trace, parent)
	}
	bad := traceparent[:54]
	if saw, _, _, parent = traced(t, proxy.Config{}, "traceparent: "+bad); strings.Join(saw, "") != bad || parent {
		t.Errorf("malformed: got %q, parent %v", saw, parent)
	}
}

// TestTurnIsMadeTheParentWhereAskedFor, and nothing begins to be recorded.
func TestTurnIsMadeTheParentWhereAskedFor(t *testing.T) {
	f := func(flags string, states string, fields ...string) {
		t.Helper()
		saw, trace, span, _ := traced(t, proxy.Config{Inject: true}, fields...)
		want := strings.TrimSpace(states + " 00-" + trace + "-" + span + "-" + flags)
		if got := strings.Join(saw, " "); got != want {
			t.Errorf("%q: got %q, want %q", fields, got, want)
		}
	}
	f("01", "a=1", "traceparent: "+traceparent, "tracestate: a=1")
	f("00", "", "traceparent: "+traceparent[:53]+"00")
	f("00", "")
	f("00", "", "traceparent: "+traceparent[:54], "tracestate: a=1")
	f("00", "", "traceparent: "+traceparent, "traceparent: "+traceparent)
}

// TestTurnOfAnotherArmIsBesideTheLiveOne: a root of its own, with a link, so that
// it does not colour the caller's trace.
func TestTurnOfAnotherArmIsBesideTheLiveOne(t *testing.T) {
	live, arm := new(heard), new(heard)
	seen := newRecorder()
	m := mirrors(t, live.serve(t), proxy.Config{Shadow: proxy.ShadowConfig{Arms: []proxy.ShadowArm{{Arm: turn.Candidate, URL: arm.serve(t)}}}}, seen)
	m.send(1, "/v1/chat/completions", plain, "Traceparent", traceparent)
	if !seen.bell.await(patience, func() bool { return len(seen.turns) == 2 }) {
		t.Fatalf("got %d turns", len(seen.turns))
	}
	a, b := seen.turns[0].Trace, seen.turns[1].Trace
	if seen.turns[0].Arm != turn.Live {
		a, b = b, a
	}
	if b.Link == nil || b.Link.ID != a.ID || b.Link.Span != a.Span || b.Parent != [8]byte{} || b.ID == a.ID || a.Link != nil {
		t.Errorf("got %+v beside %+v", b, a)
	}
}

// tampering is a listener whose connections change what they are given to
// write, as a fault below us might.
type tampering struct{ net.Listener }

func (l tampering) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return tamperedConn{c.(*net.TCPConn)}, nil
}

type tamperedConn struct{ *net.TCPConn }

// Write writes what it was given, and changes one byte of it.
func (c tamperedConn) Write(p []byte) (int, error) {
	if i := strings.Index(string(p), "HTTP/1.1"); i < 0 && len(p) > 100 {
		//lint:ignore SA1023 this is the fault that is planted
		p[50] ^= 1
	}
	return c.TCPConn.Write(p)
}

// TestBytesAreComparedAtBothSockets: a fault that changes them moves the
// counter, and an answer that passes as it is does not.
func TestBytesAreComparedAtBothSockets(t *testing.T) {
	f := func(what string, same, different float64, wrap func(net.Listener) net.Listener, cfg proxy.Config) {
		t.Helper()
		up := listen(t, "tcp")
		ln, _ := bind(t, "tcp")
		cfg.Upstream = up.url
		p := serve(t, "tcp", wrap(ln), cfg)
		c := p.dial()
		s := ask(up, c, post)
		s.send(head("HTTP/1.1 200 OK", "Content-Type: text/event-stream", "Transfer-Encoding: chunked") + chunked(pattern(3000), 999)[:1500])
		c.until("\r\n\r\n")
		s.send(chunked(pattern(3000), 999)[1500:3000])
		s.send(chunked(pattern(3000), 999)[3000:])
		c.until("\r\n0\r\n\r\n")
		again(t, up, c) // what is counted of an answer is, before the next is asked for
		if got := counted(p, "same"); got != same {
			t.Errorf("%s: the same: got %v, want %v", what, got, same)
		}
		if got := counted(p, "different"); got != different {
			t.Errorf("%s: different: got %v, want %v", what, got, different)
		}
	}
	plain := func(ln net.Listener) net.Listener { return ln }
	f("all of them", 1, 0, plain, proxy.Config{ProveShare: 1})
	f("none of them", 0, 0, plain, proxy.Config{})
	f("without loops", 1, 0, plain, proxy.Config{ProveShare: 1, Loops: -1})
	f("a fault", 0, 1, func(ln net.Listener) net.Listener { return tampering{ln} }, proxy.Config{ProveShare: 1, Loops: -1})
}

// counted reads one series of turnwatch_identity_checks_total.
func counted(p *relay, result string) float64 {
	for _, m := range p.Stats().Metrics() {
		for _, s := range m.Series {
			if m.Name == "turnwatch_identity_checks_total" && s.Labels[0].Value == result {
				return s.Value
			}
		}
	}
	return -1
}
