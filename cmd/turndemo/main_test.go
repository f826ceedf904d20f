package main

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"turnwatch/proxy/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m, leaktest.Sweeper) }

// rates returns what the output says of each server, before the report of all.
func rates(out string) []string {
	out, _, _ = strings.Cut(out, "What turnreport makes")
	return regexp.MustCompile(`CORRUPTION sessions: .*\]`).FindAllString(out, -1)
}

func TestOriginStory(t *testing.T) {
	var stdout, stderr bytes.Buffer
	page := filepath.Join(t.TempDir(), "report.html")
	if code := run(context.Background(), []string{"-step", "2ms", "-html", page}, &stdout, &stderr); code != 0 {
		t.Errorf("exit %d, %s", code, &stderr)
	}
	out := stdout.String()
	clean := "CORRUPTION sessions: 0/40 = 0.0%  [0.0%, 8.8%]"
	want := []string{"CORRUPTION sessions: 6/40 = 15.0%  [7.1%, 29.1%]", clean, clean, clean}
	if got := rates(out); strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got %q, want %q", got, want)
	}
	if b, err := os.ReadFile(page); err != nil || !bytes.Contains(b, []byte("6 of 160 sessions corrupted")) {
		t.Errorf("the page: %v, %d bytes, want the sessions in its title", err, len(b))
	}
	for _, w := range []string{"the corruption is gone", "verdict   corrupted", "schema_value (major) in a call of",
		"CORRUPTION sessions: 6/160 = 3.8%", "The whole report: " + page, "go run ./cmd/turnwatch -upstream"} {
		if !strings.Contains(out, w) {
			t.Errorf("no %q in\n%s", w, out)
		}
	}
}

func TestOneSessionAtATimeIsClean(t *testing.T) {
	var stdout, stderr bytes.Buffer
	args := []string{"-html", filepath.Join(t.TempDir(), "report.html"), "-sessions", "3", "-concurrency", "1", "-step", "0", "-share", "1"}
	if code := run(context.Background(), args, &stdout, &stderr); code != 0 {
		t.Errorf("exit %d, %s", code, &stderr)
	}
	for _, r := range rates(stdout.String()) {
		if !strings.Contains(r, ": 0/3 ") {
			t.Errorf("got %s, want 0/3: there is no batch", r)
		}
	}
	if strings.Contains(stdout.String(), "gone") {
		t.Errorf("a story of nothing:\n%s", &stdout)
	}
}

// watched is a writer that tells when a text was written.
type watched struct {
	mu   sync.Mutex
	buf  bytes.Buffer
	text string
	seen chan struct{}
}

func (w *watched) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.buf.Write(p)
	if w.text != "" && strings.Contains(w.buf.String(), w.text) {
		w.text = ""
		close(w.seen)
	}
	return len(p), nil
}

func TestKeepLeavesEverythingRunning(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	w := &watched{text: "nothing else changes", seen: make(chan struct{})}
	code := make(chan int)
	go func() {
		code <- run(ctx, []string{"-keep", "-sessions", "2", "-concurrency", "2", "-step", "0"}, w, io.Discard)
	}()
	select {
	case <-w.seen:
	case <-time.After(time.Minute):
		t.Fatal("it did not come to its end")
	}
	rows := regexp.MustCompile(`(http://\S+) ──▶ (http://\S+)   journal (\S+)`).FindAllStringSubmatch(w.buf.String(), -1)
	if len(rows) != 4 {
		t.Fatalf("%d servers, want 4:\n%s", len(rows), &w.buf)
	}
	for _, row := range rows {
		answers(t, row[1]+"/v1/models")
		answers(t, row[2]+"/v1/models")
		if _, err := os.Stat(row[3]); err != nil {
			t.Error(err)
		}
	}
	cancel()
	if c := <-code; c != 0 {
		t.Errorf("exit %d", c)
	}
}

func answers(t *testing.T, url string) {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	http.DefaultClient.CloseIdleConnections()
	if resp.StatusCode != 200 {
		t.Errorf("%s: %s", url, resp.Status)
	}
}

func TestInterruptEndsIt(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	w := &watched{text: "bf16", seen: make(chan struct{})}
	code := make(chan int)
	go func() { code <- run(ctx, []string{"-step", "1h"}, w, io.Discard) }()
	<-w.seen
	cancel()
	if c := <-code; c != 2 {
		t.Errorf("exit %d, want 2", c)
	}
}

func TestMistakesNameTheFlag(t *testing.T) {
	f := func(want string, args ...string) {
		t.Helper()
		var stderr bytes.Buffer
		if c := run(context.Background(), args, io.Discard, &stderr); c != 2 || !strings.Contains(stderr.String(), want) {
			t.Errorf("%q: exit %d, %q; want 2, %q", args, c, stderr.String(), want)
		}
	}
	f("-sessions", "-sessions", "0")
	f("unexpected argument", "now")
	f("-speed", "-speed", "9")
}

func TestProgressIsDrawnOnATerminalOnly(t *testing.T) {
	var b bytes.Buffer
	p := printer{w: &b}
	if p.progress(cells[0]) != nil {
		t.Error("progress where there is no terminal")
	}
	p.live = true
	p.progress(cells[0])(100, 200)
	if got := b.String(); !strings.Contains(got, strings.Repeat("━", 15)+strings.Repeat("─", 15)+" 100/200 turns") {
		t.Errorf("got %q", got)
	}
}
