// Package direct makes clients for requests of our own to a server, which do not
// go by way of the relay: polls, facts, second opinions.
package direct

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"strings"
	"time"
)

// maxHead is the longest head of an answer that is read.
const maxHead = 64 << 10

// Client returns a client for a server, given as http://host:port,
// https://host:port or unix:/path, and what its URLs begin with. It reads heads
// of 64 KiB at most and goes by no proxy of the environment. The transport is
// the client's, for further bounds.
func Client(server string, conf *tls.Config) (base string, c *http.Client, t *http.Transport) {
	dial := (&net.Dialer{Timeout: 10 * time.Second}).DialContext
	base = strings.TrimRight(server, "/")
	if path, ok := strings.CutPrefix(server, "unix:"); ok {
		base = "http://localhost"
		dial = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", path)
		}
	}
	t = &http.Transport{
		DialContext:            dial,
		TLSClientConfig:        conf,
		TLSHandshakeTimeout:    10 * time.Second,
		IdleConnTimeout:        2 * time.Second, // SGLang closes them after 5
		MaxResponseHeaderBytes: maxHead,
	}
	return base, &http.Client{Transport: t, CheckRedirect: stay}, t
}

// stay follows no redirection: another place is not the server, and must not get
// its key.
func stay(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
