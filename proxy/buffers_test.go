package proxy

import (
	"testing"
	"unsafe"
)

// TestBuffersAreLentAgain: of whatever size, but for what is larger than any or no
// buffer of ours.
func TestBuffersAreLentAgain(t *testing.T) {
	for _, size := range []int{0, 1, tinyBuffer, tinyBuffer + 1, smallBuffer, smallBuffer + 1, largeBuffer, largeBuffer + 1,
		hugeBuffer, hugeBuffer + 1, wholeBody} {
		var b buffers
		got := b.get(size)
		if len(got) != 0 || cap(got) < size {
			t.Errorf("%d: got a length of %d and room for %d", size, len(got), cap(got))
		}
		if !again(&b, got, size) {
			t.Errorf("%d: another one was lent", size)
		}
		if again(&b, got[:cap(got)][1:], size) {
			t.Errorf("%d: a part of it was lent", size)
		}
	}
	var b buffers
	if got := b.get(wholeBody + 1); cap(got) < wholeBody+1 || again(&b, got, wholeBody+1) {
		t.Errorf("beyond the largest: got room for %d, want what is not kept", cap(got))
	}
	b.put(nil)
}

// again reports whether what was put back is lent next. A pool may forget, and with
// the race detector does so on purpose.
func again(b *buffers, p []byte, size int) bool {
	for range 100 {
		b.put(p)
		if unsafe.SliceData(b.get(size)) == unsafe.SliceData(p) {
			return true
		}
	}
	return false
}
