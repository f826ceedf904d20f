package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"flag"
	"fmt"
	"net/url"
	"os"
	"strings"
	"time"

	"turnwatch/cmd/internal/report"
)

// promOptions say which Prometheus is read instead of journals.
type promOptions struct {
	url       string
	match     string
	tokenFile string
	ca        string
	cert, key string
}

func (p *promOptions) flags(f *flag.FlagSet) {
	f.StringVar(&p.url, "prometheus", "", "`URL` of a Prometheus, VictoriaMetrics, Mimir or Thanos whose counters are read instead of journals; needs -since")
	f.StringVar(&p.match, "prometheus-match", "", "`MATCHERS` of the series, such as job=\"turnwatch\"")
	f.StringVar(&p.tokenFile, "prometheus-token-file", "", "`FILE` with a token that is sent as Authorization: Bearer")
	f.StringVar(&p.ca, "prometheus-ca", "", "`FILE` with the certificates that sign the server's (default: the system's)")
	f.StringVar(&p.cert, "prometheus-cert", "", "`FILE` with the certificate for a server that wants one")
	f.StringVar(&p.key, "prometheus-cert-key", "", "`FILE` with its key")
}

// check finds what cannot be meant.
func (o *options) checkPrometheus() error {
	if o.prom.url == "" {
		return nil
	}
	u, err := url.Parse(o.prom.url)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return fmt.Errorf("-prometheus %q: want http://host:port or https://host:port", o.prom.url)
	case len(o.paths) > 0:
		return errors.New("-prometheus and journals exclude one another")
	case o.since == "":
		return errors.New("-prometheus needs -since, such as -since 7d")
	case o.k2vv != "":
		return errors.New("-k2vv needs journals: counters have no rows")
	case (o.prom.cert == "") != (o.prom.key == ""):
		return errors.New("-prometheus-cert and -prometheus-cert-key need one another")
	}
	return nil
}

// server reads the files that the flags name.
func (p *promOptions) server() (report.Prometheus, error) {
	out := report.Prometheus{URL: p.url, Match: p.match, TLS: &tls.Config{MinVersion: tls.VersionTLS12}}
	if p.tokenFile != "" {
		b, err := os.ReadFile(p.tokenFile)
		if err != nil {
			return out, fmt.Errorf("-prometheus-token-file: %w", err)
		}
		out.Token = strings.TrimSpace(string(b))
	}
	if p.ca != "" {
		b, err := os.ReadFile(p.ca)
		if err != nil {
			return out, fmt.Errorf("-prometheus-ca: %w", err)
		}
		out.TLS.RootCAs = x509.NewCertPool()
		if !out.TLS.RootCAs.AppendCertsFromPEM(b) {
			return out, fmt.Errorf("-prometheus-ca: %s holds no certificate", p.ca)
		}
	}
	if p.cert != "" {
		pair, err := tls.LoadX509KeyPair(p.cert, p.key)
		if err != nil {
			return out, fmt.Errorf("-prometheus-cert: %w", err)
		}
		out.TLS.Certificates = []tls.Certificate{pair}
	}
	return out, nil
}

// counters makes the report of what a Prometheus keeps.
func (o *options) counters(ctx context.Context, now time.Time) (*report.Report, error) {
	p, err := o.prom.server()
	if err != nil {
		return nil, err
	}
	until := o.report.Until
	if until.IsZero() {
		until = now
	}
	s, err := report.ReadPrometheus(ctx, p, o.report.Since, until)
	if err != nil {
		return nil, err
	}
	return s.Make(o.report), nil
}
