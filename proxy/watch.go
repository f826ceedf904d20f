package proxy

// gone reports whether the peer has left.
func (s *socket) gone() bool { return s.left.Load() }

// leave marks the peer as gone and does what was asked for that case.
func (s *socket) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.left.Store(true)
	if f := s.onGone; f != nil {
		s.onGone = nil
		f()
	}
}

// whenGone makes f run once the peer has gone, at once if it has already; nil
// takes f away. f runs under the socket's lock and must not block. Once
// whenGone(nil) has returned, f is not running and will not run: only then may
// what f closes be given to somebody else.
func (s *socket) whenGone(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.onGone = f
	if f != nil && s.left.Load() {
		s.onGone = nil
		f()
	}
}
