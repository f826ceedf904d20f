package second_test

import (
	"testing"

	"turnwatch/proxy/second"
	"turnwatch/proxy/sglangtest"
	"turnwatch/proxy/turn"
)

// faulty is a server on which a fault of the catalogue strikes a share of turns.
func faulty(t *testing.T, name string, share float64) sglangtest.Config {
	t.Helper()
	f, err := sglangtest.NewFault(name, share, 3, "deepseekv4")
	if err != nil {
		t.Fatal(err)
	}
	return sglangtest.Config{Faults: []sglangtest.Fault{f}}
}

// TestSwappedTokensAreTheServers: of turns in whose decode tokens were swapped at least 99% are
// told, with the token, and none in which none was.
func TestSwappedTokensAreTheServers(t *testing.T) {
	const turns = 300
	s := start(t, plan{sim: faulty(t, "swapped", 0.5), asker: second.Config{Control: 1}})
	s.play(turns, 11, 0)
	all, truth := s.judged(turns)
	right, planted := 0, 0
	for i, o := range all {
		if truth[i] >= 0 {
			planted++
		}
		switch {
		case truth[i] >= 0 && o.Word == "server" && o.Onset == truth[i], truth[i] < 0 && o.Word == "model":
			right++
		case truth[i] < 0 && o.Word == "server":
			t.Errorf("a sound turn: got %+v", o)
		}
		if o.Start != 0 || o.Cached != 0 || o.Cache != "none" || o.By != "scores" || o.Server != "live" {
			t.Errorf("asked of the live server: got %+v", o)
		}
	}
	t.Logf("%d of %d right, %d planted: %v", right, turns, planted, words(all))
	if planted < turns/4 || right < turns*99/100 {
		t.Errorf("got %d right of %d, %d planted, want 99%%: %v", right, turns, planted, words(all))
	}
}

// TestSoundTurnsAreNotTheServers, whatever the temperature, and however their text is cut into tokens.
func TestSoundTurnsAreNotTheServers(t *testing.T) {
	const turns = 50
	f := func(name, fault string, temperature, model float64) {
		t.Run(name, func(t *testing.T) {
			s := start(t, plan{sim: faulty(t, fault, 1), asker: second.Config{Control: 1}})
			s.play(turns, 5, temperature)
			all, _ := s.judged(turns)
			t.Logf("%v", words(all))
			if has(all, "server") || float64(words(all)["model "]) < model*turns {
				t.Errorf("got %v, want no server and %g%% model", words(all), 100*model)
			}
		})
	}
	f("the model's own mistakes", "mistake", 0, 0.99)
	f("mistakes at 0.7", "mistake", 0.7, 0.99)
	f("mistakes at 1", "mistake", 1, 0.99)
	f("other tokens", "retokenised", 0, 0)
	f("other tokens at 1", "retokenised", 1, 0)
}

// TestAnotherServerIsAskedFromTheAnswerOn, which knows nothing of what was swapped.
func TestAnotherServerIsAskedFromTheAnswerOn(t *testing.T) {
	const turns = 60
	s := start(t, plan{sim: faulty(t, "swapped", 1), scorer: &sglangtest.Config{DisableCUDAGraph: true}, asker: second.Config{Control: 1, Show: true}})
	s.play(turns, 2, 0)
	all, truth := s.judged(turns)
	for i, o := range all {
		if o.Server != "other" || o.Start < 1 || o.Cache == "possible" || truth[i] >= 0 && o.Word == "server" && (o.Token == nil || o.Instead == nil || o.Token.Text == o.Instead.Text) {
			t.Errorf("got %+v", o)
		}
	}
	if n := words(all)["server "]; n < turns*9/10 {
		t.Errorf("got %v, want %d server", words(all), turns*9/10)
	}
}

// TestPlaceIsTold: where a finding or a signal points to a token, the onset is at it or before.
func TestPlaceIsTold(t *testing.T) {
	const turns = 80
	s := start(t, plan{sim: faulty(t, "swapped", 1)})
	s.play(turns, 9, 0)
	if !s.await(func() bool { return len(s.turns) >= turns }) {
		t.Fatal("turns are missing")
	}
	flagged := 0
	for _, x := range s.turns {
		if x.Outcome == "corrupted" || x.Suspect {
			flagged++
		}
	}
	all, _ := s.judged(flagged)
	known := 0
	for _, o := range all {
		if o.Of != turn.Flagged {
			t.Errorf("got an opinion on a turn that is not flagged: %+v", o)
		}
		if o.Word == "server" && o.Place != turn.PlaceUnknown {
			known++
		}
		if o.Word == "server" && o.Place == turn.PlaceAfter {
			t.Errorf("the onset comes after what the turn is flagged for: %+v", o)
		}
	}
	if flagged < 10 || known < flagged/2 {
		t.Errorf("got %d flagged, %d with a place", flagged, known)
	}
}
