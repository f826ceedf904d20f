package proxy

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"turnwatch/validate"
)

// asks is a request that holds some identifiers.
func asks(t *testing.T, words string) *validate.Request {
	t.Helper()
	r, err := validate.ParseRequest("/v1/chat/completions", []byte(`{"messages":[{"role":"user","content":"`+words+`"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// says are the words of an answer to a request.
func says(t *testing.T, r *validate.Request, words string) []validate.Stranger {
	t.Helper()
	c := validate.NewChecker(r, validate.Head{Status: 200, ContentType: "application/json"})
	c.Feed(0, []byte(`{"choices":[{"index":0,"message":{"content":"`+words+`"},"finish_reason":"stop"}]}`))
	return c.Finish(validate.Complete).Strangers
}

// TestStrangersAreTold: two identifiers of a conversation that is open, once
// those that are over have shown that this is not chance.
func TestStrangersAreTold(t *testing.T) {
	s := newStrangers()
	now := time.Unix(1e9, 0)
	turn := func(key uint64, prompt, answer string) []validate.Signal {
		r := asks(t, prompt)
		s.join(key, r, now)
		began := now
		now = now.Add(time.Second)
		return s.leave(key, began, now, says(t, r, answer))
	}
	other := asks(t, "order ORD-48213-77, path pod-9931-xk")
	s.join(1, other, now)
	if got := turn(2, "my order is AAA-11111", "it is ORD-48213-77 at pod-9931-xk"); got != nil {
		t.Errorf("without decoys: got %v", got)
	}
	for i := range uint64(100) {
		if got := turn(100+i, fmt.Sprintf("order XYZ-%05d", i), fmt.Sprintf("XYZ-%05d is done", i)); got != nil {
			t.Fatalf("an answer of its own words: got %v", got)
		}
	}
	for i, f := range []struct {
		prompt, answer string
		want           int
	}{
		{"which order", "it is ORD-48213-77 at pod-9931-xk", 1},
		{"which order", "it is ORD-48213-77", 0},
		{"which order", "ORD-48213-77, ORD-48213-77", 0},
		{"which order", "XYZ-00003 and XYZ-00004", 0}, // of two that are over
		{"which order", "QQQ-12345 and QQQ-54321", 0},
		{"ORD-48213-77 or pod-9931-xk", "ORD-48213-77 and pod-9931-xk", 0},
		{"which order", "it is ORD-48213-77 at pod-9931-xk", 0}, // two conversations hold them now
	} {
		if got := turn(uint64(1000+i), f.prompt, f.answer); len(got) != f.want {
			t.Errorf("%q: %q: got %v, want %d", f.prompt, f.answer, got, f.want)
		}
	}
}

func TestStrangersAreForgotten(t *testing.T) {
	s := newStrangers()
	now := time.Unix(1e9, 0)
	for i := range uint64(2 * maxTalks) {
		r := asks(t, fmt.Sprintf("id-%06d-a id-%06d-b", i, i))
		s.join(i, r, now)
		s.leave(i, now, now, nil)
	}
	if got := len(s.talks); got > maxTalks+1 || s.rest.all.Len() != got {
		t.Errorf("got %d conversations, want %d", got, maxTalks)
	}
	s.join(1, asks(t, "x"), now.Add(2*decoyFor))
	if len(s.talks) != 1 || len(s.words) != 0 {
		t.Errorf("later: got %d conversations and %d words, want 1 and 0", len(s.talks), len(s.words))
	}
}

// TestRestCountsAsOneWouldByHand, whoever comes and goes.
func TestRestCountsAsOneWouldByHand(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	now := time.Unix(1e9, 0)
	r, all := &rest{}, make([]talker, 300)
	for i := range 20000 {
		now = now.Add(time.Duration(rnd.IntN(3)) * time.Second)
		if i%100 == 99 { // who came first may have read the clock later
			now = now.Add(-time.Second)
		}
		at := &all[rnd.IntN(1+min(i/10, len(all)-1))]
		if at.at != nil {
			r.leave(at)
		} else {
			at.last = now
			r.join(at)
			at.last = r.zero.Add(r.at[at.nth]) // as it counts
		}
		since := now.Add(-time.Duration(rnd.IntN(700)) * time.Second)
		want := 0
		for i := range all {
			if all[i].at != nil && !all[i].last.Before(since) {
				want++
			}
		}
		if got := r.since(since); got != want {
			t.Fatalf("after %d steps: got %d, want %d of %d", i+1, got, want, r.all.Len())
		}
	}
	for r.longest() != nil {
		r.leave(r.longest())
	}
	if got := r.since(time.Time{}); got != 0 {
		t.Errorf("got %d, want nobody left", got)
	}
}

// listed keeps conversations in the order in which they were heard, and goes over
// them: what strangers do without a tree.
type listed struct {
	talks, order []*talker
	open         int
	live, decoys int64
}

func (l *listed) join(key uint64, now time.Time) {
	if l.talks[key] == nil {
		l.talks[key] = &talker{key: key}
		l.order = append(l.order, l.talks[key])
	}
	l.open++
	l.talks[key].open++
	l.talks[key].last = now
}

func (l *listed) leave(key uint64, began, now time.Time) {
	l.open--
	own := l.talks[key]
	own.open--
	own.last = now
	live := l.open
	for _, t := range l.order {
		if t != own && t.open == 0 && !t.last.Before(began) {
			live++
		}
	}
	l.live += int64(live)
	l.decoys += int64(max(len(l.order)-1-live, 0))
}

// TestStrangersCountAsAListDoes: conversations with several requests at once too, that
// rest and are heard again.
func TestStrangersCountAsAListDoes(t *testing.T) {
	type turn struct {
		key   uint64
		began time.Time
	}
	r, rnd, now := asks(t, "of"), rand.New(rand.NewPCG(7, 8)), time.Unix(1e9, 0)
	s, l := newStrangers(), &listed{talks: make([]*talker, 300)}
	var open []turn
	for i := range 20000 {
		now = now.Add(time.Duration(rnd.IntN(5)) * 5 * time.Millisecond)
		if len(open) == 0 || rnd.IntN(2) == 0 && len(open) < 200 {
			x := turn{uint64(rnd.IntN(len(l.talks))), now}
			s.join(x.key, r, now)
			l.join(x.key, now)
			open = append(open, x)
			continue
		}
		j := rnd.IntN(len(open))
		x := open[j]
		open = slices.Delete(open, j, j+1)
		s.leave(x.key, x.began, now, nil)
		l.leave(x.key, x.began, now)
		if s.live.held != l.live || s.decoys.held != l.decoys || s.open != l.open {
			t.Fatalf("after %d steps: got %d and %d, want %d and %d", i+1, s.live.held, s.decoys.held, l.live, l.decoys)
		}
	}
}

// BenchmarkStrangers is the beginning and the end of a turn that lasts for as long
// as some thousand others take to begin and end.
func BenchmarkStrangers(b *testing.B) {
	r, err := validate.ParseRequest("/v1/chat/completions", []byte(`{"messages":[{"role":"user","content":"of ORD-48213-77"}]}`))
	if err != nil {
		b.Fatal(err)
	}
	for _, n := range []int{30, 1000, 9000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			s, now := newStrangers(), time.Unix(1e9, 0)
			for i := range b.N + n {
				now = now.Add(time.Millisecond)
				if i < b.N {
					s.join(uint64(i), r, now)
				}
				if i >= n {
					s.leave(uint64(i-n), now.Add(-time.Duration(n)*time.Millisecond), now, nil)
				}
			}
		})
	}
}
