package proxy

import (
	"turnwatch/proxy/turn"
	"turnwatch/validate"
)

// Echo says what becomes of a value in an answer that is almost, but not quite,
// a copy of what its request holds.
type Echo string

// What becomes of it.
const (
	EchoSignal  Echo = ""        // it is told beside the verdict
	EchoVerdict Echo = "verdict" // … and makes the verdict once hardly any of those are wrong
	EchoOff     Echo = "off"     // it is not looked for
)

// echoShare is which part of the memory for judging is set aside for what is
// remembered of parameters, and of what requests repeat; maxEchoMemory bounds it.
const (
	echoShare     = 32
	maxEchoMemory = 8 << 20
)

// compares prepares comparing answers with their requests.
func (s *Server) compares() {
	if s.cfg.Echo == EchoOff {
		return
	}
	size := min(s.cfg.JudgeMemory/echoShare, maxEchoMemory)
	s.echoes = validate.NewEchoes(int(size))
	s.echoes.Convict = s.cfg.Echo == EchoVerdict
	s.echoSize = size
}

// EchoMetrics returns how far what is told of copies can be relied on.
func (s *Server) EchoMetrics() []Metric {
	if s.echoes == nil {
		return nil
	}
	return []Metric{Gauge("turnwatch_echo_false_discovery", s.echoes.FalseDiscovery())}
}

// compare keeps the request so that the answer can be compared with it, if
// there is room: without, all other checks are made.
func (o *observer) compare(body []byte) {
	if o.s.echoes == nil {
		return
	}
	n, b := o.s.echoes.Size(len(body)), o.budget().share(keepShare)
	if !b.take(n) {
		o.s.stats.Drop(turn.DropEchoMemory)
		return
	}
	o.compared = n
	o.s.echoes.Keep(o.req, body)
}

// uncompare gives the request back.
func (o *observer) uncompare() {
	o.req.Free()
	o.budget().used.Add(-o.compared)
	o.compared = 0
}
