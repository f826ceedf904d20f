package report

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"turnwatch/proxy"
	"turnwatch/proxy/journal"
	"turnwatch/proxy/sglangtest"
	"turnwatch/proxy/turn"
	"turnwatch/validate"
	"turnwatch/validate/agents"
)

// exchange is a request and the answer as its client had it.
type exchange struct {
	request, answer []byte
	status          int
	kind            string
}

// live plays sessions through the relay, on a server with faults of many kinds.
// It returns what passed and the journal.
func live(t *testing.T) (all []exchange, path string) {
	t.Helper()
	var faults []sglangtest.Fault
	for i, name := range []string{"bad_json", "unknown_tool", "missing_required", "args_empty", "wrong_type", "swallowed", "first_error", "args_duplicated", "null_name"} {
		f, err := sglangtest.NewFault(name, 0.08, uint64(i), "deepseekv4")
		if err != nil {
			t.Fatal(err)
		}
		faults = append(faults, f)
	}
	sim := sglangtest.NewServer(sglangtest.Config{Faults: faults})
	defer sim.Close()
	path = filepath.Join(t.TempDir(), "turns.jsonl")
	w, err := journal.Open(path, journal.Options{})
	if err != nil {
		t.Fatal(err)
	}
	relay, err := proxy.New(proxy.Config{Upstream: sim.URL}, w)
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- relay.Serve(ln) }()
	for s := range uint64(20) {
		session := agents.NewSession(s)
		for n := 1; n <= session.Turns(); n++ {
			all = append(all, ask(t, "http://"+ln.Addr().String(), session.Request(n, agents.Options{Model: "m", Stream: s%2 == 0})))
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	http.DefaultClient.CloseIdleConnections()
	if err := relay.Shutdown(ctx); err != nil {
		t.Fatal(err)
	}
	<-served
	if err := w.Close(ctx); err != nil {
		t.Fatal(err)
	}
	return all, path
}

func ask(t *testing.T, url string, body []byte) exchange {
	t.Helper()
	resp, err := http.Post(url+"/v1/chat/completions", "application/json", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return exchange{body, answer, resp.StatusCode, resp.Header.Get("Content-Type")}
}

// offline judges what passed once more, without the relay.
func offline(t *testing.T, all []exchange) *Data {
	t.Helper()
	memory := validate.NewSchemas(1 << 20)
	var lines []byte
	for i, x := range all {
		r, err := memory.ParseRequest("/v1/chat/completions", x.request)
		if err != nil {
			t.Fatal(err)
		}
		c := validate.NewChecker(r, validate.Head{Status: x.status, ContentType: x.kind})
		c.Feed(0, x.answer)
		u := turn.Turn{V: 1, ID: fmt.Sprint(i), Arm: turn.Live, Model: r.Model, Status: x.status, Verdict: c.Finish(validate.Complete)}
		lines = append(u.AppendJSON(lines), '\n')
	}
	return read(t, string(lines), "-")
}

func TestOfflineAndLiveCountsAreIdentical(t *testing.T) {
	all, path := live(t)
	card := func(d *Data) string {
		c := Make(d, Options{Permutations: 1}).Scorecard
		c.K2VV.Started, c.K2VV.Finished, c.K2VV.DurationMS = "", "", 0
		b, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	passed, judged := read(t, "", path), offline(t, all)
	got, want := card(passed), card(judged)
	if got != want {
		t.Errorf("live    %s\noffline %s", got, want)
	}
	c := Make(passed, Options{Permutations: 1}).Scorecard
	if k := c.K2VV; k.Success+k.Failure != len(all) || k.Failure == 0 || k.Errors < 5 || k.Successful < 10 || k.Stop < 5 {
		t.Errorf("of %d turns: %+v", len(all), k)
	}
	if o := c.OpenRouter; o.JSON == 0 || o.Name == 0 || o.Mistype == 0 {
		t.Errorf("got %+v, want some of each error", o)
	}
}

func TestK2VVFiles(t *testing.T) {
	line := func(finish, vendor, more string) string {
		return line("s", "clean", fmt.Sprintf(`,"model":"kimi","duration_ms":12.5,"usage":{"prompt_tokens":10,"completion_tokens":5},"finish_reasons":%s%s%s`, finish, vendor, more))
	}
	d := read(t, line(`["tool_calls"]`, `,"vendor":{"k2vv":"valid","openrouter":"ok"}`, "")+
		line(`["tool_calls"]`, `,"vendor":{"k2vv":"invalid","openrouter":"ok"}`, "")+
		line(`["tool_calls"]`, `,"vendor":{"k2vv":"no_call"}`, "")+
		line(`["tool_calls"]`, `,"vendor":{"openrouter":"ok"}`, "")+
		line(`[]`, "", "")+line(`["length"]`, "", "")+
		strings.Replace(line(`[]`, "", `,"turn":2`), `"status":200`, `"status":500`, 1)+
		strings.NewReplacer(`"status":200`, `"status":502`, `"kimi"`, `""`).Replace(line(`[]`, "", `,"turn":30`)), "-")
	dir := filepath.Join(t.TempDir(), "out")
	if err := WriteK2VV(d, Options{}, dir); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(dir, "summary.json"))
	if err != nil {
		t.Fatal(err)
	}
	var k K2VV
	if err := json.Unmarshal(b, &k); err != nil {
		t.Fatal(err)
	}
	if k.Model != "kimi" || k.Success != 6 || k.Failure != 2 || k.Stop != 2 || k.ToolCalls != 3 || k.Others != 1 || k.OthersDetail["length"] != 1 ||
		k.Errors != 2 || k.Successful != 1 || k.Usage.Total != 90 {
		t.Errorf("got %s", b)
	}
	rows, err := os.ReadFile(filepath.Join(dir, "results.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{`"tool_calls_valid":true`, `"tool_calls_valid":false`, `"tool_calls_valid":null`, `"finish_reason":"stop"`, `"finish_reason":"stop"`, `"finish_reason":"length"`, `"status":"failed"`, `"status":"failed"`}
	for i, got := range strings.Split(strings.TrimSpace(string(rows)), "\n") {
		if !strings.Contains(got, want[i]) || !strings.Contains(got, fmt.Sprintf(`"data_index":%d,`, i+1)) {
			t.Errorf("row %d: got %s, want %s", i+1, got, want[i])
		}
	}
	if err := WriteK2VV(read(t, line(`[]`, "", ""), "-"), Options{}, dir); err == nil {
		t.Error("a scorecard of nothing was written")
	}
}

func TestMatchesAgainstAReference(t *testing.T) {
	d := newData()
	for i, f := range []string{"stop", toolCalls} {
		if int(d.finishes.of(f)) != i {
			t.Fatal("finish reasons")
		}
	}
	mk := func(id uint64, calls bool, failed bool) *row {
		r := &row{request: id}
		if calls {
			r.finish, r.score, r.calls = 1, k2Valid, 1
		}
		r.flag(isFailed, failed)
		return r
	}
	a := view{d: d, rows: []*row{mk(1, true, false), mk(2, true, false), mk(3, false, false), mk(4, true, false), mk(5, false, false)}}
	b := view{d: d, rows: []*row{mk(1, true, false), mk(2, false, false), mk(3, true, false), mk(4, false, true), mk(9, true, false)}}
	m := matches(a, b)
	// TP 1, FP 1, FN 1; with the failed one FN 2.
	if len(m) != 4 || m[0].F1 != 0.5 || m[0].Of != 3 || m[1].F1 != 0.4 || m[1].Of != 4 || m[2].N != 1 {
		t.Errorf("got %+v", m)
	}
}
