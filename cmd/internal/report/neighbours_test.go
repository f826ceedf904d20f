package report

import (
	"math/rand/v2"
	"testing"
)

// street is a server whose turns last two seconds; every twentieth client
// leaves. strike says which turns go bad, and when.
func street(seed uint64, strike func(rng *rand.Rand, rows []row)) *Data {
	const turns, ms = 4000, int64(1e6)
	rng := rand.New(rand.NewPCG(seed, 7))
	d := newData()
	rows := make([]row, turns)
	for i := range rows {
		r := &rows[i]
		*r = row{at: began.UnixNano() + int64(i)*400*ms + rng.Int64N(300)*ms, session: uint64(i), outcome: clean, ttfb: 50, took: 2000,
			onset: -1, batch: 6, prompt: int32(100 + rng.IntN(50)), prefix: 1 + rng.Uint64N(50), tokens: 50}
		if rng.IntN(20) == 0 {
			r.ending, r.outcome, r.took = clientGone, truncated, float32(200+rng.IntN(1500))
		}
	}
	strike(rng, rows)
	for i := range rows {
		d.add(&rows[i])
	}
	d.models.of("m")
	d.arms.of("live")
	d.replicas.of("j")
	d.configs.of("f" + keySep)
	d.sort()
	return d
}

// ruin makes a turn bad from a moment on.
func ruin(r *row, at int64) {
	r.outcome, r.kinds, r.onset = corrupted, 1, float32(at-r.first())/1e6
}

// around finds the turns that decode at a moment.
func decoding(rows []row, at int64) (all []*row) {
	for i := range rows {
		if r := &rows[i]; r.outcome == clean && r.first() < at && at < r.end() {
			all = append(all, r)
		}
	}
	return all
}

// byAborts: half of the turns whose client leaves ruin one that decodes.
func byAborts(rng *rand.Rand, rows []row) {
	for i := range rows {
		if r := &rows[i]; r.ending == clientGone && rng.IntN(2) == 0 {
			at := r.end() + 1e6*int64(1+rng.IntN(30))
			if all := decoding(rows, at); len(all) > 0 {
				ruin(all[rng.IntN(len(all))], at)
			}
		}
	}
}

// byPrefix: of turns that decode beside one with the same beginning, half are
// ruined.
func byPrefix(rng *rand.Rand, rows []row) {
	for i := range rows {
		r := &rows[i]
		at := r.first() + 1e6*int64(rng.IntN(1900))
		for _, c := range decoding(rows, at) {
			if c != r && c.prefix == r.prefix && r.outcome == clean && rng.IntN(2) == 0 {
				ruin(r, at)
			}
		}
	}
}

// atRandom: one turn in forty is ruined, whatever happens.
func atRandom(rng *rand.Rand, rows []row) {
	for i := range rows {
		if r := &rows[i]; r.outcome == clean && rng.IntN(40) == 0 {
			ruin(r, r.first()+1e6*int64(rng.IntN(1900)))
		}
	}
}

func TestNeighboursNameThePlantedExposure(t *testing.T) {
	f := func(strike func(*rand.Rand, []row), want string) {
		t.Helper()
		for seed := range uint64(8) {
			n := street(seed, strike).view(func(*row) bool { return true }).neighbours()
			if n.Cases < 40 {
				t.Fatalf("seed %d: %d cases", seed, n.Cases)
			}
			best := n.Exposures[0]
			for _, x := range n.Exposures {
				if x.P < best.P {
					best = x
				}
			}
			if best.Name != want || best.P > 0.001 || best.Low < 2 {
				t.Errorf("seed %d: got %+v, want %s", seed, best, want)
			}
		}
	}
	f(byAborts, "another turn's client left, up to 50 ms before")
	f(byPrefix, "a turn with the same beginning was decoding, too")
}

// Of 100 worlds in which corruption has nothing to do with neighbours, at most 11
// may seem to have one: Clopper and Pearson's 99% bound of 5%.
func TestNeighboursNameNoneAtRandom(t *testing.T) {
	told := 0
	for seed := range uint64(100) {
		n := street(1000+seed, atRandom).view(func(*row) bool { return true }).neighbours()
		for _, x := range n.Exposures {
			if x.P <= 0.05 {
				told++
				break
			}
		}
	}
	t.Logf("%d of 100", told)
	if told > 11 {
		t.Errorf("an exposure is named in %d of 100 worlds, want at most 11", told)
	}
}
