package validate

import (
	"slices"
	"strings"

	"turnwatch/validate/markup"
	"turnwatch/validate/wire"
)

// Tokens that a turn may take beyond its text: the end of the turn, the
// channels around reasoning, and the markup of a call.
const (
	sparePerTurn  = 5
	spareThinking = 10
	sparePerCall  = 64
	sparePerStop  = 16 // beside the text that ended the turn: steps look ahead
	spareOfKimiK3 = 10 // <|open|>response<|sep|> in front of each answer, and two closing tags of three tokens behind it
	fewTokens     = 5  // a turn of so few may well be empty
	leastTurn     = 7  // fewer, what is there among them, may be markers that the server takes out
)

// Rates of tokens for each that is estimated. The usual rate is beyond what
// models of subwords spend on English, the odd one beyond what they spend on
// anything: of letters in no order 1.4 to 1.9, of languages that they have seen
// little of up to 1.4, by the tokenizers of four families. The cautious one stands for a token for each byte,
// which no model exceeds: it is for turns of a model that is not known yet.
const (
	usualRate    = 1.1
	oddRate      = 1.9
	partsRate    = 1.5 // more than parts of words ever take: the model's tokens may be characters
	CautiousRate = -1.0
)

// Spent compares the tokens that the server reported for a turn of text alone
// with what its text is estimated to take.
type Spent struct{ Estimate, Tokens int64 }

// Rate is tokens for each that is estimated, 0 where there is too little text
// to tell.
func (s Spent) Rate() float64 {
	const enough = 20
	if s.Estimate < enough {
		return 0
	}
	return float64(s.Tokens) / float64(s.Estimate)
}

// weigh holds the tokens that the server reported against what is visible of
// the only choice, which came to its own end.
func (c *Checker) weigh(ch *choice) {
	if len(c.choices) != 1 || c.req.n > 1 || !c.req.offers() || c.unread || c.broken || c.strange || len(ch.calls) == 0 && forCalls(ch.finish) {
		return
	}
	empty := !ch.solid()
	switch {
	case len(ch.calls) > 0:
		c.weighCalls(ch)
	case c.usage == nil:
		if empty || c.idle > sparePerCall {
			c.lack(ch, empty)
		}
	case empty && c.usage.CompletionTokens <= fewTokens:
	default:
		c.weighText(ch, empty)
	}
}

// weighText is weigh for a turn without calls. While the model's rate is not
// known, one that is not empty must have taken more tokens than it has bytes,
// unless the prompt tells of the model; by default no token is spared then.
func (c *Checker) weighText(ch *choice, empty bool) {
	usual, lost := c.unexplained(ch, usualRate), c.unexplained(ch, c.req.TokenRate)
	if c.req.TokenRate <= 0 {
		lost = usual
	}
	seen, _ := ch.estimate(true)
	known := lost > 0 && lost+seen >= leastTurn
	if bytes := c.unexplained(ch, CautiousRate); c.req.TokenRate <= 0 {
		known = known && (empty || bytes > 0 || c.subwords() || c.req.TokenRate == 0 && bytes > -sparePerTurn)
	}
	c.weighed = true
	switch {
	case known && !c.hides(ch):
		c.find(missing(empty), ch.index, nil, c.end(ch))
	case !empty && c.spelled(ch):
	case lost > 0 || empty && c.req.stop == 0:
		c.lack(ch, empty)
	}
}

// spelled reports whether a model that is not known spent one token for each
// byte, nearly to the token: its tokens are characters.
func (c *Checker) spelled(ch *choice) bool {
	spare := c.unexplained(ch, CautiousRate)
	return c.req.TokenRate == CautiousRate && spare <= 0 && spare > -2*sparePerTurn
}

// subwords reports whether the prompt tells that the model's tokens are parts
// of words and not characters: all of it took at most half as many tokens as
// its messages have bytes.
func (c *Checker) subwords() bool {
	said, all := c.req.conditions().said, c.usage.PromptTokens
	return all > 0 && 2*all <= said
}

// weighCalls is weigh for a turn with calls, whose markup takes tokens that
// nobody sees: it convicts nobody.
func (c *Checker) weighCalls(ch *choice) {
	if c.usage == nil || c.hides(ch) {
		return
	}
	rate := c.req.TokenRate
	if rate == 0 {
		rate = CautiousRate
	}
	if c.weighed = true; c.unexplained(ch, rate) > 0 {
		c.lack(ch, false)
		c.excuse(ch)
	}
}

// lack notes the signal that tokens were spent on what is not there.
func (c *Checker) lack(ch *choice, empty bool) {
	c.signal(Signal{Kind: missing(empty), Choice: ch.index, Offset: c.end(ch)})
}

// hides reports whether tokens may have been spent on what was not sent:
// reasoning, of which messages do not say how much there was, or the ends that
// were ignored.
func (c *Checker) hides(ch *choice) bool {
	return c.req.hides || c.req.endless || c.req.dialect == wire.Messages && ch.texts[markup.Reasoning] == nil
}

func missing(empty bool) Kind {
	if empty {
		return EmptyTurn
	}
	return SwallowedText
}

// kimiK3 reports whether a model is named as the one that frames its answers in
// more tokens than others do. Most names have no 3 behind a k.
func kimiK3(model string) bool {
	for i := 1; i < len(model); i++ {
		if model[i] == '3' && (model[i-1]|0x20 == 'k' || model[i-1] >= 0x80) {
			name := strings.ToLower(model)
			return strings.Contains(name, "kimi") && strings.Contains(name, "k3")
		}
	}
	return false
}

// unexplained is how many tokens the server reported beyond what all that is
// visible may take at a rate.
func (c *Checker) unexplained(ch *choice, rate float64) int64 {
	spare, tokens := int64(sparePerTurn+sparePerCall*len(ch.calls)), c.usage.CompletionTokens-c.unused
	if kimiK3(c.req.Model) {
		spare += spareOfKimiK3
	}
	if c.req.stop > 0 { // what ended the turn was taken out of it
		spare += c.req.stop + sparePerStop
	}
	switch {
	case ch.texts[markup.Reasoning] == nil:
		tokens -= c.thinking
	case ch.solid() || len(ch.calls) > 0:
		spare += spareThinking
	default:
		spare += spareThinking / 2
	}
	s, bytes := ch.estimate(!c.byBytes(ch))
	if len(ch.calls) == 0 {
		c.spent = Spent{s, tokens}
	}
	explained := bytes
	if rate != CautiousRate {
		explained = int64(rate * float64(s))
	}
	switch {
	case rate > partsRate:
		explained = max(explained, bytes)
	case !ch.common():
		explained = max(explained, min(bytes, int64(oddRate*float64(s))))
	}
	return tokens - spare - max(explained, c.place.outputs)
}

// byBytes reports whether what a turn may take is told from its bytes alone: one
// with calls of a model that is not known.
func (c *Checker) byBytes(ch *choice) bool {
	return len(ch.calls) > 0 && (c.req.TokenRate == 0 || c.req.TokenRate == CautiousRate)
}

// estimate is how many tokens all that is visible is estimated to take, if
// anybody asks, and how many bytes it is.
func (ch *choice) estimate(asked bool) (tokens, bytes int64) {
	var s spend
	for _, k := range ch.calls {
		if asked {
			s.read([]byte(k.name))
			s.read(k.args)
		}
		bytes += int64(len(k.name) + len(k.args))
	}
	for _, r := range ch.texts {
		if r != nil {
			s.tokens += r.spend.tokens
			bytes += r.track.dec
		}
	}
	return s.tokens, bytes
}

// common reports whether the texts are such that a rate tells what they take.
func (ch *choice) common() bool {
	return !slices.ContainsFunc(ch.texts[:], func(r *reader) bool { return r != nil && r.solid && !r.common })
}

// solid reports whether there is content that is more than space.
func (ch *choice) solid() bool {
	r := ch.texts[markup.Content]
	return r != nil && r.solid
}

// excuse gives the parser the blame for arguments that are {} although tokens
// were spent on more: it takes what it cannot read for an empty object.
func (c *Checker) excuse(ch *choice) {
	for i := range c.findings {
		f := &c.findings[i]
		if f.Kind != ArgsEmpty || f.Choice != ch.index || f.Call == nil || f.ArgOffset == nil {
			continue
		}
		for j := range c.findings {
			g := &c.findings[j]
			if g.Choice == f.Choice && g.Call != nil && *g.Call == *f.Call && (g.Kind == ArgsEmpty || g.Kind == SchemaRequired || g.Kind == ArgsSchemaViolated) {
				g.Cause = CauseParser
			}
		}
	}
}
