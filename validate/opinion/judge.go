package opinion

import "math"

// What it takes.
const (
	rare     = 1e-4    // n·U at or below which sampling does not explain a token
	usual    = 1e-2    // n·U from which on it does well
	certain  = 0.9     // probability of the alternatives that is near certainty
	slack    = 1.0     // by how many nats scores differ from what was sampled from
	tied     = 2.0     // nats below the best at temperature 0 that may be a tie
	beaten   = 7.0     // … that is none
	maxVocab = 1 << 18 // more tokens than a vocabulary has
	leastR   = 1e-5    // least that the untold tokens are taken to weigh
)

// Judge says whose words the tokens of a turn are. Constrained tells of a grammar.
func Judge(places []Place, s Sampling, constrained bool) Opinion {
	if len(places) == 0 {
		return none(Unknown, NoTokens, 0)
	}
	first, all := s.scan(places)
	switch {
	case foreign(places, all):
		return tell(places, all[0], Unknown, Mismatch)
	case first.Word == Server:
		return s.convict(first, places, constrained)
	}
	return first
}

// scan weighs all tokens. It returns the opinion that they come to, and which are absurd.
func (s Sampling) scan(places []Place) (doubt Opinion, absurd []int) {
	doubt = none(Model, "", len(places))
	for i := range places {
		word, why := s.weigh(places, i)
		if word == Server {
			absurd = append(absurd, i)
		}
		settled := doubt.Word == Server || doubt.Reason == Tokenisation
		if word != Model && !settled && (word == Server || doubt.Word == Model || why == Tokenisation && doubt.Reason == Between) {
			doubt = tell(places, i, word, why)
		}
	}
	return doubt, absurd
}

// foreign reports whether what is absurd is that much that the scores are of another
// model, another prompt or other places: most tokens, or such as stand one place on.
func foreign(places []Place, absurd []int) bool {
	const few = 2
	moved := 0
	for _, i := range absurd {
		if a, ok := places[i].best(); ok && i+1 < len(places) && places[i+1].ID == a.ID {
			moved++
		}
	}
	return len(absurd) > few && (2*len(absurd) > len(places) || 2*moved > len(absurd))
}

// convict says of what is absurd that it is the server's, unless what is not known
// of the sampler may explain it.
func (s Sampling) convict(o Opinion, places []Place, constrained bool) Opinion {
	switch {
	case constrained || s.Grammar:
		o.Word, o.Reason = Unknown, Constrained
	case s.Moves:
		o.Word, o.Reason = Unknown, Moved
	case s.rivals(places[o.Onset], len(places)) < certain:
		o.Word, o.Reason = Unknown, NoAlternative
	}
	return o
}

// rivals is the probability of the tokens that would have been no wonder at a place.
func (s Sampling) rivals(p Place, n int) (sum float64) {
	for _, a := range p.Top {
		if a.ID != p.ID && s.explains(p.instead(a), n) == Model {
			sum += a.P()
		}
	}
	return sum
}

// tell is an opinion with its onset.
func tell(places []Place, i int, word Word, why Reason) Opinion {
	p := places[i]
	o := Opinion{Word: word, Reason: why, Onset: i, P: p.P(), ID: p.ID, Alternative: -1, Tokens: len(places)}
	if a, ok := p.best(); ok {
		o.Alternative, o.AlternativeP = a.ID, min(a.P(), 1)
	}
	return o
}

// best is the most probable token that is not the one that stands there.
func (p Place) best() (Token, bool) {
	for _, a := range p.Top {
		if a.ID != p.ID {
			return a, true
		}
	}
	return Token{}, false
}

// weigh says whether sampling explains the token at a place.
func (s Sampling) weigh(places []Place, i int) (Word, Reason) {
	word := s.explains(places[i], len(places))
	switch {
	case word == Model:
		return Model, ""
	case s.retold(places, i):
		return Unknown, Tokenisation
	case word == Server:
		return Server, ""
	}
	return Unknown, Between
}

// explains is Model where sampling explains a token well, Server where it does not
// at all, and Unknown between them; n is the number of draws.
func (s Sampling) explains(p Place, n int) Word {
	gap := p.Top[0].LogProb - p.LogProb - s.Shift
	switch {
	case gap <= tied, s.Temperature > 0 && float64(n)*s.atLeast(p) >= usual:
		return Model
	case gap >= beaten && (s.Temperature == 0 || float64(n)*s.atMost(p) <= rare):
		return Server
	}
	return Unknown
}

// instead is the place as if the alternative stood there.
func (p Place) instead(a Token) Place { return Place{Token: a, Top: p.Top} }

// mass are sums of weights, of which the most probable token has 1.
type mass struct {
	below float64 // the token and those told that are no more probable
	above float64 // those told that are more probable than it by more than the slack
	count int     // … and how many they are
	all   float64 // all that are told
}

// told adds up what is told of a place, as if its token had the log probability lp.
func (s Sampling) told(p Place, lp float64) (m mass) {
	m.below = s.relative(p, lp)
	m.all = m.below
	for _, a := range p.Top {
		if a.ID == p.ID {
			continue
		}
		w := s.relative(p, a.LogProb)
		m.all += w
		if a.LogProb <= lp {
			m.below += w
		} else if a.LogProb > lp+slack {
			m.above += w
			m.count++
		}
	}
	return m
}

// relative is the weight of a log probability.
func (s Sampling) relative(p Place, lp float64) float64 {
	return math.Exp((lp - p.Top[0].LogProb) / s.Temperature)
}

// rest bounds the weight of the tokens that are not told and no more probable than lp.
func (s Sampling) rest(p Place, lp float64) float64 {
	top := p.Top[0].LogProb
	lp = min(lp, p.Top[len(p.Top)-1].LogProb)
	bound := maxVocab * s.relative(p, lp)
	if s.Temperature > 1 {
		return bound
	}
	missing := 1.0
	for _, a := range p.Top {
		missing -= a.P()
	}
	return min(bound, max(missing, leastR)*math.Exp(-top+(lp-top)*(1/s.Temperature-1)))
}

// atMost bounds from above the chance that a draw falls on the place's token or on one that is
// no more probable.
func (s Sampling) atMost(p Place) float64 {
	lp := min(p.LogProb+slack+s.Shift, 0)
	m := s.told(p, lp)
	if s.ruledOut(p, m, lp) {
		return 0
	}
	return min(1, (m.below+s.rest(p, lp))/m.all)
}

// ruledOut reports whether a filter certainly takes the token out.
func (s Sampling) ruledOut(p Place, m mass, lp float64) bool {
	if s.Shift > 0 {
		return false // the order of tokens is not that of the sampler
	}
	all := m.all + s.rest(p, 0)
	return s.TopK > 0 && m.count >= s.TopK || s.TopP < 1 && m.above/all >= (1+s.TopP)/2 || s.MinP > 0 && s.relative(p, lp) < s.MinP
}

// atLeast bounds that chance from below.
func (s Sampling) atLeast(p Place) float64 {
	m := s.told(p, p.LogProb)
	return min(1, m.below/(m.all+s.rest(p, 0)))
}
