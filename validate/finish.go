package validate

import (
	"strings"

	"turnwatch/validate/text"
	"turnwatch/validate/wire"
)

// words are the finish reasons that servers are known to send, in any dialect,
// and what they say: an empty kind is a turn that came to its own end.
var words = map[string]Kind{
	"stop": "", "tool_calls": "", "function_call": "", "length": TruncatedLength, "content_filter": TruncatedFilter,
	"abort": TruncatedAbort, "aborted": TruncatedAbort, "cancelled": TruncatedAbort, "canceled": TruncatedAbort,
	"insufficient_system_resource": TruncatedAbort, "error": TruncatedError,
	"max_tokens": TruncatedLength, "model_length": TruncatedLength, "max_length": TruncatedLength,
	// Messages.
	"end_turn": "", "tool_use": "", "stop_sequence": "", "pause_turn": "", "refusal": TruncatedFilter,
	"model_context_window_exceeded": TruncatedLength,
	// Responses.
	"completed": "", "incomplete": TruncatedLength, "max_output_tokens": TruncatedLength, "failed": TruncatedError,
	// Ollama, whose last line says done whether or not it has a reason.
	"done": "", "load": "", "unload": "",
}

// spelt are the words by themselves: those that are known take no memory.
var spelt = func() map[string]string {
	all := make(map[string]string, len(words))
	for w := range words {
		all[w] = w
	}
	return all
}()

// spellFinish spells a finish reason, cut short if it is long.
func spellFinish(t wire.Text) string {
	if w, ok := spelt[string(t.Raw)]; ok && !t.Escaped {
		return w
	}
	w := t.String()
	return w[:min(len(w), 64)]
}

// standard reports whether a protocol has this finish reason.
func standard(d wire.Dialect, word string) bool {
	switch word {
	case "stop", "length":
		return d != wire.Messages && d != wire.Responses
	case "tool_calls", "function_call":
		return d == wire.Chat
	case "content_filter":
		return d == wire.Chat || d == wire.Completions || d == wire.Responses
	case "abort":
		return d == wire.Native || d == wire.Vertex || d == wire.Chat
	case "end_turn", "tool_use", "stop_sequence", "pause_turn", "refusal", "max_tokens", "model_context_window_exceeded":
		return d == wire.Messages
	case "completed", "incomplete", "max_output_tokens", "failed", "cancelled":
		return d == wire.Responses
	case "done", "load", "unload":
		return d.Lines()
	}
	return false
}

// forCalls reports whether a finish reason says that there are calls.
func forCalls(word string) bool {
	return word == "tool_calls" || word == "function_call" || word == "tool_use"
}

// plain reports whether a finish reason says that there are no calls.
func (c *Checker) plain(word string) bool {
	return c.req.dialect == wire.Chat && word == "stop" || c.req.dialect == wire.Messages && word == "end_turn"
}

// reasoned says what the finish reason of a choice says.
func (c *Checker) reasoned(ch *choice) Kind {
	if !standard(c.req.dialect, ch.finish) {
		c.lint(LintUnknownFinish)
	}
	if k := words[strings.ToLower(ch.finish)]; k != "" {
		return k
	}
	switch {
	case c.req.dialect == wire.Messages && c.failure.seen && c.failure.at < ch.ended:
		return TruncatedError // the rest of the stream pretends that nothing was
	case c.exhausted() && ch.open():
		c.lint(LintFinishSuspect)
		return TruncatedLength
	case c.masked(ch):
		c.lint(LintFinishSuspect)
		return TruncatedAbort
	}
	return ""
}

// masked reports whether a turn was cut and says end_turn, as servers do that
// turn every finish reason they do not know into that: a turn that ends by
// itself with a call says tool_use, unless the request named the tool.
func (c *Checker) masked(ch *choice) bool {
	if c.req.dialect != wire.Messages || ch.finish != "end_turn" || c.req.named || len(ch.calls) == 0 {
		return false
	}
	k := ch.calls[len(ch.calls)-1]
	bare := k.machine.Lead() == '{' && k.machine.Values() == 1 // {}
	return k.open() || c.form == whole && bare
}

// oneToken is about how many bytes a token has.
const oneToken = 8

// allow takes for no proof what a model may well say by itself: one that merely
// continues a text repeats sentences, and one that may not end says anything.
// Repeating one token is natural in neither.
func (c *Checker) allow(f *text.Finding) {
	loop := f.Kind == text.Loop && f.Period > oneToken
	if loop && c.req.dialect.Raw() || c.req.endless && (loop || f.Kind == text.Salad) {
		f.Proof, f.ProofIfCut = false, false
	}
}
