package proxy

import "turnwatch/proxy/turn"

// trace finds the turn's place in the caller's trace. Where that was asked
// for, it makes the turn the parent of what the server does: the only change
// to a request that turnwatch can make.
func (o *observer) trace(x *exchange) {
	parents, states := traceFields(x.req.fields)
	if o.t.Trace = turn.Continue(parents, states); o.s.cfg.Inject {
		x.req.fields = injected(x.req.fields, &o.t.Trace)
	}
}

// isTrace tells the two fields of W3C Trace Context from others.
func isTrace(name []byte) (parent, state bool) {
	switch len(name) {
	case len("traceparent"):
		return is(name, "traceparent"), false
	case len("tracestate"):
		return false, is(name, "tracestate")
	}
	return false, false
}

func traceFields(block []byte) (parents, states []string) {
	for line, rest, ok := cutLine(block); ok && len(line) > 0; line, rest, ok = cutLine(rest) {
		name, value := cutField(line)
		if parent, state := isTrace(name); parent {
			parents = append(parents, string(value))
		} else if state {
			states = append(states, string(value))
		}
	}
	return parents, states
}

// injected returns the fields with the turn in the caller's place. A tracestate
// stays where it has its traceparent still.
func injected(block []byte, t *turn.Trace) []byte {
	out := make([]byte, 0, len(block)+128)
	for line, rest, ok := cutLine(block); ok && len(line) > 0; line, rest, ok = cutLine(rest) {
		name, _ := cutField(line)
		if parent, state := isTrace(name); parent || state && t.State == "" {
			continue
		}
		out = append(append(out, line...), "\r\n"...)
	}
	return append(out, "traceparent: "+t.Traceparent()+"\r\n\r\n"...)
}
