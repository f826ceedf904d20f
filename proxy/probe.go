package proxy

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"turnwatch/proxy/turn"
	"turnwatch/validate"
	"turnwatch/validate/agents"
)

// ProbeConfig says how often turns with known answers are sent to the server.
// The zero value of every field but Rate is its default.
type ProbeConfig struct {
	// Rate is how many probes are sent in a minute, at random moments. Default
	// 0: none is, and not a byte more than otherwise.
	Rate float64
	// MaxTokens bounds the tokens of an answer. Default 512.
	MaxTokens int
	// MaxStreams is how many answers may be in progress for a probe to be sent:
	// a server that has more to do is left alone. Default 64.
	MaxStreams int
	// Key returns the bearer token for our own requests; nil for none.
	Key func() string
}

func (c *ProbeConfig) defaults() {
	if c.MaxTokens == 0 {
		c.MaxTokens = 512
	}
	if c.MaxStreams == 0 {
		c.MaxStreams = 64
	}
}

// Bounds of one probe.
const (
	probeTimeout   = 5 * time.Minute
	maxProbeAnswer = 1 << 20
)

// probePath is that of the requests that probes are.
const probePath = "/v1/chat/completions"

// prober sends turns whose answers are known to the server while it works for
// clients, so that they share its batches: what comes back wrong is the truth
// about production, from nobody's data. One probe is under way at a time. A nil
// prober does nothing; one whose rate is 0 waits for another.
type prober struct {
	s       *Server
	cfg     atomic.Pointer[ProbeConfig]
	changed chan struct{} // holds one: cfg is another
	ever    atomic.Bool   // probes were asked for at some time
	client  *http.Client
	model   atomic.Pointer[string] // that of the latest live turn
	book    probeBook
	work    sync.WaitGroup
	cancel  context.CancelFunc
}

func newProber(s *Server, cfg ProbeConfig) *prober {
	if s.cfg.RelayOnly {
		return nil
	}
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) { return s.up.dial(ctx) }
	p := &prober{s: s, changed: make(chan struct{}, 1), book: newProbeBook(), client: &http.Client{
		Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true, DisableCompression: true, MaxResponseHeaderBytes: maxHead},
		Timeout:   probeTimeout, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	p.set(cfg)
	return p
}

// set takes over settings. The moment of the next probe is drawn anew.
func (p *prober) set(cfg ProbeConfig) {
	cfg.defaults()
	p.cfg.Store(&cfg)
	if cfg.Rate > 0 {
		p.ever.Store(true)
	}
	select {
	case p.changed <- struct{}{}:
	default:
	}
}

// SetProbes takes over how often probes are sent, none if cfg says so, and their
// bounds. It does nothing where nothing is judged.
func (s *Server) SetProbes(cfg ProbeConfig) {
	if s.probes != nil {
		s.probes.set(cfg)
	}
}

// saw notes the model of a live turn.
func (p *prober) saw(model string) {
	if p != nil && model != "" && p.cfg.Load().Rate > 0 {
		latest := model // a variable of its own: none is made where there are no probes
		p.model.Store(&latest)
	}
}

func (p *prober) start() {
	if p == nil {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	p.cancel = cancel
	p.work.Go(func() { p.run(ctx) })
}

// stop ends the probe that is under way. It returns when nothing of it is left, or when
// ctx is done: a sink may hang.
func (p *prober) stop(ctx context.Context) {
	if p != nil && p.cancel != nil {
		p.cancel()
		within(ctx, p.work.Wait)
	}
}

// run sends probes until ctx is done. The time between them has no memory, so
// that they fall in with nothing that is done at regular times.
func (p *prober) run(ctx context.Context) {
	for {
		select {
		case <-p.next():
		case <-p.changed:
			continue
		case <-ctx.Done():
			return
		}
		if why := p.shut(); why != "" {
			p.book.skip(why)
			continue
		}
		p.probe(ctx)
	}
}

// next is when the next probe is due; never, while none is asked for.
func (p *prober) next() <-chan time.Time {
	rate := p.cfg.Load().Rate
	if rate <= 0 {
		return nil
	}
	return time.After(min(time.Duration(rand.ExpFloat64()*float64(time.Minute)/rate), time.Hour))
}

// The reasons for which no probe is sent.
const (
	probeAlone = "nobody_there" // no answer is in progress: it would be in a batch of its own
	probeBusy  = "busy"
)

// shut says why no probe is to be sent now, empty if one is.
func (p *prober) shut() string {
	switch n := p.s.stats.Streams.Load(); {
	case n == 0 || p.model.Load() == nil:
		return probeAlone
	case n > int64(p.cfg.Load().MaxStreams):
		return probeBusy
	}
	return ""
}

// probe makes one, and has it judged and recorded like a turn. A panic costs that
// one alone.
func (p *prober) probe(ctx context.Context) {
	defer func() {
		if r := recover(); r != nil {
			p.s.log.Error("a probe broke", "panic", r, "stack", string(debug.Stack()))
		}
	}()
	seed := rand.Uint64()
	session := agents.Sets()[0].New(seed, agents.Shape{})
	n := 1 + rand.IntN(session.Turns())
	body := session.Request(n, agents.Options{Model: *p.model.Load(), MaxTokens: p.cfg.Load().MaxTokens})
	o := p.observe(body)
	o.t.Session, o.t.Number = fmt.Sprintf("probe-%016x", seed), n
	answer, err := p.exchange(ctx, o, body)
	if ctx.Err() != nil {
		o.tell(TurnTags.End)
		o.free()
		return
	}
	how := validate.Complete
	if err != nil {
		how = validate.ServerCut
	}
	o.ends(how, int64(len(body)))
	o.judgeArm()
	o.t.Answer = graded(session, n, o, answer)
	p.s.finish.tagged(o, func() {
		p.tell(p.book.add(&o.t))
		p.s.finish.record(o)
	})
}

// tell logs what a probe showed for the first time.
func (p *prober) tell(news probeNews) {
	if n := news.proved; n != nil {
		p.s.log.Warn("probes prove that more than 0.1% of answers are wrong", "wrong", n.K, "probes", n.N)
	}
	for _, k := range news.demoted {
		p.s.log.Warn("a kind is told of too many right answers to probes: it is a signal from now on", "kind", k)
	}
}

// observe begins to watch a probe.
func (p *prober) observe(body []byte) *observer {
	o := &observer{s: p.s, path: probePath, t: turn.Turn{V: turn.Version, ID: turn.NewID(), Time: time.Now(), Arm: turn.Probe,
		Path: probePath, Model: *p.model.Load()}}
	o.taggedBy(p.s.cfg.Tags)
	o.guarded(func() { o.read(body) })
	return o
}

// exchange sends the request and has the answer judged. It returns its body.
func (p *prober) exchange(ctx context.Context, o *observer, body []byte) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+p.host()+probePath, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Turnwatch-Arm", string(turn.Probe))
	if key := p.cfg.Load().Key; key != nil {
		req.Header.Set("Authorization", "Bearer "+key())
	}
	resp, err := p.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	o.begun(time.Now())
	o.headOf(resp)
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxProbeAnswer+1))
	if len(answer) > maxProbeAnswer {
		err = errors.New("the answer to a probe is too large")
	}
	o.at = time.Since(o.first)
	o.take([][]byte{answer})
	return answer, err
}

func (p *prober) host() string {
	if p.s.up.network == "unix" {
		return "localhost"
	}
	return p.s.up.addr
}

// headOf learns what the answer to a probe is.
func (o *observer) headOf(resp *http.Response) {
	o.head(&answerHead{status: resp.StatusCode, contentType: resp.Header.Get("Content-Type"), contentEncoding: "identity"})
	var b bytes.Buffer
	fmt.Fprintf(&b, "HTTP/1.1 %s\r\n", resp.Status)
	resp.Header.Write(&b)
	b.WriteString("\r\n")
	o.tell(func(t TurnTags) { t.Head(b.Bytes()) })
}

// graded says whether an answer is the right one; nothing where there is none, or
// it ran out of tokens.
func graded(s *agents.Session, n int, o *observer, body []byte) turn.Answer {
	var got struct {
		Choices []struct {
			Message struct {
				Content   string
				ToolCalls []struct {
					Function struct{ Name, Arguments string }
				} `json:"tool_calls"`
			}
		}
	}
	corrupted := o.t.Outcome == validate.Corrupted
	switch err := json.Unmarshal(body, &got); {
	case o.t.Status != http.StatusOK || o.t.Outcome == validate.Truncated || (err != nil || len(got.Choices) == 0) && !corrupted:
		return ""
	case err != nil || len(got.Choices) == 0:
		return turn.Wrong
	}
	m := got.Choices[0].Message
	a := agents.Answer{Text: m.Content}
	for _, c := range m.ToolCalls {
		a.Calls = append(a.Calls, agents.Call{Name: c.Function.Name, Arguments: c.Function.Arguments})
	}
	if s.Check(n, a) != nil {
		return turn.Wrong
	}
	return turn.Right
}
