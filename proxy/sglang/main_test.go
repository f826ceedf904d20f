package sglang

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"turnwatch/proxy/leaktest"
	"turnwatch/proxy/turn"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// slack is how long a test waits for what must come.
const slack = 40 * time.Second

// await waits until ok.
func await(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(slack); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: it did not come about", what)
		}
	}
}

// server answers without a network: a path that is not in it is 404. It works
// in a bubble of testing/synctest.
type server map[string]func() (string, error)

func (s server) RoundTrip(r *http.Request) (*http.Response, error) {
	resp := &http.Response{StatusCode: 404, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(`{"detail":"Not Found"}`)), Request: r}
	f, ok := s[r.URL.Path]
	if !ok {
		return resp, nil
	}
	body, err := f()
	switch {
	case errors.Is(err, errHang):
		<-r.Context().Done()
		return nil, r.Context().Err()
	case err != nil:
		return nil, err
	}
	resp.StatusCode, resp.Body = 200, io.NopCloser(strings.NewReader(body))
	return resp, nil
}

// errHang makes an answer never come.
var errHang = errors.New("hang")

func always(body string) func() (string, error) { return func() (string, error) { return body, nil } }

// newTagger makes one whose server is s.
func newTagger(t *testing.T, cfg Config, s server) *Tagger {
	t.Helper()
	if cfg.Upstream == "" {
		cfg.Upstream = "http://127.0.0.1:1"
	}
	g, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if s != nil {
		g.poll.c.http.Transport = s
	}
	return g
}

// tag has a turn given its tags, all of them in one map, and then record called.
func tag(w *Watch, t *turn.Turn, record func()) {
	done := func() {
		t.Tags, t.Own = t.AllTags(), nil
		record()
	}
	if late := w.Tag(t); late != nil {
		late(done)
		return
	}
	done()
}
