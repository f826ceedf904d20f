package proxy_test

import (
	"strings"
	"testing"

	"turnwatch/proxy"
)

const (
	upgrade   = "GET /ws HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: k\r\n\r\n"
	switching = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nX-A: 1\r\n\r\n"
)

// TestUpgradeBecomesATunnel: any bytes, both ways, until either side leaves.
func TestUpgradeBecomesATunnel(t *testing.T) {
	for _, network := range []string{"tcp", "tls", "unix"} {
		for _, first := range []string{"client", "server"} {
			t.Run(network+", closed by the "+first, func(t *testing.T) {
				up := listen(t, network)
				c := startOn(t, network, proxy.Config{Upstream: up.url}).dial()
				s := ask(up, c, upgrade)
				s.send(switching)
				c.read(switching)
				for range 3 {
					c.send(allBytes())
					s.read(allBytes())
					s.send("HTTP/1.1 400 not a head\r\n\r\n")
					c.read("HTTP/1.1 400 not a head\r\n\r\n")
				}
				if first == "client" {
					c.fin()
					s.ends()
				} else {
					s.fin()
					c.ends()
				}
			})
		}
	}
}

// TestTunnelCarriesWhatCameEarly: bytes right behind a head are the tunnel's.
func TestTunnelCarriesWhatCameEarly(t *testing.T) {
	up := listen(t, "tcp")
	c := start(t, up, proxy.Config{}).dial()
	c.send(upgrade + "GET /early HTTP/1.1\r\n\r\n")
	s := up.next()
	s.read(upgrade)
	s.send(switching + "hello from the server")
	c.read(switching + "hello from the server")
	s.read("GET /early HTTP/1.1\r\n\r\n")
	c.send("and more")
	s.read("and more")
}

// TestTunnelIsFullDuplex: neither direction waits for the other.
func TestTunnelIsFullDuplex(t *testing.T) {
	up := listen(t, "tcp")
	c := start(t, up, proxy.Config{}).dial()
	s := ask(up, c, upgrade)
	s.send(switching)
	c.read(switching)
	const n = 8 << 20
	go s.conn.Write([]byte(pattern(n)))
	go c.conn.Write([]byte(pattern(n)))
	c.read(pattern(n))
	s.read(pattern(n))
}

// TestTunnelOfAVanishedPeerEnds with an RST too.
func TestTunnelOfAVanishedPeerEnds(t *testing.T) {
	for _, first := range []string{"client", "server"} {
		up := listen(t, "tcp")
		c := start(t, up, proxy.Config{}).dial()
		s := ask(up, c, upgrade)
		s.send(switching)
		c.read(switching)
		if first == "client" {
			c.rst()
			s.ends()
		} else {
			s.rst()
			c.ends()
		}
	}
}

// TestUpgradeIsForwardedWithoutTheRestOfConnection.
func TestUpgradeIsForwardedWithoutTheRestOfConnection(t *testing.T) {
	up := listen(t, "tcp")
	c := start(t, up, proxy.Config{}).dial()
	c.send(head("GET / HTTP/1.1", "Host: x", "Connection: keep-alive, upgrade, X-A", "X-A: 1", "Upgrade: a/1, b", "X-B: 2"))
	s := up.next()
	got := s.until("\r\n\r\n")
	if want := head("GET / HTTP/1.1", "Host: x", "Connection: upgrade", "Upgrade: a/1, b", "X-B: 2"); !strings.EqualFold(got, want) {
		t.Errorf("server: got %q, want %q", got, want)
	}
	s.send(empty)
	c.read(empty)
	again(t, up, c)
}

// TestRefusedUpgradeIsAnOrdinaryExchange: what came behind it is a request.
func TestRefusedUpgradeIsAnOrdinaryExchange(t *testing.T) {
	for _, status := range []string{"HTTP/1.1 200 OK", "HTTP/1.1 400 No", "HTTP/1.1 426 Upgrade Required"} {
		up := listen(t, "tcp")
		c := start(t, up, proxy.Config{}).dial()
		c.send(upgrade + post)
		s := up.next()
		s.read(upgrade)
		up.untouched()
		s.send(head(status, "Content-Length: 2") + "no")
		c.read(head(status, "Content-Length: 2") + "no")
		s = up.next()
		s.read(post)
		s.send(empty)
		c.read(empty)
		again(t, up, c)
	}
}

// TestSwitchThatNobodyAskedForIsRefused: it would open a tunnel past us.
func TestSwitchThatNobodyAskedForIsRefused(t *testing.T) {
	up := listen(t, "tcp")
	c := start(t, up, proxy.Config{}).dial()
	s := ask(up, c, get)
	s.send(switching)
	failed(t, c, "502", "head")
	s.ends()
}

// TestSwitchBeforeTheRequestsEndIsRefused: the rest of a body would be the
// tunnel's first bytes.
func TestSwitchBeforeTheRequestsEndIsRefused(t *testing.T) {
	for request, answer := range map[string]string{"GET /ws": switching, "CONNECT x:1": head("HTTP/1.1 200 OK")} {
		up := listen(t, "tcp")
		c := start(t, up, proxy.Config{}).dial()
		c.send(head(request+" HTTP/1.1", "Host: x", "Connection: Upgrade", "Upgrade: websocket", "Content-Length: 3145728") + pattern(2<<20))
		s := up.next()
		s.until("\r\n\r\n")
		s.send(answer)
		failed(t, c, "502", "head")
		s.rest()
		c.ends()
	}
}

// TestTunnelOfACONNECT opens only when the server agrees.
func TestTunnelOfACONNECT(t *testing.T) {
	const connect = "CONNECT other.example:443 HTTP/1.1\r\nHost: other.example:443\r\n\r\n"
	up := listen(t, "tcp")
	p := start(t, up, proxy.Config{})
	c := p.dial()
	ask(up, c, connect).send(head("HTTP/1.1 405 No", "Content-Length: 2") + "no")
	c.read(head("HTTP/1.1 405 No", "Content-Length: 2") + "no")
	again(t, up, c)
	s := ask(up, c, connect)
	s.send(head("HTTP/1.1 200 OK"))
	c.read(head("HTTP/1.1 200 OK"))
	c.send("\x16\x03\x01\n\n")
	s.read("\x16\x03\x01\n\n")
	s.fin()
	c.ends()
}

// TestUpgradeAfterInterimAnswers: the switch is the final answer.
func TestUpgradeAfterInterimAnswers(t *testing.T) {
	up := listen(t, "tcp")
	c := start(t, up, proxy.Config{}).dial()
	s := ask(up, c, upgrade)
	s.send(head("HTTP/1.1 103 x"))
	c.read(head("HTTP/1.1 103 x"))
	s.send(switching + "hi")
	c.read(switching + "hi")
	c.send("ho")
	s.read("ho")
}
