package proxy

// SetJudgeMemory bounds the bytes that are held for judging from now on. What is
// held already stays: with less room than that, turns find none until there is.
func (s *Server) SetJudgeMemory(n int64) { s.budget.max.Store(max(0, n-s.echoSize)) }

// SetCapture bounds the bytes of a body that are kept from now on, where
// [Config.Capture] has them kept.
func (s *Server) SetCapture(n int64) { s.captured.Store(n) }
