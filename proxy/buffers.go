package proxy

import (
	"sync"
	"unsafe"
)

// buffers lends byte slices, so that a turn allocates none of its own. It keeps
// where they begin, because putting a slice back would allocate its header.
type buffers struct{ tiny, small, large, huge, whole sync.Pool }

// The sizes of buffers that are kept, up to those of the largest body that is read
// whole: to make room of such a size is to clear it, which costs half as much as
// to read into it.
const (
	tinyBuffer  = 4 << 10
	smallBuffer = relayPiece
	largeBuffer = 128 << 10
	hugeBuffer  = 512 << 10
)

// kind returns where buffers with room for size bytes are kept, and how much they
// have; nil where they are left to the garbage collector.
func (b *buffers) kind(size int) (pool *sync.Pool, room int) {
	switch {
	case size <= tinyBuffer:
		return &b.tiny, tinyBuffer
	case size <= smallBuffer:
		return &b.small, smallBuffer
	case size <= largeBuffer:
		return &b.large, largeBuffer
	case size <= hugeBuffer:
		return &b.huge, hugeBuffer
	case size <= wholeBody:
		return &b.whole, wholeBody
	}
	return nil, size
}

// get returns an empty slice with room for size bytes.
func (b *buffers) get(size int) []byte {
	pool, room := b.kind(size)
	if pool != nil {
		if p, ok := pool.Get().(*byte); ok {
			return unsafe.Slice(p, room)[:0]
		}
	}
	return make([]byte, 0, room)
}

// put takes back what get lent, or nothing.
func (b *buffers) put(p []byte) {
	if cap(p) == 0 {
		return
	}
	if pool, room := b.kind(cap(p)); pool != nil && room == cap(p) {
		pool.Put(unsafe.SliceData(p))
	}
}
