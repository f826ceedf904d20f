//go:build race

package schema

// slower is how much slower than usual tests run.
const slower = 15
