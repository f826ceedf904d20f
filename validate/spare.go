package validate

import "turnwatch/validate/wire"

// spare is what most turns have one of, empty. It goes on with the checker, and
// with the memory behind it, from turn to turn: a short one takes hardly any of
// its own.
type spare struct {
	choice *choice
	call   *call
	reader *reader
	args   *reader // of the strings in arguments
}

// another is what is spare, which no more is it then, or a new one.
func another[T any](spare **T) *T {
	v := *spare
	if v == nil {
		return new(T)
	}
	*spare = nil
	return v
}

// maxSpare bounds each buffer that goes on, and manySpare each list: a silent
// stream holds them.
const (
	maxSpare  = 2 << 10
	manySpare = 16
)

// Free gives the checker's memory to another turn. After it, the checker must
// not be used; what its methods returned stays as it is. It does nothing to one
// that has not finished, or that was made without a memory.
func (c *Checker) Free() {
	if c == nil || !c.ended || c.req.Schemas == nil {
		return
	}
	s := c.req.Schemas
	c.renew()
	s.checkers.Put(c)
}

// checker is a new one, in memory that another may have given.
func (s *Schemas) checker() *Checker {
	if s != nil {
		if c, ok := s.checkers.Get().(*Checker); ok {
			return c
		}
	}
	return new(Checker)
}

// renew makes the checker a new one. Only empty buffers stay.
func (c *Checker) renew() {
	c.dec.Renew()
	dec, spare, order, reports := c.dec, c.renewed(), c.place.order.renewed(), c.place.reports.renewed()
	body, buf, clk := emptied(c.body), emptied(c.buf), c.clk.renewed()
	choices, schemas := cleared(c.choices), cleared(c.schemas)
	*c = Checker{} // in place: a literal with the rest in it is made elsewhere and copied
	c.dec, c.spare, c.place.order, c.place.reports = dec, spare, order, reports
	c.body, c.buf, c.clk = body, buf, clk
	c.choices, c.schemas = choices, schemas
}

// renewed is what the turn had one of, for the next one.
func (c *Checker) renewed() spare {
	s := c.spare
	if len(c.choices) == 0 {
		return s
	}
	for _, ch := range c.choices {
		for _, k := range ch.calls {
			k.held.run.Free()
		}
	}
	ch := c.choices[0]
	if len(ch.calls) > 0 {
		k := ch.calls[0]
		s.call = k
		*k = call{args: emptied(k.args), trail: trail{buf: emptied(k.trail.buf)}, joiner: renewed(k.joiner)}
	}
	for _, r := range ch.texts {
		if r != nil {
			s.reader = r
			r.renew()
		}
	}
	s.choice = ch
	if ch.said != nil {
		ch.said.Renew()
	}
	ch.echo.Renew()
	*ch = choice{calls: cleared(ch.calls), said: ch.said, echo: ch.echo}
	return s
}

// renew makes the reader a new one, in the same memory.
func (r *reader) renew() {
	*r = reader{waiting: emptied(r.waiting), track: track{buf: emptied(r.track.buf)}, joiner: renewed(r.joiner)}
}

func (c *clock) renewed() clock { return clock{buf: emptied(c.buf)} }

func renewed(j wire.Joiner) wire.Joiner {
	return wire.Joiner{Odds: j.Odds[:0:min(cap(j.Odds), manySpare)]}
}

// emptied is a buffer that goes on, nil if it has become large.
func emptied(p []byte) []byte {
	if cap(p) > maxSpare {
		return nil
	}
	return p[:0]
}

// cleared is a list that goes on without what was in it.
func cleared[T any](list []T) []T {
	if cap(list) > manySpare {
		return nil
	}
	clear(list)
	return list[:0]
}
