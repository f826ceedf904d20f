package proxy

// Watched is how many clients are watched for their end.
func (s *Server) Watched() int {
	s.watch.mu.Lock()
	defer s.watch.mu.Unlock()
	return len(s.watch.socks)
}
