package validate

// Outcome is the verdict on a turn in one word.
type Outcome string

// The four verdicts. A turn is corrupted only where the evidence is near
// proof; what could not be judged is unverified, never clean.
const (
	Clean      Outcome = "clean"
	Corrupted  Outcome = "corrupted"
	Truncated  Outcome = "truncated"
	Unverified Outcome = "unverified"
)

// Ending says how the bytes of an answer ended, which the bytes cannot tell.
type Ending string

// The ways an answer ends.
const (
	Complete   Ending = "complete"    // framing said so
	ServerCut  Ending = "server_cut"  // the server broke off
	ClientGone Ending = "client_gone" // the client left first
	ProxyCut   Ending = "proxy_cut"   // we cut it: a drain or one of our timeouts
)

// Severity is how much harm a finding of a kind does to an agent.
type Severity string

// The severities, least first.
const (
	Minor    Severity = "minor"
	Major    Severity = "major"
	Critical Severity = "critical"
)

// Cause says who made the fault, as far as the bytes tell.
type Cause string

// The causes. Rates and alerts are made of findings whose cause is not the
// parser.
const (
	CauseUnknown Cause = "unknown"
	CauseParser  Cause = "parser" // a known, deterministic fault of parser or template
)

// Finding is one thing wrong with a turn.
type Finding struct {
	Kind     Kind     `json:"kind"`
	Severity Severity `json:"severity"`
	Cause    Cause    `json:"cause"`
	Choice   int      `json:"choice"`
	Call     *int     `json:"call,omitempty"` // index of the call in its choice; nil when not in a call
	Tool     string   `json:"tool,omitempty"` // a name the request declared, never text of the model
	// Path is a JSON pointer into the arguments; for a missing property, to
	// where it should be. Keys that the tool's schema does not name are text
	// of the model: they are told as *.
	Path string `json:"path,omitempty"`
	// Offset counts from 0 in the answer's body, after transfer and content
	// decoding, and names the byte at which the finding is certain.
	Offset int64 `json:"offset"`
	// ArgOffset is the same within the call's argument text; nil when not in one.
	ArgOffset *int64 `json:"arg_offset,omitempty"`
	// AtMS is when that byte arrived, in milliseconds since the answer's first byte.
	AtMS float64 `json:"at_ms"`
	// Constrained says that the request made the server enforce a grammar that
	// rules this out: near proof of a fault of the server, not of the model.
	Constrained bool `json:"constrained,omitempty"`
	// Delta is which of the stream's events with output that byte is in or
	// follows, from 1, and Tokens how many tokens the server had reported with
	// it; 0 when that is not known.
	Delta  int64 `json:"-"`
	Tokens int64 `json:"-"`
}

// Usage is the token count that the server reported.
type Usage struct {
	PromptTokens     int64 `json:"prompt_tokens"`
	CompletionTokens int64 `json:"completion_tokens"`
}

// Verdict is the judgement of one turn.
type Verdict struct {
	Outcome       Outcome    `json:"verdict"`
	Reason        Reason     `json:"reason"`                // why a turn is unverified; empty otherwise
	Suspect       bool       `json:"suspect"`               // signals that convict nobody alone
	Constrained   bool       `json:"constrained,omitempty"` // the request made the server enforce a grammar on calls
	Checks        []Check    `json:"checks"`                // the families of checks that ran; not to be changed
	Findings      []Finding  `json:"findings"`              // most specific first
	Signals       []Signal   `json:"signals,omitempty"`     // evidence that makes no verdict
	Lints         []Lint     `json:"lints,omitempty"`       // protocol oddities that are no corruption, each once
	Vendor        *Vendor    `json:"vendor,omitempty"`      // what the verifiers of model vendors would say; nil if nothing
	Calls         int        `json:"calls"`
	FinishReasons []string   `json:"finish_reasons"` // one a choice, in the order of their index
	Usage         *Usage     `json:"usage,omitempty"`
	Deltas        int64      `json:"-"` // events with output in a stream
	Strangers     []Stranger `json:"-"` // words that may be another request's
	Spent         Spent      `json:"-"` // of a turn of text alone; zero where unknown
	MaxTokens     int64      `json:"-"` // that the request allows; 0 if it names no bound
	Choices       int        `json:"-"` // that the request asks for
	Thinking      int64      `json:"-"` // tokens of reasoning that the server reported
	Skips         []Skip     `json:"-"` // calls that were not held against (all of) their schema, to be counted

	strange bool // there was something that is not judged
}

// extras are what most verdicts point to, in one piece: it outlives the checker.
type extras struct {
	usage  Usage
	vendor Vendor
	finish [1]string
}

// extras are what the verdict will point to.
func (c *Checker) extras() *extras {
	if c.more == nil {
		c.more = new(extras)
	}
	return c.more
}

// Signal is evidence with a background rate: recorded beside the verdict,
// never verdict-making.
type Signal struct {
	Kind   Kind    `json:"kind"`
	Choice int     `json:"choice"`
	Call   *int    `json:"call,omitempty"`
	Path   string  `json:"path,omitempty"`
	Offset int64   `json:"offset"`
	AtMS   float64 `json:"at_ms"`
	Edit   string  `json:"edit,omitempty"`
	// Delta and Tokens are those of a Finding.
	Delta  int64 `json:"-"`
	Tokens int64 `json:"-"`
}

// Check names a family of checks.
type Check string

// The families of checks of this version.
const (
	CheckWire   Check = "wire"
	CheckJSON   Check = "json"
	CheckSchema Check = "schema"
	CheckMarkup Check = "markup"
	CheckText   Check = "text"
	CheckEcho   Check = "echo"   // values against what the request holds
	CheckTokens Check = "tokens" // the server's count of them against what is visible
)
