package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"turnwatch/proxy"
)

// probeOptions say how often turns with known answers are sent.
type probeOptions struct {
	rate    perTime
	tokens  count
	streams count
}

func (f *flags) probe(o *options) {
	p := &o.probe
	f.group("Probes (turns with known answers, sent while real ones run: the truth about production, from nobody's data)")
	f.value(&p.rate, "probe-rate", "`RATE` of probes, such as 2/min or 100/h, one at a time, at random moments, the next drawn when an\nanswer has ended; none by default. They have arm=probe and are\n"+
		"sent with the key of -upstream-key-file")
	p.tokens, p.streams = 512, 64
	f.value(&p.tokens, "probe-max-tokens", "`NUMBER` of tokens that the answer to one may take")
	f.value(&p.streams, "probe-max-streams", "`NUMBER` of answers in progress above which none is sent; nor is one while nobody else is there")
}

// check finds what contradicts.
func (p *probeOptions) check(relayOnly bool) error {
	if p.rate > 0 && relayOnly {
		return errors.New("-probe-rate and -relay-only contradict each other: without a judge there is nothing to learn")
	}
	return nil
}

func (s *service) probeConfig(o *options) proxy.ProbeConfig {
	p := proxy.ProbeConfig{Rate: float64(o.probe.rate), MaxTokens: int(o.probe.tokens), MaxStreams: int(o.probe.streams)}
	if s.tagger != nil && s.o.tags.keyFile != "" {
		p.Key = s.tagger.Key
	}
	return p
}

// perTime is how often something happens in a minute.
type perTime float64

func (r *perTime) String() string {
	if *r == 0 {
		return "off"
	}
	return strconv.FormatFloat(float64(*r), 'g', -1, 64) + "/min"
}

func (r *perTime) Set(s string) error {
	if s == "off" || s == "0" {
		*r = 0
		return nil
	}
	number, unit, _ := strings.Cut(s, "/")
	n, err := strconv.ParseFloat(number, 64)
	times := map[string]float64{"s": 60, "min": 1, "m": 1, "h": 1.0 / 60}[unit]
	if err != nil || !(n > 0) || n > 1e6 || times == 0 {
		return fmt.Errorf("it is not a rate such as 2/min, 100/h or off")
	}
	*r = perTime(n * times)
	return nil
}
