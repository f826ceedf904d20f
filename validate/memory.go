package validate

import "sync"

// memory remembers values by hash, in two generations of bounded size: what was
// not asked for while a generation filled is forgotten with it. It may be used
// concurrently.
type memory[V any] struct {
	max int // bytes of each generation

	mu         sync.Mutex
	young, old map[uint64]remembered[V]
	size       int // bytes of young
}

type remembered[V any] struct {
	v    V
	size int
}

func newMemory[V any](maxBytes int) memory[V] {
	return memory[V]{max: maxBytes / 2, young: map[uint64]remembered[V]{}}
}

func (m *memory[V]) get(key uint64) (v V, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if r, ok := m.young[key]; ok {
		return r.v, true
	}
	r, ok := m.old[key]
	if ok {
		m.add(key, r)
	}
	return r.v, ok
}

// put remembers a value, which must not change any more, unless it is larger
// than a generation.
func (m *memory[V]) put(key uint64, v V, size int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.add(key, remembered[V]{v, size})
}

func (m *memory[V]) add(key uint64, r remembered[V]) {
	if r.size > m.max {
		return
	}
	if m.size+r.size > m.max {
		m.old, m.young, m.size = m.young, map[uint64]remembered[V]{}, 0
	}
	m.young[key] = r
	m.size += r.size
}
