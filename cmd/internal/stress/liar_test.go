package stress

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"turnwatch/validate"
	"turnwatch/validate/agents"
)

// ask plays a session against a server and returns its last turn.
func ask(t *testing.T, h http.HandlerFunc) *Turn {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	var last *Turn
	_, err := Run(context.Background(), Load{Targets: []Target{{URL: s.URL, Model: "m", NoPoll: true}}, Sessions: 1, Concurrency: []int{1},
		Work: Work{Streamed: 1, Shape: agents.Shape{Turns: 2}}, Turned: func(u *Turn) { last = u }})
	if err != nil || last == nil {
		t.Fatalf("turn %v, %v", last, err)
	}
	return last
}

func TestAnswerWithoutEndIsLeft(t *testing.T) {
	u := ask(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		for piece := bytes.Repeat([]byte(": nothing\n\n"), 4096); ; {
			if _, err := w.Write(piece); err != nil {
				return
			}
		}
	})
	if u.Err != errLong || u.Ending != validate.ProxyCut || u.BytesOut > 2*maxAnswer || u.Outcome == validate.Clean {
		t.Errorf("got %v after %d bytes, %s, %s; want %v, %s", u.Err, u.BytesOut, u.Ending, u.Outcome, errLong, validate.ProxyCut)
	}
}

// What another server says is not said of the target.
func TestRedirectionIsNotFollowed(t *testing.T) {
	elsewhere := 0
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere++ }))
	defer other.Close()
	u := ask(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
	})
	if elsewhere != 0 || u.Status != http.StatusTemporaryRedirect || u.Outcome == validate.Clean {
		t.Errorf("%d requests elsewhere, status %d, %s; want none, 307", elsewhere, u.Status, u.Outcome)
	}
}
