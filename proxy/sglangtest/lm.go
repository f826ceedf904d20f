package sglangtest

import (
	"math"
	"slices"
	"strconv"
)

// meaning is an answer that the model may give, and how likely it is.
type meaning struct {
	*Answer
	weight float64
}

// meanings are the answers that the model may give to r. They depend on the
// request's messages alone, so every server of the same seed and faults has
// the same.
func (s *Server) meanings(r *Request) []meaning {
	var all []meaning
	for _, m := range s.plain(r) {
		wrong := m.clone()
		if len(s.mistake(r, wrong)) == 0 {
			all = append(all, m)
			continue
		}
		all = append(all, meaning{wrong, 0.8 * m.weight}, meaning{m.Answer, 0.2 * m.weight})
	}
	return all
}

// plain are the meanings of a model without mistakes.
func (s *Server) plain(r *Request) []meaning {
	if s.cfg.Script != nil {
		if a := s.cfg.Script(r); a != nil && a.Canned == nil {
			return []meaning{{a.clone(), 1}}
		}
	}
	t := since(r)
	st, ok := due(t)
	switch {
	case ok && st.tool != "":
		return []meaning{{s.call(r, st, t, false), 0.5}, {s.call(r, st, t, true), 0.5}}
	case ok:
		return []meaning{{say(st.answer), 1}}
	}
	return smallTalk()
}

// smallTalk are all plain texts.
func smallTalk() []meaning {
	var all []meaning
	n := float64(len(sentences))
	for _, a := range sentences {
		for _, b := range sentences {
			all = append(all, meaning{say(a + " " + b), 1 / n / n})
		}
	}
	return all
}

// mistake lets the faults at an answer that are the model's own, and returns
// the names of those that changed it.
func (s *Server) mistake(r *Request, a *Answer) (names []string) {
	for _, f := range s.cfg.Faults {
		if !f.Model || f.When != nil && !f.When(State{Prompt: r.digest()}) {
			continue
		}
		before := a.sum()
		if f.Do(a); a.sum() != before {
			names = append(names, f.Name)
		}
	}
	return names
}

// digest is what the messages of a request come to.
func (r *Request) digest() uint64 {
	var words []string
	for _, m := range r.Messages {
		words = append(words, m.Role, m.Text, strconv.Itoa(m.Calls))
	}
	return hash(0, words...)
}

// dist is what the model expects of one position: the likeliest tokens, which
// have all but a trillionth of the probability, and the rest by a seed.
type dist struct {
	top  []likely // descending
	seed uint64
}

type likely struct {
	id int32
	p  float64
}

func (d *dist) of(id int32) float64 {
	for _, l := range d.top {
		if l.id == id {
			return l.p
		}
	}
	return d.absurd(id)
}

// absurd is the probability of a token that the model has no use for: from
// 1e-13 down to 2e-16.
func (d *dist) absurd(id int32) float64 {
	return math.Exp(-30 - 6*chance(d.seed, strconv.Itoa(int(id))))
}

// add gives id more probability.
func (d *dist) add(id int32, p float64) {
	for i := range d.top {
		if d.top[i].id == id {
			d.top[i].p += p
			return
		}
	}
	d.top = append(d.top, likely{id, p})
}

func (d *dist) sort() {
	slices.SortFunc(d.top, func(a, b likely) int {
		if a.p != b.p {
			return int(math.Copysign(1, b.p-a.p))
		}
		return int(a.id - b.id)
	})
}

// line is one meaning as the model reads along: how far it is, and how often
// what was emitted differed.
type line struct {
	ids    []int32
	syms   []uint16
	starts map[int]int32 // offset in syms → the token that begins there
	weight float64

	at     int // offset in syms of what is due
	missed int // symbols that differed
	run    int // tokens in a row that differed
}

func newLine(m meaning) *line {
	l := &line{ids: m.outputIDs(mostIDs), starts: map[int]int32{}, weight: m.weight}
	for _, id := range l.ids {
		l.starts[len(l.syms)] = id
		l.syms = append(l.syms, symbols(id)...)
	}
	return l
}

// due is the token that this line has next: eos after its end, and what is
// left of a token where the emitted ones ended inside it.
func (l *line) due() int32 {
	if id, ok := l.starts[l.at]; ok {
		return id
	}
	if l.at < len(l.syms) && l.syms[l.at] < 0x100 {
		return byteToken(byte(l.syms[l.at]))
	}
	return tokEOS
}

// take reads one emitted token.
func (l *line) take(id int32, said []uint16) {
	l.run++
	differs := false
	for _, sym := range symbols(id) {
		if l.at >= len(l.syms) || l.syms[l.at] != sym {
			l.missed++
			differs = true
		}
		l.at++
	}
	if !differs {
		l.run = 0
	}
	if l.run >= 2 {
		l.resume(said)
	}
}

// resume goes on at the nearest place where the line has what was said last.
func (l *line) resume(said []uint16) {
	const look = 4
	if len(said) < look {
		return
	}
	tail, best := said[len(said)-look:], -1
	for j := look; j <= len(l.syms); j++ {
		if slices.Equal(l.syms[j-look:j], tail) && (best < 0 || abs(j-l.at) < abs(best-l.at)) {
			best = j
		}
	}
	if best >= 0 {
		l.at, l.run = best, 0
	}
}

func abs(n int) int { return max(n, -n) }

// lm is the model while it reads an answer token by token.
type lm struct {
	seed  uint64
	lines []*line
	said  []uint16
	n     int
}

// next is what the model expects now. Where the answer so far is one that it
// could have given, the tokens that go on with one are all but certain
// together; where it is not, it goes on as near to one as it can.
func (m *lm) next() dist {
	least := math.MaxInt
	for _, l := range m.lines {
		if l.run < 3 {
			least = min(least, l.missed)
		}
	}
	doubt := m.doubt()
	total := 0.0
	var d dist
	for _, l := range m.lines {
		if l.run < 3 && l.missed == least {
			total += l.weight
			d.add(l.due(), l.weight)
		}
	}
	if total == 0 {
		return spread(m.seed, m.n, 0.9, dist{})
	}
	for i := range d.top {
		d.top[i].p *= (1 - doubt) / total
	}
	return spread(m.seed, m.n, doubt, d)
}

// doubt is how much the model leaves for other tokens: from 0.00003 to 0.028.
func (m *lm) doubt() float64 {
	return math.Pow(10, -1.55-3*chance(m.seed, "doubt", strconv.Itoa(m.n)))
}

// neighbours are so many other tokens that share the doubt.
const neighbours = 16

// spread gives the doubt to other tokens, to each half as much as to the one
// before: a small letter and a capital, lest a swap fall on one by chance.
func spread(seed uint64, n int, doubt float64, d dist) dist {
	for k := range neighbours {
		h := hash(seed, "near", strconv.Itoa(n), strconv.Itoa(k))
		d.add(pairToken('a'+byte(h%26), 'A'+byte(h>>8%26)), doubt/math.Exp2(float64(k+1)))
	}
	d.seed = hash(seed, "absurd", strconv.Itoa(n))
	d.sort()
	return d
}

// take reads one emitted token.
func (m *lm) take(id int32) {
	m.said = append(m.said, symbols(id)...)
	for _, l := range m.lines {
		l.take(id, m.said)
	}
	m.n++
}

// heard is what the model expects at position n of a prompt. Prompts say what
// they like: some of their tokens are absurd where another was certain.
func heard(seed uint64, n int, id int32) dist {
	at := strconv.Itoa(n)
	u := chance(seed, "heard", at)
	other := pairToken('A'+byte(hash(seed, "other", at)%26), '0')
	var d dist
	if u < 0.03 {
		d.add(other, 0.98)
		return spread(seed, n, 0.02, d)
	}
	d.add(id, 0.95*u)
	d.add(other, 0.9*(1-0.95*u))
	return spread(seed, n, 0.1*(1-0.95*u), d)
}

// expect returns what the model expects at each position of ids from first on.
func (s *Server) expect(ids []int32, first int, damaged bool) []dist {
	r, prompt, ok := asked(ids)
	m := &lm{seed: hash(s.cfg.Seed, strconv.FormatUint(r.digest(), 16))}
	if ok {
		m.lines = s.lines(r, damaged)
	} else {
		prompt = len(ids)
	}
	var out []dist
	for i, id := range ids {
		if i >= prompt {
			if i >= first {
				out = append(out, m.next())
			}
			m.take(id)
		} else if i >= first {
			out = append(out, heard(m.seed, i, id))
		}
	}
	return append(out, m.next())
}

// lines are the answers that the model may give to r, ready to be read along.
// Through a damaged prefix it means others.
func (s *Server) lines(r *Request, damaged bool) []*line {
	var all []*line
	for _, m := range s.meanings(r) {
		if damaged {
			Swapped(m.Answer)
		}
		all = append(all, newLine(m))
	}
	return all
}
