package sglangtest

import (
	"bytes"
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
)

func player(t *testing.T, all []Recording, cfg PlayConfig) *Player {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := Play(ln, all, cfg)
	t.Cleanup(p.Close)
	return p
}

func captures(t *testing.T) []Recording {
	t.Helper()
	all, err := ReadCaptures("testdata/captures/turns.jsonl")
	if err != nil || len(all) == 0 {
		t.Fatalf("captures: got %d, %v", len(all), err)
	}
	return all
}

// wire is what comes back over a connection for a request.
func wire(t *testing.T, p *Player, body []byte) []byte {
	t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(p.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(30 * time.Second))
	fmt.Fprintf(c, "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	b, err := io.ReadAll(c)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func bytesOf(r *Recording) (b []byte) {
	for _, p := range r.Pieces {
		b = append(b, p.Data...)
	}
	return b
}

// TestPlayerPlaysEveryByte, and tells the facts of each turn.
func TestPlayerPlaysEveryByte(t *testing.T) {
	all := captures(t)
	p := player(t, all, PlayConfig{AtOnce: true})
	for i := range all {
		spelled, err := json.MarshalIndent(json.RawMessage(all[i].Body), "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		if got := wire(t, p, spelled); !bytes.Equal(got, bytesOf(&all[i])) {
			t.Errorf("turn %d:\ngot  %q\nwant %q", i, got, bytesOf(&all[i]))
		}
		resp, err := http.Get(p.URL + "/turnwatch/turns/" + all[i].RID)
		if err != nil {
			t.Fatal(err)
		}
		facts, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if !bytes.Equal(facts, all[i].Facts) || !json.Valid(facts) {
			t.Errorf("facts of turn %d: got %s, want %s", i, facts, all[i].Facts)
		}
	}
	if got := p.Played(); got != (Played{Answers: len(all), Facts: len(all)}) {
		t.Errorf("played: got %+v, want %d answers and facts", got, len(all))
	}
}

func TestPlayerKeepsTheTimes(t *testing.T) {
	rec := Recording{Method: "POST", Path: "/v1/chat/completions", Body: []byte(`{}`), Pieces: []Piece{
		{0, []byte("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")}, {200 * time.Millisecond, []byte("a")}}}
	begin := time.Now()
	wire(t, player(t, []Recording{rec}, PlayConfig{Speed: 2}), rec.Body)
	if took := time.Since(begin); took < 100*time.Millisecond {
		t.Errorf("twice as fast as 200 ms: took %v", took)
	}
}

func TestPlayerKnowsWhoAsked(t *testing.T) {
	answer := func(s string) []Piece {
		return []Piece{{0, []byte("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + s)}}
	}
	const path = "/v1/chat/completions"
	all := []Recording{
		{Method: "POST", Path: path, Body: []byte(`{"a":1,"b":1.0}`), Pieces: answer("one")},
		{Method: "POST", Path: path, Body: []byte(`{"b":1.0,"a":1}`), Pieces: answer("two")},
		{Method: "POST", Path: path, Body: []byte(`{"c":1}`), Pieces: answer("three")},
	}
	f := func(p *Player, body, want string) {
		t.Helper()
		if got := wire(t, p, []byte(body)); !strings.Contains(string(got), want) {
			t.Errorf("%s: got %q, want %q in it", body, got, want)
		}
	}
	p := player(t, all, PlayConfig{})
	f(p, `{"a":1,"b":1.0}`, "one")
	f(p, `{"a":1,"b":1.0}`, "two")
	f(p, `{"a":1,"b":1.0}`, "one")
	f(p, `{ "c": 1 }`, "three")
	if got := p.Played(); got.Answers != 4 || got.Unknown != 0 {
		t.Errorf("played: got %+v", got)
	}
	any := player(t, all, PlayConfig{Any: true})
	f(any, `{"d":1}`, "one")
	f(any, `{"d":1}`, "two")
	resp, err := http.Post(p.URL+path, "application/json", strings.NewReader(`{"d":1}`))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusNotFound || p.Played().Unknown != 1 {
		t.Errorf("what nobody asked: got %d and %+v, want 404 and counted", resp.StatusCode, p.Played())
	}
}

// TestPlayerEndsWithWhatItPlays: closing it cuts answers.
func TestPlayerEndsWithWhatItPlays(t *testing.T) {
	rec := Recording{Method: "POST", Path: "/v1/chat/completions", Body: []byte(`{}`), Pieces: []Piece{
		{0, []byte("HTTP/1.1 200 OK\r\n\r\n")}, {time.Hour, []byte("late")}}}
	p := player(t, []Recording{rec}, PlayConfig{})
	resp, err := http.Post(p.URL+rec.Path, "application/json", strings.NewReader(`{}`))
	if err != nil {
		t.Fatal(err)
	}
	p.Close()
	io.Copy(io.Discard, resp.Body)
	resp.Body.Close()
	if got := p.Played(); got.Cut != 1 {
		t.Errorf("played: got %+v, want one cut", got)
	}
}

func TestCapturesThatCannotBeReadSayWhere(t *testing.T) {
	f := func(content, want string) {
		t.Helper()
		name := filepath.Join(t.TempDir(), "c.jsonl")
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadCaptures(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q in it", content, err, want)
		}
	}
	good := `{"rid":"a","request":{"method":"POST","path":"/x","body":{}},"received":[[1.5,"é"]]}` + "\n"
	f(good+"{", "line 2: unexpected end of JSON")
	f(good+"{}", "line 2: it has no request")
	f(strings.Replace(good, "é", "€", 1), "line 1: received[0]: '€' is no byte")
}

// decoded is a stream that was asked for at a second and decoded in steps of one,
// and whose pieces came as the steps ended.
func decoded(rid string, asked, first, last int) Recording {
	epoch := time.Unix(1000, 0)
	r := Recording{RID: rid, Began: epoch.Add(time.Duration(asked) * time.Second), Method: "POST", Path: "/v1/chat/completions",
		Body: fmt.Appendf(nil, `{"stream":true,"rid":%q}`, rid)}
	for step := first - 1; step <= last; step++ {
		r.Pieces = append(r.Pieces, Piece{time.Duration(step-asked) * time.Second, []byte("x")})
	}
	r.Facts = fmt.Appendf(nil, `{"rid":%q,"decode_runs":[{"first_step":%d,"last_step":%d,"batch":1}]}`, rid, first, last)
	return r
}

// TestCourseIsThatOfTheRecording: how many turns ran and waited in each step, also
// where a reader was late.
func TestCourseIsThatOfTheRecording(t *testing.T) {
	all := []Recording{decoded("a", 0, 2, 9), decoded("b", 1, 5, 7), decoded("c", 6, 20, 22)}
	all[1].Pieces[len(all[1].Pieces)-1].At += time.Hour // read too late: a was done by then
	c := courseOf(all)
	f := func(second, running, waiting int) {
		t.Helper()
		l := c.at(time.Unix(1000+int64(second), int64(time.Millisecond)))
		if l.running != running || l.waiting != waiting {
			t.Errorf("second %d: got %d running, %d waiting, want %d, %d", second, l.running, l.waiting, running, waiting)
		}
	}
	f(-1, 0, 0)
	f(0, 0, 1)
	f(1, 0, 2)
	f(3, 1, 1)
	f(6, 2, 1)
	f(8, 2, 1)
	f(10, 0, 1)
	f(21, 1, 0)
	f(23, 0, 0)
	all[0].Began = time.Time{}
	if got := courseOf(all[:1]); len(got) > 0 {
		t.Errorf("a recording that tells no time: got %v", got)
	}
}

// TestPlayerTellsWhatIsKnownOfTheServer: the load of the moment, when steps had
// ended, and what it is told to say of itself.
func TestPlayerTellsWhatIsKnownOfTheServer(t *testing.T) {
	get := func(p *Player, path string) (string, int) {
		t.Helper()
		resp, err := http.Get(p.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(b), resp.StatusCode
	}
	all := []Recording{decoded("a", 0, 2, 9000), decoded("b", 0, 5, 9000)}
	p := player(t, all, PlayConfig{Speed: 0.001, Timed: true, Info: []byte(`{"version":"1"}`)})
	f := func(path, want string) {
		t.Helper()
		if got, status := get(p, path); status != 200 || !strings.Contains(got, want) {
			t.Errorf("%s: got %d, %s; want %s in it", path, status, got, want)
		}
	}
	f("/v1/loads", `"num_running_reqs":0,"num_waiting_reqs":0`)
	f("/server_info", `{"version":"1"}`)
	f("/turnwatch/turns/b", `"t0_ms":5001000,"t1_ms":9000001000`)
	p.Start(&all[0], time.Now())
	f("/v1/loads", `"num_running_reqs":0,"num_waiting_reqs":2`)
	if _, status := get(player(t, all, PlayConfig{AtOnce: true}), "/v1/loads"); status != http.StatusNotFound {
		t.Errorf("the load where no time passes: got %d, want 404", status)
	}
}
