package opinion

import (
	"math"
	"math/rand/v2"
	"testing"
)

// at makes a place: the token with its probability, then the alternatives with theirs.
func at(text string, p float64, alternatives ...any) Place {
	x := Place{Token: Token{ID: number(text), LogProb: math.Log(p), Text: text, Told: true}}
	for i := 0; i < len(alternatives); i += 2 {
		s, q := alternatives[i].(string), alternatives[i+1].(float64)
		x.Top = append(x.Top, Token{ID: number(s), LogProb: math.Log(q), Text: s, Told: true})
	}
	return x
}

func number(s string) (n int) {
	for _, c := range []byte(s) {
		n = n*251 + int(c) + 1
	}
	return n
}

// sure is a token that the model was certain of.
func sure(text string) Place { return at(text, 0.9999, text, 0.9999, "?", 1e-5) }

func TestJudge(t *testing.T) {
	greedy, hot := Sampling{TopP: 1}, Sampling{Temperature: 1, TopP: 1}
	absurd := at("4", 1e-9, "7", 0.9999, "8", 5e-5)
	f := func(name string, s Sampling, constrained bool, word Word, why Reason, onset int, places ...Place) {
		t.Helper()
		got := Judge(places, s, constrained)
		if got.Word != word || got.Reason != why || got.Onset != onset {
			t.Errorf("%s: got %s %s at %d, want %s %s at %d", name, got.Word, got.Reason, got.Onset, word, why, onset)
		}
	}
	f("nothing", greedy, false, Unknown, NoTokens, -1)
	f("certain", greedy, false, Model, "", -1, sure("a"), sure("b"))
	f("absurd", greedy, false, Server, "", 1, sure("Z"), absurd, sure("7"))
	f("the first of two", greedy, false, Server, "", 0, absurd, absurd)
	f("a tie", greedy, false, Model, "", -1, at("4", 0.3, "7", 0.5, "4", 0.3))
	f("no tie, not absurd", greedy, false, Unknown, Between, 0, at("4", 0.01, "7", 0.98, "4", 0.01))
	f("absurd, nothing certain", greedy, false, Unknown, NoAlternative, 0, at("4", 1e-9, "7", 0.5, "8", 0.3))
	f("absurd, one of two certain", greedy, false, Server, "", 0, at("4", 1e-9, "7", 0.5, "8", 0.49))
	f("a grammar", greedy, true, Unknown, Constrained, 0, absurd)
	f("a grammar, and plausible", greedy, true, Model, "", -1, sure("a"))
	f("a penalty", Sampling{TopP: 1, Moves: true}, false, Unknown, Moved, 0, absurd)
	f("a bias that explains", Sampling{TopP: 1, Shift: 100}, false, Model, "", -1, absurd)
	f("a bias that does not", Sampling{TopP: 1, Shift: 2}, false, Server, "", 0, absurd)
	f("sampled, too probable", hot, false, Model, "", -1, at("4", 0.02, "7", 0.97, "4", 0.02))
	f("sampled, perhaps", hot, false, Unknown, Between, 0, at("4", 1e-7, "7", 0.999, "8", 1e-4))
	f("sampled, never", hot, false, Server, "", 0, at("4", 1e-15, "7", 0.99999, "8", 1e-6))
	f("colder", Sampling{Temperature: 0.5, TopP: 1}, false, Server, "", 0, at("4", 1e-8, "7", 0.9999, "8", 1e-5))
	f("outside top_p", Sampling{Temperature: 1, TopP: 0.95}, false, Server, "", 0, at("4", 1e-7, "7", 0.999, "8", 1e-4))
	f("at the edge of top_p", Sampling{Temperature: 1, TopP: 0.9995}, false, Unknown, Between, 0, at("4", 1e-7, "7", 0.999, "8", 1e-4))
	f("outside top_k", Sampling{Temperature: 1, TopP: 1, TopK: 2}, false, Server, "", 0, at("4", 1e-6, "7", 0.999, "8", 1e-4))
	f("below min_p", Sampling{Temperature: 1, TopP: 1, MinP: 0.05}, false, Server, "", 0, at("4", 1e-6, "7", 0.999, "8", 1e-4))
	f("cold and equal", Sampling{Temperature: 0.01, TopP: 1}, false, Model, "", -1, at("4", 0.3, "7", 0.6, "4", 0.3))
}

func TestOtherTokensOfTheSameTextAreNotAbsurd(t *testing.T) {
	f := func(name string, why Reason, places ...Place) {
		t.Helper()
		if got := Judge(places, Sampling{TopP: 1}, false); got.Word != Unknown || got.Reason != why {
			t.Errorf("%s: got %s %s, want unknown %s", name, got.Word, got.Reason, why)
		}
	}
	untold := at("4", 1e-9, "7", 0.9999)
	untold.Top[0].Told = false
	f("cut shorter", Tokenisation, at("7", 1e-9, "747", 0.9999), sure("47"))
	f("joined", Tokenisation, at("747", 1e-9, "7", 0.9999), sure("-"))
	f("across", Tokenisation, at("Z", 1e-9, "Z5-", 0.9999), sure("5"), sure("-7"))
	f("another space", Tokenisation, at(" Z", 1e-9, "Z", 0.9999))
	f("at the end", Tokenisation, at("7", 1e-9, "747", 0.9999))
	f("part of a character", Tokenisation, at("\uFFFD", 1e-9, "é", 0.9999), sure("\uFFFD"))
	f("the alternative is part of one", Tokenisation, at("é", 1e-9, "\uFFFD", 0.9999))
	f("without a text", Tokenisation, untold)
	f("what follows other tokens", Tokenisation, at("7", 1e-9, "747", 0.9999), at("4", 1e-9, "7", 0.9999))
}

func TestScoresOfAnotherTurnSayNothing(t *testing.T) {
	text := []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"}
	var other, moved []Place
	for i, s := range text {
		p := sure(s)
		if i < 6 {
			p = at(s, 1e-9, "?", 0.9999)
		}
		other = append(other, p)
		p = sure(s)
		if i < 4 {
			p = at(s, 1e-9, text[i+1], 0.9999)
		}
		moved = append(moved, p)
	}
	for name, places := range map[string][]Place{"other": other, "moved": moved} {
		if got := Judge(places, Sampling{TopP: 1}, false); got.Word != Unknown || got.Reason != Mismatch {
			t.Errorf("%s: got %s %s, want unknown mismatch", name, got.Word, got.Reason)
		}
	}
}

func TestAbsurdBeforeOtherTokensIsTold(t *testing.T) {
	places := []Place{at("4", 1e-9, "7", 0.9999), at("7", 1e-9, "747", 0.9999), sure("47")}
	if got := Judge(places, Sampling{TopP: 1}, false); got.Word != Server || got.Onset != 0 {
		t.Errorf("got %+v, want the server's at 0", got)
	}
}

func TestOpinionTellsBothTokens(t *testing.T) {
	got := Judge([]Place{sure("a"), at("4", 1e-9, "7", 0.9999)}, Sampling{TopP: 1}, false)
	if got.ID != number("4") || got.Alternative != number("7") || math.Abs(got.P-1e-9) > 1e-12 || math.Abs(got.AlternativeP-0.9999) > 1e-9 || got.Tokens != 2 {
		t.Errorf("got %+v", got)
	}
}

// zipf is a distribution of a head and a long tail over a vocabulary, as models have them: the tail
// holds doubt, and its tokens fall off by a power.
type zipf struct {
	p   []float64
	cum []float64
}

func newZipf(r *rand.Rand, size int) zipf {
	doubt, power := math.Pow(10, -0.6-5*r.Float64()), 1+2*r.Float64()
	z := zipf{p: make([]float64, size), cum: make([]float64, size)}
	sum := 0.0
	for i := 1; i < size; i++ {
		z.p[i] = math.Pow(float64(i), -power)
		sum += z.p[i]
	}
	z.p[0] = 1 - doubt
	for i := 1; i < size; i++ {
		z.p[i] *= doubt / sum
	}
	return z
}

// heat is the distribution that sampling draws from, within top_p.
func (z zipf) heat(s Sampling) []float64 {
	q, sum := make([]float64, len(z.p)), 0.0
	for i, p := range z.p {
		q[i] = math.Pow(p, 1/s.Temperature)
		sum += q[i]
	}
	before := 0.0
	for i := range q {
		q[i] /= sum
		if s.TopP < 1 && before > s.TopP {
			q[i] = 0
		}
		before += q[i]
	}
	return q
}

func draw(r *rand.Rand, q []float64) int {
	sum := 0.0
	for _, p := range q {
		sum += p
	}
	u := r.Float64() * sum
	for i, p := range q {
		if u -= p; u <= 0 && p > 0 {
			return i
		}
	}
	return 0
}

// drawn makes a place at which a token was drawn.
func (z zipf) drawn(i, told int) Place {
	name := func(i int) Token {
		return Token{ID: i, LogProb: math.Log(z.p[i]), Text: string(rune('A' + i)), Told: true}
	}
	p := Place{Token: name(i)}
	for k := range told {
		p.Top = append(p.Top, name(k))
	}
	return p
}

// An honest server is called otherwise in at most one turn of 10,000, at any temperature.
func TestSampledTurnsAreNotTheServers(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 3))
	turns, model := 3000, 0
	for range turns {
		s := Sampling{Temperature: 0.3 + 1.0*r.Float64(), TopP: 1}
		if r.IntN(3) == 0 {
			s.TopP = 0.9 + 0.1*r.Float64()
		}
		z := newZipf(r, 500)
		q := z.heat(s)
		places := make([]Place, 60)
		for i := range places {
			places[i] = z.drawn(draw(r, q), 5)
		}
		switch got := Judge(places, s, false); got.Word {
		case Server:
			t.Errorf("%+v: got server at %d with probability %g", s, got.Onset, got.P)
		case Model:
			model++
		}
	}
	if share := float64(model) / float64(turns); share < 0.8 {
		t.Errorf("of honest turns %.3f are the model's, want 0.8 or more", share)
	}
}

// The bound on the chance of a draw holds for what is not told, too.
func TestChanceIsBounded(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 8))
	for range 2000 {
		s := Sampling{Temperature: 0.2 + 1.3*r.Float64(), TopP: 1}
		z := newZipf(r, 400)
		q := z.heat(s)
		i := r.IntN(len(q))
		truth := 0.0
		for k := i; k < len(q); k++ {
			truth += q[k]
		}
		p := z.drawn(i, 1+r.IntN(8))
		if lo, hi := s.atLeast(p), s.atMost(p); i > 0 && (lo > truth*(1+1e-9) || hi < truth*(1-1e-9)) {
			t.Fatalf("%+v: the chance of token %d and all below is %g, got %g to %g", s, i, truth, lo, hi)
		}
	}
}

func TestSamplingIsRead(t *testing.T) {
	f := func(path, body string, want Sampling) {
		t.Helper()
		if got, err := ReadSampling(path, []byte(body)); err != nil || got != want {
			t.Errorf("%s %s: got %+v, %v, want %+v", path, body, got, err, want)
		}
	}
	chat := "/v1/chat/completions"
	f(chat, `{}`, Sampling{Temperature: 1, TopP: 1, Choices: 1})
	f(chat, `{"temperature":0}`, Sampling{TopP: 1, Choices: 1, Stated: true})
	f(chat, `{"temperature":0.7,"top_p":0.9,"top_k":-1,"min_p":0.1,"n":2}`, Sampling{Temperature: 0.7, TopP: 0.9, MinP: 0.1, Choices: 2, Stated: true})
	f(chat, `{"temperature":0.7,"top_k":1}`, Sampling{TopP: 1, TopK: 1, Choices: 1, Stated: true})
	f(chat, `{"logit_bias":{"7":-5,"9":2},"presence_penalty":0.5}`, Sampling{Temperature: 1, TopP: 1, Choices: 1, Shift: 7.5})
	f(chat, `{"repetition_penalty":1.1}`, Sampling{Temperature: 1, TopP: 1, Choices: 1, Moves: true})
	f(chat, `{"repetition_penalty":1,"lora_path":null}`, Sampling{Temperature: 1, TopP: 1, Choices: 1})
	f(chat, `{"response_format":{"type":"json_schema"}}`, Sampling{Temperature: 1, TopP: 1, Choices: 1, Grammar: true})
	f(chat, `{"response_format":{"type":"text"}}`, Sampling{Temperature: 1, TopP: 1, Choices: 1})
	f("/v1/responses", `{"text":{"format":{"type":"json_schema"}}}`, Sampling{Temperature: 1, TopP: 1, Choices: 1, Grammar: true})
	f("/generate", `{"text":"a","sampling_params":{"temperature":0,"regex":"a+"}}`, Sampling{TopP: 1, Choices: 1, Grammar: true, Stated: true})
	f("/generate", `{"input_ids":[1],"lora_path":"x"}`, Sampling{Temperature: 1, TopP: 1, Choices: 1, Other: "lora"})
	f("/api/chat", `{"options":{"temperature":0.2,"repeat_penalty":1.2}}`, Sampling{Temperature: 0.2, TopP: 1, Choices: 1, Moves: true, Stated: true})
	for _, bad := range []string{``, `[]`, `{"temperature":"hot"}`} {
		if _, err := ReadSampling(chat, []byte(bad)); err == nil {
			t.Errorf("%q: got no error", bad)
		}
	}
}
