package schema

import (
	"bytes"
	"container/list"
	"hash/maphash"
	"sync"
)

// Cache keeps compiled schemas by their text. It may be used concurrently: a
// schema that many ask for at once is compiled once.
type Cache struct {
	seed maphash.Seed
	max  int // bytes

	mu    sync.Mutex
	bytes int
	byKey map[uint64]*list.Element
	used  list.List // of *entry, most recently used first
}

type entry struct {
	key    uint64
	raw    []byte
	once   sync.Once
	schema *Schema // set by once
	size   int     // what it counts; guarded by the mu of the cache
}

// NewCache returns a cache that keeps about that many bytes at most.
func NewCache(maxBytes int) *Cache {
	return &Cache{seed: maphash.MakeSeed(), max: maxBytes, byKey: map[uint64]*list.Element{}}
}

// Compile is Compile with a memory. A nil Cache has none.
func (c *Cache) Compile(raw []byte) *Schema {
	if c == nil || len(raw) > MaxBytes {
		return Compile(raw)
	}
	return c.compiled(c.entry(maphash.Bytes(c.seed, raw), raw))
}

// compiled is the schema of an entry, compiled if nobody has done so yet.
func (c *Cache) compiled(e *entry) *Schema {
	e.once.Do(func() {
		e.schema = Compile(e.raw)
		c.grow(e, e.schema.size)
	})
	return e.schema
}

// known is the entry of a text, nil if there is none.
func (c *Cache) known(raw []byte) *entry {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	el, ok := c.byKey[maphash.Bytes(c.seed, raw)]
	if !ok || !bytes.Equal(el.Value.(*entry).raw, raw) {
		return nil
	}
	c.used.MoveToFront(el)
	return el.Value.(*entry)
}

// overhead is what an entry counts beside its text and its schema.
const overhead = 512

// entry finds or makes the entry of a text.
func (c *Cache) entry(key uint64, raw []byte) *entry {
	c.mu.Lock()
	defer c.mu.Unlock()
	if el, ok := c.byKey[key]; ok {
		e := el.Value.(*entry)
		if bytes.Equal(e.raw, raw) {
			c.used.MoveToFront(el)
			return e
		}
		c.remove(el)
	}
	e := &entry{key: key, raw: bytes.Clone(raw), size: len(raw) + overhead}
	c.byKey[key] = c.used.PushFront(e)
	c.bytes += e.size
	c.trim()
	return e
}

// grow counts what the schema of an entry takes, if it is still there.
func (c *Cache) grow(e *entry, size int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if el, ok := c.byKey[e.key]; ok && el.Value == e {
		e.size += size
		c.bytes += size
		c.trim()
	}
}

// trim forgets what was not used for the longest time. The last entry stays.
func (c *Cache) trim() {
	for c.bytes > c.max && c.used.Len() > 1 {
		c.remove(c.used.Back())
	}
}

func (c *Cache) remove(el *list.Element) {
	e := c.used.Remove(el).(*entry)
	delete(c.byKey, e.key)
	c.bytes -= e.size
}
