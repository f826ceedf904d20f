package second

import (
	"cmp"
	"context"
	"crypto/tls"
	"log/slog"
	"time"

	"turnwatch/proxy/turn"
)

// Config says who is asked, and what that may cost. The zero value of every field
// but URL is its default.
type Config struct {
	// URL is the server that is asked: http://host:port, https://host:port or
	// unix:/path/of.sock.
	URL string
	// TLS is used for https; nil means the system's roots.
	TLS *tls.Config
	// Live says that it is the server which makes the turns.
	Live bool
	// Key returns the bearer token for our questions; nil for none.
	Key func() string
	// Load asks that server how many requests it is running and how many wait. Default: it is not
	// known, and no request is replayed.
	Load func(context.Context) (running, waiting int, err error)
	// Strained reports whether the relay has been late since it was last asked. Default: it is not known.
	Strained func() bool

	// Control is the share of clean turns that are asked about. Default 0: none is.
	Control float64
	// Rate is how many questions are asked in a minute. Default 30.
	Rate float64
	// Tokens bounds the tokens of a minute's questions. Default 1,000,000.
	Tokens int
	// MaxTokens bounds those of one. Default 131,072.
	MaxTokens int
	// Concurrency is how many are asked at a time. Default 1.
	Concurrency int
	// Queue and QueueBytes bound the turns that wait. Defaults 64 and 32 MiB.
	Queue      int
	QueueBytes int64
	// MaxRunning is how many requests the server may be running for a question to be
	// asked. Default 8. None is asked while requests wait there.
	MaxRunning int
	// Patience is how long a turn waits for that. Default 1 minute.
	Patience time.Duration
	// Timeout bounds a question. Default 1 minute.
	Timeout time.Duration
	// Every is the time between looks at the server's load. Default 1 s.
	Every time.Duration
	// MaxAnswer is the longest answer that is read. Default 64 MiB.
	MaxAnswer int64
	// Replays is how often a request without ids is sent again. Default 0: never.
	Replays int
	// Show puts ids and texts of tokens into opinions.
	Show bool

	// Tell is given each opinion. It must not wait.
	Tell func(*turn.Opinion)
	// Logger receives the few lines there are to say. Default: discarded.
	Logger *slog.Logger
}

func (c *Config) defaults() {
	c.Rate = cmp.Or(c.Rate, 30)
	c.Tokens = cmp.Or(c.Tokens, 1_000_000)
	c.MaxTokens = cmp.Or(c.MaxTokens, 1<<17)
	c.Concurrency = cmp.Or(c.Concurrency, 1)
	c.Queue = cmp.Or(c.Queue, 64)
	c.QueueBytes = cmp.Or(c.QueueBytes, 32<<20)
	c.MaxRunning = cmp.Or(c.MaxRunning, 8)
	c.Patience = cmp.Or(c.Patience, time.Minute)
	c.Timeout = cmp.Or(c.Timeout, time.Minute)
	c.Every = cmp.Or(c.Every, time.Second)
	c.MaxAnswer = cmp.Or(c.MaxAnswer, 64<<20)
	c.Logger = cmp.Or(c.Logger, slog.New(slog.DiscardHandler))
}
