package proxy

import "context"

// Reach connects to the server, TLS handshake included, sends nothing and
// closes the connection again. It asks no endpoint: SGLang's /health runs a
// request through the model.
func (s *Server) Reach(ctx context.Context) error {
	probe := upstream{network: s.up.network, addr: s.up.addr, tls: s.up.tls, timeout: s.up.timeout, stats: new(Stats)}
	c, err := probe.dial(ctx)
	if err != nil {
		return err
	}
	return c.Close()
}
