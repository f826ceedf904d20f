package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"turnwatch/proxy"
	"turnwatch/proxy/pairs"
	"turnwatch/proxy/turn"
)

// shadowOptions say which requests other servers get, too.
type shadowOptions struct {
	arms    list
	ratio   share
	by      choice
	models  list
	paths   list
	headers list
	maxBody size
	effects bool

	concurrency count
	queue       count
	rate        number
	firstByte   time.Duration
	idle        time.Duration
	timeout     time.Duration
	maxAnswer   size
	bytes       orNone
	tokens      number
	maxBatch    number
	cut         bool

	margin share
	batch  number
}

func (f *flags) shadow(o *options) {
	s := &o.shadow
	f.group("Shadow traffic (a candidate and a control get requests, too, and are compared)")
	f.value(&s.arms, "shadow", "`ARM=URL[,OPTION…]` of another server: candidate=http://host:30001, and control=… that it is held\n"+
		"against. Options: label.NAME=VALUE, a tag of the arm; key-file=FILE, the key its requests are sent\n"+
		"with; set.FIELD=JSON, a field of the request's body that is replaced. Repeatable")
	s.ratio, s.by = 0.1, choice{value: "session", of: []string{"session", "turn"}}
	f.value(&s.ratio, "shadow-ratio", "`SHARE` of sessions, or of turns, that is mirrored, from above 0 to 1")
	f.value(&s.by, "shadow-by", "`UNIT` that is taken or left as a whole: session or turn")
	f.value(&s.models, "shadow-model", "`MODEL` whose requests alone are mirrored. Repeatable")
	f.value(&s.paths, "shadow-path", "`PATH` whose requests alone are mirrored. Repeatable")
	f.value(&s.headers, "shadow-header", "`HEADER[=VALUE]` that requests must have to be mirrored. Repeatable")
	s.maxBody, s.maxAnswer = 8<<20, 32<<20
	f.value(&s.maxBody, "shadow-max-body", "`SIZE` of the largest request that is mirrored")
	f.yes(&s.effects, "shadow-allow-side-effects", "mirror also what does more on the server than make an answer: built-in tools, stored and\n"+
		"background responses, sessions kept there")
	s.concurrency, s.queue = 32, 256
	f.value(&s.concurrency, "shadow-concurrency", "`NUMBER` of requests that an arm answers at a time")
	f.value(&s.queue, "shadow-queue", "`NUMBER` of requests that wait for an arm; more are dropped")
	f.value(&s.rate, "shadow-rate", "`NUMBER` of requests that an arm gets in a second; 0 is no limit")
	f.span(&s.firstByte, "shadow-first-byte-timeout", 2*time.Minute, "bounds an arm's silence before an answer's first byte")
	f.span(&s.idle, "shadow-idle-timeout", time.Minute, "bounds each later silence of an arm")
	f.span(&s.timeout, "shadow-timeout", 15*time.Minute, "bounds the whole exchange with an arm")
	f.value(&s.maxAnswer, "shadow-max-answer", "`SIZE` beyond which an arm's answer is not read")
	f.value(&s.bytes, "shadow-byte-budget", "`SIZE` that an arm's answers may bring in a minute; 0 is no limit")
	f.value(&s.tokens, "shadow-token-budget", "`NUMBER` of tokens, prompts included, that an arm may spend in a minute; 0 is no limit")
	f.value(&s.maxBatch, "shadow-max-batch", "`NUMBER` of requests in the live server's batch above which the arms get none: a mirror changes\n"+
		"that batch where both share a GPU. 0 is no limit")
	f.yes(&s.cut, "shadow-cut-with-client", "end what an arm is doing for a client that leaves")
	s.margin, s.batch = 0.02, 1.5
	f.value(&s.margin, "shadow-margin", "`SHARE` of answers, a difference that does not matter: \"no difference\" means none larger")
	f.value(&s.batch, "shadow-batch-limit", "`NUMBER` of times that the batch of one arm may be as large as another's for them to be comparable;\n"+
		"0 is no limit")
}

// check finds what contradicts.
func (s *shadowOptions) check(relayOnly bool) error {
	arms, err := s.parse()
	switch {
	case err != nil:
		return err
	case len(arms) > 0 && relayOnly:
		return errors.New("-shadow and -relay-only contradict each other: without a judge there is nothing to compare")
	case len(arms) > 0 && !slices.ContainsFunc(arms, func(a shadowArm) bool { return a.name == turn.Candidate }):
		return hinted{errors.New("-shadow names no candidate"), "the server to be judged is -shadow candidate=http://host:30001"}
	}
	for _, h := range s.headers.values {
		if name, _, _ := strings.Cut(h, "="); name == "" || strings.ContainsAny(name, " \t:") {
			return fmt.Errorf("-shadow-header %q is not HEADER or HEADER=VALUE", h)
		}
	}
	return nil
}

// shadowArm is what -shadow says of one arm.
type shadowArm struct {
	name    turn.Arm
	url     string
	keyFile string
	labels  list
	set     map[string]string
}

// parse reads -shadow. In the environment a list has commas, as the options of an arm do:
// an option belongs to the arm before it.
func (s *shadowOptions) parse() (arms []shadowArm, err error) {
	for _, word := range strings.Split(strings.Join(s.arms.values, ","), ",") {
		name, value, ok := strings.Cut(strings.TrimSpace(word), "=")
		switch {
		case word == "":
		case !ok || value == "":
			return nil, fmt.Errorf("-shadow %q is not ARM=URL or an option", word)
		case name == string(turn.Candidate) || name == string(turn.Control):
			if err := checkArm(arms, turn.Arm(name), value); err != nil {
				return nil, err
			}
			arms = append(arms, shadowArm{name: turn.Arm(name), url: value, set: map[string]string{}})
		case len(arms) == 0:
			return nil, fmt.Errorf("-shadow %q: it begins with candidate=URL or control=URL", word)
		default:
			if err := arms[len(arms)-1].option(name, value); err != nil {
				return nil, err
			}
		}
	}
	return arms, nil
}

func checkArm(arms []shadowArm, name turn.Arm, addr string) error {
	if slices.ContainsFunc(arms, func(a shadowArm) bool { return a.name == name }) {
		return fmt.Errorf("-shadow %s is given twice", name)
	}
	if !serverURL(addr) {
		return hinted{fmt.Errorf("-shadow %s=%s is no server", name, mask(addr)), "write " + string(name) + "=http://host:port"}
	}
	return nil
}

// serverURL reports whether addr names a server and nothing on it.
func serverURL(addr string) bool {
	if path, ok := strings.CutPrefix(addr, "unix:"); ok {
		return path != ""
	}
	u, err := url.Parse(addr)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != "" && u.User == nil && strings.Trim(u.Path, "/") == "" && u.RawQuery == ""
}

// option takes in an option of the arm.
func (a *shadowArm) option(name, value string) error {
	kind, rest, _ := strings.Cut(name, ".")
	switch {
	case name == "key-file":
		a.keyFile = value
	case kind == "label" && rest != "":
		a.labels.values = append(a.labels.values, rest+"="+value)
	case kind == "set" && rest != "" && strings.Trim(rest, "abcdefghijklmnopqrstuvwxyz0123456789_") == "":
		if !json.Valid([]byte(value)) {
			value = strconv.Quote(value)
		}
		a.set[rest] = value
		a.labels.values = append(a.labels.values, "set_"+rest+"="+value)
	default:
		return fmt.Errorf("-shadow %s: there is no option %q; there are label.NAME, key-file and set.FIELD", a.name, name)
	}
	return nil
}

// prepareShadow makes the arms with what learns of their servers.
func (s *service) prepareShadow() error {
	o := &s.o.shadow
	arms, err := o.parse()
	if err != nil || len(arms) == 0 {
		return err
	}
	s.cfg.Shadow = o.config()
	if s.tagger != nil {
		s.cfg.Shadow.Load = s.tagger.Load
	}
	for _, a := range arms {
		arm := proxy.ShadowArm{Arm: a.name, URL: a.url, Set: a.set}
		if strings.HasPrefix(a.url, "https://") {
			if arm.TLS, err = s.certs.Upstream(s.upstreamFiles(serverNameOf(a.url))); err != nil {
				return err
			}
		}
		g, err := s.newTagger(a.url, arm.TLS, "key-file", a.keyFile, a.labels.values, "")
		if err != nil {
			return fmt.Errorf("-shadow %s: %w", a.name, err)
		}
		if a.keyFile != "" {
			arm.Key = g.Key
		}
		arm.Tags = func() proxy.TurnTags { return g.Begin() }
		s.arms = append(s.arms, &tagger{Tagger: g, arm: a.name})
		s.cfg.Shadow.Arms = append(s.cfg.Shadow.Arms, arm)
	}
	return nil
}

func serverNameOf(addr string) string {
	u, err := url.Parse(addr)
	if err != nil {
		return ""
	}
	return u.Hostname()
}

// config is what the relay is told, but for the arms.
func (s *shadowOptions) config() proxy.ShadowConfig {
	c := proxy.ShadowConfig{
		Ratio: float64(s.ratio), ByTurn: s.by.value == "turn", Models: s.models.values, Paths: s.paths.values, Headers: map[string]string{},
		MaxBody: int64(s.maxBody), Effects: s.effects,
		Concurrency: int(s.concurrency), Queue: int(s.queue), Rate: float64(s.rate),
		FirstByteTimeout: s.firstByte, IdleTimeout: s.idle, Timeout: s.timeout, MaxAnswer: int64(s.maxAnswer),
		Bytes: int64(s.bytes), Tokens: int64(s.tokens), MaxBatch: int(s.maxBatch), CutWithClient: s.cut,
		Book: pairs.NewBook(s.limits()),
	}
	for _, h := range s.headers.values {
		name, value, _ := strings.Cut(h, "=")
		c.Headers[strings.ToLower(name)] = value
	}
	return c
}

func (s *shadowOptions) limits() pairs.Limits {
	l := pairs.Limits{Margin: float64(s.margin), Batch: float64(s.batch)}
	if s.batch == 0 {
		l.Batch = -1
	}
	return l
}

// shadowMetrics tells of shadow traffic, if there is any.
func (s *service) shadowMetrics() []proxy.Metric { return s.relay.ShadowMetrics() }

// shadowReport is what GET /shadow answers.
func (s *service) shadowReport() (pairs.Report, bool) { return s.relay.Shadow() }

// share is a number above 0 and up to 1.
type share float64

func (v *share) String() string { return strconv.FormatFloat(float64(*v), 'g', -1, 64) }

func (v *share) Set(s string) error {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || !(f > 0 && f <= 1) {
		return errors.New("it is not a share above 0 and up to 1, such as 0.1")
	}
	*v = share(f)
	return nil
}

// number is one that is not negative.
type number float64

func (v *number) String() string { return strconv.FormatFloat(float64(*v), 'g', -1, 64) }

func (v *number) Set(s string) error {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || !(f >= 0 && f <= 1e15) {
		return errors.New("it is not a number from 0 up")
	}
	*v = number(f)
	return nil
}

// orNone is a size, or none.
type orNone size

func (z *orNone) String() string { return (*size)(z).String() }

func (z *orNone) Set(s string) error {
	if s == "0" {
		*z = 0
		return nil
	}
	return (*size)(z).Set(s)
}
