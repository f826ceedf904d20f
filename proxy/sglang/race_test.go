package sglang

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"turnwatch/proxy/sglangtest"
	"turnwatch/proxy/turn"
	"turnwatch/validate"
)

// raceInfo is what the server of the recordings says of itself.
const raceInfo = `{"version":"racelm-0.1","disable_cuda_graph":false,"cuda_graph_bs":[1,2,4,8,16,32],"stream_interval":4}`

// TestSourcesOfARecordedRace: turns that a GPU made, asked for when they were
// asked for and played as they came, with the load that the server had at each
// moment: what each source says of the batch at the first wrong token, beside the
// decode step that made it. The time is that of a bubble, so that no machine is
// too slow for it.
//
//	go test ./proxy/sglang -run SourcesOfARecordedRace -v
//
// prints how right they are.
func TestSourcesOfARecordedRace(t *testing.T) {
	all, err := sglangtest.ReadCaptures("../testdata/captures/race.jsonl.gz")
	if err != nil {
		t.Fatal(err)
	}
	slices.SortStableFunc(all, func(a, b sglangtest.Recording) int { return a.Began.Compare(b.Began) })
	synctest.Test(t, func(t *testing.T) {
		blind, path := []string{"x-none-"}, "/turnwatch/turns"
		r := race{echoes: validate.NewEchoes(1 << 20), seen: make([]sight, len(all)), player: sglangtest.NewPlayer(all, sglangtest.PlayConfig{Info: []byte(raceInfo)})}
		timed := handled{sglangtest.NewPlayer(all, sglangtest.PlayConfig{Timed: true, Info: []byte(raceInfo)})}
		r.view(t, "header", handled{r.player}, Config{NoPoll: true})
		r.view(t, "facts", handled{r.player}, Config{Prefixes: blind, Facts: path, NoPoll: true})
		r.view(t, "facts, timed", timed, Config{Prefixes: blind, Facts: path})
		r.view(t, "poll", handled{r.player}, Config{Prefixes: blind})
		r.view(t, "own", handled{r.player}, Config{Prefixes: blind, NoPoll: true})
		ctx, cancel := context.WithCancel(t.Context())
		var running, turns sync.WaitGroup
		for _, v := range r.views {
			running.Go(func() { v.Run(ctx) })
		}
		began := time.Now()
		for i := range all {
			turns.Go(func() {
				time.Sleep(time.Until(began.Add(all[i].Began.Sub(all[0].Began))))
				r.play(t, i, &all[i])
			})
		}
		turns.Wait()
		cancel()
		running.Wait()
		r.judge(t, all)
	})
}

// handled asks a handler, without a network.
type handled struct{ http.Handler }

func (h handled) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(r.Context(), r.Method, r.URL.Path, http.NoBody))
	return w.Result(), nil
}

// race is the recording seen by Taggers that know one source each.
type race struct {
	player *sglangtest.Player
	echoes *validate.Echoes
	names  []string
	views  []*Tagger

	mu    sync.Mutex
	rates turn.Rates
	seen  []sight // of each turn
}

// sight is whether a turn was told to be wrong, and its tags in each view.
type sight struct {
	told bool
	tags []map[string]turn.Tag
}

func (r *race) view(t *testing.T, name string, asks http.RoundTripper, cfg Config) {
	t.Helper()
	cfg.Upstream = "http://127.0.0.1:1"
	g, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	g.poll.c.http.Transport = asks
	r.names, r.views = append(r.names, name), append(r.views, g)
}

// play lets all views watch a turn, judges it and has it tagged.
func (r *race) play(t *testing.T, i int, rec *sglangtest.Recording) {
	u := &turn.Turn{Time: time.Now(), Status: 200, Ending: "complete"}
	r.player.Start(rec, u.Time)
	req, err := validate.ParseRequest(rec.Path, rec.Body)
	if err != nil {
		t.Error(err)
		return
	}
	r.mu.Lock()
	req.TokenRate = r.rates.Of(req.Model)
	r.mu.Unlock()
	r.echoes.Keep(req, rec.Body)
	defer req.Free()
	var all []*Watch
	for _, v := range r.views {
		all = append(all, v.Begin())
	}
	head, body := parts(t, rec)
	time.Sleep(time.Until(u.Time.Add(rec.Pieces[0].At)))
	u.TTFBMS = float64(time.Since(u.Time)) / 1e6
	for _, w := range all {
		w.Head(rec.Pieces[0].Data)
	}
	check := validate.NewChecker(req, head)
	for _, p := range body {
		time.Sleep(time.Until(u.Time.Add(p.At)))
		check.Feed(p.At-rec.Pieces[0].At, p.Data)
		for _, w := range all {
			w.Data(p.Data, time.Now())
		}
	}
	for _, w := range all {
		w.End()
	}
	u.Verdict = check.Finish(validate.Complete)
	r.mu.Lock()
	r.rates.Learn(req.Model, &u.Verdict)
	r.mu.Unlock()
	r.tag(i, u, all)
}

// tag has a turn tagged by all views.
func (r *race) tag(i int, u *turn.Turn, all []*Watch) {
	s := sight{told: u.Outcome == validate.Corrupted || u.Suspect, tags: make([]map[string]turn.Tag, len(all))}
	var done sync.WaitGroup
	for n, w := range all {
		done.Add(1)
		one := *u
		tag(w, &one, func() { s.tags[n] = one.Tags; done.Done() })
	}
	done.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seen[i] = s
}

// parts are the body's bytes, as they came; of chunks those inside.
func parts(t *testing.T, rec *sglangtest.Recording) (head validate.Head, body []sglangtest.Piece) {
	var raw []byte
	ends := make([]int, len(rec.Pieces))
	for i, p := range rec.Pieces {
		raw = append(raw, p.Data...)
		ends[i] = len(raw)
	}
	in := bytes.NewReader(raw)
	r := bufio.NewReaderSize(in, 16) // hardly reads ahead
	resp, err := http.ReadResponse(r, nil)
	if err != nil {
		t.Error(err)
		return
	}
	defer resp.Body.Close()
	head = validate.Head{Status: resp.StatusCode, ContentType: resp.Header.Get("Content-Type")}
	for b := make([]byte, 1<<16); ; {
		n, err := resp.Body.Read(b)
		if n > 0 {
			at := len(raw) - in.Len() - r.Buffered()
			i, _ := slices.BinarySearch(ends, at)
			body = append(body, sglangtest.Piece{At: rec.Pieces[i].At, Data: bytes.Clone(b[:n])})
		}
		if err == io.EOF {
			return head, body
		}
		if err != nil {
			t.Error(err)
			return
		}
	}
}

// accuracy is how right a source is about a number.
type accuracy struct {
	all, told, right, near int // near: off by one at most
	off                    float64
}

func (a *accuracy) add(tag turn.Tag, source string, want int) {
	a.all++
	n, err := strconv.Atoi(tag.Value)
	if err != nil || tag.Source != source {
		return
	}
	d := math.Abs(float64(n - want))
	a.told, a.off = a.told+1, a.off+d
	if d <= 1 {
		a.near++
	}
	if d == 0 {
		a.right++
	}
}

func (a *accuracy) mean() float64 { return a.off / float64(max(a.told, 1)) }

func (a *accuracy) String() string {
	return fmt.Sprintf("exactly right %3d of %3d, at most one off %3d, off by %.2f on average; not told %d", a.right, a.all, a.near, a.mean(), a.all-a.told)
}

// judge holds what the views say of the turns that are told to be wrong against
// the steps that made their first wrong tokens.
func (r *race) judge(t *testing.T, all []sglangtest.Recording) {
	wrong, seen, alarms := 0, 0, 0
	batch, bucket, head := make([]accuracy, len(r.names)), make([]accuracy, len(r.names)), accuracy{}
	for i := range all {
		m := made(t, &all[i])
		if m.token < 0 {
			if r.seen[i].told {
				alarms++
			}
			continue
		}
		wrong++
		if !r.seen[i].told {
			continue
		}
		seen++
		for n, name := range r.names {
			source, _, _ := strings.Cut(name, ",")
			batch[n].add(r.seen[i].tags[n]["batch_at_onset"], source, m.batch)
			bucket[n].add(r.seen[i].tags[n]["graph_bucket_at_onset"], source, m.bucket)
		}
		head.add(r.seen[i].tags[0]["batch_at_head"], "header", m.batch)
	}
	t.Logf("%d turns, %d of them wrong, of which %d are told; %d of the others", len(all), wrong, seen, alarms)
	t.Logf("%-15s batch:  %v", "header, at head", &head)
	for n, name := range r.names {
		t.Logf("%-15s batch:  %v", name, &batch[n])
		t.Logf("%-15s bucket: %v", name, &bucket[n])
	}
	if alarms > 0 || seen < wrong*8/10 {
		t.Errorf("told of %d of %d wrong turns and of %d others", seen, wrong, alarms)
	}
	r.hold(t, batch, bucket)
}

// hold asserts what the recording allows: its server sent four tokens an event.
func (r *race) hold(t *testing.T, batch, bucket []accuracy) {
	of := func(name string) (b, g *accuracy) {
		i := slices.Index(r.names, name)
		return &batch[i], &bucket[i]
	}
	header, _ := of("header")
	own, _ := of("own")
	poll, padded := of("poll")
	facts, exact := of("facts, timed")
	if header.told > 0 || own.told < own.all || poll.told < poll.all || facts.told < facts.all*8/10 {
		t.Errorf("told by header %d, own %d, poll %d, facts %d of %d: want none, all, all and those that streamed", header.told, own.told, poll.told, facts.told, facts.all)
	}
	if exact.right < exact.told || padded.right < padded.told*9/10 {
		t.Errorf("buckets: by facts %v; by polls %v", exact, padded)
	}
	if facts.mean() > 1.5 || facts.mean() > poll.mean() || poll.mean() > 4 || own.mean() > 5 {
		t.Errorf("batch: by facts %v; by polls %v; own %v", facts, poll, own)
	}
}

// making is the first wrong token of a recorded answer, from 0, -1 for none, and
// the step that made it.
type making struct{ token, batch, bucket int }

// made finds it. The model's tokens are single characters, and the first of
// them is made by the prefill.
func made(t *testing.T, r *sglangtest.Recording) (m making) {
	t.Helper()
	var f struct {
		Text string `json:"native_text"`
		Runs []struct {
			First         int `json:"first_step"`
			Last          int `json:"last_step"`
			Batch, Bucket int
		} `json:"decode_runs"`
	}
	if err := json.Unmarshal(r.Facts, &f); err != nil {
		t.Fatal(err)
	}
	m.token = differ(expected(t, r), f.Text)
	for _, run := range slices.Backward(f.Runs) {
		if m.token <= run.Last-f.Runs[0].First+1 {
			m.batch, m.bucket = run.Batch, run.Bucket
		}
	}
	return m
}

// differ returns where two texts part, -1 if they do not.
func differ(a, b string) int {
	if a == b {
		return -1
	}
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	return min(len(a), len(b))
}

// expected is what the model would have said.
func expected(t *testing.T, r *sglangtest.Recording) string {
	t.Helper()
	var truth struct {
		Expected struct {
			Call json.RawMessage
			Text string
		}
	}
	if err := json.Unmarshal(r.Truth, &truth); err != nil {
		t.Fatal(err)
	}
	if truth.Expected.Call == nil {
		return truth.Expected.Text
	}
	return "<tool_call>\n" + spaced(truth.Expected.Call) + "\n</tool_call>"
}

// spaced writes compact JSON as the model does, with a space after each comma and colon.
func spaced(raw []byte) string {
	var b []byte
	quoted := false
	for i, c := range raw {
		quoted = quoted != (c == '"' && (i == 0 || raw[i-1] != '\\'))
		if b = append(b, c); !quoted && (c == ',' || c == ':') {
			b = append(b, ' ')
		}
	}
	return string(b)
}
