package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"os"
	"regexp"
	"strconv"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// trusting trusts everybody: what is shown is looked at afterwards.
func trusting() *tls.Config { return &tls.Config{InsecureSkipVerify: true} }

func certificatePEM(der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

// certify is: certify NUMBER. It replaces tls.crt and tls.key by a certificate
// with that serial number.
func certify(ts *testscript.TestScript, _ bool, args []string) {
	serial, err := strconv.ParseInt(args[0], 10, 64)
	ts.Check(err)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	ts.Check(err)
	c := x509.Certificate{SerialNumber: big.NewInt(serial), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, &c, &c, &key.PublicKey, key)
	ts.Check(err)
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	ts.Check(err)
	for name, data := range map[string][]byte{
		"tls.key": pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}),
		"tls.crt": certificatePEM(der),
	} {
		ts.Check(os.WriteFile(ts.MkAbs(name+".new"), data, 0o600))
		ts.Check(os.Rename(ts.MkAbs(name+".new"), ts.MkAbs(name)))
	}
}

// shake makes handshakes with addr until the certificate that is shown
// satisfies enough, which it must in the end.
func shake(ts *testscript.TestScript, addr string, enough func(serial string) bool) {
	var got string
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		c, err := tls.Dial("tcp", addr, trusting())
		ts.Check(err)
		got = c.ConnectionState().PeerCertificates[0].SerialNumber.String()
		c.Close()
		if enough(got) {
			return
		}
	}
	ts.Fatalf("the certificate that is shown stays number %s", got)
}

// shown is: shown ADDR NUMBER. It waits for the certificate with that number.
func shown(ts *testscript.TestScript, _ bool, args []string) {
	shake(ts, args[0], func(serial string) bool { return serial == args[1] })
}

// complained is: complained ADDR FILE REGEXP. It makes handshakes until the
// file matches.
func complained(ts *testscript.TestScript, _ bool, args []string) {
	re := regexp.MustCompile(args[2])
	shake(ts, args[0], func(string) bool { return re.MatchString(ts.ReadFile(args[1])) })
}
