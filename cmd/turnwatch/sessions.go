package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"turnwatch/proxy"
)

// sessionOptions say which turns belong together.
type sessionOptions struct {
	headers list
	idle    time.Duration
	turns   count
}

func (f *flags) sessions(o *options) {
	s := &o.sessions
	f.group("Sessions (which turns belong together, and the place of each)")
	f.value(&s.headers, "session-header", "`HEADER` of requests that names a session, instead of those in which clients and gateways do:\n"+
		sentence(proxy.SessionHeaders(), 90)+".\n"+
		"The first of them counts. Without any, what a request repeats of its conversation tells which\n"+
		"turn it goes on from. Repeatable")
	f.span(&s.idle, "session-idle", 15*time.Minute, "how long a turn is remembered, by hashes alone, that nothing goes on from")
	s.turns = 32768
	f.value(&s.turns, "session-turns", "`NUMBER` of turns that are remembered, about 400 bytes each")
}

// config is what the relay is told.
func (s *sessionOptions) config() proxy.SessionConfig {
	cfg := proxy.SessionConfig{Turns: int(s.turns), Idle: s.idle}
	for _, name := range s.headers.values {
		cfg.Headers = append(cfg.Headers, strings.ToLower(name))
	}
	return cfg
}

// sentence joins words by commas, in lines of at most so many columns.
func sentence(words []string, columns int) string {
	var b strings.Builder
	at := 0
	for i, w := range words {
		switch {
		case i == 0:
		case at+len(w)+2 > columns:
			b.WriteString(",\n")
			at = 0
		default:
			b.WriteString(", ")
			at += 2
		}
		b.WriteString(w)
		at += len(w)
	}
	return b.String()
}

// check finds names that no header can have.
func (s *sessionOptions) check() error {
	for _, name := range s.headers.values {
		if strings.ContainsAny(name, " \t:=") {
			return fmt.Errorf("-session-header %q is no name of a header", mask(name))
		}
	}
	if s.idle == 0 {
		return errors.New("-session-idle cannot be 0: no turn would be remembered")
	}
	return nil
}

// count is a number above zero.
type count int

func (c *count) String() string { return strconv.Itoa(int(*c)) }

func (c *count) Set(s string) error {
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 {
		return errors.New("it is not a number above zero")
	}
	*c = count(n)
	return nil
}
