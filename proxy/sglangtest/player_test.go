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
