package proxy

import "turnwatch/proxy/turn"

// Sink is given every turn once it was judged. Finish is called from several
// goroutines, off the relay's path. It must not keep or change the turn after
// it returned, nor its tags: both are used again. It should not block: a sink that
// does delays other turns' records, never a client. What a turn's Capture lends
// is lent for that call.
type Sink interface {
	Finish(*turn.Turn)
}
