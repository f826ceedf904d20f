package proxy

import "sync"

// buffers lends byte slices, so that a turn allocates none of its own.
type buffers struct{ small, large sync.Pool }

// The sizes of buffers that are kept. What is larger than any is left to the
// garbage collector: few requests are, and they would pin their memory.
const (
	smallBuffer = relayPiece
	largeBuffer = 128 << 10
)

// get returns an empty slice with room for size bytes.
func (b *buffers) get(size int) []byte {
	pool, room := &b.small, smallBuffer
	if size > smallBuffer {
		pool, room = &b.large, largeBuffer
	}
	if size > largeBuffer {
		return make([]byte, 0, size)
	}
	if p, ok := pool.Get().(*[]byte); ok {
		return (*p)[:0]
	}
	return make([]byte, 0, room)
}

// put takes back what get lent, or nothing.
func (b *buffers) put(p []byte) {
	switch p = p[:0]; {
	case cap(p) == smallBuffer:
		b.small.Put(&p)
	case cap(p) == largeBuffer:
		b.large.Put(&p)
	}
}
