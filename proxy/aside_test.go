package proxy_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"turnwatch/proxy"
)

// stuck is a log that takes no line until it is let go, and then counts what it is told.
type stuck struct {
	slog.Handler
	free chan struct{}
	seen chan slog.Record
}

func (s stuck) Enabled(context.Context, slog.Level) bool { return true }

func (s stuck) Handle(_ context.Context, r slog.Record) error {
	<-s.free
	s.seen <- r.Clone()
	return nil
}

// TestLogThatHangsDelaysNoAnswer: all are given, what waits is told once the log goes
// on, and what found no room is counted.
func TestLogThatHangsDelaysNoAnswer(t *testing.T) {
	const n = 200
	url := dead(t)
	log := stuck{free: make(chan struct{}), seen: make(chan slog.Record, 2*n)}
	p := startOn(t, "tcp", proxy.Config{Upstream: url, Logger: slog.New(log)})
	c := p.dial()
	for range n {
		c.send(get)
		failed(t, c, "502", "connect")
	}
	close(log.free)
	c.close()
	if err := p.Shutdown(t.Context()); err != nil {
		t.Errorf("Shutdown: got %v", err)
	}
	close(log.seen)
	told := 0
	for r := range log.seen {
		if told++; !strings.Contains(r.Message, "answered") {
			t.Errorf("got line %q", r.Message)
		}
	}
	if told == 0 || told > n {
		t.Errorf("got %d lines of %d, want some", told, n)
	}
}

// TestLogIsToldWhatWasLeftOut, and a log that panics harms nobody.
func TestLogIsToldWhatWasLeftOut(t *testing.T) {
	url := dead(t)
	var out lines
	p := startOn(t, "tcp", proxy.Config{Upstream: url, Logger: slog.New(panicking{slog.NewTextHandler(&out, nil)})})
	c := p.dial()
	for i := 0; i < 20_000 && out.count("suppressed=") == 0; i++ {
		c.send(fmt.Sprintf("GET /%d HTTP/1.1\r\nHost: x\r\n\r\n", i))
		failed(t, c, "502", "connect")
	}
	if out.count("suppressed=") == 0 {
		t.Errorf("got %d lines, and none says that there were more", out.count("\n"))
	}
}

// panicking is a log that breaks on each line behind having written it.
type panicking struct{ slog.Handler }

func (p panicking) Handle(ctx context.Context, r slog.Record) error {
	if err := p.Handler.Handle(ctx, r); err != nil {
		return err
	}
	panic("the log broke")
}
