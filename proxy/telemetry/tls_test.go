package telemetry

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"turnwatch/validate"
)

// identity is a certificate that vouches for itself, for either end of a
// connection, and the files that it is in.
type identity struct {
	tls.Certificate
	pool            *x509.CertPool
	certPEM, keyPEM string
}

func newIdentity(t testing.TB) *identity {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	about := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, DNSNames: []string{"localhost"}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}}
	cert, err := x509.CreateCertificate(rand.Reader, about, about, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	id := &identity{Certificate: tls.Certificate{Certificate: [][]byte{cert}, PrivateKey: key}, pool: x509.NewCertPool()}
	id.certPEM, id.keyPEM = write(t, "CERTIFICATE", cert), write(t, "PRIVATE KEY", secret)
	id.pool.AppendCertsFromPEM(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert}))
	return id
}

// write makes a PEM file.
func write(t testing.TB, kind string, b []byte) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "one.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: b}), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestCollectorAsksForACertificate: it gets the client's, over either protocol
// and by the variables of all signals or of one, and refuses who has none.
func TestCollectorAsksForACertificate(t *testing.T) {
	server, client := newIdentity(t), newIdentity(t)
	cfg := &tls.Config{Certificates: []tls.Certificate{server.Certificate}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: client.pool}
	f := func(protocol, signal string, shown bool) {
		t.Helper()
		c := newCollector(t)
		env := []string{"OTEL_EXPORTER_OTLP_PROTOCOL=" + protocol, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=" + c.secure(t, protocol, cfg), "OTEL_EXPORTER_OTLP_CERTIFICATE=" + server.certPEM,
			"OTEL_EXPORTER_OTLP_TIMEOUT=2000"}
		if shown {
			env = append(env, "OTEL_EXPORTER_OTLP_"+signal+"CLIENT_CERTIFICATE="+client.certPEM, "OTEL_EXPORTER_OTLP_"+signal+"CLIENT_KEY="+client.keyPEM)
		}
		r := start(t, Config{}, env...)
		r.Finish(aTurn(corrupted(validate.ArgsEmpty)))
		end(r)
		if got := c.spanCount(); got > 0 != shown {
			t.Errorf("%s, certificate of %q shown: %v: got %d spans", protocol, signal, shown, got)
		}
	}
	for _, protocol := range []string{overHTTP, overGRPC} {
		f(protocol, "", true)
		f(protocol, "TRACES_", true)
		f(protocol, "", false)
	}
}

// TestInsecureConnectsInTheClear: where an endpoint for gRPC has no scheme, a
// connection is secured unless the variable says otherwise; else the scheme
// says it, whatever the variable does.
func TestInsecureConnectsInTheClear(t *testing.T) {
	f := func(scheme, insecure string, want bool) {
		t.Helper()
		c := newCollector(t)
		r := start(t, Config{}, "OTEL_EXPORTER_OTLP_PROTOCOL=grpc", "OTEL_EXPORTER_OTLP_ENDPOINT="+scheme+c.listen(t), "OTEL_LOGS_EXPORTER=otlp", "OTEL_EXPORTER_OTLP_TIMEOUT=500", insecure)
		r.Finish(aTurn(corrupted(validate.ArgsEmpty)))
		end(r)
		c.mu.Lock()
		defer c.mu.Unlock()
		if spans, records, metrics := len(c.spans) > 0, len(c.records) > 0, len(c.metrics) > 0; spans != want || records != want || metrics != want {
			t.Errorf("%q, %q: got spans: %v, records: %v, metrics: %v", scheme, insecure, spans, records, metrics)
		}
	}
	f("", "OTEL_EXPORTER_OTLP_INSECURE=true", true)
	f("", "OTEL_EXPORTER_OTLP_INSECURE=false", false)
	f("", "", false)
	f("http://", "OTEL_EXPORTER_OTLP_INSECURE=false", true)
	f("https://", "OTEL_EXPORTER_OTLP_INSECURE=true", false)
}

// secure makes the collector listen with TLS too, and returns where.
func (c *collector) secure(t testing.TB, protocol string, cfg *tls.Config) string {
	if protocol == overGRPC {
		return "https://" + c.listen(t, grpc.Creds(credentials.NewTLS(cfg)))
	}
	s := httptest.NewUnstartedServer(c)
	s.TLS = cfg
	s.Config.ErrorLog = quiet()
	s.StartTLS()
	t.Cleanup(s.Close)
	return s.URL + "/v1/traces"
}
