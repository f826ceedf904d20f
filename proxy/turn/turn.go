// Package turn holds the record of one turn: what the live path, the shadow
// path and the stress harness all produce, and what journal, telemetry and
// report all consume.
//
// # The journal line
//
// The JSON form of a Turn is a public format: one object a line, UTF-8, ended
// by a newline, its fields always in the order below. Every field is always
// there but those marked optional; no list and no object is ever null. Times
// in fields that end in _ms are milliseconds, to the microsecond. A line holds
// no text of a message, of arguments or of the model.
//
//	v               version of the format; rises only when a field changes its meaning
//	id              of the turn, unique; sorts by time
//	request_id      the client's X-Request-Id, cut at 256 bytes; "" when it sent none
//	time            when the request's head had arrived, RFC 3339 in UTC, up to nanoseconds
//	model           as the request names it, cut at 256 bytes; "" when it could not be read
//	path            of the request, without the query
//	stream          whether the request asked for a stream
//	status          HTTP status of the answer; 0 when there was none
//	ending          how the answer's bytes ended: complete, server_cut (the server broke off),
//	                client_gone (the client left), proxy_cut (a drain or a timeout of ours)
//	bytes_in        bytes of the request's body
//	bytes_out       bytes of the answer's body after transfer decoding, before content decoding
//	ttfb_ms         from the request's head to the answer's first byte; 0 when there was none
//	duration_ms     from the request's head to the end of the answer
//	usage           optional: the token counts that the server reported; absent when it reported none
//	  prompt_tokens, completion_tokens
//	finish_reasons  one a choice, in the order of their index; [] when none was seen
//	calls           number of tool calls, over all choices
//	verdict         clean, corrupted, truncated or unverified
//	reason          why the turn is unverified; "" for every other verdict
//	suspect         whether there are signals that convict nobody alone
//	constrained     optional: true when tool_choice or strict made the server enforce a grammar on calls
//	checks          families of checks that ran: wire, json, schema, …; [] when none did
//	findings        what is wrong, most specific first; [] when nothing is
//	  kind          name of the fault
//	  severity      minor, major or critical
//	  cause         parser (a known deterministic fault of parser or template) or unknown
//	  choice        index of the choice
//	  call          optional: index of the call in its choice; absent outside calls
//	  tool          optional: name of the tool, one that the request declared
//	  path          optional: JSON pointer into the arguments; a missing property's names where it
//	                should be; a key that the tool's schema does not name is told as *
//	  offset        byte at which the finding is certain, from 0, in the answer's body after
//	                transfer and content decoding
//	  arg_offset    optional: the same within the call's argument text
//	  at_ms         when that byte arrived, since the answer's first byte
//	  constrained   optional: true when that grammar rules the fault out, so that it is the server's
//	signals         evidence with a background rate, no part of the verdict; [] when there is none
//	  kind, choice, call, path, offset, at_ms   as in findings
//	  edit          optional: how a copied value differs, as sub@4
//	lints           protocol oddities that are no corruption, each once; [] when there is none
//	vendor          optional: what the verifiers of model vendors would say of the first choice of a chat
//	                completion, no part of the verdict; see validate.Vendor
//	  k2vv          optional: valid, invalid, no_call or unknown, where it finished for tool calls
//	  openrouter    optional: ok, invalid_json, unknown_name, schema_mismatch or unknown, where there are calls
//	  only_reasoning, cyrillic   optional: true where it is so
//	tags            what is known of the server while it made the turn, by name; {} when nothing is.
//	                Package sglang lists the names
//	  v             value
//	  src           where it is from: header, facts, status_log, poll, label or own
//	  age_ms        whole milliseconds between the observation and its use
//	fingerprint     8 hex digits over the configuration tags; "" when there are none
//	arm             live, control, candidate or probe
//	session         the session that the turn belongs to, as the client names it or of our own
//	                naming; that of a branch is the first one's, a dot and a number; "" when unknown
//	turn            place in the session, from 1; retries of a turn have one; 0 when unknown
//	answer          optional: right or wrong, from a client that knows the right answer; wrong beside
//	                clean is a mistake of the model or silent corruption
//	prefix          optional: hash of the request's first message, its system prompt as a rule, keyed
//	                anew in every process: turns that begin alike have one
//
// A reader ignores fields it does not know and refuses a v above its own.
// Lines that are not turns carry a field type, which a turn never has; see
// [ConfigChange], [Restart], [Pair] and [Opinion].
package turn

import (
	"time"

	"turnwatch/validate"
)

// Version is the V of every turn written by this version of the format. It
// rises only when a field changes its meaning.
const Version = 1

// Turn is one request and its answer. It is plain data; the package comment
// says what each field means.
type Turn struct {
	V         int             `json:"v"`
	ID        string          `json:"id"` // from NewID
	RequestID string          `json:"request_id"`
	Time      time.Time       `json:"time"`
	Model     string          `json:"model"`
	Path      string          `json:"path"`
	Stream    bool            `json:"stream"`
	Status    int             `json:"status"`
	Ending    validate.Ending `json:"ending"`

	BytesIn    int64   `json:"bytes_in"`
	BytesOut   int64   `json:"bytes_out"`
	TTFBMS     float64 `json:"ttfb_ms"`
	DurationMS float64 `json:"duration_ms"`

	validate.Verdict

	Tags        map[string]Tag `json:"tags"` // less those of Own and Config
	Fingerprint string         `json:"fingerprint"`
	Arm         Arm            `json:"arm"`
	Session     string         `json:"session"`
	Number      int            `json:"turn"`
	Answer      Answer         `json:"answer,omitempty"`
	Prefix      string         `json:"prefix,omitempty"`

	// Conversation is the session's name as the client gave it; "" where it gave
	// none, or one that is shown as a hash. A branch of the session has the same.
	Conversation string `json:"-"`
	// Own are the tags that the turn shares with no other, in the order of their
	// names, Config those that it shares with some, and Began is when its answer
	// began, to which their ages count. Of a turn that was read back, Tags are all.
	Own    []NamedTag `json:"-"`
	Config *Config    `json:"-"`
	Began  time.Time  `json:"-"`
	// Trace is the turn's place in a trace, for those who export spans.
	Trace Trace `json:"-"`

	Capture *Capture `json:"-"` // nil: nothing was kept of what was said
	Tokens  *Tokens  `json:"-"` // nil: the server did not tell them, or was not asked
}

// Tag is one thing known about the server while it made the turn.
type Tag struct {
	Value  string `json:"v"`
	Source string `json:"src"`
	AgeMS  int64  `json:"age_ms"`
}

// NamedTag is a tag and its name.
type NamedTag struct {
	Name string
	Tag
}

// Answer says whether the answer is the right one, where that is known.
type Answer string

// The answers.
const (
	Right Answer = "right"
	Wrong Answer = "wrong"
)

// Arm says what the turn was for.
type Arm string

// The arms.
const (
	Live      Arm = "live"
	Control   Arm = "control"
	Candidate Arm = "candidate"
	Probe     Arm = "probe"
)
