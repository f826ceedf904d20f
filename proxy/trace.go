package proxy

import "turnwatch/proxy/turn"

// trace finds the turn's place in the caller's trace. Where that was asked
// for, it makes the turn the parent of what the server does: the only change
// to a request that turnwatch can make.
func (o *observer) trace(x *exchange, parents, states []string) {
	if o.t.Trace = turn.Continue(parents, states); o.s.cfg.Inject {
		x.req.fields = injected(x.req.fields, &o.t.Trace)
	}
}

// ownFields returns what a request's fields say of the turn itself: what the client
// calls it, and its place in the caller's trace.
func ownFields(block []byte) (id []byte, parents, states []string) {
	for line, rest, ok := cutLine(block); ok && len(line) > 0; line, rest, ok = cutLine(rest) {
		switch {
		case names(line, "x-request-id"):
			if _, value := cutField(line); id == nil {
				id = value
			}
		case names(line, "traceparent"):
			_, value := cutField(line)
			parents = append(parents, string(value))
		case names(line, "tracestate"):
			_, value := cutField(line)
			states = append(states, string(value))
		}
	}
	return id, parents, states
}

// injected returns the fields with the turn in the caller's place. A tracestate
// stays where it has its traceparent still.
func injected(block []byte, t *turn.Trace) []byte {
	out := make([]byte, 0, len(block)+128)
	for line, rest, ok := cutLine(block); ok && len(line) > 0; line, rest, ok = cutLine(rest) {
		if names(line, "traceparent") || t.State == "" && names(line, "tracestate") {
			continue
		}
		out = append(append(out, line...), "\r\n"...)
	}
	return append(out, "traceparent: "+t.Traceparent()+"\r\n\r\n"...)
}
