package report

import (
	"math"
	"slices"
	"time"

	"turnwatch/validate/stats"
)

// Neighbours says what happened on the server around the first bad byte of
// corrupted turns, held against clean turns like them at the same age: matched
// sets, each of a corrupted turn and up to five others of the same sidecar,
// model, configuration and range of batches, at another time.
type Neighbours struct {
	Cases     int        `json:"cases"` // corrupted turns that have clean ones to be held against
	Controls  int        `json:"controls"`
	Alone     int        `json:"unmatched"` // corrupted turns that have none
	Left      int        `json:"left_out"`  // corrupted turns beyond the bound
	Exposures []Exposure `json:"exposures"`
}

// Exposure is something that may have happened near the byte.
type Exposure struct {
	Name     string   `json:"name"`
	Cases    Fraction `json:"cases"`
	Controls Fraction `json:"controls"`
	// Ratio is the odds ratio common to the sets, with its exact 95% interval; a
	// bound that is not there is infinite.
	Ratio *float64 `json:"odds_ratio,omitempty"`
	Low   float64  `json:"low"`
	High  *float64 `json:"high,omitempty"`
	P     float64  `json:"p"` // corrected for how many exposures are looked at (Holm)
}

// Fraction is how many of some were exposed.
type Fraction struct {
	Exposed int `json:"exposed"`
	All     int `json:"all"`
}

// How sets are made.
const (
	maxCases    = 500
	perCase     = 5
	maxScan     = 3000 // turns that are looked at for the controls of a case
	apart       = int64(time.Second)
	near        = int64(50 * time.Millisecond)
	wide        = int64(250 * time.Millisecond)
	longPrompt  = 4 // times the median
	maxOverlaps = 4096
)

// exposure tells of a turn whether something happened to it near a moment.
type exposure struct {
	name string
	of   func(s *server, r *row, at int64) bool
}

func exposures() []exposure {
	return []exposure{
		{"another turn's client left, up to 50 ms before", func(s *server, r *row, at int64) bool { return s.left(r, at, near, false) }},
		{"another turn's client left, up to 250 ms before", func(s *server, r *row, at int64) bool { return s.left(r, at, wide, false) }},
		{"the client of a turn with the same beginning left, up to 250 ms before", func(s *server, r *row, at int64) bool { return s.left(r, at, wide, true) }},
		{"a turn with the same beginning was decoding, too", (*server).shares},
		{"another request came, up to 50 ms before", func(s *server, r *row, at int64) bool { return s.came(r, at, near, 0) }},
		{"a request with a long prompt came, up to 250 ms before", func(s *server, r *row, at int64) bool { return s.came(r, at, wide, s.long) }},
	}
}

// server is what one sidecar saw, in the order of time.
type server struct {
	begun []*row // by their beginning
	gone  []*row // those whose client left, by their end
	long  int32  // a prompt of so many tokens is long
}

// neighbours compares the corrupted turns of the view with others.
func (v view) neighbours() *Neighbours {
	servers := v.servers()
	pools := v.pools()
	n := &Neighbours{Exposures: []Exposure{}}
	list := exposures()
	sets := make([][][2]stats.Arm, len(list))
	for _, r := range v.cases(n) {
		others := match(pools[poolOf(r)], r)
		if len(others) == 0 {
			n.Alone++
			continue
		}
		n.Cases++
		n.Controls += len(others)
		for i, e := range list {
			sets[i] = append(sets[i], set(servers[r.replica], e, r, others))
		}
	}
	if n.Cases == 0 {
		return n
	}
	for i, e := range list {
		if x, ok := compared(e.name, sets[i]); ok {
			n.Exposures = append(n.Exposures, x)
		}
	}
	n.correct()
	return n
}

// cases returns the corrupted turns of which it is known when they went bad, a
// part of them if they are many.
func (v view) cases(n *Neighbours) (all []*row) {
	for _, r := range v.rows {
		if r.bad() && r.onset >= 0 && r.ttfb > 0 {
			all = append(all, r)
		}
	}
	if len(all) <= maxCases {
		return all
	}
	n.Left = len(all) - maxCases
	for i := range maxCases {
		all[i] = all[i*len(all)/maxCases]
	}
	return all[:maxCases]
}

// moment is when a turn was as old as r when it went bad.
func moment(like, r *row) int64 { return like.first() + int64(float64(r.onset)*1e6) }

// set returns who of the case and the others were exposed.
func set(s *server, e exposure, r *row, others []*row) (a [2]stats.Arm) {
	a[0].N, a[1].N = 1, len(others)
	if e.of(s, r, moment(r, r)) {
		a[0].K = 1
	}
	for _, c := range others {
		if e.of(s, c, moment(c, r)) {
			a[1].K++
		}
	}
	return a
}

// compared returns what the sets say of an exposure; nothing if nobody was
// exposed.
func compared(name string, sets [][2]stats.Arm) (Exposure, bool) {
	x := Exposure{Name: name}
	for _, s := range sets {
		x.Cases.Exposed, x.Cases.All = x.Cases.Exposed+s[0].K, x.Cases.All+s[0].N
		x.Controls.Exposed, x.Controls.All = x.Controls.Exposed+s[1].K, x.Controls.All+s[1].N
	}
	if x.Cases.Exposed+x.Controls.Exposed == 0 {
		return x, false
	}
	p, ratio, lo, hi := stats.CMHExact(sets, 0.95)
	x.P, x.Low, x.Ratio, x.High = p, lo, finite(ratio), finite(hi)
	return x, true
}

// finite returns nil for what JSON has no number for.
func finite(x float64) *float64 {
	if math.IsInf(x, 0) || math.IsNaN(x) {
		return nil
	}
	return &x
}

// correct corrects the p-values for the number of exposures.
func (n *Neighbours) correct() {
	p := make([]float64, len(n.Exposures))
	for i := range p {
		p[i] = n.Exposures[i].P
	}
	for i, q := range stats.Holm(p) {
		n.Exposures[i].P = q
	}
}

// pool names turns that may be held against one another.
type pool struct {
	replica, model, config, arm int32
	batch                       string
}

func poolOf(r *row) pool { return pool{r.replica, r.model, r.config, r.arm, batchRange(r.batch)} }

// pools returns the clean turns of each pool, by time.
func (v view) pools() map[pool][]*row {
	all := map[pool][]*row{}
	for _, r := range v.rows {
		if r.outcome == clean && r.ttfb > 0 {
			all[poolOf(r)] = append(all[poolOf(r)], r)
		}
	}
	return all
}

// match returns the nearest turns that got as old as r when it went bad, of
// other sessions and at another time than r: what happens to all turns at one
// moment tells nothing of those among them.
func match(pool []*row, r *row) (all []*row) {
	at := moment(r, r)
	hi, _ := slices.BinarySearchFunc(pool, r.at, func(c *row, t int64) int { return cmpInt(c.at, t) })
	lo := hi - 1
	for range maxScan {
		var c *row
		switch {
		case len(all) == perCase || lo < 0 && hi >= len(pool):
			return all
		case hi >= len(pool) || lo >= 0 && r.at-pool[lo].at <= pool[hi].at-r.at:
			c = pool[lo]
			lo--
		default:
			c = pool[hi]
			hi++
		}
		m := moment(c, r)
		if c.session != r.session && m <= c.end() && max(m-at, at-m) > apart {
			all = append(all, c)
		}
	}
	return all
}

func cmpInt(a, b int64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// servers returns what each sidecar saw, whatever was judged.
func (v view) servers() map[int32]*server {
	all := map[int32]*server{}
	prompts := map[int32][]int32{}
	for _, r := range v.rows {
		s := all[r.replica]
		if s == nil {
			s = new(server)
			all[r.replica] = s
		}
		s.begun = append(s.begun, r)
		if r.ending == clientGone {
			s.gone = append(s.gone, r)
		}
		if r.prompt > 0 {
			prompts[r.replica] = append(prompts[r.replica], r.prompt)
		}
	}
	for i, s := range all {
		slices.SortStableFunc(s.gone, func(a, b *row) int { return cmpInt(a.end(), b.end()) })
		s.long = math.MaxInt32
		if p := prompts[i]; len(p) > 0 {
			slices.Sort(p)
			s.long = longPrompt * p[len(p)/2]
		}
	}
	return all
}

// left reports whether the client of another turn left within span before a
// moment; alike: of one with the same beginning.
func (s *server) left(r *row, at, span int64, alike bool) bool {
	i, _ := slices.BinarySearchFunc(s.gone, at-span, func(c *row, t int64) int { return cmpInt(c.end(), t) })
	for ; i < len(s.gone) && s.gone[i].end() <= at; i++ {
		if c := s.gone[i]; c != r && (!alike || c.prefix != 0 && c.prefix == r.prefix) {
			return true
		}
	}
	return false
}

// came reports whether another request with a prompt of so many tokens came
// within span before a moment.
func (s *server) came(r *row, at, span int64, prompt int32) bool {
	i, _ := slices.BinarySearchFunc(s.begun, at-span, func(c *row, t int64) int { return cmpInt(c.at, t) })
	for ; i < len(s.begun) && s.begun[i].at <= at; i++ {
		if c := s.begun[i]; c != r && (prompt == 0 || c.prompt >= prompt) {
			return true
		}
	}
	return false
}

// shares reports whether another turn with the same beginning was decoding at
// the moment.
func (s *server) shares(r *row, at int64) bool {
	if r.prefix == 0 {
		return false
	}
	i, _ := slices.BinarySearchFunc(s.begun, at, func(c *row, t int64) int { return cmpInt(c.at, t) })
	for n := 0; i > 0 && n < maxOverlaps; n++ {
		i--
		if c := s.begun[i]; c != r && c.prefix == r.prefix && c.first() <= at && c.end() >= at {
			return true
		}
	}
	return false
}
