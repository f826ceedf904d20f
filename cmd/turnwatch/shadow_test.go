package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/knadh/koanf/parsers/yaml"

	"turnwatch/proxy/pairs"
	"turnwatch/proxy/sglangtest"
	"turnwatch/proxy/turn"
	"turnwatch/validate/agents"
	"turnwatch/validate/stats"
)

const adminToken = "t-4Xw8Kd2Lq7"

// shadowed starts a sidecar with a control and a candidate, whose journal is at path.
func shadowed(t *testing.T, path string, live, control, candidate *sglangtest.Server, args ...string) *process {
	t.Helper()
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte(adminToken), 0o600); err != nil {
		t.Fatal(err)
	}
	p := launch(t, append([]string{"-upstream", live.URL, "-journal", path, "-admin-token-file", token, "-shadow-ratio", "1", "-no-poll",
		"-shadow", "candidate=" + candidate.URL + ",label.build=new,set.temperature=0", "-shadow", "control=" + control.URL}, args...)...)
	p.journal = path
	return p
}

// sessions plays sessions from a number on and returns how many turns they had.
func (p *process) sessions(from, n int) (turns int) {
	p.t.Helper()
	for i := range n {
		s := agents.NewSession(uint64(from + i))
		for k := 1; k <= s.Turns(); k++ {
			req, err := http.NewRequest("POST", "http://"+p.addr+"/v1/chat/completions", bytes.NewReader(s.Request(k, agents.Options{Model: "m", Stream: true})))
			if err != nil {
				p.t.Fatal(err)
			}
			req.Header.Set("Content-Type", "application/json")
			req.Header.Set("X-Session-Id", s.ID)
			resp, err := p.client.Do(req)
			if err != nil {
				p.t.Fatal(err)
			}
			io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
			turns++
		}
	}
	return turns
}

// report asks for what the pairs have shown.
func (p *process) report() (r pairs.Report) {
	p.t.Helper()
	if err := json.Unmarshal([]byte(p.fetch("GET", "http://"+p.admin+"/shadow", adminToken, "")), &r); err != nil {
		p.t.Fatal(err)
	}
	return r
}

// awaitPairs waits until so many requests are paired in the candidate.
func (p *process) awaitPairs(n int) (r pairs.Report) {
	p.t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		if r = p.report(); r.Arms[turn.Candidate].Offered >= n {
			return r
		}
		if time.Now().After(end) {
			p.t.Fatalf("pairs: got %+v, want %d", r.Arms, n)
		}
	}
}

// status asks as a controller does and returns the status alone.
func (p *process) status(method, url, token, body string) int {
	p.t.Helper()
	req, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		p.t.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := p.client.Do(req)
	if err != nil {
		p.t.Fatal(err)
	}
	defer resp.Body.Close()
	io.Copy(io.Discard, resp.Body)
	return resp.StatusCode
}

// server starts a simulated server; a share of its turns is corrupted.
func server(t *testing.T, seed uint64, share float64) *sglangtest.Server {
	t.Helper()
	s := sglangtest.NewServer(sglangtest.Config{Plugin: true, Faults: []sglangtest.Fault{
		{Name: "bad", When: sglangtest.Rate(seed, "bad", share), Do: sglangtest.BadJSON}}})
	t.Cleanup(s.Close)
	return s
}

// document reads a file of deploy/rollouts.
func document(t *testing.T, name string) map[string]any {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("../../deploy/rollouts", name))
	if err != nil {
		t.Fatal(err)
	}
	doc, err := yaml.Parser().Unmarshal(b)
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// at follows keys and indexes into a document.
func at(t *testing.T, doc any, path ...any) any {
	t.Helper()
	for _, step := range path {
		ok := false
		switch step := step.(type) {
		case string:
			var m map[string]any
			if m, ok = doc.(map[string]any); ok {
				doc, ok = m[step]
			}
		case int:
			var l []any
			if l, ok = doc.([]any); ok && step < len(l) {
				doc = l[step]
			}
		}
		if !ok {
			t.Fatalf("got no %v in the document", path)
		}
	}
	return doc
}

// flagger asks the gates as Flagger does, and says which of them are open.
func (p *process) flagger() (open map[string]bool) {
	p.t.Helper()
	open = map[string]bool{}
	for _, hook := range at(p.t, document(p.t, "flagger.yaml"), "spec", "analysis", "webhooks").([]any) {
		url := strings.NewReplacer("turnwatch-admin.llm:9464", p.admin, "MODEL", "m").Replace(at(p.t, hook, "url").(string))
		if at(p.t, hook, "metadata", "token") != "TOKEN" {
			p.t.Fatal("the hook sends no token")
		}
		body, err := json.Marshal(map[string]any{"name": "sglang", "namespace": "llm", "phase": "Progressing", "checksum": "85d557f47b", "metadata": map[string]string{"token": adminToken}})
		if err != nil {
			p.t.Fatal(err)
		}
		status := p.status("POST", url, "", string(body))
		if status != http.StatusOK && status != http.StatusConflict {
			p.t.Errorf("%v: got %d, want 200 or 409", at(p.t, hook, "name"), status)
		}
		open[at(p.t, hook, "type").(string)] = status >= 200 && status <= 202
		if got := p.status("POST", url, "", `{"metadata":{"token":"wrong"}}`); got != http.StatusUnauthorized {
			p.t.Errorf("a wrong token: got %d, want 401", got)
		}
	}
	return open
}

// argo measures as Argo Rollouts does: Successful, Failed or Inconclusive.
func (p *process) argo() string {
	p.t.Helper()
	metric := at(p.t, document(p.t, "argo-rollouts.yaml"), "spec", "metrics", 0)
	web := at(p.t, metric, "provider", "web")
	url := strings.NewReplacer("turnwatch-admin.llm:9464", p.admin, "{{ args.model }}", "m").Replace(at(p.t, web, "url").(string))
	header := strings.Replace(at(p.t, web, "headers", 0, "value").(string), "{{ args.token }}", adminToken, 1)
	if at(p.t, web, "jsonPath") != "{$}" || at(p.t, web, "headers", 0, "key") != "Authorization" {
		p.t.Fatal("the measurement is another than this test plays")
	}
	var result map[string]any
	if err := json.Unmarshal([]byte(p.fetch("GET", url, strings.TrimPrefix(header, "Bearer "), "")), &result); err != nil {
		p.t.Fatal(err)
	}
	condition := func(name string) bool {
		field, ok := strings.CutPrefix(at(p.t, metric, name).(string), "result.")
		v, there := result[field].(bool)
		if !ok || !there {
			p.t.Fatalf("%s: got %v of %v, want a boolean of the result", name, at(p.t, metric, name), result)
		}
		return v
	}
	switch {
	case condition("failureCondition"):
		return "Failed"
	case condition("successCondition"):
		return "Successful"
	}
	return "Inconclusive"
}

// TestRolloutsAreAnswered as Flagger and Argo Rollouts ask, at each stage of a decision.
func TestRolloutsAreAnswered(t *testing.T) {
	f := func(name string, candidate float64, sessions int, promote, rollback bool, phase string, args ...string) {
		t.Run(name, func(t *testing.T) {
			p := shadowed(t, filepath.Join(t.TempDir(), "turns.jsonl"), server(t, 1, 0), server(t, 2, 0), server(t, 3, candidate), args...)
			if sessions > 0 {
				p.awaitPairs(p.sessions(1, sessions))
			}
			open := p.flagger()
			if open["confirm-promotion"] != promote || open["rollback"] != rollback {
				t.Errorf("Flagger: got %v, want promote %t, rollback %t", open, promote, rollback)
			}
			if got := p.argo(); got != phase {
				t.Errorf("Argo Rollouts: got %s, want %s", got, phase)
			}
		})
	}
	f("no pairs yet", 0, 0, false, false, "Inconclusive")
	f("too few", 0, 4, false, false, "Inconclusive")
	f("as good", 0, 20, true, false, "Successful", "-shadow-margin", "0.1")
	f("worse", 0.4, 16, false, true, "Failed")
}

// TestShadowGateWantsToBeAskedRightly.
func TestShadowGateWantsToBeAskedRightly(t *testing.T) {
	p := shadowed(t, filepath.Join(t.TempDir(), "turns.jsonl"), server(t, 1, 0), server(t, 2, 0), server(t, 3, 0))
	f := func(method, path, token string, want int) {
		t.Helper()
		if got := p.status(method, "http://"+p.admin+path, token, ""); got != want {
			t.Errorf("%s %s: got %d, want %d", method, path, got, want)
		}
	}
	f("GET", "/shadow", adminToken, 200)
	f("GET", "/shadow", "", 401)
	f("POST", "/shadow/gate?ask=promote", adminToken, 409)
	f("POST", "/shadow/gate?ask=promote", "", 401)
	f("POST", "/shadow/gate?ask=what", adminToken, 400)
	f("GET", "/shadow/gate?ask=promote", adminToken, 405)
	none := launch(t, "-upstream", "http://127.0.0.1:1")
	if got := none.status("GET", "http://"+none.admin+"/shadow", "", ""); got != 404 {
		t.Errorf("without shadow traffic: got %d, want 404", got)
	}
}

// TestShadowSurvivesARestart of the sidecar: what the journal holds is counted again, and
// once.
func TestShadowSurvivesARestart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "turns.jsonl")
	live, control, candidate := server(t, 1, 0), server(t, 2, 0), server(t, 3, 0.4)
	p := shadowed(t, path, live, control, candidate)
	n := p.sessions(1, 6)
	before := p.awaitPairs(n)
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	p.await(p.log, `msg=stopped`)
	p.cmd.Wait()

	p = shadowed(t, path, live, control, candidate)
	p.await(p.log, fmt.Sprintf(`msg="read earlier pairs of answers from the journal" pairs=%d`, n))
	after := p.awaitPairs(n)
	votes := func(r pairs.Report) (v, all int) {
		for _, c := range append(r.Current, r.Earlier...) {
			v, all = v+c.Corrupted.Votes[0], all+c.Corrupted.Pairs
		}
		return v, all
	}
	bv, ba := votes(before)
	if v, all := votes(after); v != bv || all != ba || after.Arms[turn.Candidate].Offered != n {
		t.Errorf("after the restart: got %d votes of %d pairs, want %d of %d", v, all, bv, ba)
	}
	n += p.sessions(100, 20)
	if r := p.awaitPairs(n); r.Word != stats.Worse || r.Current[0].Corrupted.Votes[0] <= bv {
		t.Errorf("both together: got %s: %s", r.Word, r.Text)
	}
	// The label and the other value are tags of the candidate alone, and of its fingerprint.
	p.await(path, `"build":\{"v":"new","src":"label".*"set_temperature":\{"v":"0","src":"label".*"arm":"candidate"`)
	if c := p.report().Current[0]; c.Print == c.Versus || c.Versus != c.Live {
		t.Errorf("fingerprints: got %s, %s and %s of the live server, want the candidate's to be another", c.Print, c.Versus, c.Live)
	}
	metrics := p.fetch("GET", "http://"+p.admin+"/metrics", adminToken, "")
	for _, want := range []string{`turnwatch_shadow_offered_total\{turnwatch_arm="candidate"\} 1\d\d`, `turnwatch_shadow_word\{.*word="worse".*\} 1`,
		`turnwatch_shadow_log10_e\{.*against="control".*worse="candidate".*\} [2-9]`,
		`turnwatch_shadow_votes_total\{.*worse="candidate".*\} [1-9]`, `turnwatch_shadow_failed_total\{.*reason="connect".*turnwatch_arm="candidate".*\} 0`} {
		if !regexp.MustCompile(want).MatchString(metrics) {
			t.Errorf("/metrics does not match %s", want)
		}
	}
}

// TestShadowSettings that are wrong are told, and those that are right are taken from
// wherever they come.
func TestShadowSettings(t *testing.T) {
	f := func(want string, arms ...string) {
		t.Helper()
		s := shadowOptions{arms: list{values: arms}}
		err := s.check(false)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: got %v, want %q", arms, err, want)
		}
	}
	f("")
	f("", "candidate=http://h:1")
	f("", "candidate=http://h:1,label.gpu=H200,key-file=/k,set.temperature=0,set.model=x", "control=http://h:2")
	f("", "candidate=http://h:1", "label.gpu=H200", "control=unix:/s") // as a variable's commas make it
	f("names no candidate", "control=http://h:1")
	f("given twice", "candidate=http://h:1", "candidate=http://h:2")
	f("is no server", "candidate=h:1")
	f("is no server", "candidate=http://h:1/v1")
	f("begins with candidate=URL", "label.gpu=H200")
	f("no option", "candidate=http://h:1,what=x")
	f("not ARM=URL", "candidate")
	s := shadowOptions{arms: list{values: []string{"candidate=http://h:1,label.gpu=H200,set.temperature=0.5,set.model=x"}}}
	arms, err := s.parse()
	if err != nil || len(arms) != 1 || arms[0].set["temperature"] != "0.5" || arms[0].set["model"] != `"x"` ||
		strings.Join(arms[0].labels.values, " ") != `gpu=H200 set_temperature=0.5 set_model="x"` {
		t.Errorf("got %+v, %v", arms, err)
	}
}
