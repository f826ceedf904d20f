package validate

import "time"

// Head is what a checker must know of the answer's head.
type Head struct {
	Status      int
	ContentType string
}

// Checker judges one answer while it streams. It is not for concurrent use.
type Checker struct{}

// NewChecker returns a checker of one answer to req.
func NewChecker(req *Request, head Head) *Checker { return &Checker{} }

// Feed judges the next bytes of the body, cut anywhere, which arrived at the
// given time after the answer's first byte. It keeps nothing of p.
func (c *Checker) Feed(at time.Duration, p []byte) {}

// Finish ends the turn and returns the verdict. Feed must not be called after it.
func (c *Checker) Finish(how Ending) Verdict { return Verdict{Outcome: Unverified} }
