//go:build e2e

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"turnwatch/cmd/internal/report"
)

// tools are the other programs of the story, built.
type tools struct{ dir string }

func build(t *testing.T) tools {
	t.Helper()
	dir := t.TempDir()
	out, err := exec.Command("go", "build", "-o", dir, "turnwatch/cmd/simsglang", "turnwatch/cmd/turnwatch", "turnwatch/cmd/turnstress").CombinedOutput()
	if err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	return tools{dir}
}

// start starts a program that serves, and returns what ends it.
func (b tools) start(t *testing.T, addr, name string, args ...string) (stop func()) {
	t.Helper()
	var said bytes.Buffer
	cmd := exec.Command(filepath.Join(b.dir, name), args...)
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := false
	stop = func() {
		if ended {
			return
		}
		ended = true
		cmd.Process.Signal(syscall.SIGTERM)
		if err := cmd.Wait(); err != nil {
			t.Errorf("%s: %v\n%s", name, err, &said)
		}
	}
	t.Cleanup(stop)
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if c, err := net.Dial("tcp", addr); err == nil {
			c.Close()
			return stop
		}
		if time.Now().After(end) {
			t.Fatalf("%s does not listen", name)
		}
	}
}

// addresses returns two that nobody listens at, on ports below those that the system
// gives to connections, one of which could have a port before the program does.
func addresses(t *testing.T) (a, b string) {
	t.Helper()
	var all []string
	for range 1000 {
		ln, err := net.Listen("tcp", fmt.Sprint("127.0.0.1:", 10_000+rand.IntN(20_000)))
		if err != nil {
			continue
		}
		defer ln.Close()
		if all = append(all, ln.Addr().String()); len(all) == 2 {
			return all[0], all[1]
		}
	}
	t.Fatal("no two ports are free from 10000 to 29999")
	return "", ""
}

// server runs one configuration, with the sidecar in front, and puts sessions to
// it.
func (b tools) server(t *testing.T, journal string, config []string, loads ...[]string) {
	t.Helper()
	sim, side := addresses(t)
	stopSim := b.start(t, sim, "simsglang", append([]string{"-listen", sim, "-fault", "origin:0.3", "-step", "2ms"}, config...)...)
	stopSide := b.start(t, side, "turnwatch", "-upstream", "http://"+sim, "-listen", side, "-admin", "off", "-journal", journal)
	for _, load := range loads {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
		cmd := exec.CommandContext(ctx, filepath.Join(b.dir, "turnstress"), append([]string{"-target", "http://" + side, "-quiet"}, load...)...)
		out, err := cmd.CombinedOutput()
		cancel()
		if code := cmd.ProcessState.ExitCode(); code != 0 && code != 1 {
			t.Fatalf("turnstress: %v\n%s", err, out)
		}
	}
	stopSide()
	stopSim()
}

// TestOriginStoryLive is the project's own story, by its programs: a fault that
// three settings and a batch make together, seen by the sidecar and named by the
// report.
func TestOriginStoryLive(t *testing.T) {
	b, dir := build(t), t.TempDir()
	for cell := range 8 {
		flag := func(bit int, yes, no string) string { return [...]string{yes, no}[cell>>bit&1] }
		config := []string{"-index-dtype", flag(0, "bf16", "fp8"), "-cuda-graph", flag(1, "on", "off"), "-overlap", flag(2, "on", "off")}
		loads := [][]string{{"-sessions", "40", "-concurrency", "20", "-turns", "3"}, {"-sessions", "40", "-concurrency", "6", "-turns", "3", "-seed", "500"}}
		if cell == 0 {
			loads = append(loads, []string{"-sessions", "40", "-concurrency", "1", "-turns", "3", "-seed", "1000"})
		}
		b.server(t, filepath.Join(dir, fmt.Sprintf("cell%d.jsonl", cell)), config, loads...)
	}
	var text, printed, stderr bytes.Buffer
	page := filepath.Join(dir, "report.html")
	if code := run(context.Background(), []string{"-html", page, dir}, std{nil, &text, &stderr}); code != report.ExitCorrupted {
		t.Fatalf("exit %d, %s", code, &stderr)
	}
	t.Logf("\n%s", &text)
	run(context.Background(), []string{"-json", dir}, std{nil, &printed, &stderr})
	var r report.Report
	if err := json.Unmarshal(printed.Bytes(), &r); err != nil {
		t.Fatal(err)
	}
	e := r.Explained[0]
	if len(e.Causes) == 0 {
		t.Fatalf("no cause: %+v", e)
	}
	// A graph of a size is replayed only where graphs are on and the batch has that
	// size: one condition that says both. What two streams overlap has two names.
	got := e.Causes[0].Text
	for _, want := range []string{`index_dtype=bf16`, `overlap(_schedule)?=on`, `graph_bucket≥\d+|cuda_graph=on ∧ (.* ∧ )?batch≥\d+`} {
		if !regexp.MustCompile(`(^| )(` + want + `)($| )`).MatchString(got) {
			t.Errorf("the first cause is %s, want %s in it", got, want)
		}
	}
	if n := len(e.Causes[0].Conditions); n > 4 || e.Unexplained != 0 || r.Sessions.All != 8*80+40 {
		t.Errorf("%d conditions, %d sessions unexplained of %d", n, e.Unexplained, r.Sessions.All)
	}
	if !strings.HasPrefix(text.String(), "CORRUPTION sessions: ") {
		t.Errorf("the report begins with %.40q", text.String())
	}
	if b, err := os.ReadFile(page); err != nil || !bytes.Contains(b, []byte("index_dtype=bf16")) {
		t.Errorf("the page: %v, %d bytes", err, len(b))
	}
}
