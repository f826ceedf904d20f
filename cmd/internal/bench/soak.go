package bench

// Soak is.
type Soak struct{}
