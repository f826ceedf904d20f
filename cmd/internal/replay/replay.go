package replay

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"turnwatch/proxy/turn"
	"turnwatch/validate"
)

// Plan says what is sent, how often and where to.
type Plan struct {
	Sources     []Source
	Target      string // URL; "" for the host that each client named
	Times       int    // each
	Concurrency int
	Key         string        // sent as bearer token; "" for none
	Timeout     time.Duration // of one answer
	Each        func(done, of int)
}

// Result is what became of the replays of one turn.
type Result struct {
	Name      string                   `json:"name"`
	SHA256    string                   `json:"request_sha256"` // of what was sent
	AsSaid    bool                     `json:"as_recorded"`    // that is the hash that was recorded
	Redacted  bool                     `json:"redacted"`
	Differ    []string                 `json:"head_differs"` // fields that were left out or set
	Recorded  []string                 `json:"recorded_kinds"`
	Sent      int                      `json:"sent"`
	Judged    int                      `json:"judged"`
	Corrupted int                      `json:"corrupted"`
	Same      int                      `json:"same_kind"` // corrupted in a kind that was recorded
	Verdicts  map[validate.Outcome]int `json:"verdicts"`
	Kinds     map[string]int           `json:"kinds"`
	Failed    int                      `json:"failed"` // no answer
	Error     string                   `json:"error,omitempty"`
}

// errNoBody names a turn whose request cannot be sent.
func errNoBody(s *Source) error {
	why := map[turn.Drop]string{
		"bodies_off":            "it was not kept: run turnwatch with -evidence-bodies",
		turn.DropTooLarge:       "it exceeded -evidence-max-turn",
		turn.DropEvidenceMemory: "there was no room for it: raise -judge-memory",
	}[s.Lost.Request]
	if why == "" {
		why = "it was not kept"
	}
	return fmt.Errorf("%s has no request body: %s", s.Name, why)
}

// check finds what cannot be replayed.
func (p *Plan) check() error {
	for i := range p.Sources {
		s := &p.Sources[i]
		switch {
		case s.Lost.Request != "":
			return errNoBody(s)
		case !s.Redacted && s.SHA256 != "" && sum(s.Body) != s.SHA256:
			return fmt.Errorf("%s: the body of the request is not the one that was recorded: its SHA-256 is another", s.Name)
		case p.Target == "" && s.Host() == "":
			return fmt.Errorf("%s does not say which server was asked: name one with -target", s.Name)
		case !validate.Judged(s.Method, s.Path()):
			return fmt.Errorf("%s: %s %s is no turn that could be judged", s.Name, s.Method, s.Path())
		}
	}
	return nil
}

// runner sends the requests.
type runner struct {
	*Plan
	client  *http.Client
	rates   turn.Rates // of tokens, by model, as the sidecar learns them
	mu      sync.Mutex
	results []Result
	done    int
}

// Run sends every request as often as was asked, turn by turn in rotation, so
// that they meet in the server's batches. It returns what is known when ctx
// ends.
func Run(ctx context.Context, p Plan) ([]Result, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	// Servers close idle connections after some seconds: ours go first, so that no
	// request meets one that is just being closed.
	r := &runner{Plan: &p, client: &http.Client{Timeout: p.Timeout, CheckRedirect: stay, Transport: &http.Transport{
		MaxIdleConnsPerHost: p.Concurrency, IdleConnTimeout: 4 * time.Second, DisableCompression: true}}}
	defer r.client.CloseIdleConnections()
	for i := range p.Sources {
		s := &p.Sources[i]
		_, differ := s.head(p.Target, p.Key)
		got := sum(s.Body)
		r.results = append(r.results, Result{Name: s.Name, SHA256: got, AsSaid: got == s.SHA256, Redacted: s.Redacted, Differ: differ,
			Recorded: s.kinds(), Verdicts: map[validate.Outcome]int{}, Kinds: map[string]int{}})
	}
	r.all(ctx)
	return r.results, nil
}

// stay follows no redirection: a turn would be asked for elsewhere, without the
// body that was recorded.
func stay(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

func (s *Source) kinds() []string {
	if s.Turn == nil {
		return []string{}
	}
	return kinds(&s.Turn.Verdict)
}

func kinds(v *validate.Verdict) []string {
	all := []string{}
	for i := range v.Findings {
		if k := string(v.Findings[i].Kind); !slices.Contains(all, k) {
			all = append(all, k)
		}
	}
	return all
}

// all keeps so many requests under way.
func (r *runner) all(ctx context.Context) {
	next := make(chan int)
	var wg sync.WaitGroup
	for range r.Concurrency {
		wg.Go(func() {
			for i := range next {
				v, status, err := r.one(ctx, &r.Sources[i])
				r.note(ctx, i, v, status, err)
			}
		})
	}
	for n := range r.Times * len(r.Sources) {
		select {
		case next <- n % len(r.Sources):
			continue
		case <-ctx.Done():
		}
		break
	}
	close(next)
	wg.Wait()
}

// note counts an answer. One that our own end cut says nothing.
func (r *runner) note(ctx context.Context, i int, v *validate.Verdict, status int, err error) {
	if ctx.Err() != nil && (err != nil || v.Outcome != validate.Corrupted) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.done++
	if r.Each != nil {
		r.Each(r.done, r.Times*len(r.Sources))
	}
	s := &r.results[i]
	s.Sent++
	if err != nil {
		s.Failed++
		s.Error = err.Error()
		return
	}
	s.add(v, status)
}

func (s *Result) add(v *validate.Verdict, status int) {
	s.Verdicts[v.Outcome]++
	if v.Outcome == validate.Unverified {
		s.Error = unjudged(v.Reason, status)
		return
	}
	s.Judged++
	if v.Outcome != validate.Corrupted {
		return
	}
	s.Corrupted++
	same := false
	for _, k := range kinds(v) {
		s.Kinds[k]++
		same = same || slices.Contains(s.Recorded, k)
	}
	if same {
		s.Same++
	}
}

// unjudged says why an answer was not judged, in words that help to mend it.
func unjudged(why validate.Reason, status int) string {
	switch {
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return fmt.Sprintf("%s, status %d: the server wants a key, or another one, from -key-file", why, status)
	case status >= http.StatusBadRequest:
		return fmt.Sprintf("%s, status %d", why, status)
	}
	return string(why)
}

// one sends a request and judges its answer as it comes.
func (r *runner) one(ctx context.Context, s *Source) (v *validate.Verdict, status int, err error) {
	req, err := http.NewRequestWithContext(ctx, s.Method, r.base(s)+s.Target, bytes.NewReader(s.Body))
	if err != nil {
		return nil, 0, err
	}
	req.Header, _ = s.head(r.Target, r.Key)
	parsed, err := validate.ParseRequest(s.Path(), s.Body)
	if err != nil {
		return nil, 0, err
	}
	parsed.TokenRate = r.rates.Of(parsed.Model)
	resp, err := r.client.Do(req)
	if err != nil {
		return nil, 0, err
	}
	defer resp.Body.Close()
	verdict := judge(parsed, resp)
	r.rates.Learn(parsed.Model, &verdict)
	return &verdict, resp.StatusCode, nil
}

func (r *runner) base(s *Source) string {
	if r.Target != "" {
		return strings.TrimRight(r.Target, "/")
	}
	return "http://" + s.Host()
}

func judge(req *validate.Request, resp *http.Response) validate.Verdict {
	c := validate.NewChecker(req, validate.Head{Status: resp.StatusCode, ContentType: resp.Header.Get("Content-Type")})
	begin, buf := time.Now(), make([]byte, 16<<10)
	for {
		n, err := resp.Body.Read(buf)
		c.Feed(time.Since(begin), buf[:n])
		switch {
		case errors.Is(err, io.EOF):
			return c.Finish(validate.Complete)
		case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
			return c.Finish(validate.ProxyCut)
		case err != nil:
			return c.Finish(validate.ServerCut)
		}
	}
}
