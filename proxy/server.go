package proxy

import (
	"context"
	"net"
)

// Server relays the requests of clients to one upstream and judges the turns
// among them.
type Server struct{}

// New makes a server. The sinks are given every turn.
func New(cfg Config, sinks ...Sink) (*Server, error) { return &Server{}, nil }

// Serve relays for the clients that ln accepts until Shutdown. It returns nil
// after a Shutdown, else why it had to stop. It may be called for several listeners. A
// listener whose connections are not TCP or unix sockets, or TLS over them (see ListenTLS),
// is refused.
func (s *Server) Serve(ln net.Listener) error { return nil }

// Shutdown stops accepting, closes idle connections, lets answers in progress
// end until ctx is done, then cuts them, and returns when every turn was
// judged and handed to the sinks. The error is ctx's if anything was cut.
func (s *Server) Shutdown(ctx context.Context) error { return nil }
