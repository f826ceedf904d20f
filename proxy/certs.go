package proxy

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"
)

// Certs makes TLS configurations from files and keeps them current: a
// handshake uses what the files held at most a second before. A change that
// cannot be used keeps the old material, is logged and counted.
type Certs struct {
	log   *slog.Logger
	every time.Duration
	pairs []*refreshed[*tls.Certificate]
	pools []*refreshed[*x509.CertPool]
}

// NewCerts returns a Certs that reports changes to log.
func NewCerts(log *slog.Logger) *Certs { return &Certs{log: log, every: refreshEvery} }

// UpstreamFiles says whom to trust, and who to be, towards an https server.
type UpstreamFiles struct {
	// Name must be in the server's certificate: a host name or an IP address.
	Name string
	// CA holds the authorities to trust. Default: the system's.
	CA string
	// Cert and Key are shown to a server that asks. Default: nothing is shown.
	Cert, Key string
	// Insecure accepts whatever certificate the server shows.
	Insecure bool
}

// commonTLS is what both sides have in common. Only HTTP/1.1 is spoken, so nothing
// else is offered.
func commonTLS() *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}}
}

// Listener returns the configuration of listeners that show a certificate.
func (c *Certs) Listener(certFile, keyFile string) (*tls.Config, error) {
	pair, err := c.pair("listener's certificate", certFile, keyFile)
	if err != nil {
		return nil, err
	}
	cfg := commonTLS()
	cfg.GetCertificate = func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return pair.get(), nil }
	return cfg, nil
}

// Upstream returns the configuration of connections to an https server.
func (c *Certs) Upstream(f UpstreamFiles) (*tls.Config, error) {
	if f.Name == "" && !f.Insecure {
		return nil, errors.New("trust an upstream by certificate: its name is not known")
	}
	cfg := commonTLS()
	cfg.ServerName = f.Name
	cfg.InsecureSkipVerify = f.Insecure
	if f.Cert != "" {
		pair, err := c.pair("certificate for the upstream", f.Cert, f.Key)
		if err != nil {
			return nil, err
		}
		cfg.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return pair.get(), nil }
	}
	if f.CA == "" || f.Insecure {
		return cfg, nil
	}
	pool, err := c.pool("authorities for the upstream", f.CA)
	if err != nil {
		return nil, err
	}
	// The pool of a tls.Config cannot change, so the standard verification is
	// replaced by the same with the pool of the moment.
	cfg.InsecureSkipVerify = true
	cfg.VerifyConnection = func(s tls.ConnectionState) error { return verifyServer(s, pool.get(), f.Name) }
	return cfg, nil
}

// verifyServer is what crypto/tls does with the server's certificates by default.
func verifyServer(s tls.ConnectionState, roots *x509.CertPool, name string) error {
	opts := x509.VerifyOptions{Roots: roots, DNSName: name, Intermediates: x509.NewCertPool()}
	for _, c := range s.PeerCertificates[1:] {
		opts.Intermediates.AddCert(c)
	}
	if _, err := s.PeerCertificates[0].Verify(opts); err != nil {
		return &tls.CertificateVerificationError{UnverifiedCertificates: s.PeerCertificates, Err: err}
	}
	return nil
}

func (c *Certs) pair(what, certFile, keyFile string) (*refreshed[*tls.Certificate], error) {
	r := &refreshed[*tls.Certificate]{what: what, files: []string{certFile, keyFile}, every: c.every, log: c.log}
	r.load = func() (*tls.Certificate, error) {
		pair, err := tls.LoadX509KeyPair(certFile, keyFile)
		if err != nil {
			return nil, fmt.Errorf("read %s from %s and %s: %w", what, certFile, keyFile, err)
		}
		return &pair, nil
	}
	if err := r.start(); err != nil {
		return nil, err
	}
	c.pairs = append(c.pairs, r)
	return r, nil
}

func (c *Certs) pool(what, file string) (*refreshed[*x509.CertPool], error) {
	r := &refreshed[*x509.CertPool]{what: what, files: []string{file}, every: c.every, log: c.log}
	r.load = func() (*x509.CertPool, error) {
		pem, err := os.ReadFile(file)
		pool := x509.NewCertPool()
		if err == nil && !pool.AppendCertsFromPEM(pem) {
			err = errors.New("it holds no certificate in PEM form")
		}
		if err != nil {
			return nil, fmt.Errorf("read %s from %s: %w", what, file, err)
		}
		return pool, nil
	}
	if err := r.start(); err != nil {
		return nil, err
	}
	c.pools = append(c.pools, r)
	return r, nil
}

// Refresh looks at the files now.
func (c *Certs) Refresh() {
	for _, r := range c.pairs {
		r.look()
	}
	for _, r := range c.pools {
		r.look()
	}
}

// Reloads counts the changes of files that were taken over and those that
// could not be used.
func (c *Certs) Reloads() (good, bad int64) {
	for _, r := range c.pairs {
		good, bad = good+r.good.Load(), bad+r.bad.Load()
	}
	for _, r := range c.pools {
		good, bad = good+r.good.Load(), bad+r.bad.Load()
	}
	return good, bad
}

// Expiry is the earliest end of a certificate in use; zero when there is none.
func (c *Certs) Expiry() time.Time {
	var first time.Time
	for _, r := range c.pairs {
		if end := (*r.value.Load()).Leaf.NotAfter; first.IsZero() || end.Before(first) {
			first = end
		}
	}
	return first
}
