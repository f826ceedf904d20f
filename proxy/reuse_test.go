package proxy

import (
	"context"
	"strings"
	"testing"
	"time"

	"turnwatch/proxy/sglang"
	"turnwatch/proxy/turn"
)

// lastLine is the journal's line of the last turn, less what differs between two
// that are the same.
type lastLine string

func (l *lastLine) Finish(t *turn.Turn) {
	u := *t
	u.ID, u.Time, u.TTFBMS, u.DurationMS, u.Session, u.Prefix = "", time.Time{}, 0, 0, "", ""
	*l = lastLine(u.AppendJSON(nil))
}

// TestNothingOfATurnIsLeftForTheNext: what watched one turn watches the next as if it
// were the first.
func TestNothingOfATurnIsLeftForTheNext(t *testing.T) {
	record := func(before ...func(*aTurn)) (line lastLine) {
		g, err := sglang.New(sglang.Config{Upstream: "http://127.0.0.1:1", NoPoll: true, Labels: map[string]string{"gpu": "h200"}})
		if err != nil {
			t.Fatal(err)
		}
		s, err := New(Config{Upstream: "http://127.0.0.1:1", Tags: func() TurnTags { return g.Begin() }}, &line)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Shutdown(context.Background())
		for _, change := range before {
			other := newATurn(s)
			change(other)
			other.play()
		}
		newATurn(s).play()
		return line
	}
	want := record()
	if !strings.Contains(string(want), `"verdict":"clean"`) || !strings.Contains(string(want), `"own_batch_max"`) {
		t.Fatalf("got %s, want a clean turn with tags", want)
	}
	f := func(what string, change func(*aTurn)) {
		t.Helper()
		if got := record(change, change); got != want {
			t.Errorf("after %s:\ngot  %s\nwant %s", what, got, want)
		}
	}
	f("the same", func(*aTurn) {})
	f("a corrupted one", func(o *aTurn) { o.answer = o.answer[:len(o.answer)-90] })
	f("a named one", func(o *aTurn) {
		o.reqHead = []byte("POST /v1/responses HTTP/1.1\r\nX-Request-Id: r1\r\nX-Session-Id: s1\r\nTE: trailers\r\nX-Stainless-Retry-Count: 1\r\n\r\n")
	})
	f("a malformed one", func(o *aTurn) { o.req = o.req[:40] })
	f("an encoded one", func(o *aTurn) { o.answers = []byte("HTTP/1.1 200 OK\r\ncontent-encoding: br2\r\n\r\n") })
	f("an error", func(o *aTurn) {
		o.answers = []byte("HTTP/1.1 500 Oh\r\nx-sglang-rid: r9\r\nx-sglang-dp-rank: 2\r\ncontent-type: text/plain\r\n\r\n")
	})
}
