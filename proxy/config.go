package proxy

import (
	"cmp"
	"crypto/tls"
	"log/slog"
	"time"

	"turnwatch/proxy/turn"
)

// Config says how a Server relays and what it watches. The zero value of
// every field but Upstream is its default.
type Config struct {
	// Upstream is the server behind us: http://host:port, https://host:port
	// or unix:/path/of.sock. A path in it is an error.
	Upstream string
	// UpstreamTLS is used for https; nil means the system's roots.
	UpstreamTLS *tls.Config

	// ConnectTimeout bounds resolving, connecting and the TLS handshake
	// together. Default 10 s.
	ConnectTimeout time.Duration
	// FirstByteTimeout bounds the silence between the end of a request and
	// the first byte of its answer. Default: no limit.
	FirstByteTimeout time.Duration
	// IdleTimeout bounds each later silence of the server. Default: no limit.
	IdleTimeout time.Duration

	// Loops is how many threads relay answers that stream over plain
	// connections, on Linux. Each passes on about as many events as a processor
	// can. Default 1; with a negative number each answer is relayed by a
	// goroutine of its own, as it is over TLS and elsewhere.
	Loops int

	// MaxLag is how far a loop may be behind with what has come. Where one has
	// been for a second, turns that begin are relayed and not judged, until it has
	// caught up. Default 1 s; with a negative number all are judged.
	MaxLag time.Duration

	// RelayOnly switches judging off: every request merely passes.
	RelayOnly bool
	// JudgeMemory bounds the bytes of requests and encoded answers held for
	// judging, over all turns. Default 256 MiB. A turn that finds no room is
	// unverified; so is one with a body beyond 1 MiB, or an encoded answer, that
	// is larger than a quarter of it.
	JudgeMemory int64
	// Capture makes the relay keep what is said in each turn until its verdict,
	// up to so many bytes of a body, and lend that of corrupted turns to the
	// sinks. It takes half of JudgeMemory at most. Default: nothing is kept.
	Capture int64
	// Lend says of which turns of clients, besides corrupted ones, what is kept is lent, too. It is
	// asked once a turn, which has its verdict, and must not wait. Default: of none.
	Lend func(*turn.Turn) bool
	// FinishQueue bounds the turns that wait for the end of their judgement.
	// Default 1024. A turn that finds it full is unverified.
	FinishQueue int

	// ProveShare is the share of answers to turns whose bytes are compared at
	// both sockets, from 0 to 1. Default: none.
	ProveShare float64

	// Inject makes each turn the parent of what the server does for it, in the
	// traceparent that the server gets. Default: the caller's passes.
	Inject bool

	// Tags makes what learns of the server while it makes a turn; it is called
	// as a turn begins. Default: turns have no tags.
	Tags func() TurnTags

	// Echo says what becomes of values that are almost copies of what the request
	// holds. Default: they are told beside the verdict.
	Echo Echo

	// Probe says how often turns with known answers are sent to the server.
	// Default: none is.
	Probe ProbeConfig

	// Sessions says how turns are put together into sessions.
	Sessions SessionConfig

	// Shadow says which requests other servers get, too. Default: none.
	Shadow ShadowConfig

	// Annotate says whether clients are told the verdicts. Default: they are
	// not, and get the server's bytes alone.
	Annotate Annotation

	// Logger receives the few lines the relay has to say, from a goroutine that nobody
	// waits for. Default: discarded.
	Logger *slog.Logger
}

func (c *Config) defaults() {
	c.ConnectTimeout = cmp.Or(c.ConnectTimeout, 10*time.Second)
	c.Loops = cmp.Or(c.Loops, 1)
	c.MaxLag = cmp.Or(c.MaxLag, time.Second)
	c.JudgeMemory = cmp.Or(c.JudgeMemory, 256<<20)
	c.FinishQueue = cmp.Or(c.FinishQueue, 1024)
	c.Annotate.defaults()
	c.Logger = cmp.Or(c.Logger, slog.New(slog.DiscardHandler))
}
