package validate

// Kind names what is wrong. The set is closed: it is also a metric label.
type Kind string

// Reason says why a turn is unverified. The set is closed.
type Reason string

// Lint names a protocol oddity that is no corruption. The set is closed.
type Lint string
