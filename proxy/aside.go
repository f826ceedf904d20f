package proxy

import (
	"context"
	"log/slog"
	"sync/atomic"

	"golang.org/x/time/rate"
)

// aside is a handler of log lines that nobody waits for who has something to say: the
// handler behind it may write to a disk that hangs, or a pipe that nobody empties. Lines
// that find no room, and warnings beyond a rate, are left out, and the next line says how
// many.
type aside struct {
	slog.Handler // the one behind it
	*asides
}

// asides is what those of one logger share.
type asides struct {
	queue chan saying // never closed
	rate  *rate.Limiter
	lost  atomic.Int64
	stop  chan struct{}
	done  chan struct{}
}

// saying is a line that waits.
type saying struct {
	to   slog.Handler
	line slog.Record
}

// Lines that wait, warnings at once, and in a second after that.
const (
	maxLines  = 256
	linesOnce = 100
	linesRate = 10
)

func newAside(to slog.Handler) aside {
	return aside{to, &asides{queue: make(chan saying, maxLines), rate: rate.NewLimiter(linesRate, linesOnce), stop: make(chan struct{}), done: make(chan struct{})}}
}

// Handle queues a line.
func (h aside) Handle(_ context.Context, r slog.Record) error {
	if r.Level < slog.LevelError && !h.rate.Allow() {
		h.lost.Add(1)
		return nil
	}
	r = r.Clone()
	n := h.lost.Swap(0)
	if n > 0 {
		r.AddAttrs(slog.Int64("suppressed", n))
	}
	select {
	case h.queue <- saying{h.Handler, r}:
	default:
		h.lost.Add(n + 1)
	}
	return nil
}

// WithAttrs is that of the handler behind it.
func (h aside) WithAttrs(attrs []slog.Attr) slog.Handler {
	return aside{h.Handler.WithAttrs(attrs), h.asides}
}

// WithGroup is that of the handler behind it.
func (h aside) WithGroup(name string) slog.Handler { return aside{h.Handler.WithGroup(name), h.asides} }

// run hands lines on until close.
func (a *asides) run() {
	defer close(a.done)
	drain(a.queue, a.stop, 0, saying.tell)
}

// tell hands a line on. A panic costs that line.
func (s saying) tell() {
	defer func() { _ = recover() }()
	s.to.Handle(context.Background(), s.line)
}

// close hands on what waits, and returns when that is done, or ctx.
func (a *asides) close(ctx context.Context) {
	close(a.stop)
	select {
	case <-a.done:
	case <-ctx.Done():
	}
}
