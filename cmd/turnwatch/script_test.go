package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"turnwatch/proxy/leaktest"
)

// patience bounds every wait of a script.
const patience = 60 * time.Second

// leakFree fails a run that leaves a goroutine behind.
type leakFree struct{ *testing.M }

func (m leakFree) Run() int { return leaktest.Run(m.M) }

func TestMain(m *testing.M) {
	testscript.Main(leakFree{m}, map[string]func(){"turnwatch": main})
}

// TestScript runs the command itself, as a process of its own.
func TestScript(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(e *testscript.Env) error {
			e.Values[worldKey{}] = &world{release: make(chan struct{}), held: make(chan string, 1)}
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"upstream": startUpstream,
			"await":    await,
			"ask":      ask,
			"until":    until,
			"counts":   counts,
			"hold":     hold,
			"release":  release,
			"held":     held,
			"occupy":   occupy,
			"leave":    leave,
			"send":     send,

			"certify":    certify,
			"shown":      shown,
			"complained": complained,
		},
	})
}

// world is what a script's commands share.
type world struct {
	release chan struct{} // lets the upstream end an answer to /hold
	held    chan string   // how that answer ended for its client
}

type worldKey struct{}

func of(ts *testscript.TestScript) *world { return ts.Value(worldKey{}).(*world) }

// ServeHTTP says what was asked. A request for /hold gets the first half of
// its answer, and the second after a release.
func (w *world) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	if r.URL.Path != "/hold" {
		fmt.Fprintf(rw, "upstream saw %s %s %s\n", r.Method, r.URL.Path, body)
		return
	}
	io.WriteString(rw, "first ")
	http.NewResponseController(rw).Flush()
	select {
	case <-w.release:
		io.WriteString(rw, "second")
	case <-r.Context().Done():
	}
}

// startUpstream is: upstream [tls] VAR. It sets VAR to the URL of a server,
// and VAR_CA to a file with its certificate.
func startUpstream(ts *testscript.TestScript, _ bool, args []string) {
	s := httptest.NewUnstartedServer(of(ts))
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	name := args[len(args)-1]
	if args[0] == "tls" {
		s.StartTLS()
		ca := ts.MkAbs("upstream-ca.pem")
		ts.Check(os.WriteFile(ca, certificatePEM(s.Certificate().Raw), 0o600))
		ts.Setenv(name+"_CA", ca)
	} else {
		s.Start()
	}
	ts.Setenv(name, s.URL)
	ts.Defer(s.Close)
}

// await is: await FILE REGEXP [VAR]. It waits until the file matches and sets
// VAR to the group.
func await(ts *testscript.TestScript, _ bool, args []string) {
	re := regexp.MustCompile(args[1])
	for end := time.Now().Add(patience); ; {
		b, _ := os.ReadFile(ts.MkAbs(args[0]))
		if m := re.FindSubmatch(b); m != nil {
			if len(args) > 2 {
				ts.Setenv(args[2], string(m[1]))
			}
			return
		}
		if time.Now().After(end) {
			ts.Fatalf("%s does not match %s:\n%s", args[0], args[1], b)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// client connects to addr, host:port, tls:host:port or unix:/path, whatever the URL says. It
// keeps its connection until the end of the script.
func client(ts *testscript.TestScript, addr string) *http.Client {
	network := "tcp"
	addr, secure := strings.CutPrefix(addr, "tls:")
	if path, ok := strings.CutPrefix(addr, "unix:"); ok {
		network, addr = "unix", ts.MkAbs(path)
	}
	tr := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		if secure {
			return (&tls.Dialer{Config: trusting()}).DialContext(ctx, network, addr)
		}
		return new(net.Dialer).DialContext(ctx, network, addr)
	}}
	ts.Defer(tr.CloseIdleConnections)
	return &http.Client{Timeout: patience, Transport: tr}
}

// ask is: ask ADDR METHOD PATH [BODY [TOKEN]]. It prints status and body. ! ask
// waits until nobody can be connected to.
func ask(ts *testscript.TestScript, neg bool, args []string) {
	args = append(args, "", "")
	for end := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		answer, err := exchange(ts, args[0], args[1], args[2], args[3], args[4])
		if op := (*net.OpError)(nil); neg && errors.As(err, &op) && op.Op == "dial" {
			return
		}
		if !neg {
			ts.Check(err)
			fmt.Fprint(ts.Stdout(), answer)
			return
		}
		if time.Now().After(end) {
			ts.Fatalf("%s answered: %s, %v", args[0], answer, err)
		}
	}
}

// exchange sends one request and returns status and body.
func exchange(ts *testscript.TestScript, addr, method, path, body, token string) (string, error) {
	req, err := http.NewRequest(method, "http://turnwatch"+path, strings.NewReader(body))
	ts.Check(err)
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := client(ts, addr).Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return fmt.Sprintf("%d\n%s", resp.StatusCode, b), err
}

// until is: until ADDR PATH REGEXP. It asks until status and body match.
func until(ts *testscript.TestScript, _ bool, args []string) {
	want, err := regexp.Compile(args[2])
	ts.Check(err)
	for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		answer, err := exchange(ts, args[0], "GET", args[1], "", "")
		ts.Check(err)
		if want.MatchString(answer) {
			return
		}
		if time.Now().After(end) {
			ts.Fatalf("no %s in:\n%s", args[2], answer)
		}
	}
}

// counts is: counts ADDR REGEXP. It waits until /metrics matches, since what an
// exchange counts may follow its last byte.
func counts(ts *testscript.TestScript, neg bool, args []string) {
	until(ts, neg, []string{args[0], "/metrics", args[1]})
}

// hold is: hold ADDR. It returns once the first half of an answer was read.
func hold(ts *testscript.TestScript, _ bool, args []string) {
	w := of(ts)
	resp, err := client(ts, args[0]).Get("http://turnwatch/hold")
	ts.Check(err)
	first := make([]byte, len("first "))
	_, err = io.ReadFull(resp.Body, first)
	ts.Check(err)
	go func() {
		defer resp.Body.Close()
		rest, err := io.ReadAll(resp.Body)
		if err != nil {
			w.held <- "cut"
			return
		}
		w.held <- string(first) + string(rest)
	}()
}

// release lets the answer that is held go on.
func release(ts *testscript.TestScript, _ bool, _ []string) { of(ts).release <- struct{}{} }

// held is: held OUTCOME, the whole answer or cut.
func held(ts *testscript.TestScript, _ bool, args []string) {
	select {
	case got := <-of(ts).held:
		if got != args[0] {
			ts.Fatalf("the answer that was held: got %q, want %q", got, args[0])
		}
	case <-time.After(patience):
		ts.Fatalf("the answer that was held did not end")
	}
}

// occupy is: occupy VAR. It listens, and sets VAR to the address.
func occupy(ts *testscript.TestScript, _ bool, args []string) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	ts.Setenv(args[0], ln.Addr().String())
	ts.Defer(func() { ln.Close() })
}

// send is: send SIGNAL [FILE]. It signals the process whose number the file
// holds, or the last that was started in the background.
func send(ts *testscript.TestScript, _ bool, args []string) {
	sig := map[string]syscall.Signal{"INT": syscall.SIGINT, "TERM": syscall.SIGTERM, "HUP": syscall.SIGHUP}[args[0]]
	if len(args) > 1 {
		pid, err := strconv.Atoi(strings.TrimSpace(ts.ReadFile(args[1])))
		ts.Check(err)
		ts.Check(syscall.Kill(pid, sig))
		return
	}
	all := ts.BackgroundCmds()
	ts.Check(all[len(all)-1].Process.Signal(sig))
}

// leave is: leave PATH. It leaves a socket that nobody listens on, as a killed
// process does.
func leave(ts *testscript.TestScript, _ bool, args []string) {
	ln, err := net.Listen("unix", ts.MkAbs(args[0]))
	ts.Check(err)
	ln.(*net.UnixListener).SetUnlinkOnClose(false)
	ts.Check(ln.Close())
}
