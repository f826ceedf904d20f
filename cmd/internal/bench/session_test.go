package bench

import (
	"bytes"
	"context"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// tiny is a round of little of everything, each for so long.
func tiny(lasts time.Duration) []Scenario {
	short := func(sc Scenario) Scenario {
		sc.Clients, sc.Ramp, sc.Warm, sc.For = min(sc.Clients, 8), 0, 50*time.Millisecond, lasts
		return sc
	}
	var all []Scenario
	for _, sc := range Scenarios() {
		if slices.Contains([]string{"light", "fast", "unary", "short"}, sc.Name) {
			all = append(all, short(sc))
		}
	}
	return append(all, short(Curves()["tools"][1]))
}

// TestRoundMeasures: what is measured of turnwatch, and without a proxy, has
// every number that a table needs, and no answer differs.
func TestRoundMeasures(t *testing.T) {
	var some []Target
	for _, target := range Targets(map[string]string{"turnwatch": program}) {
		if target.Name == "direct" || target.Name == "turnwatch-all" {
			some = append(some, target)
		}
	}
	rs := &Results{Targets: []string{"direct", "turnwatch-all"}, Base: "direct"}
	for lasts := 250 * time.Millisecond; lasts < 10*time.Second; lasts *= 4 { // a busy machine may need longer for an event
		rs.Scenarios, rs.Records = tiny(lasts), nil
		s := Session{Targets: some, Scenarios: rs.Scenarios, Rounds: 1, Serve: []string{os.Args[0]}, Env: []string{asServer + "=1"},
			Record: func(r Record) { rs.Records = append(rs.Records, r) }}
		if err := s.Run(context.Background()); err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(rs.Records, func(r Record) bool { return r.Seen.Event.P50 <= 0 }) {
			break
		}
	}
	if got := len(rs.Records); got != 2*len(rs.Scenarios) {
		t.Errorf("got %d measurements, want %d", got, 2*len(rs.Scenarios))
	}
	whole := map[string]int{} // measurements in which something came: a busy machine may have none
	for _, r := range rs.Records {
		if r.Fault != "" || r.Seen.Errors > 0 {
			t.Errorf("%s, %s: got %d errors, %s %s", r.Scenario, r.Target, r.Seen.Errors, r.Seen.Error, r.Fault)
		}
		if r.Seen.Events > 0 {
			whole[r.Target]++
		}
		if r.RSS == 0 || r.Threads == 0 || r.Seen.Events > 0 && r.Seen.Event.P50 <= 0 {
			t.Errorf("%s, %s: got %+v, want the delays of events and what the process used", r.Scenario, r.Target, r)
		}
	}
	for _, target := range rs.Targets {
		if whole[target] == 0 {
			t.Errorf("%s: got no event in any measurement", target)
		}
	}
	var text bytes.Buffer
	rs.Print(&text)
	for _, want := range []string{"turnwatch-all", "unary: answers", "CPU µs/answer"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the table holds no %q:\n%s", want, text.String())
		}
	}
}

// TestDifferenceIsAnError: a client that expects one more byte, another byte or
// another end says so.
func TestDifferenceIsAnError(t *testing.T) {
	s, err := build(Params{Dialect: "chat", Stream: true, Events: 8})
	if err != nil {
		t.Fatal(err)
	}
	f := func(got []byte, want bool) {
		t.Helper()
		at := reading{c: &client{script: s, phase: &new(crowd).phase}}
		if err := at.take(got); (err != nil) != want {
			t.Errorf("%d bytes: got error %v, want one %t", len(got), err, want)
		}
	}
	other := bytes.Clone(s.Body)
	other[len(other)/2] ^= 1
	f(s.Body, false)
	f(s.Body[:10], false)
	f(other, true)
	f(append(bytes.Clone(s.Body), '\n'), true)
}

// TestIntervalHoldsTheMedian as often as it says.
func TestIntervalHoldsTheMedian(t *testing.T) {
	f := func(n int, lo, hi float64) {
		t.Helper()
		var v []float64
		for i := range n {
			v = append(v, float64(n-i))
		}
		if l, h := Interval(v); l != lo || h != hi {
			t.Errorf("%d numbers: got [%v, %v], want [%v, %v]", n, l, h, lo, hi)
		}
	}
	f(3, 1, 3)
	f(7, 1, 7) // 98.4%; [2, 6] would be 87.5%
	f(9, 2, 8) // 96.1%
	f(20, 6, 15)
}

// TestEveryDialectIsPlayed and read back from its request.
func TestEveryDialectIsPlayed(t *testing.T) {
	for _, name := range Dialects() {
		for _, stream := range []bool{true, false} {
			p := Params{Dialect: name, Stream: stream, Events: 12, Slot: 3, Seed: 7}
			got, err := parse(Load{Request: 4 << 10, Tools: 2}.request(p))
			if err != nil || got != p {
				t.Errorf("%s: got %+v, %v, want %+v", name, got, err, p)
			}
			s, err := build(p)
			if err != nil || len(s.Ends) == 0 || s.Ends[len(s.Ends)-1] > len(s.Body) {
				t.Errorf("%s: got a script of %+v, %v", name, s, err)
			}
		}
	}
}
