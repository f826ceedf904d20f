package proxy

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"turnwatch/proxy/pairs"
	"turnwatch/proxy/turn"
)

// ShadowConfig says which requests are sent to other servers, too, and what they may
// cost. The zero value of every field is its default.
type ShadowConfig struct {
	// Arms are the other servers, one a name. Default: none, and no shadow traffic.
	Arms []ShadowArm

	// Ratio is the share of sessions, or of turns, that is mirrored. Default 0.1.
	Ratio float64
	// ByTurn takes each turn by itself, instead of sessions as a whole.
	ByTurn bool
	// Models, Paths and Headers narrow that down: the model and the path are one of
	// these, each header, in small letters, has this value, or any if it is empty.
	Models, Paths []string
	Headers       map[string]string
	// MaxBody is the largest request that is mirrored. Default 8 MiB.
	MaxBody int64
	// Effects allows requests that do more on the server than make an answer: built-in
	// tools, stored or background responses, state of a session there.
	Effects bool

	// Concurrency, Queue and Rate bound, for each arm, the requests that are under way,
	// that wait, and that begin in a second. Defaults 32, 256 and no limit.
	Concurrency, Queue int
	Rate               float64
	// FirstByteTimeout, IdleTimeout and Timeout bound an arm's silence before an answer
	// and within it, and all of the exchange. Defaults 2, 1 and 15 minutes.
	FirstByteTimeout, IdleTimeout, Timeout time.Duration
	// MaxAnswer is the longest answer that is read. Default 32 MiB.
	MaxAnswer int64
	// Bytes and Tokens bound, for each arm, what its answers may bring in a minute, prompts
	// included. What has begun may go beyond them. Default: no limit.
	Bytes, Tokens int64
	// MaxBatch pauses the arms while Load, the batch of the live server, is above it:
	// a mirror changes that batch where both share a GPU. Default: no limit.
	MaxBatch int
	Load     func() int
	// CutWithClient ends what an arm is doing for a client that leaves. Default: it goes on.
	CutWithClient bool

	// Book adds up the pairs. Default: one of its own.
	Book *pairs.Book
	// Pair is told of each pair; it must not keep it, or wait. Default: nobody is.
	Pair func(*turn.Pair)
}

// ShadowArm is a server that gets requests of clients, too.
type ShadowArm struct {
	Arm turn.Arm // turn.Control or turn.Candidate
	// URL and TLS are as Config.Upstream and Config.UpstreamTLS.
	URL string
	TLS *tls.Config
	// Key returns the key that requests are authorized with; what clients send for the
	// live server is never sent on. Default: none.
	Key func() string
	// Set replaces fields of the request's body, given as JSON.
	Set map[string]string
	// Tags is as Config.Tags.
	Tags func() TurnTags
}

func (c *ShadowConfig) defaults() {
	c.Ratio = cmp.Or(c.Ratio, 0.1)
	c.MaxBody = cmp.Or(c.MaxBody, 8<<20)
	c.Concurrency = cmp.Or(c.Concurrency, 32)
	c.Queue = cmp.Or(c.Queue, 256)
	c.FirstByteTimeout = cmp.Or(c.FirstByteTimeout, 2*time.Minute)
	c.IdleTimeout = cmp.Or(c.IdleTimeout, time.Minute)
	c.Timeout = cmp.Or(c.Timeout, 15*time.Minute)
	c.MaxAnswer = cmp.Or(c.MaxAnswer, 32<<20)
	if c.Book == nil {
		c.Book = pairs.NewBook(pairs.Limits{})
	}
}

func (c *ShadowConfig) check() error {
	seen := map[turn.Arm]bool{}
	for _, a := range c.Arms {
		if a.Arm != turn.Control && a.Arm != turn.Candidate {
			return fmt.Errorf("shadow arm %q: it must be %s or %s", a.Arm, turn.Candidate, turn.Control)
		}
		if seen[a.Arm] {
			return fmt.Errorf("shadow arm %s is given twice", a.Arm)
		}
		seen[a.Arm] = true
	}
	if len(c.Arms) > 0 && !seen[turn.Candidate] {
		return errors.New("shadow: there is no candidate to be held against the control")
	}
	return nil
}

// newShadow makes what mirrors requests, nil where there are no arms. start starts it.
func newShadow(s *Server, cfg ShadowConfig) (*shadow, error) {
	if len(cfg.Arms) == 0 {
		return nil, nil
	}
	cfg.defaults()
	if err := cfg.check(); err != nil {
		return nil, err
	}
	cfg.Arms = slices.Clone(cfg.Arms)
	slices.SortFunc(cfg.Arms, func(a, b ShadowArm) int { return -strings.Compare(string(a.Arm), string(b.Arm)) }) // the order of sides and pairs
	sh := &shadow{s: s, log: s.log, book: cfg.Book, open: map[*mirror]struct{}{}}
	sh.cfg.Store(&cfg)
	sh.budget = s.budget.share(shadowShare)
	for i := range cfg.Arms {
		a, err := sh.newArm(&cfg.Arms[i])
		if err != nil {
			return nil, err
		}
		sh.arms = append(sh.arms, a)
	}
	return sh, nil
}

// now are the settings as they stand.
func (sh *shadow) now() *ShadowConfig { return sh.cfg.Load() }

// SetShadowLimits takes over, from now on, the share that is mirrored and the bounds
// of requests, answers, times and what an arm may spend. What is under way keeps the
// times that it began with. All else that cfg says is left as it was.
func (s *Server) SetShadowLimits(cfg ShadowConfig) {
	sh := s.shadow
	if sh == nil {
		return
	}
	cfg.defaults()
	next := *sh.now()
	next.Ratio, next.MaxBody, next.MaxAnswer, next.MaxBatch = cfg.Ratio, cfg.MaxBody, cfg.MaxAnswer, cfg.MaxBatch
	next.FirstByteTimeout, next.IdleTimeout, next.Timeout = cfg.FirstByteTimeout, cfg.IdleTimeout, cfg.Timeout
	next.Rate, next.Bytes, next.Tokens = cfg.Rate, cfg.Bytes, cfg.Tokens
	sh.cfg.Store(&next)
	for _, a := range sh.arms {
		reset(a.rate, next.Rate, 1)
		reset(a.bytes, float64(next.Bytes), 60)
		reset(a.tokens, float64(next.Tokens), 60)
	}
}

// shadowShare is which part of the memory for judging may be taken when more is to be
// held for other arms: the rest is the live turns' alone.
const shadowShare = 2

// armLog is the log with the arm's name.
func (sh *shadow) armLog(a turn.Arm) *slog.Logger { return sh.log.With("arm", string(a)) }
