package main

import (
	"flag"
	"io"
	"time"
)

// options are the settings of the sidecar, whatever source they came from.
type options struct {
	upstream       string
	listen         list
	connectTimeout time.Duration
	firstByte      time.Duration
	idle           time.Duration
	drain          time.Duration
	loops          int
	maxLag         time.Duration
	relayOnly      bool
	judgeMemory    size

	tags      tagOptions
	sessions  sessionOptions
	annotate  annotateOptions
	shadow    shadowOptions
	evidence  evidenceOptions
	echo      choice
	probe     probeOptions
	opinion   opinionOptions
	telemetry telemetryOptions

	tlsCert          string
	tlsKey           string
	upstreamCA       string
	upstreamCert     string
	upstreamCertKey  string
	upstreamName     string
	upstreamInsecure bool

	journal      string
	journalSize  size
	journalAge   time.Duration
	journalTotal size

	admin          string
	adminTokenFile string
	adminOpen      bool
	readyUpstream  bool
	pprof          bool

	logFormat choice
	logLevel  choice

	args  []string          // the command line
	inUse map[string]string // what it, the environment and the file came to, by flag

	config      string
	checkConfig bool
	version     bool
}

// group is a section of the help.
type group struct {
	title string
	names []string
}

// flags is the set of flags, in the order and the groups of the help.
type flags struct {
	set    *flag.FlagSet
	groups []group
}

// newFlags defines every setting once: its name, its default and its help.
// The environment variable and the key of the file follow from the name.
func newFlags(o *options) *flags {
	f := &flags{set: flag.NewFlagSet("turnwatch", flag.ContinueOnError)}
	f.set.SetOutput(io.Discard) // run writes errors and help itself
	f.relay(o)
	f.tls(o)
	f.tags(o)
	f.sessions(o)
	f.echo(o)
	f.probe(o)
	f.opinion(o)
	f.annotate(o)
	f.shadow(o)
	f.journal(o)
	f.evidence(o)
	f.telemetry(o)
	f.admin(o)
	f.own(o)
	return f
}

func (f *flags) group(title string) { f.groups = append(f.groups, group{title: title}) }

// add notes the flag that was just defined under the current group.
func (f *flags) add(name string) {
	g := &f.groups[len(f.groups)-1]
	g.names = append(g.names, name)
}

func (f *flags) text(p *string, name, value, help string) {
	f.set.StringVar(p, name, value, help)
	f.add(name)
}

func (f *flags) yes(p *bool, name, help string) {
	f.set.BoolVar(p, name, false, help)
	f.add(name)
}

func (f *flags) span(p *time.Duration, name string, value time.Duration, help string) {
	*p = value
	f.value((*span)(p), name, help)
}

func (f *flags) value(v flag.Value, name, help string) {
	f.set.Var(v, name, help)
	f.add(name)
}

func (f *flags) relay(o *options) {
	f.group("Relay")
	f.text(&o.upstream, "upstream", "", "`URL` of the server behind us: http://host:port, https://host:port or unix:/path/of.sock.\n"+
		"Required; it need not be up yet")
	o.listen = list{values: []string{"127.0.0.1:8080"}}
	f.value(&o.listen, "listen", "`ADDRESS` for clients: host:port or unix:/path/of.sock. Repeatable")
	f.span(&o.connectTimeout, "connect-timeout", 10*time.Second, "bounds resolving, connecting and the TLS handshake together; then 502")
	f.span(&o.firstByte, "first-byte-timeout", 0, "bounds the server's silence before an answer's first byte; then 504.\n"+
		"0 is no limit: a long prefill is silent too")
	f.span(&o.idle, "idle-timeout", 0, "bounds each later silence of the server; then the answer is cut. 0 is no limit")
	f.span(&o.drain, "drain-timeout", 30*time.Second, "how long answers in progress may go on after SIGTERM or SIGINT.\n"+
		"Keep it below the orchestrator's grace period")
	f.set.IntVar(&o.loops, "loops", 2, "`THREADS` that relay streaming answers over plain connections, on Linux; one serves\n"+
		"some 50,000 events a second. 0 relays each answer by a goroutine of its own, as over TLS")
	f.add("loops")
	f.span(&o.maxLag, "max-lag", time.Second, "how far a thread of -loops may be behind with what has come. Where it has been for a second,\n"+
		"turns that begin pass and are unverified until it has caught up. 0 is no limit")
	f.yes(&o.relayOnly, "relay-only", "judge nothing: for measurements, and to see whether judging is what hurts")
	o.judgeMemory = 256 << 20
	f.value(&o.judgeMemory, "judge-memory", "`SIZE`, such as 64MiB, that bounds the bytes held for judging, over all turns; bytes without a unit.\n"+
		"A turn that finds no room passes and is unverified, and so is one of which a quarter would be held in one piece:\n"+
		"a long request, or an answer with a content coding")
}

func (f *flags) tls(o *options) {
	f.group("TLS (files are re-read when they change)")
	f.text(&o.tlsCert, "tls-cert", "", "PEM `FILE` with the certificate chain that -listen shows to clients. Needs -tls-key.\nUnix sockets stay plain: the permissions of their folder guard them")
	f.text(&o.tlsKey, "tls-key", "", "PEM `FILE` with the key of -tls-cert")
	f.text(&o.upstreamCA, "upstream-ca", "", "PEM `FILE` with the authorities that may vouch for an https -upstream, instead of\nthe system's")
	f.text(&o.upstreamCert, "upstream-cert", "", "PEM `FILE` with the certificate that we show to an https -upstream. Needs -upstream-cert-key")
	f.text(&o.upstreamCertKey, "upstream-cert-key", "", "PEM `FILE` with the key of -upstream-cert")
	f.text(&o.upstreamName, "upstream-server-name", "", "`NAME` that the certificate of an https -upstream must hold, and SNI.\nThe host of -upstream if empty")
	f.yes(&o.upstreamInsecure, "upstream-insecure", "accept any certificate of an https -upstream: whoever answers there can read\n"+
		"and change every turn. For tests; otherwise give -upstream-ca")
}

func (f *flags) journal(o *options) {
	f.group("Journal (one JSON object a line for every turn, no message text)")
	f.text(&o.journal, "journal", "", "`FILE` that lines are appended to; - is standard output; empty is none.\n"+
		"One that another turnwatch writes is refused")
	o.journalSize, o.journalTotal = 100<<20, 1<<30
	f.value(&o.journalSize, "journal-max-size", "`SIZE` at which a new file is begun")
	f.span(&o.journalAge, "journal-max-age", 24*time.Hour, "begin a new file when this one is so old; 0 is never")
	f.value(&o.journalTotal, "journal-max-total", "`SIZE` of all files together beyond which the oldest is deleted")
}

func (f *flags) admin(o *options) {
	f.group("Admin listener (/livez /readyz /metrics /shadow)")
	f.text(&o.admin, "admin", "127.0.0.1:9464", "`ADDRESS` of the admin listener: host:port or unix:/path/of.sock; empty or off is none.\n"+
		"Off loopback it needs -admin-token-file or -admin-open")
	f.text(&o.adminTokenFile, "admin-token-file", "", "`FILE` with the bearer token that /metrics, /shadow and /debug ask for; re-read when it changes")
	f.yes(&o.adminOpen, "admin-open", "let anyone who reaches -admin read it")
	f.yes(&o.readyUpstream, "ready-upstream", "/readyz also wants a connection to -upstream to succeed. Leave it off beside a server\n"+
		"that waits for its sidecar to be ready")
	f.yes(&o.pprof, "pprof", "serve /debug/pprof on -admin")
}

func (f *flags) own(o *options) {
	f.group("The process itself")
	o.logFormat = choice{value: "text", of: []string{"text", "json"}}
	f.value(&o.logFormat, "log-format", "`FORMAT` of the log on standard error: text or json")
	o.logLevel = choice{value: "info", of: []string{"debug", "info", "warn", "error"}}
	f.value(&o.logLevel, "log-level", "least `LEVEL` that is logged: debug, info, warn or error")
	f.text(&o.config, "config", "", "YAML `FILE` of one document to read settings from: its keys are the names here,\nwithout the dash")
	f.yes(&o.checkConfig, "check-config", "print the settings that would be used and where each came from, then exit:\n"+
		"0 when they are good, else 2")
	f.yes(&o.version, "version", "print the version and exit")
}
