package proxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"turnwatch/proxy/turn"
	"turnwatch/validate"
)

// startAdmin serves cfg on loopback until the end of the test and returns its
// URL.
func startAdmin(t *testing.T, cfg AdminConfig) (*Admin, string) {
	t.Helper()
	if cfg.Ready == nil {
		cfg.Ready = func(context.Context) error { return nil }
	}
	a, err := NewAdmin(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ln := listenLoopback(t)
	done := make(chan error, 1)
	go func() { done <- a.Serve(ln) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 40*time.Second)
		defer cancel()
		if err := a.Shutdown(ctx); err != nil {
			t.Errorf("shutdown: %v", err)
		}
		if err := <-done; err != nil {
			t.Errorf("serve: got %v after a shutdown, want nil", err)
		}
	})
	return a, "http://" + ln.Addr().String()
}

// shown is a page of metrics.
type shown struct{}

func (shown) ServeHTTP(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "go_goroutines 1") }

func listenLoopback(t *testing.T) net.Listener {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return ln
}

// ask sends a request on a connection of its own.
func ask(t *testing.T, method, url, authorization string) (status int, head http.Header, body string) {
	t.Helper()
	req, err := http.NewRequest(method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if authorization != "" {
		req.Header.Set("Authorization", authorization)
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 40 * time.Second}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, resp.Header, string(b)
}

func TestProbes(t *testing.T) {
	var why atomic.Pointer[error]
	_, url := startAdmin(t, AdminConfig{Ready: func(context.Context) error {
		if err := why.Load(); err != nil {
			return *err
		}
		return nil
	}})
	f := func(path string, want int, text string) {
		t.Helper()
		if status, _, body := ask(t, "GET", url+path, ""); status != want || !strings.Contains(body, text) {
			t.Errorf("%s: got %d %q, want %d %q", path, status, body, want, text)
		}
	}
	f("/livez", 200, "ok")
	f("/readyz", 200, "ok")
	f("/debug/pprof/", 404, "")
	f("/", 404, "")
	draining := errors.New("draining")
	why.Store(&draining)
	f("/livez", 200, "ok")
	f("/readyz", 503, "draining")
	if status, _, _ := ask(t, "POST", url+"/livez", ""); status != 405 {
		t.Errorf("POST /livez: got %d, want 405", status)
	}
}

func TestReadinessIsAnsweredInTime(t *testing.T) {
	_, url := startAdmin(t, AdminConfig{Ready: func(ctx context.Context) error {
		<-ctx.Done()
		return ctx.Err()
	}})
	if readyTimeout >= time.Second {
		t.Errorf("readyTimeout: got %v, want less than a kubelet waits", readyTimeout)
	}
	if status, _, _ := ask(t, "GET", url+"/readyz", ""); status != 503 {
		t.Errorf("readyz of a check that hangs: got %d, want 503", status)
	}
}

func TestTokenGuardsWhatTellsMore(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	replaceFile(t, file, []byte("first secret\n"))
	a, url := startAdmin(t, AdminConfig{TokenFile: file, Pprof: true, Metrics: shown{}})
	a.token.every = 0
	f := func(path, authorization string, want int) {
		t.Helper()
		status, head, _ := ask(t, "GET", url+path, authorization)
		if status != want {
			t.Errorf("%s with %q: got %d, want %d", path, authorization, status, want)
		}
		if (head.Get("WWW-Authenticate") != "") != (want == 401) {
			t.Errorf("%s with %q: got WWW-Authenticate %q at %d", path, authorization, head.Get("WWW-Authenticate"), status)
		}
	}
	for _, path := range []string{"/metrics", "/debug/pprof/", "/debug/pprof/cmdline", "/debug/pprof/goroutine"} {
		f(path, "", 401)
		f(path, "Bearer", 401)
		f(path, "Bearer first", 401)
		f(path, "Bearer first secret2", 401)
		f(path, "Basic first secret", 401)
		f(path, "first secret", 401)
		f(path, "Bearer first secret", 200)
		f(path, "bearer first secret", 200)
	}
	f("/livez", "", 200)
	f("/readyz", "", 200)

	replaceFile(t, file, []byte("second"))
	f("/metrics", "Bearer first secret", 401)
	f("/metrics", "Bearer second", 200)
	replaceFile(t, file, []byte(" \n"))
	f("/metrics", "Bearer second", 200)
	f("/metrics", "Bearer ", 401)
}

func TestTokenThatCannotBeReadIsAnError(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "token")
	replaceFile(t, empty, []byte("\n"))
	for _, file := range []string{empty, empty + ".none"} {
		if _, err := NewAdmin(AdminConfig{TokenFile: file}); err == nil || !strings.Contains(err.Error(), "-admin-token-file") {
			t.Errorf("%s: got %v, want an error that names the flag", file, err)
		}
	}
}

// elsewhere is a listener that says it is reached from other machines.
type elsewhere struct{ net.Listener }

func (elsewhere) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4zero, Port: 9464} }

func TestOtherMachinesAreRefusedWithoutSayingSo(t *testing.T) {
	token := filepath.Join(t.TempDir(), "token")
	replaceFile(t, token, []byte("secret"))
	for _, row := range []struct {
		what string
		cfg  AdminConfig
		ok   bool
	}{
		{"nothing said", AdminConfig{}, false},
		{"open", AdminConfig{Open: true}, true},
		{"token", AdminConfig{TokenFile: token}, true},
	} {
		a, err := NewAdmin(row.cfg)
		if err != nil {
			t.Fatal(err)
		}
		ln := listenLoopback(t)
		if row.ok {
			// Serve would block: a shutdown before it makes it return at once.
			a.Shutdown(context.Background())
		}
		err = a.Serve(elsewhere{ln})
		if ok := err == nil; ok != row.ok {
			t.Errorf("%s: got %v, want served = %v", row.what, err, row.ok)
		}
		if _, err := ln.Accept(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("%s: got a listener that is still open (%v)", row.what, err)
		}
	}
}

func TestConnectionsAreBounded(t *testing.T) {
	_, url := startAdmin(t, AdminConfig{})
	addr := strings.TrimPrefix(url, "http://")
	var held []net.Conn
	for range maxAdminConns {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		fmt.Fprintf(c, "GET /livez HTTP/1.1\r\nHost: x\r\n\r\n")
		if n, err := c.Read(make([]byte, 15)); err != nil || n == 0 {
			t.Fatalf("connection %d: got %d bytes, %v", len(held), n, err)
		}
		held = append(held, c)
	}
	answered := make(chan int, 1)
	go func() {
		status, _, _ := ask(t, "GET", url+"/livez", "")
		answered <- status
	}()
	select {
	case <-answered:
		t.Errorf("got an answer on connection %d, want none before another closes", len(held)+1)
	case <-time.After(100 * time.Millisecond):
		held[0].Close()
		if status := <-answered; status != 200 {
			t.Errorf("after another closed: got %d, want 200", status)
		}
	}
}

// series reads what was counted, by a name as Prometheus writes it.
func series(all []Metric) map[string]float64 {
	got := make(map[string]float64)
	for _, m := range all {
		for _, s := range m.Series {
			name := m.Name
			for _, l := range s.Labels {
				name += fmt.Sprintf("{%s=%q}", l.Name, l.Value)
			}
			got[name] = s.Value
		}
	}
	return got
}

func TestCountersStartAtZeroAndCount(t *testing.T) {
	var s Stats
	certs, _ := eagerCerts()
	f := func(when string, want map[string]float64) {
		t.Helper()
		got := series(append(s.Metrics(), certs.Metrics()...))
		for name, v := range want {
			if n, ok := got[name]; !ok || n != v {
				t.Errorf("%s, %s: got %v, present: %v, want %v", when, name, n, ok, v)
			}
		}
	}
	f("at the start", map[string]float64{
		`turnwatch_dropped_total{reason="finish_queue"}`: 0, `turnwatch_upstream_errors_total{stage="connect"}`: 0, `turnwatch_open_streams`: 0,
		`turnwatch_tls_reloads_total{result="kept_old"}`: 0, `turnwatch_identity_checks_total{result="different"}`: 0,
	})
	s.Turn(&turn.Turn{Verdict: validate.Verdict{Skips: []validate.Skip{validate.SchemaPartly}}})
	s.Drop(turn.DropFinishQueue)
	s.UpstreamError(string(stageConnect))
	s.Requests.Add(7)
	s.Streams.Add(2)
	s.Streams.Add(-1)
	f("later", map[string]float64{
		`turnwatch_schema_skips_total{reason="schema_partly"}`: 1,
		`turnwatch_dropped_total{reason="finish_queue"}`:       1,
		`turnwatch_upstream_errors_total{stage="connect"}`:     1,
		`turnwatch_upstream_errors_total{stage="first_byte"}`:  0,
		`turnwatch_requests_total`:                             7,
		`turnwatch_open_streams`:                               1,
	})
}

func TestTallyIsBounded(t *testing.T) {
	var n tally
	for i := range 10 * maxLabels {
		n.add(strconv.Itoa(i), 1)
	}
	got := n.counts()
	if len(got) > maxLabels+1 || got[overflow] != 9*maxLabels {
		t.Errorf("got %d labels, %d in the overflow", len(got), got[overflow])
	}
}

func TestReachOnlyConnects(t *testing.T) {
	ln := listenLoopback(t)
	s, err := New(Config{Upstream: "http://" + ln.Addr().String(), Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Shutdown(context.Background())
	read := make(chan []byte, 1)
	go func() {
		c, err := ln.Accept()
		if err != nil {
			read <- []byte(err.Error())
			return
		}
		defer c.Close()
		b, _ := io.ReadAll(c)
		read <- b
	}()
	if err := s.Reach(context.Background()); err != nil {
		t.Errorf("a server that listens: %v", err)
	}
	if b := <-read; len(b) != 0 {
		t.Errorf("the server was sent %q, want nothing", b)
	}
	ln.Close()
	if err := s.Reach(context.Background()); err == nil || !strings.HasPrefix(err.Error(), "connect: ") {
		t.Errorf("a server that is gone: got %v, want the stage", err)
	}
	if n := s.Stats().UpstreamDialed.Load(); n != 0 {
		t.Errorf("dials that were counted: got %d, want 0", n)
	}
}
