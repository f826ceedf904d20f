package main

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"turnwatch/proxy/sglangtest"
)

// process is a turnwatch that runs, and what it leaves behind.
type process struct {
	t            *testing.T
	cmd          *exec.Cmd
	addr, admin  string
	log, journal string // files
	client       *http.Client
}

// launch starts the command.
func launch(t *testing.T, args ...string) *process {
	t.Helper()
	dir := t.TempDir()
	p := &process{t: t, log: filepath.Join(dir, "log"), journal: filepath.Join(dir, "turns.jsonl"),
		client: &http.Client{Timeout: patience, Transport: new(http.Transport)}}
	t.Cleanup(p.client.CloseIdleConnections)
	args = append([]string{"-listen", "127.0.0.1:0", "-admin", "127.0.0.1:0", "-journal", p.journal, "-log-level", "debug", "-pprof"}, args...)
	p.cmd = exec.Command("turnwatch", args...)
	log, err := os.Create(p.log)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	p.cmd.Stdout, p.cmd.Stderr = log, log
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.cmd.Process.Kill(); p.cmd.Wait() })
	m := p.await(p.log, `msg=relaying listen=(\S+) .* admin=(\S+)`)
	p.addr, p.admin = m[1], m[2]
	return p
}

// await waits until a file matches and returns the groups.
func (p *process) await(file, pattern string) []string {
	p.t.Helper()
	re := regexp.MustCompile(pattern)
	for end := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		b, _ := os.ReadFile(file)
		if m := re.FindSubmatch(b); m != nil {
			var groups []string
			for _, g := range m {
				groups = append(groups, string(g))
			}
			return groups
		}
		if time.Now().After(end) {
			p.t.Fatalf("%s does not match %s:\n%s", filepath.Base(file), pattern, b)
		}
	}
}

// fetch returns the body of an answer.
func (p *process) fetch(method, url, key, body string) string {
	p.t.Helper()
	req, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		p.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	if key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	resp, err := p.client.Do(req)
	if err != nil {
		p.t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	return string(b)
}

// turn plays one turn.
func (p *process) turn(key string) string {
	p.t.Helper()
	return p.fetch("POST", "http://"+p.addr+"/v1/chat/completions", key, `{"model":"m","stream":true,"messages":[{"role":"user","content":"hi"}]}`)
}

// The keys of the server.
const (
	userKey  = "sk-7Hq2Zt9LwXc4Bf0G"
	adminKey = "sk-Pm5Vb8Ky3Rd6Jw1N"
)

// again starts a server on the address of one that was closed.
func again(t *testing.T, addr string, cfg sglangtest.Config) *sglangtest.Server {
	t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		ln, err := net.Listen("tcp", addr)
		if err == nil {
			return sglangtest.Start(ln, cfg)
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
	}
}

// TestNoKeyIsKept lets the sidecar see both keys of the server wherever it can,
// through a restart of the server and to its own violent end, and looks for
// them in all that it wrote and said.
func TestNoKeyIsKept(t *testing.T) {
	cfg := sglangtest.Config{Plugin: true, APIKey: userKey, AdminAPIKey: adminKey}
	server := sglangtest.NewServer(cfg)
	t.Cleanup(func() { server.Close() })
	dir := t.TempDir()
	key, labels := filepath.Join(dir, "key"), filepath.Join(dir, "labels")
	for file, text := range map[string]string{key: adminKey + "\n", labels: "driver=580\n"} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p := launch(t, "-upstream", server.URL, "-upstream-key-file", key, "-poll-metrics", "-label", "gpu=H200", "-label-file", labels)

	// Everything has been learned once: by header, facts, poll and label.
	if answer := p.turn(userKey); !strings.Contains(answer, "[DONE]") {
		t.Fatalf("got %s", answer)
	}
	for _, tag := range []string{
		`"index_dtype":{"v":"bf16","src":"header"`, `"batch":{"v":"1","src":"facts"`, `"gpu":{"v":"H200","src":"label"`, `"driver":{"v":"580","src":"label"`,
		`"own_batch_max":{"v":"1","src":"own"`,
	} {
		p.awaitTag(tag)
	}
	p.awaitTag(`"kv_cache_dtype":{"v":"fp8_e4m3","src":"poll"`)

	// The server starts anew with another configuration.
	addr := strings.TrimPrefix(server.URL, "http://")
	server.Close()
	p.client.CloseIdleConnections()
	cfg.IndexDtype = "fp8"
	server = again(t, addr, cfg)
	p.awaitTag(`"type":"config_change"`)
	p.await(p.journal, `"type":"config_change".*"index_dtype":\{"from":"bf16","to":"fp8"\}`)
	p.await(p.log, `turns come from another configuration`)

	said := map[string]string{}
	for _, path := range []string{"/metrics", "/debug/pprof/goroutine?debug=2", "/debug/pprof/cmdline", "/readyz"} {
		said[path] = p.fetch("GET", "http://"+p.admin+path, "", "")
	}
	for _, series := range []string{`turnwatch_polls_total{outcome="ok",poll="server_info"} `, `turnwatch_turn_facts_total{outcome="ok"} `, "turnwatch_config_changes_total 1"} {
		if !strings.Contains(said["/metrics"], series) {
			t.Errorf("/metrics has no %s:\n%s", series, said["/metrics"])
		}
	}
	// A violent end: the runtime writes what every goroutine was at.
	if err := p.cmd.Process.Signal(syscall.SIGQUIT); err != nil {
		t.Fatal(err)
	}
	p.cmd.Wait()
	p.await(p.log, `SIGQUIT: quit`)
	for name, file := range map[string]string{"log and crash": p.log, "journal": p.journal} {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		said[name] = string(b)
	}
	for name, text := range said {
		for _, key := range []string{userKey, adminKey} {
			for i := range len(key) - 6 {
				if part := key[i : i+6]; strings.Contains(text, part) {
					t.Errorf("%s holds %q, which is part of a key", name, part)
				}
			}
		}
	}
}

// awaitTag plays turns until the journal holds a text.
func (p *process) awaitTag(text string) {
	p.t.Helper()
	for end := time.Now().Add(patience); ; {
		b, _ := os.ReadFile(p.journal)
		if bytes.Contains(b, []byte(text)) {
			return
		}
		if time.Now().After(end) {
			p.t.Fatalf("the journal has no %s:\n%s", text, b)
		}
		p.turn(userKey)
	}
}

// TestStatusLogAndWrongKey: what can be read is taken, what is refused is
// counted and costs no turn.
func TestStatusLogAndWrongKey(t *testing.T) {
	dir := t.TempDir()
	log, err := os.OpenFile(filepath.Join(dir, "host_0.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	server := sglangtest.NewServer(sglangtest.Config{Plugin: true, Omit: []string{"facts", "turn-facts"}, APIKey: userKey, Step: 20 * time.Millisecond,
		StatusLog: log, StatusEvery: time.Nanosecond})
	defer server.Close()
	key := filepath.Join(dir, "key")
	if err := os.WriteFile(key, []byte("wrong"), 0o600); err != nil {
		t.Fatal(err)
	}
	p := launch(t, "-upstream", server.URL, "-upstream-key-file", key, "-status-log", dir, "-turn-facts", sglangtest.FactsPath)
	p.awaitTag(`"batch":{"v":"1","src":"status_log"`)
	p.shows(`turnwatch_polls_total\{outcome="failed",poll="server_info"\} [1-9]`, `turnwatch_polls_total\{outcome="ok",poll="status_log"\} [1-9]`,
		`turnwatch_turn_facts_total\{outcome="failed"\} [1-9]`)
}

// shows waits until /metrics matches each pattern: what a turn counts may follow its
// line in the journal.
func (p *process) shows(patterns ...string) {
	p.t.Helper()
	for _, pattern := range patterns {
		re := regexp.MustCompile(pattern)
		for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
			text := p.fetch("GET", "http://"+p.admin+"/metrics", "", "")
			if re.MatchString(text) {
				break
			}
			if time.Now().After(end) {
				p.t.Fatalf("/metrics does not match %s:\n%s", pattern, text)
			}
		}
	}
}
