package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"turnwatch/proxy/evidence"
	"turnwatch/proxy/turn"
	"turnwatch/validate"
)

// TestEvidenceIsJudgedAsItWasRecorded, and what is not in it is said.
func TestEvidenceIsJudgedAsItWasRecorded(t *testing.T) {
	const request = `{"model":"m","stream":true,"messages":[],"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object"}}}]}`
	pieces := []string{
		`data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"f","arguments":"{\"a\""}}]}}]}` + "\n\n",
		`data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"1}"}}]}}]}` + "\n\n",
		`data: {"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}` + "\n\ndata: [DONE]\n\n",
	}
	req, err := validate.ParseRequest("/v1/chat/completions", []byte(request))
	if err != nil {
		t.Fatal(err)
	}
	c := validate.NewChecker(req, validate.Head{Status: 200, ContentType: "text/event-stream"})
	said := turn.Said{Head: []byte("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")}
	for i, p := range pieces {
		at := time.Duration(i) * 25 * time.Millisecond
		c.Feed(at, []byte(p))
		said.Marks = append(said.Marks, turn.Mark{Off: len(said.Body), At: at})
		said.Body = append(said.Body, p...)
	}
	recorded := &turn.Turn{V: turn.Version, ID: "01m8", Path: "/v1/chat/completions", Ending: validate.Complete, Verdict: c.Finish(validate.Complete),
		Capture: &turn.Capture{Request: turn.Said{Head: []byte("POST /v1/chat/completions HTTP/1.1\r\n\r\n"), Body: []byte(request)}, Answer: said}}
	f := func(bodies bool, want int, told string, all ...*turn.Turn) (rows string) {
		t.Helper()
		dir := t.TempDir()
		w, err := evidence.Open(dir, evidence.Options{Bodies: bodies})
		if err != nil {
			t.Fatal(err)
		}
		for _, one := range all {
			w.Finish(one)
		}
		if err := w.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		var out, complaints bytes.Buffer
		if code := run([]string{"-json", dir}, &out, &complaints); code != want || !strings.Contains(complaints.String(), told) {
			t.Errorf("exit code: got %d, want %d: %s", code, want, &complaints)
		}
		return out.String()
	}
	got := f(true, exitCorrupted, "", recorded)
	line := recorded.AppendJSON(nil)
	_, findings, _ := strings.Cut(string(line), `"findings":`)
	findings, _, _ = strings.Cut(findings, `,"signals"`)
	if recorded.Outcome != validate.Corrupted || !strings.Contains(got, `"id":"01m8","verdict":"corrupted"`) || !strings.Contains(got, findings) {
		t.Errorf("got %s\nwant the findings %s", got, findings)
	}
	f(false, exitUnable, "turnwatch keeps that with -evidence-bodies", recorded)
	probe := *recorded
	probe.ID, probe.Capture = "01m9", nil
	f(true, exitUnable, "of probes turnwatch keeps nothing", &probe)
	if got := f(true, exitCorrupted, "passed over: nothing that was said is in it: of probes", &probe, recorded); !strings.Contains(got, `"id":"01m8"`) {
		t.Errorf("beside a probe: got %s, want the other turn", got)
	}
}
