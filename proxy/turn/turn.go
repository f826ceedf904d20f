// Package turn holds the record of one turn: what the live path, the shadow
// path and the stress harness all produce, and what journal, telemetry and
// report all consume. Its JSON form is the public format of the journal.
package turn

import (
	"time"

	"turnwatch/validate"
)

// Version is the V of every turn written by this version of the format. It
// rises only when a field changes its meaning.
const Version = 1

// Turn is one request and its answer. It is plain data.
type Turn struct {
	V         int             `json:"v"`
	ID        string          `json:"id"`
	RequestID string          `json:"request_id"` // the client's X-Request-Id, if any
	Time      time.Time       `json:"time"`       // when the request's head had arrived
	Model     string          `json:"model"`      // as the request names it
	Path      string          `json:"path"`       // of the request, without the query
	Stream    bool            `json:"stream"`
	Status    int             `json:"status"` // of the answer; 0 when there was none
	Ending    validate.Ending `json:"ending"`

	BytesIn    int64   `json:"bytes_in"`  // body of the request
	BytesOut   int64   `json:"bytes_out"` // body of the answer, after transfer decoding
	TTFBMS     float64 `json:"ttfb_ms"`   // request's head to the answer's first byte
	DurationMS float64 `json:"duration_ms"`

	validate.Verdict

	Tags        map[string]Tag `json:"tags"`
	Fingerprint string         `json:"fingerprint"`
	Arm         Arm            `json:"arm"`
	Session     string         `json:"session"`
	Number      int            `json:"turn"` // place in the session, from 1; 0 when unknown
}

// Tag is one thing known about the server while it made the turn.
type Tag struct {
	Value  string `json:"v"`
	Source string `json:"src"` // header, facts, status_log, poll, label, own
	AgeMS  int64  `json:"age_ms"`
}

// Arm says what the turn was for.
type Arm string

// The arms.
const (
	Live      Arm = "live"
	Control   Arm = "control"
	Candidate Arm = "candidate"
	Probe     Arm = "probe"
)
