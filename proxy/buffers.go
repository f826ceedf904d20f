package proxy

import "sync"

// buffers lends byte slices, so that a turn allocates none of its own. It
// keeps arrays, because putting a slice back would allocate its header.
type buffers struct{ tiny, small, large sync.Pool }

// The sizes of buffers that are kept. What is larger than any is left to the
// garbage collector: few requests are, and they would pin their memory.
const (
	tinyBuffer  = 4 << 10
	smallBuffer = relayPiece
	largeBuffer = 128 << 10
)

// get returns an empty slice with room for size bytes.
func (b *buffers) get(size int) []byte {
	switch {
	case size > largeBuffer:
		return make([]byte, 0, size)
	case size > smallBuffer:
		if p, ok := b.large.Get().(*[largeBuffer]byte); ok {
			return p[:0]
		}
		return make([]byte, 0, largeBuffer)
	case size <= tinyBuffer:
		if p, ok := b.tiny.Get().(*[tinyBuffer]byte); ok {
			return p[:0]
		}
		return make([]byte, 0, tinyBuffer)
	}
	if p, ok := b.small.Get().(*[smallBuffer]byte); ok {
		return p[:0]
	}
	return make([]byte, 0, smallBuffer)
}

// put takes back what get lent, or nothing.
func (b *buffers) put(p []byte) {
	switch cap(p) {
	case tinyBuffer:
		b.tiny.Put((*[tinyBuffer]byte)(p[:tinyBuffer]))
	case smallBuffer:
		b.small.Put((*[smallBuffer]byte)(p[:smallBuffer]))
	case largeBuffer:
		b.large.Put((*[largeBuffer]byte)(p[:largeBuffer]))
	}
}
