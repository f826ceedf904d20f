package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"turnwatch/proxy/journal"
)

// check finds what is missing or contradictory in settings that are each well
// formed.
func (o *options) check(l *loaded) error {
	return errors.Join(
		o.checkUpstream(),
		o.checkTimeouts(),
		o.checkLoops(),
		o.checkListen(),
		o.checkTLS(),
		o.checkAdmin(),
		o.sessions.check(),
		o.annotate.check(o.relayOnly),
		o.shadow.check(o.relayOnly),
		o.probe.check(o.relayOnly),
		o.opinion.check(o.relayOnly),
		o.telemetry.check(&o.evidence),
		o.checkJournal(l.changed),
		o.evidence.check(o.relayOnly),
	)
}

// tiny warns of sizes in which hardly a turn finds room: a unit was forgotten.
func (o *options) tiny() (all []string) {
	for name, z := range map[string]*size{"-judge-memory": &o.judgeMemory, "-journal-max-size": &o.journalSize} {
		if *z < 1<<16 {
			all = append(all, fmt.Sprintf("%s %v is %d bytes, in which hardly a turn finds room: was a unit meant, as in 64MiB?", name, z, *z))
		}
	}
	slices.Sort(all)
	return all
}

// checkUpstream takes the three forms of -upstream and nothing that would be
// silently lost.
func (o *options) checkUpstream() error {
	if o.upstream == "" {
		return hinted{errors.New("-upstream is missing"), "for a local SGLang: turnwatch -upstream http://127.0.0.1:30000; all settings: turnwatch -h"}
	}
	if path, ok := strings.CutPrefix(o.upstream, "unix:"); ok {
		return needPath("-upstream", o.upstream, path)
	}
	u, err := url.Parse(o.upstream)
	switch {
	case err != nil:
		return hinted{fmt.Errorf("-upstream %q is not a URL", mask(o.upstream)), "write http://127.0.0.1:30000"}
	case u.Scheme != "http" && u.Scheme != "https":
		return hinted{fmt.Errorf("-upstream %q has no scheme that we speak", mask(o.upstream)),
			"write http://host:port, https://host:port or unix:/path/of.sock"}
	case u.User != nil:
		return fmt.Errorf("-upstream %q holds credentials, which are the client's to send", mask(o.upstream))
	case u.Hostname() == "":
		return fmt.Errorf("-upstream %q names no host", mask(o.upstream))
	case strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "":
		return hinted{fmt.Errorf("-upstream %q goes on after the host: requests keep their own path", mask(o.upstream)), "write " + u.Scheme + "://" + u.Host}
	case slices.Contains(o.listen.values, u.Host):
		return fmt.Errorf("-upstream %s is our own -listen address", o.upstream)
	}
	return nil
}

// maxLoops is more than any host has use for.
const maxLoops = 256

func (o *options) checkLoops() error {
	if o.loops < 0 || o.loops > maxLoops {
		return fmt.Errorf("-loops=%d is not between 0 and %d", o.loops, maxLoops)
	}
	return nil
}

// carriers is what -loops means to the relay, for which 0 is the default.
func (o *options) carriers() int {
	if o.loops == 0 {
		return -1
	}
	return o.loops
}

// lag is what -max-lag means to the relay, for which 0 is the default.
func (o *options) lag() time.Duration {
	if o.maxLag == 0 {
		return -1
	}
	return o.maxLag
}

func (o *options) checkTimeouts() error {
	if o.connectTimeout == 0 {
		return errors.New("-connect-timeout cannot be 0: a client would wait for ever")
	}
	return nil
}

func (o *options) checkListen() error {
	seen := make(map[string]bool)
	for _, addr := range o.listen.values {
		if err := checkAddress("-listen", addr); err != nil {
			return err
		}
		if seen[addr] {
			return fmt.Errorf("-listen %s is given twice", addr)
		}
		seen[addr] = true
	}
	if seen[o.admin] && !freePort(o.admin) {
		return fmt.Errorf("-admin %s is also a -listen address", o.admin)
	}
	return nil
}

// freePort reports whether the system is to choose the port, so that equal
// addresses do not collide.
func freePort(addr string) bool { return strings.HasSuffix(addr, ":0") }

func (o *options) checkTLS() error {
	https := strings.HasPrefix(o.upstream, "https://")
	for _, s := range []struct {
		bad  bool
		text string
	}{
		{(o.tlsCert == "") != (o.tlsKey == ""), "-tls-cert and -tls-key need each other"},
		{(o.upstreamCert == "") != (o.upstreamCertKey == ""), "-upstream-cert and -upstream-cert-key need each other"},
		{o.upstreamCA != "" && o.upstreamInsecure, "-upstream-ca and -upstream-insecure contradict each other"},
		{o.upstreamName != "" && o.upstreamInsecure, "-upstream-server-name and -upstream-insecure contradict each other"},
		{o.upstreamCA != "" && !https, "-upstream-ca needs an https -upstream"},
		{o.upstreamCert != "" && !https, "-upstream-cert needs an https -upstream"},
		{o.upstreamName != "" && !https, "-upstream-server-name needs an https -upstream"},
		{o.upstreamInsecure && !https, "-upstream-insecure needs an https -upstream"},
		{o.tlsCert != "" && !slices.ContainsFunc(o.listen.values, tcp), "-tls-cert needs a -listen address that is no unix socket"},
	} {
		if s.bad {
			return errors.New(s.text)
		}
	}
	return nil
}

func tcp(addr string) bool { return !strings.HasPrefix(addr, "unix:") }

// checkAdmin insists that whoever can reach the admin listener from elsewhere
// was meant to.
func (o *options) checkAdmin() error {
	if o.adminOff() {
		for name, set := range map[string]bool{"-admin-token-file": o.adminTokenFile != "", "-admin-open": o.adminOpen, "-pprof": o.pprof, "-ready-upstream": o.readyUpstream} {
			if set {
				return fmt.Errorf("%s needs -admin, which is off", name)
			}
		}
		return nil
	}
	if err := checkAddress("-admin", o.admin); err != nil {
		return err
	}
	if o.adminTokenFile != "" && o.adminOpen {
		return errors.New("-admin-token-file and -admin-open contradict each other")
	}
	if !loopback(o.admin) && o.adminTokenFile == "" && !o.adminOpen {
		return hinted{fmt.Errorf("-admin %s can be reached from other machines", o.admin),
			"give -admin-token-file FILE, or say -admin-open if everyone may read it"}
	}
	return nil
}

func (o *options) adminOff() bool { return o.admin == "" || o.admin == "off" }

// loopback reports whether only this machine reaches addr.
func loopback(addr string) bool {
	if !tcp(addr) {
		return true
	}
	host, _, _ := net.SplitHostPort(addr)
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

func (o *options) checkJournal(changed func(string) bool) error {
	if o.journal != "" && o.relayOnly {
		return errors.New("-journal and -relay-only contradict each other: without a judge there are no turns")
	}
	if o.journal != "" && o.journal != "-" {
		if o.journalTotal < o.journalSize {
			return fmt.Errorf("-journal-max-total %v is less than -journal-max-size %v", &o.journalTotal, &o.journalSize)
		}
		return nil
	}
	for _, name := range []string{"journal-max-size", "journal-max-age", "journal-max-total"} {
		if changed(name) {
			return fmt.Errorf("-%s needs a -journal that is a file", name)
		}
	}
	return nil
}

// checkJournalFile finds out before the first turn that there is no place for
// the journal. It creates nothing.
func (o *options) checkJournalFile() error {
	if o.journal == "" || o.journal == "-" {
		return nil
	}
	dir := filepath.Dir(o.journal)
	if info, err := os.Stat(dir); err != nil {
		return fmt.Errorf("-journal %s: no folder to write to: %w", o.journal, err)
	} else if !info.IsDir() {
		return fmt.Errorf("-journal %s: %s is no folder", o.journal, dir)
	}
	info, err := os.Stat(o.journal)
	switch {
	case err == nil && info.IsDir():
		return hinted{fmt.Errorf("-journal %s is a folder, not a file", o.journal), "name a file in it: -journal " + filepath.Join(o.journal, "turns.jsonl")}
	case err == nil && info.Mode().IsRegular(): // to open a pipe might wait for its reader
		f, err := os.OpenFile(o.journal, os.O_RDWR|os.O_APPEND, 0)
		if err != nil {
			return unopened(o.journal, err)
		}
		return f.Close()
	}
	return nil
}

// unopened says once that the journal could not be opened, and why.
func unopened(path string, err error) error {
	if errors.Is(err, journal.ErrInUse) {
		return hinted{fmt.Errorf("-journal %s: %w", path, journal.ErrInUse), "give each turnwatch a -journal of its own: turnreport reads them together"}
	}
	if at := (*fs.PathError)(nil); errors.As(err, &at) {
		err = at.Err
	}
	return fmt.Errorf("-journal %s: cannot be opened: %w", path, err)
}

// serverName is the name that the certificate of an https -upstream must hold.
func (o *options) serverName() string {
	if o.upstreamName != "" {
		return o.upstreamName
	}
	u, err := url.Parse(o.upstream)
	if err != nil {
		return ""
	}
	return u.Hostname()
}

// checkAddress takes host:port with a number for the port, or unix:/path.
func checkAddress(name, addr string) error {
	if path, ok := strings.CutPrefix(addr, "unix:"); ok {
		return needPath(name, addr, path)
	}
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		return hinted{fmt.Errorf("%s %q is not host:port", name, addr), "write 127.0.0.1:8080, :8080 for every interface, or unix:/path/of.sock"}
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return fmt.Errorf("%s %q: %q is no port from 0 to 65535", name, addr, port)
	}
	return nil
}

// maxSocketPath is the longest path that fits into a unix socket's address.
const maxSocketPath = 107

func needPath(name, addr, path string) error {
	if path == "" {
		return fmt.Errorf("%s %q names no socket", name, addr)
	}
	if len(path) > maxSocketPath {
		return fmt.Errorf("%s %q: a socket's path can have %d bytes at most", name, addr, maxSocketPath)
	}
	return nil
}

// mask hides the credentials in a URL.
func mask(s string) string {
	scheme, rest, ok := strings.Cut(s, "://")
	at := strings.LastIndex(rest, "@")
	if !ok || at < 0 {
		return s
	}
	return scheme + "://xxxxx@" + rest[at+1:]
}

// print writes the settings as the YAML file that would have the same effect,
// with the origin of each beside it.
func (f *flags) print(w io.Writer, l *loaded) {
	f.set.VisitAll(func(fl *flag.Flag) {
		if !f.settable(fl.Name) || fl.Name == "config" {
			return
		}
		origin := l.origins[fl.Name]
		if origin == "" {
			origin = "default"
		}
		line := fl.Name + ": " + yamlValue(fl.Value)
		fmt.Fprintf(w, "%-50s # %s\n", line, origin)
	})
}

// yamlValue writes a value so that YAML reads back the same words. Go's
// quoting is understood there.
func yamlValue(v flag.Value) string {
	if l, ok := v.(*list); ok {
		return "[" + strings.Join(quoted(l.values), ", ") + "]"
	}
	if s := v.String(); s == "true" || s == "false" {
		return s
	}
	return strconv.Quote(mask(v.String()))
}

func quoted(words []string) []string {
	out := make([]string, len(words))
	for i, s := range words {
		out[i] = strconv.Quote(s)
	}
	return out
}
