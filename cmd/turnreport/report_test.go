package main

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"turnwatch/cmd/internal/report"
)

// turns writes a journal of sessions of one turn.
func turns(t *testing.T, path string, clean, corrupted int, arm string) {
	t.Helper()
	var b strings.Builder
	for i := range clean + corrupted {
		verdict, findings := "clean", ""
		if i < corrupted {
			verdict, findings = "corrupted", `{"kind":"schema_value","cause":"unknown"}`
		}
		fmt.Fprintf(&b, `{"v":1,"id":"%s%d","time":"%s","status":200,"arm":"%s","session":"%s%d","verdict":"%s","findings":[%s],"finish_reasons":["tool_calls"],"vendor":{"k2vv":"valid","openrouter":"ok"}}`+"\n",
			arm, i, time.Now().Add(-time.Hour).Format(time.RFC3339), arm, arm, i, verdict, findings)
	}
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
}

// told runs the command and returns what it said.
func told(in string, args ...string) (code int, out, errs string) {
	var stdout, stderr bytes.Buffer
	code = run(context.Background(), args, std{strings.NewReader(in), &stdout, &stderr})
	return code, stdout.String(), stderr.String()
}

func TestFormsAndExits(t *testing.T) {
	dir := t.TempDir()
	good, bad, both := filepath.Join(dir, "good.jsonl"), filepath.Join(dir, "bad.jsonl"), filepath.Join(dir, "both.jsonl")
	turns(t, good, 50, 0, "live")
	turns(t, bad, 30, 20, "candidate")
	live, _ := os.ReadFile(good)
	candidate, _ := os.ReadFile(bad)
	if err := os.WriteFile(both, append(live, candidate...), 0o600); err != nil {
		t.Fatal(err)
	}
	f := func(code int, want string, args ...string) {
		t.Helper()
		got, out, errs := told("", args...)
		if got != code || !strings.Contains(out+errs, want) {
			t.Errorf("%q: exit %d, want %d, %q in\n%s%s", args, got, code, want, out, errs)
		}
	}
	f(0, "CORRUPTION sessions: 0/50 = 0.0%", good)
	f(1, "CORRUPTION sessions: 20/50 = 40.0%", bad)
	f(0, "0/50", both)
	f(1, "20/50", "-arm", "candidate", both)
	f(3, "Nothing was judged", "-model", "none", both)
	f(0, "0/50", "-since", "2h", both)
	f(3, "Nothing was judged", "-since", "10m", both)
	f(1, "B is worse than A.", "-a", "arm=live", "-b", "arm=candidate", both)
	f(0, "B is better than A.", "-b", "arm=live", "-a", "arm=candidate", both)
	f(3, "Undecided", "-a", "arm=live", "-b", "arm=probe", both)
	f(1, "# turnwatch report", "-markdown", bad)
	f(1, `"word": "nothing_separates"`, "-json", bad)
	f(0, "-prometheus-token-file", "-help")
	f(2, "no such file", filepath.Join(dir, "none.jsonl"))
	f(2, "name journals", "-json")
	f(2, "exclude", "-json", "-markdown", good)
	f(2, "-json stands behind a name: flags come first", good, "-json")
	f(2, "-since stands behind a name: flags come first", "issue", dir, "-since", "2h")
	f(2, "-html stands behind a name: flags come first", "shadow", good, "-html", "out")
	f(2, "-shadow stands behind a name: flags come first", "gate", good, "-shadow")
	f(2, "-a and -b", "-a", "arm=live", good)
	f(2, "-margin", "-margin", "2", good)
	f(2, "-since: read the time", "-since", "soon", good)
	f(2, "-b: select turns", "-a", "arm=live", "-b", "candidate", good)
	f(2, "-no-such-flag", "-no-such-flag", good)
	f(2, "want http://", "-prometheus", "localhost:9090", "-since", "7d")
	f(2, "needs -since", "-prometheus", "http://127.0.0.1:9")
	f(2, "exclude one another", "-prometheus", "http://127.0.0.1:9", "-since", "7d", good)
	f(2, "-prometheus-cert", "-prometheus", "http://127.0.0.1:9", "-since", "7d", "-prometheus-cert", "x")
	f(2, "-k2vv", "-prometheus", "http://127.0.0.1:9", "-since", "7d", "-k2vv", dir)
	f(2, "issue: nothing to report", "issue")
	f(2, "no such file", "issue", filepath.Join(dir, "none"))
}

func TestFilesAreWritten(t *testing.T) {
	dir := t.TempDir()
	journal, page, k2 := filepath.Join(dir, "j.jsonl"), filepath.Join(dir, "r.html"), filepath.Join(dir, "k2")
	turns(t, journal, 5, 1, "live")
	in, _ := os.ReadFile(journal)
	if code, _, errs := told(string(in), "-html", page, "-k2vv", k2, "-"); code != report.ExitCorrupted {
		t.Errorf("exit %d, %s", code, errs)
	}
	for path, want := range map[string]string{page: "1 of 6 sessions corrupted", filepath.Join(k2, "summary.json"): `"successful_tool_call_count": 6`, filepath.Join(k2, "results.jsonl"): `"data_index":6`} {
		info, err := os.Stat(path)
		b, _ := os.ReadFile(path)
		if err != nil || info.Mode().Perm() != 0o600 || !bytes.Contains(b, []byte(want)) {
			t.Errorf("%s: %v, want mode 0600 and %q", path, err, want)
		}
	}
	if code, _, errs := told("", "-html", filepath.Join(dir, "none", "r.html"), journal); code != report.ExitUnable || !strings.Contains(errs, "write the report") {
		t.Errorf("exit %d, %s", code, errs)
	}
}

// A Prometheus behind TLS that wants a token is read with the flags for it.
func TestPrometheusWithTLSAndToken(t *testing.T) {
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer s3cret" {
			http.Error(w, "who?", http.StatusUnauthorized)
			return
		}
		result := []any{}
		if q := r.PostFormValue("query"); strings.HasPrefix(q, "turnwatch_turns_total{job=") || strings.HasPrefix(q, "turnwatch_sessions_total{job=") {
			now := float64(time.Now().Unix())
			result = append(result, map[string]any{"metric": map[string]string{"turnwatch_arm": "live", "turnwatch_verdict": "clean"}, "values": [][2]any{{now - 60, "5"}, {now - 30, "12"}}})
		}
		json.NewEncoder(w).Encode(map[string]any{"status": "success", "data": map[string]any{"resultType": "matrix", "result": result}})
	}))
	defer s.Close()
	dir := t.TempDir()
	ca, token := filepath.Join(dir, "ca.pem"), filepath.Join(dir, "token")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(token, []byte("s3cret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"-prometheus", s.URL, "-since", "1h", "-prometheus-match", `job="t"`}
	code, out, errs := told("", append(args, "-prometheus-ca", ca, "-prometheus-token-file", token)...)
	if code != report.ExitGood || !strings.Contains(out, "CORRUPTION sessions: 0/7 = 0.0%") || !strings.Contains(out, "No cause from here") {
		t.Errorf("exit %d\n%s%s", code, out, errs)
	}
	if code, _, errs := told("", append(args, "-prometheus-ca", ca)...); code != report.ExitUnable || !strings.Contains(errs, "-prometheus-token-file") {
		t.Errorf("without a token: exit %d, %s", code, errs)
	}
	if code, _, errs := told("", args...); code != report.ExitUnable || !strings.Contains(errs, "certificate") {
		t.Errorf("without the CA: exit %d, %s", code, errs)
	}
}
