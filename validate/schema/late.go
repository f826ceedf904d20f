package schema

import (
	"sync"
	"sync/atomic"
)

// late is a schema with the patterns that only a backtracker knows. The text
// is held against it once it is whole and conforms to all the rest.
type late struct {
	once   sync.Once
	done   atomic.Bool
	schema *Schema // nil if it is none
}

// compile makes the schema, if the budget affords it.
func (l *late) compile(s *Schema, b *Budget) *Schema {
	if !l.done.Load() && !b.pay(perByteLibrary*len(s.library.raw)) {
		return nil
	}
	l.once.Do(func() {
		defer l.done.Store(true)
		doc, err := decode(s.library.raw)
		if err != nil {
			return
		}
		m := newMender(doc)
		m.backs = map[string]*backtracker{}
		mended, ok := m.mend(doc)
		full := &Schema{names: s.names, lost: m.lost}
		if ok && len(m.backs) > 0 && full.assemble(mended, m) && full.program != nil {
			l.schema = full
		}
	})
	return l.schema
}

// again holds a whole text against all of the schema. What it cannot say
// leaves everything as it was.
func (c *Checker) again(text []byte) {
	full := c.s.late.compile(c.s, c.budget)
	if full == nil {
		return
	}
	k := full.Checker(c.budget)
	k.Feed(text)
	if found, st := k.Finish(text); st == Ready {
		c.found, c.late = found, full
	}
}
