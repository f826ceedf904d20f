package schema

import (
	"bytes"
	"container/list"
	"hash/maphash"
	"sync"
)

// Cache keeps compiled schemas by their text. It may be used concurrently.
type Cache struct {
	seed maphash.Seed
	max  int // bytes of text

	mu    sync.Mutex
	bytes int
	byKey map[uint64]*list.Element
	used  list.List // of *entry, most recently used first
}

type entry struct {
	key    uint64
	raw    []byte
	schema *Schema
}

// NewCache returns a cache of schemas whose text is at most that many bytes in
// all. A compiled schema takes some twenty times its text.
func NewCache(maxBytes int) *Cache {
	return &Cache{seed: maphash.MakeSeed(), max: maxBytes, byKey: map[uint64]*list.Element{}}
}

// Compile is Compile with a memory. A nil Cache has none.
func (c *Cache) Compile(raw []byte) *Schema {
	if c == nil || len(raw) > MaxBytes {
		return Compile(raw)
	}
	key := maphash.Bytes(c.seed, raw)
	if s := c.find(key, raw); s != nil {
		return s
	}
	s := Compile(raw)
	c.add(&entry{key: key, raw: bytes.Clone(raw), schema: s})
	return s
}

func (c *Cache) find(key uint64, raw []byte) *Schema {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.byKey[key]
	if !ok || !bytes.Equal(e.Value.(*entry).raw, raw) {
		return nil
	}
	c.used.MoveToFront(e)
	return e.Value.(*entry).schema
}

// overhead is what an entry counts beside its text.
const overhead = 256

func (c *Cache) add(e *entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if old, ok := c.byKey[e.key]; ok {
		c.remove(old)
	}
	c.byKey[e.key] = c.used.PushFront(e)
	c.bytes += len(e.raw) + overhead
	for c.bytes > c.max && c.used.Len() > 1 {
		c.remove(c.used.Back())
	}
}

func (c *Cache) remove(e *list.Element) {
	old := c.used.Remove(e).(*entry)
	delete(c.byKey, old.key)
	c.bytes -= len(old.raw) + overhead
}
