package main

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"turnwatch/proxy"
	"turnwatch/proxy/evidence"
	"turnwatch/proxy/journal"
	"turnwatch/proxy/second"
	"turnwatch/proxy/telemetry"
)

// service is the sidecar at work: everything that must be closed again. It is
// built by prepare and open, run by serve and ended by drain.
type service struct {
	o         *options
	log       *slog.Logger
	lines     *lines // of the log
	certs     *proxy.Certs
	cfg       proxy.Config
	listenTLS *tls.Config      // of the listeners for clients; nil: plain
	journal   *journal.Writer  // nil: none
	evidence  *evidence.Writer // nil: none
	tagger    *tagger          // nil: none
	arms      []*tagger        // of the shadow arms
	memory    *memory          // nil: none
	opinions  second.Config    // used where asker is not nil
	asker     *second.Asker    // nil: none
	relay     *proxy.Server
	admin     *proxy.Admin // nil: none
	telemetry *telemetry.Recorder
	started   time.Time

	// What SIGHUP may change, by the goroutine of serve.
	level        *slog.LevelVar
	drainTimeout time.Duration
	inUse        map[string]string // settings, by flag
	reloads      reloads

	clients  []net.Listener
	adminLn  net.Listener
	draining atomic.Bool
}

// prepare reads the files that the settings name, without opening anything.
func (o *options) prepare(stderr io.Writer) (*service, error) {
	level, lines := new(slog.LevelVar), newLines(stderr)
	log := o.logger(lines, level)
	lines.tell = o.logger(stderr, level)
	s := &service{o: o, log: log, lines: lines, certs: proxy.NewCerts(log), started: time.Now(), level: level, drainTimeout: o.drain, inUse: o.inUse}
	s.cfg = proxy.Config{
		Upstream:         o.upstream,
		ConnectTimeout:   o.connectTimeout,
		FirstByteTimeout: o.firstByte,
		IdleTimeout:      o.idle,
		Loops:            o.carriers(),
		MaxLag:           o.lag(),
		RelayOnly:        o.relayOnly,
		JudgeMemory:      int64(o.judgeMemory),
		Sessions:         o.sessions.config(),
		Annotate:         o.annotate.config(),
		Echo:             o.echoes(),
		ProveShare:       float64(o.telemetry.byteCheck),
		Inject:           o.telemetry.propagate.value == "inject",
		Logger:           log,
	}
	err := errors.Join(s.prepareTLS(), s.prepareAdmin(), s.prepareTags(), s.prepareShadow(), s.prepareOpinions(), o.checkJournalFile())
	s.cfg.Probe = s.probeConfig(o)
	return s, err
}

// logger writes the log in the format and from the level that were asked for.
func (o *options) logger(w io.Writer, level *slog.LevelVar) *slog.Logger {
	level.Set(o.level())
	opts := &slog.HandlerOptions{Level: level, ReplaceAttr: readable}
	if o.logFormat.value == "json" {
		return slog.New(slog.NewJSONHandler(w, opts))
	}
	return slog.New(slog.NewTextHandler(w, opts))
}

// readable writes durations as people do, whatever the format.
func readable(_ []string, a slog.Attr) slog.Attr {
	if a.Value.Kind() == slog.KindDuration {
		a.Value = slog.StringValue(a.Value.Duration().String())
	}
	return a
}

func (s *service) prepareTLS() (err error) {
	if s.o.tlsCert != "" {
		if s.listenTLS, err = s.certs.Listener(s.o.tlsCert, s.o.tlsKey); err != nil {
			return err
		}
	}
	if !strings.HasPrefix(s.o.upstream, "https://") {
		return nil
	}
	s.cfg.UpstreamTLS, err = s.certs.Upstream(s.upstreamFiles(s.o.serverName()))
	return err
}

// upstreamFiles are what TLS to a server of that name is made with.
func (s *service) upstreamFiles(name string) proxy.UpstreamFiles {
	return proxy.UpstreamFiles{
		Name:     name,
		CA:       s.o.upstreamCA,
		Cert:     s.o.upstreamCert,
		Key:      s.o.upstreamCertKey,
		Insecure: s.o.upstreamInsecure,
	}
}

func (s *service) prepareAdmin() (err error) {
	if s.o.adminOff() {
		return nil
	}
	s.admin, err = proxy.NewAdmin(proxy.AdminConfig{
		Metrics:   http.HandlerFunc(s.serveMetrics),
		Ready:     s.ready,
		TokenFile: s.o.adminTokenFile,
		Open:      s.o.adminOpen,
		Pprof:     s.o.pprof,
		Shadow:    s.shadowReport,
		Logger:    s.log,
	})
	return err
}

// open opens the listeners first, so that an address in use is known before
// anything is written.
func (s *service) open() error {
	err := s.openAll()
	if err != nil {
		for _, ln := range append(s.clients, s.adminLn) {
			if ln != nil {
				ln.Close()
			}
		}
	}
	return err
}

func (s *service) openAll() (err error) {
	for _, addr := range s.o.listen.values {
		ln, err := listen("-listen", addr)
		if err != nil {
			return err
		}
		admitAll(addr)
		if s.listenTLS != nil && tcp(addr) {
			ln = tls.NewListener(ln, s.listenTLS)
		}
		s.clients = append(s.clients, ln)
	}
	if s.admin != nil {
		if s.adminLn, err = listen("-admin", s.o.admin); err != nil {
			return err
		}
	}
	if err := s.openMemory(); err != nil {
		return err
	}
	if err = s.openTelemetry(); err != nil {
		return err
	}
	sinks := []proxy.Sink{s.telemetry}
	if s.o.journal != "" {
		if s.journal, err = journal.Open(s.o.journal, s.journalOptions(s.o)); err != nil {
			return unopened(s.o.journal, err)
		}
		sinks = append(sinks, s.journal)
		s.cfg.Shadow.Pair = s.journal.Pair
	}
	if err = s.openEvidence(); err != nil {
		return err
	}
	if s.evidence != nil {
		sinks = append(sinks, s.evidence)
	}
	asking, err := s.openOpinions()
	if err != nil {
		return err
	}
	if s.relay, err = proxy.New(s.cfg, append(sinks, asking...)...); err == nil {
		s.startTags()
		s.remember()
	}
	return err
}

func (s *service) journalOptions(o *options) journal.Options {
	return journal.Options{
		MaxSize:  int64(o.journalSize),
		MaxAge:   o.journalAge,
		MaxTotal: int64(o.journalTotal),
		Logger:   s.log,
	}
}

// serve relays until ctx ends, a signal comes or a listener breaks, then
// drains. The next signal leaves everything as it is.
func (s *service) serve(ctx context.Context, sig signals) int {
	failed := make(chan error, len(s.clients)+1)
	for _, ln := range s.clients {
		go func() { failed <- s.relay.Serve(ln) }()
	}
	if s.admin != nil {
		go func() { failed <- s.admin.Serve(s.adminLn) }()
	}
	s.log.Info("relaying", "listen", addresses(s.clients...), "upstream", s.o.upstream, "admin", addresses(s.adminLn))
	code := s.await(ctx, sig, failed)
	drained := make(chan struct{})
	go func() { defer close(drained); s.drain() }()
	select {
	case <-drained:
		return code
	case <-sig.end:
		s.log.Warn("a second signal: exit at once")
		return exitInterrupted
	}
}

// await waits until there is a reason to end. Settings that are to be read
// again meanwhile are, one reading at a time: who asks during one gets
// another when that has ended.
func (s *service) await(ctx context.Context, sig signals, failed <-chan error) (code int) {
	done := make(chan reading, 1) // holds one, so that a late reading waits for nobody
	var reads, again bool
	defer s.draining.Store(true)
	for {
		select {
		case <-ctx.Done():
			return exitGood
		case got := <-sig.end:
			s.draining.Store(true) // whoever reads the line finds it true
			s.log.Info("draining", "signal", got.String(), "drain_timeout", s.drainTimeout)
			return exitGood
		case <-sig.again:
			again = true
		case r := <-done:
			reads = false
			s.reload(r)
		case err := <-failed:
			s.draining.Store(true)
			s.log.Error("a listener broke: draining", "error", err)
			return exitUnable
		}
		if again && !reads {
			reads, again = true, false
			go s.read(done)
		}
	}
}

// closeTimeout bounds what is left to do once no client is served any more.
const closeTimeout = 5 * time.Second

// drain ends everything in the order in which one feeds the next; the admin
// listener last, so that the end can be watched.
func (s *service) drain() {
	ctx, cancel := context.WithTimeout(context.Background(), s.drainTimeout)
	defer cancel()
	if err := s.relay.Shutdown(ctx); err != nil {
		s.log.Warn("the drain was not complete within -drain-timeout", "drain_timeout", s.drainTimeout, "error", err)
	}
	last, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	s.closeOpinions(last)
	s.stopTags(last)
	s.stopMemory(last)
	if s.journal != nil {
		if err := s.journal.Close(last); err != nil {
			s.log.Error("the journal's end is missing", "error", err)
		}
	}
	if s.evidence != nil {
		if err := s.evidence.Close(last); err != nil {
			s.log.Error("evidence is missing", "error", err)
		}
	}
	s.endTelemetry(last)
	if s.admin != nil {
		s.admin.Shutdown(last)
	}
	s.log.Info("stopped")
}

// ready says why no new client should come, in words that anyone may read.
func (s *service) ready(ctx context.Context) error {
	if s.draining.Load() {
		return errors.New("draining")
	}
	if !s.o.readyUpstream {
		return nil
	}
	if err := s.relay.Reach(ctx); err != nil {
		s.log.Debug("not ready: the upstream cannot be reached", "error", err)
		return errors.New("the upstream cannot be reached")
	}
	return nil
}

// signals are those that the process hears: no number of the one kind takes the room of
// the other.
type signals struct {
	end   chan os.Signal // holds the one that ends the process, and the second
	again chan os.Signal // holds one: settings that are yet to be read need no second
}

// notify delivers the signals that end the process, and the one that makes it
// read its settings again. A pipe that nobody reads
// any more, behind a journal or a log, is an error of a write and no end.
func notify() (sig signals, stop func()) {
	sig = signals{make(chan os.Signal, 2), make(chan os.Signal, 1)}
	signal.Notify(sig.end, syscall.SIGTERM, syscall.SIGINT)
	signal.Notify(sig.again, syscall.SIGHUP)
	signal.Ignore(syscall.SIGPIPE)
	return sig, func() { signal.Stop(sig.end); signal.Stop(sig.again) }
}

// endLog has the last lines written, if the log takes them. Who has said twice, or says
// once more, that the process is to end waits for none.
func (s *service) endLog(code int, sig signals) {
	most := closeTimeout
	if code == exitInterrupted {
		most = 100 * time.Millisecond
	}
	ctx, cancel := context.WithTimeout(context.Background(), most)
	defer cancel()
	s.lines.end(ctx, sig.end)
}

// addresses writes listeners' addresses as a user would type them.
func addresses(lns ...net.Listener) string {
	var all []string
	for _, ln := range lns {
		if ln == nil {
			all = append(all, "off")
		} else if addr := ln.Addr(); addr.Network() == "unix" {
			all = append(all, "unix:"+addr.String())
		} else {
			all = append(all, addr.String())
		}
	}
	return strings.Join(all, ",")
}
