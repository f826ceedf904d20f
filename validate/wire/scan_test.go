package wire

import (
	"bytes"
	"testing"
)

// TestPlainEndsInFrontOfWhatIsOdd puts each byte at each place of a text, with
// bytes behind it that a borrow might mark.
func TestPlainEndsInFrontOfWhatIsOdd(t *testing.T) {
	for _, fill := range []byte{' ', '!', '#', 0x7F, 0x80, 0xFF} {
		for at := range 50 {
			for b := range 256 {
				text := bytes.Repeat([]byte{fill}, 50)
				text[at] = byte(b)
				want := len(text)
				if b < 0x20 || b == '"' || b == '\\' {
					want = at
				}
				if got := plain(text); got != want {
					t.Fatalf("%#x at %d of %#x: got %d, want %d", b, at, fill, got, want)
				}
			}
		}
	}
}
