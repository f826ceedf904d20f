package sglangtest

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// PlayConfig says how a Player plays. Its zero value plays as it was recorded,
// to those alone who ask what was asked.
type PlayConfig struct {
	// Speed is how many times as fast as it came an answer is played. Default 1.
	Speed float64
	// AtOnce plays without any wait.
	AtOnce bool
	// Any gives those who ask something else one recorded answer after the
	// other, instead of 404.
	Any bool
	// Facts is the path under which turn facts are told. Default
	// /turnwatch/turns.
	Facts string
	// Timed adds to the facts when their decode steps had ended, as nearly as what
	// came of them tells, for recordings of servers that did not say so.
	Timed bool
	// Info is what /server_info is answered with. Default: 404.
	Info []byte
}

// Played counts what a Player did.
type Played struct {
	Answers int // played to their end
	Cut     int // whose client left before
	Unknown int // requests that nobody had recorded
	Facts   int // turns whose facts were told
}

// Player is a server that plays recorded answers, byte for byte and at the
// times they came, to those who send the recorded requests. One that was
// recorded more than once gets its answers in turn. Where the recordings tell
// when they were and in which decode steps, /v1/loads tells what ran and waited
// at that moment of the recording, counted from the first request.
type Player struct {
	URL string // http://host:port; "" of one that listens nowhere

	cfg    PlayConfig
	http   *http.Server
	ctx    context.Context // done at Close
	cancel context.CancelFunc
	wg     sync.WaitGroup
	all    []Recording
	facts  map[string][]byte // by rid
	course course

	mu    sync.Mutex
	shut  bool                        // no answer is begun any more
	found map[[sha256.Size]byte][]int // recordings by what was asked, the next in front
	next  int                         // for those who ask something else
	from  time.Time                   // when the recording begins; zero until the first request of which that is known
	zero  time.Time                   // … on the recording's own clock
	sum   Played
}

// Play starts a Player on ln, which it owns from then on.
func Play(ln net.Listener, all []Recording, cfg PlayConfig) *Player {
	p := NewPlayer(all, cfg)
	p.URL = "http://" + ln.Addr().String()
	p.wg.Go(func() { p.http.Serve(ln) })
	return p
}

// NewPlayer returns a Player that listens nowhere: a handler.
func NewPlayer(all []Recording, cfg PlayConfig) *Player {
	if cfg.Speed == 0 {
		cfg.Speed = 1
	}
	if cfg.Facts == "" {
		cfg.Facts = "/turnwatch/turns"
	}
	p := &Player{cfg: cfg, facts: make(map[string][]byte), course: courseOf(all), found: make(map[[sha256.Size]byte][]int)}
	if cfg.Timed {
		all = timed(all, cfg.Speed)
	}
	for i, r := range all {
		k := key(r.Method, r.Path, r.Body)
		p.found[k] = append(p.found[k], i)
		if r.RID != "" && r.Facts != nil {
			p.facts[r.RID] = r.Facts
		}
	}
	p.all = all
	p.ctx, p.cancel = context.WithCancel(context.Background())
	p.http = &http.Server{Handler: p, ErrorLog: log.New(io.Discard, "", 0)}
	return p
}

// Close cuts every answer and returns when no goroutine of the player is left.
func (p *Player) Close() {
	p.mu.Lock()
	p.shut = true
	p.mu.Unlock()
	p.cancel()
	p.http.Close()
	p.wg.Wait()
}

// Played returns the counts so far.
func (p *Player) Played() Played {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.sum
}

// ServeHTTP plays the answer to a request.
func (p *Player) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	rid, ok := strings.CutPrefix(r.URL.Path, strings.TrimRight(p.cfg.Facts, "/")+"/")
	switch {
	case r.Method == http.MethodGet && ok:
		p.tell(w, rid)
		return
	case r.Method == http.MethodGet && r.URL.Path == "/v1/models":
		p.models(w)
		return
	case r.Method == http.MethodGet && r.URL.Path == "/v1/loads" && p.load(w):
		return
	case r.Method == http.MethodGet && r.URL.Path == "/server_info" && p.cfg.Info != nil:
		send(w, p.cfg.Info)
		return
	}
	began := time.Now()
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxCapture))
	if err != nil || !p.enter() {
		return
	}
	defer p.wg.Done()
	rec := p.find(r, body)
	if rec == nil {
		fail(w, "nobody recorded such a request to "+r.URL.Path)
		return
	}
	p.Start(rec, began)
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer conn.Close()
	p.count(p.play(conn, rec.Pieces, began))
}

// enter counts an answer that Close waits for.
func (p *Player) enter() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.shut {
		p.wg.Add(1)
	}
	return !p.shut
}

// find picks the recording that a request is answered with.
func (p *Player) find(r *http.Request, body []byte) *Recording {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch i := p.found[key(r.Method, r.URL.Path, body)]; {
	case len(i) > 0:
		first := i[0]
		copy(i, i[1:])
		i[len(i)-1] = first
		return &p.all[first]
	case p.cfg.Any && r.Method == http.MethodPost && len(p.all) > 0:
		p.next++
		return &p.all[(p.next-1)%len(p.all)]
	}
	if r.Method == http.MethodPost {
		p.sum.Unknown++
	}
	return nil
}

// play writes the pieces, each at its time, and reports whether all were.
func (p *Player) play(conn net.Conn, pieces []Piece, began time.Time) bool {
	stop := context.AfterFunc(p.ctx, func() { conn.Close() })
	defer stop()
	for _, piece := range pieces {
		if !p.wait(began.Add(time.Duration(float64(piece.At) / p.cfg.Speed))) {
			return false
		}
		if _, err := conn.Write(piece.Data); err != nil {
			return false
		}
	}
	return true
}

func (p *Player) wait(until time.Time) bool {
	if p.cfg.AtOnce {
		return p.ctx.Err() == nil
	}
	timer := time.NewTimer(time.Until(until))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-p.ctx.Done():
		return false
	}
}

func (p *Player) count(whole bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if whole {
		p.sum.Answers++
	} else {
		p.sum.Cut++
	}
}

// tell tells the facts of a turn.
func (p *Player) tell(w http.ResponseWriter, rid string) {
	b, ok := p.facts[rid]
	if !ok {
		fail(w, "there are no facts of such a turn")
		return
	}
	p.mu.Lock()
	p.sum.Facts++
	p.mu.Unlock()
	send(w, b)
}

func send(w http.ResponseWriter, b []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.Write(b)
}

// Start says that a recording is asked for now, or was a moment ago. The first one sets
// the time of what is told of the server's load; requests do so themselves.
func (p *Player) Start(rec *Recording, came time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.from.IsZero() && !rec.Began.IsZero() {
		p.from, p.zero = came, rec.Began
	}
}

// load tells how busy the recorded server was at this moment of the recording,
// if that is known.
func (p *Player) load(w http.ResponseWriter) bool {
	p.mu.Lock()
	from, zero := p.from, p.zero
	p.mu.Unlock()
	if len(p.course) == 0 || p.cfg.AtOnce {
		return false
	}
	var l level
	if !from.IsZero() {
		l = p.course.at(zero.Add(time.Duration(float64(time.Since(from)) * p.cfg.Speed)))
	}
	send(w, fmt.Appendf(nil, `{"loads":[{"dp_rank":0,"num_running_reqs":%d,"num_waiting_reqs":%d}]}`, l.running, l.waiting))
	return true
}

// models lists the models that were asked, for clients that want to know.
func (p *Player) models(w http.ResponseWriter) {
	type model struct {
		ID     string `json:"id"`
		Object string `json:"object"`
	}
	list, seen := []model{}, make(map[string]bool)
	for i := range p.all {
		var b struct{ Model string }
		if json.Unmarshal(p.all[i].Body, &b) == nil && b.Model != "" && !seen[b.Model] {
			seen[b.Model] = true
			list = append(list, model{b.Model, "model"})
		}
	}
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(map[string]any{"object": "list", "data": list})
}

func fail(w http.ResponseWriter, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusNotFound)
	json.NewEncoder(w).Encode(map[string]any{"object": "error", "message": message, "type": "NotFound", "code": http.StatusNotFound})
}
