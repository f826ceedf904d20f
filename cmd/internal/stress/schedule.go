package stress

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
)

// stages plays one concurrency after the other.
func (p *player) stages(ctx context.Context) {
	for stage, c := range p.load.Concurrency {
		if ctx.Err() != nil {
			return
		}
		beside, end := context.WithCancel(ctx)
		var wg sync.WaitGroup
		for i := range p.load.Companions {
			p.accompany(beside, &wg, i, stage)
		}
		p.stage(ctx, stage, c)
		end()
		wg.Wait()
	}
}

// accompany plays sessions of a companion on every target until ctx is done.
func (p *player) accompany(ctx context.Context, wg *sync.WaitGroup, i, stage int) {
	c := &p.load.Companions[i]
	for target := range p.servers {
		next := &p.beside[i*len(p.servers)+target]
		for range c.Concurrency {
			wg.Go(func() {
				for ctx.Err() == nil {
					n := int(next.Add(1)) - 1
					p.session(&c.Work, target, stage, n, i+1).play(ctx)
				}
			})
		}
	}
}

// numbers are those of the sessions that are to be played.
func (p *player) numbers(stage int) (all []int) {
	for n := range p.load.Sessions {
		if p.load.Skip == nil || !p.load.Skip(stage*p.load.Sessions+n) {
			all = append(all, n)
		}
	}
	return all
}

func (p *player) stage(ctx context.Context, stage, concurrency int) {
	all := p.numbers(stage)
	if len(p.servers) == 2 && p.load.Waves {
		p.waves(ctx, stage, concurrency, all)
		return
	}
	pace := newPace(len(p.servers), concurrency)
	defer context.AfterFunc(ctx, pace.end)()
	var wg sync.WaitGroup
	for target := range p.servers {
		wg.Go(func() { p.pool(ctx, target, stage, concurrency, all, pace) })
	}
	wg.Wait()
}

// waves lets the targets take turns: no session of the one begins before all of
// the other have ended. Which goes first alternates.
func (p *player) waves(ctx context.Context, stage, concurrency int, all []int) {
	first := 0
	for chunk := range slices.Chunk(all, concurrency) {
		for i := range 2 {
			p.pool(ctx, (first+i)%2, stage, concurrency, chunk, nil)
		}
		first = 1 - first
	}
}

// pool plays the sessions on a target, so many at a time.
func (p *player) pool(ctx context.Context, target, stage, concurrency int, all []int, pace *pace) {
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(concurrency, len(all)) {
		wg.Go(func() {
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= len(all) || !pace.wait(target, i) {
					return
				}
				s := p.session(&p.load.Work, target, stage, all[i], 0).play(ctx)
				pace.ended(target)
				p.played(s)
			}
		})
	}
	wg.Wait()
}

// played takes in a session that has ended.
func (p *player) played(s *Session) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.res.session(s)
	if p.load.Played == nil {
		return
	}
	if why := p.load.Played(s); why != "" {
		p.stop(reason(why))
	}
}

// pace keeps two targets side by side: neither begins a session that is further
// ahead of what the other has ended than it has room for.
type pace struct {
	lead int

	mu   sync.Mutex
	cond *sync.Cond
	done []int // sessions that each has ended
	over bool
}

func newPace(targets, lead int) *pace {
	s := &pace{lead: 2 * lead, done: make([]int, targets)}
	s.cond = sync.NewCond(&s.mu)
	return s
}

// wait waits until a target may begin its ith session, and reports false when
// there will be none. A nil pace never waits.
func (s *pace) wait(target, i int) bool {
	if s == nil {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for !s.over && i >= slices.Min(s.done)+s.lead {
		s.cond.Wait()
	}
	return !s.over
}

func (s *pace) ended(target int) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done[target]++
	s.cond.Broadcast()
}

// end lets nobody wait any longer.
func (s *pace) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
	s.cond.Broadcast()
}
