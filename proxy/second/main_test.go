package second_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"turnwatch/proxy"
	"turnwatch/proxy/leaktest"
	"turnwatch/proxy/second"
	"turnwatch/proxy/sglang"
	"turnwatch/proxy/sglangtest"
	"turnwatch/proxy/turn"
	"turnwatch/validate/agents"
)

// patience is how long a test waits for what must come.
const patience = 90 * time.Second

func TestMain(m *testing.M) { leaktest.Main(m) }

// stand is a simulated server, a relay in front of it, and what asks for second
// opinions on its turns.
type stand struct {
	t     *testing.T
	sim   *sglangtest.Server
	other *sglangtest.Server // the one that is asked, where it is not sim
	url   string
	asker *second.Asker
	extra string // a field that requests have besides

	mu       sync.Mutex
	news     *sync.Cond
	turns    map[string]turn.Turn // by id
	opinions []turn.Opinion
}

// Finish makes the stand a sink.
func (s *stand) Finish(t *turn.Turn) {
	c := *t
	c.Tags, c.Own, c.Capture, c.Tokens = t.AllTags(), nil, nil, nil
	s.mu.Lock()
	defer s.mu.Unlock()
	s.turns[t.ID] = c
	s.news.Broadcast()
}

func (s *stand) tell(o *turn.Opinion) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.opinions = append(s.opinions, *o)
	s.news.Broadcast()
}

// await waits until f holds, and reports whether it does: it gives up when nothing has
// come for long.
func (s *stand) await(f func() bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for !f() {
		had, begin := len(s.turns)+len(s.opinions), time.Now()
		late := time.AfterFunc(patience, s.news.Broadcast)
		s.news.Wait()
		late.Stop()
		if time.Since(begin) >= patience && len(s.turns)+len(s.opinions) == had {
			return false
		}
	}
	return true
}

// plan is what a stand is made of. Without scorer the server itself is asked.
type plan struct {
	sim    sglangtest.Config
	scorer *sglangtest.Config
	asker  second.Config
	relay  proxy.Config
	noIDs  bool // the relay does not ask for the ids of tokens
}

func start(t *testing.T, p plan) *stand {
	t.Helper()
	s := &stand{t: t, turns: map[string]turn.Turn{}}
	s.news = sync.NewCond(&s.mu)
	p.sim.Plugin, p.sim.KeepTokens, p.sim.APIKey = true, true, "k"
	s.sim = sglangtest.NewServer(p.sim)
	t.Cleanup(s.sim.Close)
	asked := s.sim
	if p.scorer != nil {
		p.scorer.APIKey, p.scorer.Faults = "k", p.sim.Faults
		s.other = sglangtest.NewServer(*p.scorer)
		t.Cleanup(s.other.Close)
		asked = s.other
	}
	g := s.tagger(s.sim.URL, !p.noIDs)
	s.ask(p, g, asked)
	s.serve(p, g)
	return s
}

// tagger learns of a server.
func (s *stand) tagger(url string, ids bool) *sglang.Tagger {
	s.t.Helper()
	key := filepath.Join(s.t.TempDir(), "key")
	if err := os.WriteFile(key, []byte("k"), 0o600); err != nil {
		s.t.Fatal(err)
	}
	g, err := sglang.New(sglang.Config{Upstream: url, KeyFile: key, Tokens: ids, FactsTimeout: patience})
	if err != nil {
		s.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var work sync.WaitGroup
	work.Go(func() { g.Run(ctx) })
	s.t.Cleanup(func() { cancel(); work.Wait() })
	return g
}

func (s *stand) ask(p plan, g *sglang.Tagger, asked *sglangtest.Server) {
	s.t.Helper()
	c := p.asker
	c.URL, c.Live, c.Key, c.Tell = asked.URL, asked == s.sim, g.Key, s.tell
	if c.Load == nil {
		c.Load = s.tagger(asked.URL, false).AskLoad
	}
	if c.Rate == 0 {
		c.Rate, c.Queue, c.Tokens = 1e6, 4096, 1e9
	}
	if c.Every == 0 {
		c.Every = time.Millisecond
	}
	if c.Patience == 0 { // a busy machine is no busy server
		c.Patience = time.Hour
	}
	if c.Timeout == 0 {
		c.Timeout = time.Hour
	}
	c.Logger = slog.New(slog.DiscardHandler)
	var err error
	if s.asker, err = second.New(c); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { s.asker.Close(context.Background()) })
}

func (s *stand) serve(p plan, g *sglang.Tagger) {
	s.t.Helper()
	c := p.relay
	c.Upstream, c.Tags, c.Capture, c.Lend = s.sim.URL, func() proxy.TurnTags { return g.Begin() }, 8<<20, s.asker.Wants
	relay, err := proxy.New(c, s.asker, s)
	if err != nil {
		s.t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		s.t.Fatal(err)
	}
	s.url = "http://" + ln.Addr().String()
	served := make(chan error, 1)
	go func() { served <- relay.Serve(ln) }()
	s.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := relay.Shutdown(ctx); err != nil {
			s.t.Error(err)
		}
		if err := <-served; err != nil {
			s.t.Error(err)
		}
	})
}

// play sends so many turns of agents, some at a time, and returns their answers.
func (s *stand) play(turns int, seed uint64, temperature float64) [][]byte {
	s.t.Helper()
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport, Timeout: patience}
	answers := make([][]byte, turns)
	next := make(chan int)
	var work sync.WaitGroup
	for range 4 {
		work.Go(func() {
			for i := range next {
				answers[i] = s.send(client, s.request(i, seed, temperature))
			}
		})
	}
	for i := range turns {
		next <- i
	}
	close(next)
	work.Wait()
	return answers
}

// request is one of the turns that agents ask for.
func (s *stand) request(i int, seed uint64, temperature float64) []byte {
	r := rand.New(rand.NewPCG(seed, uint64(i)))
	session := agents.Sets()[0].New(r.Uint64(), agents.Shape{})
	body := session.Request(1+r.IntN(session.Turns()), agents.Options{Model: "m", Stream: i%2 == 0, Temperature: temperature})
	if s.extra != "" {
		body = append([]byte("{"+s.extra+","), body[1:]...)
	}
	return body
}

func (s *stand) send(client *http.Client, body []byte) []byte {
	req, err := http.NewRequest(http.MethodPost, s.url+"/v1/chat/completions", bytes.NewReader(body))
	if err != nil {
		s.t.Error(err)
		return nil
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer k")
	resp, err := client.Do(req)
	if err != nil {
		s.t.Error(err)
		return nil
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		s.t.Errorf("an answer: got %d, %v", resp.StatusCode, err)
	}
	return answer
}

// judged waits for so many opinions, as long as some come, and returns them with the
// truth about their turns: the first token that the model did not mean, -1 for none.
func (s *stand) judged(n int) (all []turn.Opinion, truth []int) {
	s.t.Helper()
	for had, done := 0, false; !done; {
		if !s.await(func() bool {
			done = len(s.opinions) >= n && len(s.turns) >= n
			return done || len(s.opinions) > had
		}) {
			s.t.Fatalf("opinions: got %d, want %d; %+v", len(s.opinions), n, s.asker.Stats())
		}
		s.mu.Lock()
		had = len(s.opinions)
		s.mu.Unlock()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	records := map[string]sglangtest.Record{}
	for _, r := range s.sim.Records() {
		records[r.RID] = r
	}
	for _, o := range s.opinions {
		r, ok := records[s.turns[o.ID].Tags["rid"].Value]
		if !ok {
			s.t.Fatalf("the turn of %+v is not known", o)
		}
		all, truth = append(all, o), append(truth, meant(r))
	}
	return all, truth
}

// meant is the first token that is not the one that the model meant.
func meant(r sglangtest.Record) int {
	for i, id := range r.OutputIDs {
		if i >= len(r.MeantIDs) || r.MeantIDs[i] != id {
			return i
		}
	}
	return -1
}

// words counts opinions by word and reason.
func words(all []turn.Opinion) map[string]int {
	n := map[string]int{}
	for _, o := range all {
		n[o.Word+" "+o.Reason]++
	}
	return n
}

func has(all []turn.Opinion, word string) bool {
	return slices.ContainsFunc(all, func(o turn.Opinion) bool { return o.Word == word })
}
