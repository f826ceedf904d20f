package turn

import (
	"math"
	"strconv"
	"time"

	"turnwatch/validate"
)

// Opinion is a second opinion on a turn: whether its tokens are the model's own. Its line
// in a journal has the type opinion, follows the turn's, and has these fields, in this
// order:
//
//	v             version of the format, as a turn's
//	type          opinion
//	id            of the turn
//	time          when the opinion was given
//	model         as the request names it
//	session       the turn's, and turn its place in it
//	verdict       the turn's, and suspect
//	of            flagged (it is corrupted or suspect), or control (a clean one taken at random)
//	word          server (the model would not have said it), model (it finds its own words
//	              plausible) or unknown
//	reason        why the word is unknown; "" for the others
//	by            scores (the probability of each token was asked for), replays (the request was
//	              sent again) or none (nothing was asked)
//	server        live (the server that made the turn was asked) or other
//	tokens        of the output that were scored; 0 for none
//	onset         the first of them, from 0, that is absurd, or where the word is unknown stands in
//	              the way of another; -1 for none
//	logprob       natural logarithm of the probability of the token at the onset; 0 without one
//	alternative   the same of the one that the model had there instead; 0 without one
//	place         where the onset is to the first byte that the turn was flagged for: before, at, after, or
//	              unknown
//	start         logprob_start_len of the question; 0 lets the server use nothing of its prefix cache; -1 without scores
//	cached        tokens that the server took from its prefix cache; -1 where it does not say
//	cache         none (nothing was taken from a cache), other (another server's, which the turn's damage is not in) or
//	              possible (one that may hold what damaged the turn)
//	replays       answers that the turn was held against
//	took_ms       from the question to the opinion
//	token         optional: with -opinion-tokens, id and text of the token at the onset
//	instead       optional: the same of the alternative
//
// The model of the word is the one that was asked: it says nothing of other weights.
type Opinion struct {
	V           int              `json:"v"`
	ID          string           `json:"id"`
	Time        time.Time        `json:"time"`
	Model       string           `json:"model"`
	Session     string           `json:"session"`
	Number      int              `json:"turn"`
	Outcome     validate.Outcome `json:"verdict"`
	Suspect     bool             `json:"suspect"`
	Of          Sample           `json:"of"`
	Word        string           `json:"word"`
	Reason      string           `json:"reason"`
	By          string           `json:"by"`
	Server      string           `json:"server"`
	Tokens      int              `json:"tokens"`
	Onset       int              `json:"onset"`
	LogProb     float64          `json:"logprob"`
	Alternative float64          `json:"alternative"`
	Place       Place            `json:"place"`
	Start       int              `json:"start"`
	Cached      int              `json:"cached"`
	Cache       string           `json:"cache"`
	Replays     int              `json:"replays"`
	TookMS      float64          `json:"took_ms"`
	Token       *Piece           `json:"token,omitempty"`
	Instead     *Piece           `json:"instead,omitempty"`
}

// Sample says why a turn was looked at again.
type Sample string

// The samples.
const (
	Flagged Sample = "flagged"
	Drawn   Sample = "control"
)

// Place says where something is to the first byte that a turn was flagged for.
type Place string

// The places.
const (
	PlaceBefore  Place = "before"
	PlaceAt      Place = "at"
	PlaceAfter   Place = "after"
	PlaceUnknown Place = "unknown"
)

// Piece is a token.
type Piece struct {
	ID   int    `json:"id"`
	Text string `json:"text"`
}

// AppendJSON appends the journal line, without its newline, to b.
func (p *Opinion) AppendJSON(b []byte) []byte {
	o := object{b: append(b, '{')}
	o.int("v", int64(p.V))
	o.str("type", "opinion")
	o.str("id", p.ID)
	o.time("time", p.Time)
	o.str("model", p.Model)
	o.str("session", p.Session)
	o.int("turn", int64(p.Number))
	o.str("verdict", string(p.Outcome))
	o.bool("suspect", p.Suspect)
	o.str("of", string(p.Of))
	o.str("word", p.Word)
	o.str("reason", p.Reason)
	o.str("by", p.By)
	o.str("server", p.Server)
	o.scored(p)
	o.int("replays", int64(p.Replays))
	o.ms("took_ms", p.TookMS)
	o.piece("token", p.Token)
	o.piece("instead", p.Instead)
	return append(o.b, '}')
}

func (o *object) scored(p *Opinion) {
	o.int("tokens", int64(p.Tokens))
	o.int("onset", int64(p.Onset))
	o.logarithm("logprob", p.LogProb)
	o.logarithm("alternative", p.Alternative)
	o.str("place", string(p.Place))
	o.int("start", int64(p.Start))
	o.int("cached", int64(p.Cached))
	o.str("cache", p.Cache)
}

func (o *object) piece(name string, p *Piece) {
	if p == nil {
		return
	}
	o.open(name, '{')
	o.int("id", int64(p.ID))
	o.str("text", p.Text)
	o.close('}')
}

// logarithm appends one with the digits that mean something.
func (o *object) logarithm(name string, f float64) {
	o.name(name)
	if math.IsNaN(f) || math.IsInf(f, 0) {
		f = 0
	}
	o.b = strconv.AppendFloat(o.b, math.Round(f*1e6)/1e6, 'f', -1, 64)
}
