package echo

import (
	"hash/maphash"
	"sync"
)

// Memory remembers the indexes of stretches of requests by the hash of their
// bytes: an agent sends its whole conversation again with every turn, and all
// but its end was indexed before. No text is kept. It is bounded: what was not
// used for two generations is forgotten. It may be used concurrently.
type Memory struct {
	seed maphash.Seed
	most int // indexes in a generation

	mu         sync.Mutex
	young, old map[uint64][]uint64
}

// NewMemory returns a memory that takes about maxBytes at most.
func NewMemory(maxBytes int) *Memory {
	const each = 8*chunkSize/perRow + 64
	return &Memory{seed: maphash.MakeSeed(), most: maxBytes / each / 2, young: map[uint64][]uint64{}}
}

// key names a stretch of a text, and what its last grams reach into behind it.
func (m *Memory) key(text []byte, from int) uint64 {
	return maphash.Bytes(m.seed, text[from:min(from+chunkSize+gram-1, len(text))])
}

// get returns the index with a key, which nobody may change, nil if there is
// none.
func (m *Memory) get(key uint64) []uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	rows := m.young[key]
	if rows == nil {
		if rows = m.old[key]; rows != nil {
			m.add(key, rows)
		}
	}
	return rows
}

// put takes over an index.
func (m *Memory) put(key uint64, rows []uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.add(key, rows)
}

func (m *Memory) add(key uint64, rows []uint64) {
	if m.most == 0 {
		return
	}
	if len(m.young) >= m.most {
		m.young, m.old = make(map[uint64][]uint64, m.most), m.young
	}
	m.young[key] = rows
}
