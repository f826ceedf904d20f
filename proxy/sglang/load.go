package sglang

import "context"

// AskLoad asks the server how many requests it is running, and how many wait there.
func (g *Tagger) AskLoad(ctx context.Context) (running, waiting int, err error) {
	body, err := g.poll.c.either(ctx, maxInfo, "/v1/loads", "/get_load")
	if err != nil {
		return 0, 0, err
	}
	r, err := parseLoads(body)
	for _, l := range r.loads {
		running, waiting = running+l.running, waiting+l.waiting
	}
	return running, waiting, err
}
