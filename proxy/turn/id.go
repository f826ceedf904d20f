package turn

import (
	"math/rand/v2"
	"time"
)

// idDigits are in ascending order, so that identifiers sort as their bits do;
// i, l, o and u are left out because they are misread.
const idDigits = "0123456789abcdefghjkmnpqrstvwxyz"

// NewID returns an identifier for a turn: 26 characters, of which ten tell the
// millisecond and sixteen are random (80 bits). It sorts by time; within one
// millisecond the order is arbitrary.
func NewID() string { return NewIDAt(time.Now()) }

// NewIDAt is NewID for those who know the time.
func NewIDAt(now time.Time) string { return id(now.UnixMilli(), rand.Uint64(), rand.Uint64()) }

// id takes 40 bits of each of two random numbers.
func id(ms int64, hi, lo uint64) string {
	var b [26]byte
	digits(b[:10], uint64(ms))
	digits(b[10:18], hi)
	digits(b[18:], lo)
	return string(b[:])
}

// digits fills b with the low 5*len(b) bits of n.
func digits(b []byte, n uint64) {
	for i := len(b) - 1; i >= 0; i-- {
		b[i] = idDigits[n&31]
		n >>= 5
	}
}
