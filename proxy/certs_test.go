package proxy

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"io"
	"log/slog"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// authority issues certificates for 127.0.0.1 and server.test.
type authority struct {
	t    *testing.T
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pem  []byte
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{t: t}
	a.key, a.cert, a.pem = a.sign(&x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority"},
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	})
	return a
}

// sign makes a certificate; the first of an authority signs itself.
func (a *authority) sign(c *x509.Certificate) (*ecdsa.PrivateKey, *x509.Certificate, []byte) {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	c.NotBefore, c.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(24*time.Hour)
	parent, signer := a.cert, a.key
	if parent == nil {
		parent, signer = c, key
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, &key.PublicKey, signer)
	if err != nil {
		a.t.Fatal(err)
	}
	made, err := x509.ParseCertificate(der)
	if err != nil {
		a.t.Fatal(err)
	}
	return key, made, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

// issue returns the PEM of a certificate with a serial number, and of its key.
func (a *authority) issue(serial int64) (cert, key []byte) {
	a.t.Helper()
	k, _, cert := a.sign(&x509.Certificate{
		SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: "leaf"},
		DNSNames: []string{"server.test"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	})
	der, err := x509.MarshalPKCS8PrivateKey(k)
	if err != nil {
		a.t.Fatal(err)
	}
	return cert, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
}

// pair is a certificate and its key, in files.
type pair struct{ cert, key string }

// write replaces the files at p as a careful writer does: by renaming.
func (p pair) write(t *testing.T, cert, key []byte) {
	t.Helper()
	replaceFile(t, p.key, key)
	replaceFile(t, p.cert, cert)
}

func replaceFile(t *testing.T, name string, data []byte) {
	t.Helper()
	if err := os.WriteFile(name+".new", data, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(name+".new", name); err != nil {
		t.Fatal(err)
	}
}

func (a *authority) files(dir string, serial int64) pair {
	a.t.Helper()
	p := pair{filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")}
	cert, key := a.issue(serial)
	p.write(a.t, cert, key)
	return p
}

// eagerCerts looks at the files in every handshake and logs to the buffer.
func eagerCerts() (*Certs, *bytes.Buffer) {
	var log bytes.Buffer
	c := NewCerts(slog.New(slog.NewTextHandler(&log, nil)))
	c.every = 0
	return c, &log
}

// shake makes one handshake over loopback and returns what either side saw.
func shake(t *testing.T, server, client *tls.Config) (seen tls.ConnectionState, clientErr, serverErr error) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	done := make(chan error, 1)
	go func() {
		nc, err := ln.Accept()
		if err != nil {
			done <- err
			return
		}
		defer nc.Close()
		nc.SetDeadline(time.Now().Add(40 * time.Second))
		_, err = io.Copy(io.Discard, tls.Server(nc, server))
		done <- err
	}()
	nc, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	nc.SetDeadline(time.Now().Add(40 * time.Second))
	c := tls.Client(nc, client)
	clientErr = c.Handshake()
	seen = c.ConnectionState()
	c.Close()
	return seen, clientErr, <-done
}

func (a *authority) trusting() *tls.Config {
	roots := x509.NewCertPool()
	roots.AddCert(a.cert)
	return &tls.Config{RootCAs: roots, ServerName: "server.test"}
}

// serial shakes hands with server and returns the number of its certificate.
func (a *authority) serial(server *tls.Config) int64 {
	a.t.Helper()
	seen, err, _ := shake(a.t, server, a.trusting())
	if err != nil {
		a.t.Fatalf("handshake: %v", err)
	}
	return seen.PeerCertificates[0].SerialNumber.Int64()
}

func TestListenerTakesOverRenewedCertificate(t *testing.T) {
	a, dir := newAuthority(t), t.TempDir()
	files := a.files(dir, 10)
	c, log := eagerCerts()
	server, err := c.Listener(files.cert, files.key)
	if err != nil {
		t.Fatal(err)
	}
	if got := a.serial(server); got != 10 {
		t.Errorf("certificate at start: got %d, want 10", got)
	}
	a.files(dir, 11)
	if got := a.serial(server); got != 11 {
		t.Errorf("certificate after renewal: got %d, want 11; log: %s", got, log)
	}
	if good, bad := c.Reloads(); good < 1 || bad != 0 {
		t.Errorf("reloads: got %d good, %d bad, want some and 0", good, bad)
	}
}

// Kubernetes replaces a secret by swapping the link ..data, to which the links
// with the files' names point.
func TestListenerFollowsSwappedLink(t *testing.T) {
	a, dir := newAuthority(t), t.TempDir()
	link := func(target, name string) {
		t.Helper()
		if err := os.Symlink(target, filepath.Join(dir, "tmp")); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(filepath.Join(dir, "tmp"), filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	for serial, sub := range []string{"..one", "..two"} {
		if err := os.Mkdir(filepath.Join(dir, sub), 0o700); err != nil {
			t.Fatal(err)
		}
		a.files(filepath.Join(dir, sub), int64(serial+1))
	}
	link("..one", "..data")
	link("..data/tls.crt", "tls.crt")
	link("..data/tls.key", "tls.key")
	c, log := eagerCerts()
	server, err := c.Listener(filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key"))
	if err != nil {
		t.Fatal(err)
	}
	if got := a.serial(server); got != 1 {
		t.Errorf("certificate at start: got %d, want 1", got)
	}
	link("..two", "..data")
	if got := a.serial(server); got != 2 {
		t.Errorf("certificate after the swap: got %d, want 2; log: %s", got, log)
	}
}

func TestBadPairKeepsTheOldAndIsCountedOnce(t *testing.T) {
	a, dir := newAuthority(t), t.TempDir()
	files := a.files(dir, 20)
	c, log := eagerCerts()
	server, err := c.Listener(files.cert, files.key)
	if err != nil {
		t.Fatal(err)
	}
	_, strange := a.issue(21)
	for _, change := range []func(){
		func() { replaceFile(t, files.key, strange) },
		func() { replaceFile(t, files.cert, []byte("no PEM")) },
		func() { os.Remove(files.cert) },
	} {
		_, before := c.Reloads()
		change()
		for range 3 {
			if got := a.serial(server); got != 20 {
				t.Errorf("certificate after a bad change: got %d, want 20", got)
			}
		}
		if _, bad := c.Reloads(); bad != before+1 {
			t.Errorf("bad reloads: got %d, want %d; log: %s", bad, before+1, log)
		}
	}
	if !strings.Contains(log.String(), "kept the old listener's certificate") {
		t.Errorf("log: got %q, want the certificate that was kept", log)
	}
	a.files(dir, 22)
	if got := a.serial(server); got != 22 {
		t.Errorf("certificate after a good change: got %d, want 22", got)
	}
}

func TestFilesAreLookedAtNowAndThen(t *testing.T) {
	a, dir := newAuthority(t), t.TempDir()
	files := a.files(dir, 30)
	c, _ := eagerCerts()
	c.every = time.Hour
	server, err := c.Listener(files.cert, files.key)
	if err != nil {
		t.Fatal(err)
	}
	a.files(dir, 31)
	if got := a.serial(server); got != 30 {
		t.Errorf("certificate within the interval: got %d, want 30", got)
	}
	c.pairs[0].checked = time.Now().Add(-time.Hour)
	if got := a.serial(server); got != 31 {
		t.Errorf("certificate after the interval: got %d, want 31", got)
	}
}

func TestCertificateThatCannotBeReadIsAnError(t *testing.T) {
	a, dir := newAuthority(t), t.TempDir()
	files := a.files(dir, 40)
	c, _ := eagerCerts()
	for _, f := range []func() error{
		func() error { _, err := c.Listener(files.cert, filepath.Join(dir, "none")); return err },
		func() error { _, err := c.Listener(files.key, files.cert); return err },
		func() error { _, err := c.Upstream(UpstreamFiles{Name: "x", CA: files.key}); return err },
		func() error { _, err := c.Upstream(UpstreamFiles{Name: "x", Cert: files.cert}); return err },
		func() error { _, err := c.Upstream(UpstreamFiles{CA: files.cert}); return err },
	} {
		if err := f(); err == nil {
			t.Error("got no error")
		}
	}
	if good, bad := c.Reloads(); good != 0 || bad != 0 || !c.Expiry().IsZero() {
		t.Errorf("after errors: got %d, %d, %v, want nothing", good, bad, c.Expiry())
	}
}

// present serves a certificate of a and wants one from the client.
func (a *authority) present(serial int64) *tls.Config {
	a.t.Helper()
	cert, key := a.issue(serial)
	p, err := tls.X509KeyPair(cert, key)
	if err != nil {
		a.t.Fatal(err)
	}
	return &tls.Config{Certificates: []tls.Certificate{p}}
}

func TestUpstreamIsVerified(t *testing.T) {
	a, b := newAuthority(t), newAuthority(t)
	ca := filepath.Join(t.TempDir(), "ca.crt")
	replaceFile(t, ca, a.pem)
	for _, row := range []struct {
		what   string
		files  UpstreamFiles
		server *tls.Config
		ok     bool
	}{
		{"its name", UpstreamFiles{Name: "server.test", CA: ca}, a.present(2), true},
		{"its address", UpstreamFiles{Name: "127.0.0.1", CA: ca}, a.present(2), true},
		{"another name", UpstreamFiles{Name: "other.test", CA: ca}, a.present(2), false},
		{"another address", UpstreamFiles{Name: "127.0.0.2", CA: ca}, a.present(2), false},
		{"another authority", UpstreamFiles{Name: "server.test", CA: ca}, b.present(2), false},
		{"the system's authorities", UpstreamFiles{Name: "server.test"}, a.present(2), false},
		{"insecure", UpstreamFiles{Insecure: true}, b.present(2), true},
	} {
		c, _ := eagerCerts()
		client, err := c.Upstream(row.files)
		if err != nil {
			t.Errorf("%s: %v", row.what, err)
			continue
		}
		_, err, _ = shake(t, row.server, client)
		if ok := err == nil; ok != row.ok {
			t.Errorf("%s: got accepted = %v (%v), want %v", row.what, ok, err, row.ok)
		}
		if bad := (*tls.CertificateVerificationError)(nil); err != nil && !errors.As(err, &bad) {
			t.Errorf("%s: got %v, want a verification error", row.what, err)
		}
	}
}

func TestUpstreamTakesOverNewAuthority(t *testing.T) {
	a, b := newAuthority(t), newAuthority(t)
	ca := filepath.Join(t.TempDir(), "ca.crt")
	replaceFile(t, ca, a.pem)
	c, _ := eagerCerts()
	client, err := c.Upstream(UpstreamFiles{Name: "server.test", CA: ca})
	if err != nil {
		t.Fatal(err)
	}
	if _, err, _ := shake(t, b.present(3), client); err == nil {
		t.Error("an unknown authority: got accepted")
	}
	replaceFile(t, ca, b.pem)
	if _, err, _ := shake(t, b.present(3), client); err != nil {
		t.Errorf("the new authority: %v", err)
	}
	if _, err, _ := shake(t, a.present(3), client); err == nil {
		t.Error("the old authority: got accepted")
	}
}

func TestUpstreamIsShownOurCertificate(t *testing.T) {
	a, dir := newAuthority(t), t.TempDir()
	files, ca := a.files(dir, 50), filepath.Join(dir, "ca.crt")
	replaceFile(t, ca, a.pem)
	c, _ := eagerCerts()
	client, err := c.Upstream(UpstreamFiles{Name: "server.test", CA: ca, Cert: files.cert, Key: files.key})
	if err != nil {
		t.Fatal(err)
	}
	var seen int64
	server := a.present(4)
	server.ClientAuth, server.ClientCAs = tls.RequireAndVerifyClientCert, a.trusting().RootCAs
	server.VerifyConnection = func(s tls.ConnectionState) error {
		seen = s.PeerCertificates[0].SerialNumber.Int64()
		return nil
	}
	for _, want := range []int64{50, 51} {
		if want > 50 {
			a.files(dir, want)
		}
		if _, err, serr := shake(t, server, client); err != nil || serr != nil {
			t.Errorf("handshake: %v, %v", err, serr)
		}
		if seen != want {
			t.Errorf("our certificate: got %d, want %d", seen, want)
		}
	}
}

func TestOnlyHTTP11OverTLS12AndLater(t *testing.T) {
	a := newAuthority(t)
	files := a.files(t.TempDir(), 60)
	c, _ := eagerCerts()
	server, err := c.Listener(files.cert, files.key)
	if err != nil {
		t.Fatal(err)
	}
	client := a.trusting()
	client.NextProtos = []string{"h2", "http/1.1"}
	if seen, err, _ := shake(t, server, client); err != nil || seen.NegotiatedProtocol != "http/1.1" {
		t.Errorf("protocol: got %q, %v, want http/1.1", seen.NegotiatedProtocol, err)
	}
	client = a.trusting()
	client.MinVersion, client.MaxVersion = tls.VersionTLS10, tls.VersionTLS11
	if _, err, _ := shake(t, server, client); err == nil {
		t.Error("TLS 1.1: got accepted")
	}
	if d := time.Until(c.Expiry()); d < time.Hour || d > 24*time.Hour {
		t.Errorf("expiry: got in %v, want within a day", d)
	}
}
