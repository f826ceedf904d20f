package proxy_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"turnwatch/proxy"
	"turnwatch/proxy/sglangtest"
	"turnwatch/validate"
)

// TestRaceIsSeen: of turns that a real race on a GPU corrupted, nine in ten so
// that every call stays valid, most are told by a finding or a signal, and
// none that is right is. TURNWATCH_CAPTURES=GLOB reads other files, at the
// speed TURNWATCH_SPEED, and says what was told of each.
func TestRaceIsSeen(t *testing.T) {
	files := []string{"testdata/captures/race.jsonl.gz", "testdata/captures/clean.jsonl.gz"}
	if glob := os.Getenv("TURNWATCH_CAPTURES"); glob != "" {
		files, _ = filepath.Glob(glob)
	}
	var sum score
	for _, file := range files {
		s := playFile(t, file)
		t.Logf("%s: %s", filepath.Base(file), s)
		sum.right.join(s.right)
		sum.wrong.join(s.wrong)
		sum.value.join(s.value)
	}
	if sum.right.told > 0 || sum.wrong.all == 0 || sum.value.rate() < 0.85 || sum.wrong.rate() < 0.70 {
		t.Errorf("got %s, want at least 85%% of wrong values, 70%% of all wrong turns, and none that is right", sum)
	}
}

// tally counts turns that were told, and all.
type tally struct{ told, all int }

func (y *tally) add(told bool) {
	if y.all++; told {
		y.told++
	}
}

func (y *tally) join(z tally) { y.told, y.all = y.told+z.told, y.all+z.all }

func (y *tally) rate() float64 {
	if y.all == 0 {
		return 1
	}
	return float64(y.told) / float64(y.all)
}

func (y *tally) String() string {
	return fmt.Sprintf("%d/%d = %.1f%%", y.told, y.all, 100*y.rate())
}

// score is what was told of the turns of a file.
type score struct{ right, wrong, value tally }

func (s score) String() string {
	return fmt.Sprintf("wrong values %v, all wrong turns %v, right turns %v", &s.value, &s.wrong, &s.right)
}

// playFile plays a file of captures through a relay, 16 turns at once, in the
// order in which they were asked for.
func playFile(t *testing.T, file string) (s score) {
	t.Helper()
	all, err := sglangtest.ReadCaptures(file)
	if err != nil {
		t.Fatal(err)
	}
	seen := newRecorder()
	ask := replay(t, all, seen)
	queue := make(chan int)
	var work sync.WaitGroup
	for range 16 {
		work.Go(func() {
			for i := range queue {
				ask(i)
			}
		})
	}
	for i := range all {
		queue <- i
	}
	close(queue)
	work.Wait()
	seen.bell.await(patience, func() bool { return len(seen.turns) == len(all) })
	for i := range seen.turns {
		v := &seen.turns[i]
		var n int
		fmt.Sscan(v.RequestID, &n)
		s.count(t, all[n].Truth, v.Verdict.Outcome == validate.Corrupted || v.Suspect, v.Verdict.Outcome)
	}
	if s.right.all+s.wrong.all != len(all) {
		t.Errorf("%s: got %d turns, want %d", file, s.right.all+s.wrong.all, len(all))
	}
	return s
}

func (s *score) count(t *testing.T, raw []byte, told bool, as validate.Outcome) {
	var truth struct {
		Right bool
		Class string
	}
	if err := json.Unmarshal(raw, &truth); err != nil {
		t.Error(err)
	}
	switch {
	case as == validate.Unverified:
		t.Errorf("a turn that is %s: got %s", truth.Class, as)
	case truth.Right:
		s.right.add(told)
	default:
		s.wrong.add(told)
		if truth.Class == "wrong_value" {
			s.value.add(told)
		}
	}
}

// replay returns what asks a relay in front of the recordings for one of them.
func replay(t *testing.T, all []sglangtest.Recording, sinks ...proxy.Sink) func(i int) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	cfg := sglangtest.PlayConfig{AtOnce: true}
	if speed := os.Getenv("TURNWATCH_SPEED"); speed != "" {
		cfg.AtOnce = false
		fmt.Sscan(speed, &cfg.Speed)
	}
	player := sglangtest.Play(ln, all, cfg)
	t.Cleanup(player.Close)
	front, _ := bind(t, "tcp")
	p := serve(t, "tcp", front, proxy.Config{Upstream: player.URL}, sinks...)
	transport := &http.Transport{MaxIdleConnsPerHost: 16}
	t.Cleanup(transport.CloseIdleConnections)
	client := &http.Client{Transport: transport, Timeout: 10 * patience}
	return func(i int) {
		r, err := http.NewRequest("POST", "http://"+p.addr+all[i].Path, bytes.NewReader(all[i].Body))
		if err != nil {
			t.Error(err)
			return
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("X-Request-Id", fmt.Sprint(i))
		resp, err := client.Do(r)
		if err == nil {
			_, err = io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
		if err != nil {
			t.Errorf("turn %d: %v", i, err)
		}
	}
}
