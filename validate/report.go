package validate

import (
	"slices"
	"strings"
)

// rejected is the verdict on an answer with the status of an error.
func (c *Checker) rejected() Verdict {
	if c.head.Status == 400 && c.says(refusals) {
		return c.unverified(ReasonClientSchemaRejected, UpstreamError)
	}
	return c.reported(c.unverified(ReasonUpstreamError, UpstreamError))
}

// reported turns the verdict if the server's error tells of a corruption.
func (c *Checker) reported(v Verdict) Verdict {
	if !c.blame() {
		return v
	}
	c.sort()
	v.Findings, v.Outcome, v.Reason = append([]Finding{}, c.findings...), Corrupted, ""
	return v
}

// refusals are how servers say that a tool's schema in the request is none:
// SGLang's own words, and OpenAI's.
var refusals = []string{"function has invalid 'parameters' schema", "Invalid schema for function"}

// malformed are the messages of SGLang's own check of tool calls, then of
// vLLM, Ollama and Groq. Messages that may speak of the calls in the client's
// history are not among them.
var malformed = []string{
	"Failed to parse DeepSeek V4 tool output", "DSML tool arguments violate schema", "Undefined DSML tool",
	"Malformed DSML parameter", "Duplicate DSML parameter", "Incomplete DSML invoke", "Non-monotonic DSML argument stream",
	"Error in extracting tool call from response", "error parsing tool call: raw=", "Failed to call a function. Please adjust your prompt",
}

// says reports whether the server's error has one of these phrases.
func (c *Checker) says(phrases []string) bool {
	return slices.ContainsFunc(phrases, func(p string) bool { return strings.Contains(c.failure.report, p) })
}

// blame looks for a report of malformed tool markup in the server's error.
func (c *Checker) blame() bool {
	if !c.says(malformed) {
		return false
	}
	c.find(ServerReported, 0, nil, c.failure.at)
	return true
}
