package proxy

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"os"
	"strings"
	"sync"
	"time"

	"turnwatch/proxy/pairs"
)

// AdminConfig says what the admin listener shows and to whom.
type AdminConfig struct {
	// Metrics serves /metrics. Default: there is none.
	Metrics http.Handler
	// Ready says why the sidecar should get no new clients; nil means that it
	// should. Required.
	Ready func(context.Context) error

	// Shadow says what shadow traffic has shown, and whether there is any. nil is none.
	Shadow func() (pairs.Report, bool)

	// TokenFile holds the bearer token without which /metrics and /debug are
	// not shown. It is re-read when it changes. The probes never ask for it:
	// who makes them can seldom send one, and they tell one bit.
	TokenFile string
	// Open allows a listener that other machines reach without a token.
	Open bool
	// Pprof serves /debug/pprof.
	Pprof bool

	// Logger receives what goes wrong. Default: discarded.
	Logger *slog.Logger
}

// Admin serves /livez, /readyz, /metrics, /shadow and /debug/pprof on a listener of its
// own. /livez answers while the process serves; it asks nothing of the server
// behind us, whose trouble a restart of the sidecar would only make worse.
type Admin struct {
	cfg   AdminConfig
	token *refreshed[[sha256.Size]byte] // nil: none is wanted
	http  *http.Server
}

// NewAdmin makes an Admin. The error is that of a token that cannot be read.
func NewAdmin(cfg AdminConfig) (*Admin, error) {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	a := &Admin{cfg: cfg}
	if cfg.TokenFile != "" {
		a.token = &refreshed[[sha256.Size]byte]{what: "admin token", files: []string{cfg.TokenFile}, every: refreshEvery, log: cfg.Logger}
		a.token.load = func() ([sha256.Size]byte, error) { return readToken(cfg.TokenFile) }
		if err := a.token.start(); err != nil {
			return nil, err
		}
	}
	a.http = &http.Server{
		Handler:           a.routes(),
		ReadHeaderTimeout: time.Second,
		ReadTimeout:       10 * time.Second,
		WriteTimeout:      2 * time.Minute, // a profile takes its time
		IdleTimeout:       time.Minute,
		MaxHeaderBytes:    16 << 10,
		ErrorLog:          slog.NewLogLogger(cfg.Logger.Handler(), slog.LevelDebug),
	}
	return a, nil
}

// readToken returns the hash of the token in the file: hashes of equal length
// are compared, so that not even the length of the token can be measured.
func readToken(file string) ([sha256.Size]byte, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return [sha256.Size]byte{}, fmt.Errorf("read -admin-token-file: %w", err)
	}
	token := strings.TrimSpace(string(b))
	if token == "" {
		return [sha256.Size]byte{}, fmt.Errorf("read -admin-token-file %s: it is empty", file)
	}
	return sha256.Sum256([]byte(token)), nil
}

func (a *Admin) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) { say(w, http.StatusOK, "ok") })
	mux.HandleFunc("GET /readyz", a.ready)
	if a.cfg.Metrics != nil {
		mux.Handle("GET /metrics", a.guarded(a.cfg.Metrics.ServeHTTP))
	}
	mux.Handle("GET /shadow", a.guarded(a.shadow))
	mux.HandleFunc("POST /shadow/gate", a.gate)
	mux.HandleFunc("GET /shadow/gate", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Allow", http.MethodPost)
		say(w, http.StatusMethodNotAllowed, "ask with POST /shadow/gate?ask=promote or ?ask=rollback")
	})
	if a.cfg.Pprof {
		mux.Handle("GET /debug/pprof/", a.guarded(pprof.Index))
		mux.Handle("GET /debug/pprof/profile", a.guarded(pprof.Profile))
		mux.Handle("GET /debug/pprof/trace", a.guarded(pprof.Trace))
		mux.Handle("GET /debug/pprof/symbol", a.guarded(pprof.Symbol))
		mux.Handle("GET /debug/pprof/cmdline", a.guarded(pprof.Cmdline))
	}
	mux.HandleFunc("GET /", func(w http.ResponseWriter, _ *http.Request) { say(w, http.StatusNotFound, adminPaths) })
	return mux
}

// adminPaths is told to who asks for something else.
const adminPaths = "turnwatch's admin listener has /livez, /readyz, /metrics, /shadow, POST /shadow/gate and, with -pprof, /debug/pprof/"

func say(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	fmt.Fprintln(w, text)
}

// readyTimeout is less than the second that a kubelet waits by default: it
// should hear why, not nothing.
const readyTimeout = 900 * time.Millisecond

func (a *Admin) ready(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), readyTimeout)
	defer cancel()
	if err := a.cfg.Ready(ctx); err != nil {
		say(w, http.StatusServiceUnavailable, err.Error())
		return
	}
	say(w, http.StatusOK, "ok")
}

// guarded asks for the token, if there is one.
func (a *Admin) guarded(h http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !a.allowed(r) {
			a.refuse(w)
			return
		}
		h(w, r)
	})
}

func (a *Admin) refuse(w http.ResponseWriter) {
	w.Header().Set("WWW-Authenticate", `Bearer realm="turnwatch"`)
	say(w, http.StatusUnauthorized, "a bearer token is wanted: see -admin-token-file")
}

func (a *Admin) allowed(r *http.Request) bool {
	if a.token == nil {
		return true
	}
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	return a.known(token) && strings.EqualFold(scheme, "bearer")
}

// known reports whether the token is ours.
func (a *Admin) known(token string) bool {
	got, want := sha256.Sum256([]byte(strings.TrimSpace(token))), a.token.get()
	return subtle.ConstantTimeCompare(got[:], want[:]) == 1
}

// Refresh looks at the token's file now.
func (a *Admin) Refresh() {
	if a.token != nil {
		a.token.look()
	}
}

// maxAdminConns bounds the connections of the admin listener, so that it
// cannot take the descriptors that clients need.
const maxAdminConns = 64

// Serve answers on ln until Shutdown. It returns nil after a Shutdown. A
// listener that other machines reach is refused unless it has a token or is
// said to be open.
func (a *Admin) Serve(ln net.Listener) error {
	if !loopback(ln.Addr()) && a.token == nil && !a.cfg.Open {
		ln.Close()
		return fmt.Errorf("serve -admin %s: other machines reach it, so it needs -admin-token-file or -admin-open", ln.Addr())
	}
	err := a.http.Serve(&limited{Listener: ln, room: make(chan struct{}, maxAdminConns), done: make(chan struct{})})
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return fmt.Errorf("serve -admin %s: %w", ln.Addr(), err)
}

// Shutdown ends what Serve began and lets answers end until ctx is done.
func (a *Admin) Shutdown(ctx context.Context) error {
	err := a.http.Shutdown(ctx)
	if err != nil {
		a.http.Close()
	}
	return err
}

// loopback reports whether only this machine reaches addr.
func loopback(addr net.Addr) bool {
	t, ok := addr.(*net.TCPAddr)
	return !ok || t.IP.IsLoopback()
}

// limited accepts a connection only while there is room for it.
type limited struct {
	net.Listener
	room  chan struct{} // a place is taken by sending
	done  chan struct{} // closed by Close
	close sync.Once
}

// Accept waits for room before it waits for a client.
func (l *limited) Accept() (net.Conn, error) {
	select {
	case l.room <- struct{}{}:
	case <-l.done:
		return nil, net.ErrClosed
	}
	c, err := l.Listener.Accept()
	if err != nil {
		<-l.room
		return nil, err
	}
	return &placed{Conn: c, leave: func() { <-l.room }}, nil
}

// Close also ends an Accept that waits for room.
func (l *limited) Close() error {
	l.close.Do(func() { close(l.done) })
	return l.Listener.Close()
}

// placed is a connection that gives up its place when it is closed.
type placed struct {
	net.Conn
	leave func()
	once  sync.Once
}

func (p *placed) Close() error {
	p.once.Do(p.leave)
	return p.Conn.Close()
}
