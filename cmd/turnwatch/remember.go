package main

import (
	"context"

	"turnwatch/proxy/journal"
)

// memory brings back what the journal says of earlier pairs, beside the first turns: what
// it adds up does not depend on the order.
type memory struct {
	past   *journal.Past
	cancel context.CancelFunc
	done   chan struct{}
}

// openMemory opens the journal's past, before anything is added to it. Without shadow
// traffic nobody asks for it.
func (s *service) openMemory() error {
	if len(s.arms) == 0 || s.o.journal == "" || s.o.journal == "-" {
		return nil
	}
	past, err := journal.OpenPast(s.o.journal)
	if err != nil {
		return err
	}
	s.memory = &memory{past: past, done: make(chan struct{})}
	return nil
}

// remember reads it.
func (s *service) remember() {
	m := s.memory
	if m == nil {
		return
	}
	var ctx context.Context
	ctx, m.cancel = context.WithCancel(context.Background())
	go func() {
		defer close(m.done)
		defer m.past.Close()
		n := 0
		for p, err := range journal.Pairs(m.past) {
			if err != nil {
				s.log.Warn("not all earlier pairs of answers could be read from the journal", "error", err)
			}
			if err != nil || ctx.Err() != nil {
				return
			}
			s.cfg.Shadow.Book.Add(p)
			n++
		}
		s.log.Info("read earlier pairs of answers from the journal", "pairs", n)
	}()
}

// stopMemory ends that, or leaves it behind when ctx is done: a file may hang.
func (s *service) stopMemory(ctx context.Context) {
	if s.memory == nil {
		return
	}
	s.memory.cancel()
	select {
	case <-s.memory.done:
	case <-ctx.Done():
	}
}
