package opinion

// Word is an opinion on whose words the tokens are.
type Word string

// The words.
const (
	Server  Word = "server"  // the model would not have said it
	Model   Word = "model"   // it finds its own words plausible
	Unknown Word = "unknown" // it cannot be told
)

// Words returns all of them.
func Words() []Word { return []Word{Server, Model, Unknown} }

// Reason says why an opinion is unknown.
type Reason string

// The reasons that lie in what was asked and answered.
const (
	Between       Reason = "between"        // improbable, and yet within what sampling may do
	NoAlternative Reason = "no_alternative" // absurd, but the model was not certain of anything else
	Tokenisation  Reason = "tokenisation"   // the same text, cut into other tokens
	Constrained   Reason = "constrained"    // a grammar may have ruled the alternative out
	Moved         Reason = "moved"          // a penalty or processor of unstated effect
	NoTokens      Reason = "no_tokens"      // nothing was emitted
	Mismatch      Reason = "mismatch"       // most of it is absurd: the scores are of another model, prompt or place
	Lies          Reason = "lies"           // the scores are not of the tokens that were sent, or cannot be true
)

// Opinion is what the scores of a turn say.
type Opinion struct {
	Word   Word
	Reason Reason // of Unknown; empty for the others
	// Onset is the first token that is absurd, or, of an unknown opinion, that stands in the
	// way of another; -1 for none.
	Onset int
	// P is the probability of the token at the onset, and Alternative what the model had there
	// instead, with AlternativeP. All as the model has them, at temperature 1.
	P            float64
	ID           int
	Alternative  int // -1: none
	AlternativeP float64
	Tokens       int // that were looked at
}

// none is an opinion without an onset.
func none(w Word, why Reason, tokens int) Opinion {
	return Opinion{Word: w, Reason: why, Onset: -1, Alternative: -1, Tokens: tokens}
}
