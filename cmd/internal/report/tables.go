package report

import (
	"strings"
	"time"
)

// Kind is one kind of corruption, or of signals, and how many turns and
// sessions had it.
type Kind struct {
	Kind     string  `json:"kind"`
	Meaning  string  `json:"meaning"`
	Severity string  `json:"severity"`
	Turns    int     `json:"turns"`
	Sessions int     `json:"sessions"`
	Parser   int     `json:"parser_turns"` // turns where the fault is the parser's; in no rate
	Share    float64 `json:"share"`        // of the corrupted turns
}

// Tag is a tag and its values, the worst first.
type Tag struct {
	Name   string  `json:"name"`
	Levels []Level `json:"levels"`
}

// Timeline is what happened when.
type Timeline struct {
	Width  time.Duration `json:"width_ns"`
	Bins   []Bin         `json:"bins"`
	Events []Event       `json:"events"`
}

// Bin is a stretch of time and the sessions that began in it.
type Bin struct {
	Begin    time.Time `json:"begin"`
	Sessions Rate      `json:"sessions"`
	Turns    Rate      `json:"turns"`
}

// Event is a change of configuration.
type Event struct {
	Time    time.Time         `json:"time"`
	From    string            `json:"from"`
	To      string            `json:"to"`
	Changed map[string]Values `json:"changed"`
}

// Values are what a tag was and became.
type Values struct {
	From string `json:"from"`
	To   string `json:"to"`
}

func compare(a, b string) int { return strings.Compare(a, b) }

// batchRange returns the range that a batch is counted under; "" if it is not
// known.
func batchRange(n int32) string {
	switch {
	case n < 1:
		return ""
	case n == 1:
		return "1"
	case n <= 4:
		return "2-4"
	case n <= 8:
		return "5-8"
	case n <= 16:
		return "9-16"
	case n <= 32:
		return "17-32"
	case n <= 64:
		return "33-64"
	case n <= 128:
		return "65-128"
	}
	return "129+"
}
