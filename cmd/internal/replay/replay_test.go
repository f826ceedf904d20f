package replay

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"turnwatch/proxy"
	"turnwatch/proxy/evidence"
	"turnwatch/proxy/leaktest"
	"turnwatch/proxy/sglang"
	"turnwatch/proxy/sglangtest"
	"turnwatch/proxy/turn"
	"turnwatch/validate"
	"turnwatch/validate/agents"
)

func TestMain(m *testing.M) { leaktest.Main(m, leaktest.Sweeper) }

// sidecar relays in front of a server. stop returns when every turn was
// recorded.
func sidecar(t *testing.T, upstream string, sinks ...proxy.Sink) (url string, stop func()) {
	t.Helper()
	g, err := sglang.New(sglang.Config{Upstream: upstream, NoPoll: true, FactsTimeout: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var run sync.WaitGroup
	run.Go(func() { g.Run(ctx) })
	srv, err := proxy.New(proxy.Config{Upstream: upstream, Capture: 1 << 20, Tags: func() proxy.TurnTags { return g.Begin() }}, sinks...)
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	run.Go(func() { srv.Serve(ln) })
	return "http://" + ln.Addr().String(), sync.OnceFunc(func() {
		if err := srv.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
		cancel()
		run.Wait()
	})
}

// ask sends a request and reads the answer to its end, such as it is.
func ask(t *testing.T, url, id string, body []byte) {
	t.Helper()
	req, err := http.NewRequest("POST", url+"/v1/chat/completions", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Request-Id", id)
	req.Header.Set("X-Session-Id", id)
	req.Header.Set("Authorization", "Bearer client-s-own")
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Trace", "t-1")
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	io.Copy(io.Discard, resp.Body) // some answers are cut
}

// record makes evidence of turns that faults of the simulator struck: those
// named, or a few.
func record(t *testing.T, o evidence.Options, names ...string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	w, err := evidence.Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	var faults []sglangtest.Fault
	if names == nil {
		names = []string{"bad_json", "wrong_type"}
	}
	for _, name := range names {
		f, err := sglangtest.NewFault(name, 1, 1, "deepseekv4")
		if err != nil {
			t.Fatal(err)
		}
		f.When = func(s sglangtest.State) bool { return strings.HasPrefix(s.Session, name+"-") }
		faults = append(faults, f)
	}
	sim := sglangtest.NewServer(sglangtest.Config{Faults: faults, Plugin: true, Step: time.Millisecond})
	defer sim.Close()
	url, stop := sidecar(t, sim.URL, w)
	for i, f := range faults {
		s := agents.NewSession(uint64(i))
		for n := 1; n <= min(s.Turns(), 2); n++ {
			ask(t, url, fmt.Sprintf("%s-%d", f.Name, n), s.Request(n, agents.Options{Model: "m", Stream: i%4 != 3}))
		}
	}
	stop()
	if err := w.Close(t.Context()); err != nil || int(w.Stats().Folders) < len(names)/2 {
		t.Fatalf("evidence: got %v and %d folders, want some", err, w.Stats().Folders)
	}
	return dir
}

// judged keeps turns.
type judged struct {
	mu    sync.Mutex
	turns []turn.Turn
}

func (j *judged) Finish(t *turn.Turn) {
	j.mu.Lock()
	defer j.mu.Unlock()
	kept := *t
	kept.Tags, kept.Own = t.AllTags(), nil
	j.turns = append(j.turns, kept)
}

// brief is of a turn what must be the same when it is played back.
func brief(t *turn.Turn) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s %v %v %d %v batch %s bucket %s", t.Outcome, t.Reason, t.Suspect, t.FinishReasons, t.Calls, t.Usage,
		t.Tags["batch"].Value, t.Tags["graph_bucket"].Value)
	for _, f := range t.Findings {
		call, arg := -1, int64(-1)
		if f.Call != nil {
			call = *f.Call
		}
		if f.ArgOffset != nil {
			arg = *f.ArgOffset
		}
		fmt.Fprintf(&b, " | %s %s choice %d call %d %s %s at %d, %d", f.Kind, f.Severity, f.Choice, call, f.Tool, f.Path, f.Offset, arg)
	}
	for _, s := range t.Signals {
		fmt.Fprintf(&b, " | %s at %d", s.Kind, s.Offset)
	}
	return fmt.Sprint(b.String(), t.Lints)
}

// TestServedTurnIsJudgedTheSame: a recorded answer, played back to a client
// through the sidecar, has the verdict, the findings and the offsets that were
// recorded.
func TestServedTurnIsJudgedTheSame(t *testing.T) {
	sources, err := Load([]string{record(t, evidence.Options{Bodies: true}, sglangtest.FaultNames()...)})
	if err != nil {
		t.Fatal(err)
	}
	cfg := sglangtest.PlayConfig{}
	all, err := recordings(sources, &cfg)
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := sglangtest.Play(ln, all, cfg)
	defer p.Close()
	seen := &judged{}
	url, stop := sidecar(t, p.URL, seen)
	for i := range sources {
		ask(t, url, sources[i].Turn.RequestID, sources[i].Body)
	}
	stop()
	if len(seen.turns) != len(sources) || p.Played().Unknown > 0 {
		t.Fatalf("got %d turns of %d, %+v", len(seen.turns), len(sources), p.Played())
	}
	for i := range sources {
		want := sources[i].Turn
		at := slices.IndexFunc(seen.turns, func(got turn.Turn) bool { return got.RequestID == want.RequestID })
		if got := brief(&seen.turns[at]); got != brief(want) {
			t.Errorf("%s:\ngot  %s\nwant %s", want.RequestID, got, brief(want))
		}
	}
}

// hashes is a server that notes what it was sent.
type hashes struct {
	mu    sync.Mutex
	seen  map[string]int
	heads []http.Header
}

func (h *hashes) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b, _ := io.ReadAll(r.Body)
	h.mu.Lock()
	h.seen[sum(b)]++
	h.heads = append(h.heads, r.Header.Clone())
	h.mu.Unlock()
	w.Header().Set("Content-Type", "text/event-stream")
	io.WriteString(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"ok\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
}

// TestReplayIsHashEqual: each request is sent as often as was asked, with the
// body that was recorded and no credential of the client.
func TestReplayIsHashEqual(t *testing.T) {
	dir := record(t, evidence.Options{Bodies: true})
	server := &hashes{seen: map[string]int{}}
	srv := httptest.NewServer(server)
	defer srv.Close()
	var out, errs strings.Builder
	code, err := Replay(t.Context(), []string{dir, "-times", "3", "-target", srv.URL}, &out, &errs)
	if err != nil || code != exitGood {
		t.Fatalf("got %d, %v, want 0: the answers are clean\n%s", code, err, &out)
	}
	dirs, err := evidence.Find(dir)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]int{}
	for _, d := range dirs {
		f, err := evidence.Read(d)
		if err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(filepath.Join(d, evidence.FileRequestBody))
		if err != nil || sum(b) != f.Manifest.Request.SHA256 {
			t.Errorf("%s: the file has another hash than the manifest: %v", d, err)
		}
		want[f.Manifest.Request.SHA256] += 3
	}
	if fmt.Sprint(server.seen) != fmt.Sprint(want) {
		t.Errorf("hashes that came: got %v, want %v", server.seen, want)
	}
	for _, h := range server.heads {
		if h.Get("Authorization") != "" || h.Get("X-Trace") != "t-1" || h.Get("X-Session-Id") == "" {
			t.Fatalf("head that came: got %v", h)
		}
	}
	if !strings.Contains(out.String(), "the head differs: Host (of -target), ") || !strings.Contains(out.String(), "Authorization (withheld)") || !strings.Contains(out.String(), "(as recorded)") {
		t.Errorf("what is told:\n%s", &out)
	}
	n := 3 * len(dirs)
	if line := fmt.Sprintf("CORRUPTION sessions: 0/%d = 0.0%%  [0.0%%, ", n); !strings.Contains(out.String(), line) {
		t.Errorf("what is told: got\n%s\nwant %q in it", &out, line)
	}
}

// TestReplayTellsTheRate of a server that corrupts some answers.
func TestReplayTellsTheRate(t *testing.T) {
	dir := record(t, evidence.Options{Bodies: true})
	f, err := sglangtest.NewFault("bad_json", 0.5, 3, "deepseekv4")
	if err != nil {
		t.Fatal(err)
	}
	sim := sglangtest.NewServer(sglangtest.Config{Faults: []sglangtest.Fault{f}})
	defer sim.Close()
	sources, err := Load([]string{dir})
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(sources, func(s Source) bool { return strings.HasPrefix(s.Turn.RequestID, "bad_json") })
	got, err := Run(t.Context(), Plan{Sources: sources[i : i+1], Target: sim.URL, Times: 60, Concurrency: 8, Timeout: 30 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	r := got[0]
	if r.Judged != 60 || r.Corrupted < 10 || r.Corrupted > 50 || r.Same == 0 || r.Same > r.Corrupted || !r.AsSaid {
		t.Errorf("of a server that corrupts half: got %+v", r)
	}
	if t2 := sumUp(got); t2.exit() != exitCorrupted || t2.Low > t2.Rate || t2.High < t2.Rate {
		t.Errorf("together: got %+v", t2)
	}
}

// TestWhatCannotBeReplayedSaysWhy, and which setting helps.
func TestWhatCannotBeReplayedSaysWhy(t *testing.T) {
	f := func(o evidence.Options, spoil func(dir string), args []string, want string) {
		t.Helper()
		dir := record(t, o)
		if spoil != nil {
			spoil(dir)
		}
		_, err := Replay(t.Context(), append([]string{dir}, args...), io.Discard, io.Discard)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q in it", err, want)
		}
	}
	f(evidence.Options{}, nil, []string{"-target", "http://127.0.0.1:1"}, "has no request body: it was not kept: run turnwatch with -evidence-bodies")
	f(evidence.Options{Bodies: true}, func(dir string) {
		all, _ := filepath.Glob(filepath.Join(dir, "*", evidence.FileRequestBody))
		for _, name := range all {
			os.WriteFile(name, []byte("{}"), 0o600)
		}
	}, nil, "request.body: it was changed after it was written")
	if _, err := Replay(t.Context(), []string{t.TempDir()}, io.Discard, io.Discard); err == nil {
		t.Error("an empty folder: got no error")
	}
	if _, err := Replay(t.Context(), nil, io.Discard, io.Discard); err == nil {
		t.Error("no path: got no error")
	}
}

// TestMaskedRequestIsReplayedAsRedacted.
func TestMaskedRequestIsReplayedAsRedacted(t *testing.T) {
	dir := record(t, evidence.Options{Bodies: true, Patterns: []*regexp.Regexp{regexp.MustCompile(`Call [a-z_]+`)}})
	server := &hashes{seen: map[string]int{}}
	srv := httptest.NewServer(server)
	defer srv.Close()
	sources, err := Load([]string{dir})
	if err != nil {
		t.Fatal(err)
	}
	got, err := Run(t.Context(), Plan{Sources: sources, Target: srv.URL, Times: 1, Concurrency: 4, Timeout: 30 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	for i := range got {
		if !got[i].Redacted || got[i].AsSaid || server.seen[got[i].SHA256] == 0 {
			t.Errorf("%s: got %+v, want it redacted and sent", got[i].Name, got[i])
		}
	}
}

// TestServePlaysToAnyClient until it is interrupted.
func TestServePlaysToAnyClient(t *testing.T) {
	dir := record(t, evidence.Options{Bodies: true})
	ctx, cancel := context.WithCancel(t.Context())
	out := &lines{said: make(chan string, 4)}
	ended := make(chan error, 1)
	go func() {
		_, err := Serve(ctx, []string{dir, "-listen", "127.0.0.1:0", "-at-once"}, out, io.Discard)
		ended <- err
	}()
	var url string
	select {
	case line := <-out.said:
		url = strings.TrimSpace(line[strings.LastIndex(line, " ")+1:])
	case err := <-ended:
		t.Fatal(err)
	case <-time.After(30 * time.Second):
		t.Fatal("it says nothing")
	}
	ask(t, url, "a", []byte(`{"model":"another"}`))
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if line := <-out.said; !strings.HasPrefix(line, "1 played") {
		t.Errorf("in the end: got %q", line)
	}
}

// lines passes on what is written.
type lines struct{ said chan string }

func (l *lines) Write(p []byte) (int, error) {
	l.said <- string(p)
	return len(p), nil
}

// TestCapturesArePlayedAndSent: the one command answers the other.
func TestCapturesArePlayedAndSent(t *testing.T) {
	const file = "../../../proxy/sglangtest/testdata/captures/turns.jsonl"
	sources, err := Load([]string{file})
	if err != nil {
		t.Fatal(err)
	}
	cfg := sglangtest.PlayConfig{AtOnce: true}
	all, err := recordings(sources, &cfg)
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := sglangtest.Play(ln, all, cfg)
	defer p.Close()
	got, err := Run(t.Context(), Plan{Sources: sources, Target: p.URL, Times: 2, Concurrency: 2, Timeout: 30 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	sum := sumUp(got)
	if sum.Judged != 2*len(sources) || sum.Corrupted != 2 || p.Played().Unknown != 0 {
		t.Errorf("got %+v and %+v, want each judged twice and one of them corrupted", sum, p.Played())
	}
	for i := range got {
		if got[i].Verdicts[validate.Unverified] > 0 {
			t.Errorf("%s: got %+v", got[i].Name, got[i])
		}
	}
}

// TestNothingJudgedIsUndecided: a server that does not answer, and an end by
// the user, are neither good nor bad news.
func TestNothingJudgedIsUndecided(t *testing.T) {
	dir := record(t, evidence.Options{Bodies: true})
	f := func(ctx context.Context, url, want string) {
		t.Helper()
		var out strings.Builder
		code, err := Replay(ctx, []string{"-times", "2", dir, "-target", url}, &out, io.Discard)
		if err != nil || code != exitUndecided || !strings.Contains(out.String(), want) {
			t.Errorf("got %d, %v, want 3 and %q in\n%s", code, err, want, &out)
		}
	}
	dead := httptest.NewServer(nil)
	dead.Close()
	f(t.Context(), dead.URL, "could not be judged, the last because")
	locked := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusUnauthorized) }))
	defer locked.Close()
	f(t.Context(), locked.URL, "upstream_error, status 401: the server wants a key, or another one, from -key-file")
	ctx, cancel := context.WithCancel(t.Context())
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		cancel()
		<-r.Context().Done()
	}))
	defer srv.Close()
	f(ctx, srv.URL, "interrupted: this is what was known by then")
}

// A redirection is no answer of the server that was asked, and where it leads
// would be asked without the recorded body.
func TestReplayFollowsNoRedirection(t *testing.T) {
	elsewhere := 0
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere++ }))
	defer other.Close()
	srv := httptest.NewServer(http.RedirectHandler(other.URL, http.StatusFound))
	defer srv.Close()
	var out strings.Builder
	code, err := Replay(t.Context(), []string{"-times", "2", record(t, evidence.Options{Bodies: true}), "-target", srv.URL}, &out, io.Discard)
	if err != nil || code == exitCorrupted || code == exitGood || elsewhere != 0 {
		t.Errorf("exit %d, %v, %d requests elsewhere; want neither good nor bad news, none:\n%s", code, err, elsewhere, &out)
	}
}
