package turn

import (
	"crypto/rand"
	"encoding/binary"
	"time"
)

// idDigits are in ascending order, so that identifiers sort as their bits do;
// i, l, o and u are left out because they are misread.
const idDigits = "0123456789abcdefghjkmnpqrstvwxyz"

// NewID returns an identifier for a turn: 26 characters, of which ten tell the
// millisecond and sixteen are random (80 bits). It sorts by time; within one
// millisecond the order is arbitrary.
func NewID() string {
	var r [10]byte
	rand.Read(r[:]) // never fails: it crashes the program instead
	return id(time.Now().UnixMilli(), r)
}

func id(ms int64, r [10]byte) string {
	var b [26]byte
	digits(b[:10], uint64(ms))
	digits(b[10:18], be40(r[:5]))
	digits(b[18:], be40(r[5:]))
	return string(b[:])
}

// be40 reads five bytes.
func be40(p []byte) uint64 {
	return uint64(p[0])<<32 | uint64(binary.BigEndian.Uint32(p[1:]))
}

// digits fills b with the low 5*len(b) bits of n.
func digits(b []byte, n uint64) {
	for i := len(b) - 1; i >= 0; i-- {
		b[i] = idDigits[n&31]
		n >>= 5
	}
}
