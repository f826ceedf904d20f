package validate

// Kind names what is wrong. The set is closed: it is also a metric label.
type Kind string

// Reason says why a turn is unverified. The set is closed.
type Reason string

// The reasons. Those that the relay gives stand first.
const (
	ReasonNoAnswer         Reason = "no_answer"         // no byte of an answer came from the server
	ReasonNotInspectable   Reason = "not_inspectable"   // the answer's encoding is not known, or broken
	ReasonRequestMalformed Reason = "request_malformed" // what the request allows cannot be read from it
	ReasonFinishQueue      Reason = "finish_queue"      // too many turns waited for the end of their judgement
	ReasonJudgeMemory      Reason = "judge_memory"      // no room was left to hold the turn for the judge
	ReasonCheckerPanic     Reason = "checker_panic"     // the judge broke
)

// Lint names a protocol oddity that is no corruption. The set is closed.
type Lint string
