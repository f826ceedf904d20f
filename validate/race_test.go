//go:build race

package validate

// stride is how far apart the cuts of a stream are.
const stride = 17

// slower is how much slower than usual tests run.
const slower = 15
