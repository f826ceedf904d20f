package turn

import "time"

// Capture is what was said in a turn, byte for byte, and how busy the server
// was meanwhile. A turn has one only while it is handed to sinks: it is lent
// for the length of Finish, because all captures share one bounded memory.
type Capture struct {
	Request Said
	Answer  Said
	Loads   []Load // in the order of time, those of one source after another's
}

// Said is one message of a turn.
type Said struct {
	Head   []byte // start line and fields as they came, the empty line included
	Body   []byte // framing and content coding taken off
	Coding string // the content coding that was taken off; "" if there was none
	Marks  []Mark // when the pieces of Body came; nil for a request
	Lost   Drop   // why Body is not there; "" when it is
}

// Mark says when the bytes of a body from Off on arrived, counted from the
// answer's first byte.
type Mark struct {
	Off int
	At  time.Duration
}

// Load is how many requests the server worked on at once: over a stretch of
// the turn's decode steps, or at a moment.
type Load struct {
	Source string   `json:"src"` // as that of a tag
	First  *int     `json:"first_step,omitempty"`
	Last   *int     `json:"last_step,omitempty"`
	T0MS   *float64 `json:"t0_ms,omitempty"` // of the first step, on the server's clock
	T1MS   *float64 `json:"t1_ms,omitempty"` // of the last
	AtMS   *float64 `json:"at_ms,omitempty"` // since the request's head
	Batch  int      `json:"batch"`
	Bucket *int     `json:"graph_bucket,omitempty"`
	Queue  *int     `json:"queue,omitempty"`
}
