package second

import (
	"context"
	"time"
)

// calm waits until the server runs at most so many requests and none wait, and the
// relay is not late; false where that does not come in time. Where the load cannot be
// learnt the server is taken to be calm, but not idle.
func (a *Asker) calm(most int) bool {
	ctx, cancel := context.WithTimeout(a.ctx, a.cfg.Patience)
	defer cancel()
	for !a.calmNow(ctx, most) {
		t := time.NewTimer(a.cfg.Every)
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return false
		}
	}
	return ctx.Err() == nil
}

func (a *Asker) calmNow(ctx context.Context, most int) bool {
	if a.cfg.Strained != nil && a.cfg.Strained() {
		return false
	}
	if a.cfg.Load == nil {
		return most > 0
	}
	ctx, cancel := context.WithTimeout(ctx, loadTimeout)
	defer cancel()
	running, waiting, err := a.cfg.Load(ctx)
	if err != nil {
		return most > 0 && ctx.Err() == nil
	}
	return running <= most && waiting == 0
}

// loadTimeout bounds one question for the load: a server that does not answer it
// in time is not calm.
const loadTimeout = 2 * time.Second
