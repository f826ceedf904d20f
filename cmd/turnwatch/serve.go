package main

import (
	"context"
	"io"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"turnwatch/proxy"
)

// service is the sidecar at work: everything that must be closed again.
type service struct {
	o       *options
	log     *slog.Logger
	relay   *proxy.Server
	clients []net.Listener
}

// prepare reads what the settings name without opening anything.
func (o *options) prepare(stderr io.Writer) (*service, error) {
	return &service{o: o, log: o.logger(stderr)}, nil
}

// logger writes the log in the format and from the level that were asked for.
func (o *options) logger(w io.Writer) *slog.Logger {
	level := map[string]slog.Level{"debug": slog.LevelDebug, "warn": slog.LevelWarn, "error": slog.LevelError}[o.logLevel.value]
	opts := &slog.HandlerOptions{Level: level}
	if o.logFormat.value == "json" {
		return slog.New(slog.NewJSONHandler(w, opts))
	}
	return slog.New(slog.NewTextHandler(w, opts))
}

// config is what the relay needs of the settings.
func (s *service) config() proxy.Config {
	return proxy.Config{
		Upstream:         s.o.upstream,
		ConnectTimeout:   s.o.connectTimeout,
		FirstByteTimeout: s.o.firstByte,
		IdleTimeout:      s.o.idle,
		JudgeMemory:      int64(s.o.judgeMemory),
		Logger:           s.log,
	}
}

// open opens the listeners, so that an address in use is known before the
// first client.
func (s *service) open(stdout io.Writer) (err error) {
	for _, addr := range s.o.listen.values {
		ln, err := listen("-listen", addr)
		if err != nil {
			s.closeListeners()
			return err
		}
		s.clients = append(s.clients, ln)
	}
	s.relay, err = proxy.New(s.config())
	return err
}

func (s *service) closeListeners() {
	for _, ln := range s.clients {
		ln.Close()
	}
}

// serve relays until ctx ends or a signal says so, then drains. A second
// signal leaves everything as it is.
func (s *service) serve(ctx context.Context) int {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	defer signal.Stop(signals)

	failed := make(chan error, len(s.clients))
	for _, ln := range s.clients {
		go func() { failed <- s.relay.Serve(ln) }()
	}
	s.log.Info("relaying", "listen", s.addresses(), "upstream", s.o.upstream)
	select {
	case <-ctx.Done():
	case sig := <-signals:
		s.log.Info("draining", "signal", sig.String(), "drain_timeout", s.o.drain)
	case err := <-failed:
		s.log.Error("the relay had to stop", "error", err)
		return exitUnable
	}
	drained := make(chan struct{})
	go func() { defer close(drained); s.drain() }()
	select {
	case <-drained:
		return exitGood
	case <-signals:
		s.log.Warn("a second signal: exit at once")
		return exitInterrupted
	}
}

// drain ends everything in the order in which it feeds the next.
func (s *service) drain() {
	ctx, cancel := context.WithTimeout(context.Background(), s.o.drain)
	defer cancel()
	if err := s.relay.Shutdown(ctx); err != nil {
		s.log.Warn("answers in progress were cut", "drain_timeout", s.o.drain, "error", err)
	}
}

func (s *service) addresses() string {
	var all []string
	for _, ln := range s.clients {
		all = append(all, display(ln))
	}
	return strings.Join(all, " ")
}
