package stress

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
	"turnwatch/proxy/sglangtest"
	"turnwatch/proxy/turn"
	"turnwatch/validate"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestRightModelIsNeverWrong(t *testing.T) {
	for _, parser := range []string{"deepseekv4", "qwen25", "kimi_k2", "glm45"} {
		s := sglangtest.NewServer(sglangtest.Config{Parser: parser})
		var last atomic.Int64
		turns, err := Run(context.Background(), Load{URL: s.URL, Model: "m", Seed: 1, Sessions: 9, Concurrency: 4,
			Progress: func(done, total int) {
				if done == total {
					last.Store(int64(total))
				}
			}})
		s.Close()
		if err != nil || len(turns) != 45 || last.Load() != 45 {
			t.Fatalf("%s: %d turns, progress up to %d, %v; want 45", parser, len(turns), last.Load(), err)
		}
		for _, u := range turns {
			if u.Err != nil || u.Wrong != nil {
				t.Errorf("%s: %s: %v %v", parser, u.RequestID(), u.Err, u.Wrong)
			}
		}
	}
}

func TestFaultsAreSeenByTheClient(t *testing.T) {
	f := func(fault string, wrong bool) {
		t.Helper()
		made, err := sglangtest.NewFault(fault, 1, 1, "deepseekv4")
		if err != nil {
			t.Fatal(err)
		}
		s := sglangtest.NewServer(sglangtest.Config{Faults: []sglangtest.Fault{made}})
		defer s.Close()
		turns, err := Run(context.Background(), Load{URL: s.URL, Sessions: 1, Concurrency: 1})
		if err != nil {
			t.Fatal(err)
		}
		if u := turns[0]; (u.Wrong != nil) != wrong || (u.Err != nil) == wrong {
			t.Errorf("%s: wrong %v, error %v", fault, u.Wrong, u.Err)
		}
	}
	f("altered", true)
	f("swallowed", true)
	f("null_name", true)
	f("cut", false)
	f("error", false)
	f("first_error", false)
	f("malformed_event", false)
}

func TestSessionsOverlap(t *testing.T) {
	s := sglangtest.NewServer(sglangtest.Config{Step: time.Millisecond})
	defer s.Close()
	if _, err := Run(context.Background(), Load{URL: s.URL, Sessions: 8, Concurrency: 4}); err != nil {
		t.Fatal(err)
	}
	if n := s.Counters().LargestBatch; n < 2 || n > 4 {
		t.Errorf("largest batch %d, want 2 to 4", n)
	}
}

func TestRunEndsWithItsContext(t *testing.T) {
	s := sglangtest.NewServer(sglangtest.Config{Step: time.Hour})
	defer s.Close()
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(20*time.Millisecond, cancel)
	if _, err := Run(ctx, Load{URL: s.URL, Sessions: 4, Concurrency: 2}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want canceled", err)
	}
}

func TestStreamThatEndsEarlyIsAnError(t *testing.T) {
	f := func(stream string, want error) {
		t.Helper()
		if _, err := readStream(strings.NewReader(stream)); !errors.Is(err, want) {
			t.Errorf("%q: got %v, want %v", stream, err, want)
		}
	}
	f("data: {}\n\ndata: [DONE]\n\n", nil)
	f("data: {}\n\n", io.ErrUnexpectedEOF)
	f("", io.ErrUnexpectedEOF)
}

func TestCountGroupsBySession(t *testing.T) {
	mk := func(session, id string, o validate.Outcome) *turn.Turn {
		return &turn.Turn{Session: session, RequestID: id, Verdict: validate.Verdict{Outcome: o}}
	}
	turns := []*turn.Turn{
		mk("", "a-1-1", validate.Clean), mk("", "a-1-2", validate.Corrupted), mk("", "a-1-3", validate.Corrupted),
		mk("", "a-2-1", validate.Clean), mk("", "a-2-2", validate.Truncated),
		mk("named", "x", validate.Clean), mk("", "a-3-1", validate.Unverified),
	}
	got, err := Count(func(yield func(*turn.Turn, error) bool) {
		for _, u := range turns {
			if !yield(u, nil) {
				return
			}
		}
	})
	if err != nil || got.Sessions != (Rate{1, 3}) || got.Turns != (Rate{2, 6}) || !slices.Equal(got.Corrupted, turns[1:3]) {
		t.Errorf("got %+v, %v", got, err)
	}
	if got.Outcomes[validate.Unverified] != 1 || got.Outcomes[validate.Clean] != 3 {
		t.Errorf("outcomes %v", got.Outcomes)
	}
}

func TestLine(t *testing.T) {
	f := func(r Rate, want string) {
		t.Helper()
		if got := r.Line("sessions"); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	f(Rate{6, 40}, "CORRUPTION sessions: 6/40 = 15.0%  [7.1%, 29.1%]")
	f(Rate{2, 40}, "CORRUPTION sessions: 2/40 = 5.0%  [1.4%, 16.5%]")
	f(Rate{0, 40}, "CORRUPTION sessions: 0/40 = 0.0%  [0.0%, 8.8%]")
	f(Rate{0, 0}, "CORRUPTION sessions: 0/0 = 0.0%  [0.0%, 100.0%]")
}
