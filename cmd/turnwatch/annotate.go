package main

import (
	"errors"
	"slices"
	"time"

	"turnwatch/proxy"
)

// annotateOptions say whether clients are told the verdicts.
type annotateOptions struct {
	how  annotate
	size size
	wait time.Duration
}

func (f *flags) annotate(o *options) {
	a := &o.annotate
	f.group("Annotation (clients are told the verdict, too; otherwise they get the server's bytes alone)")
	a.how = annotate{choice{value: "off", of: []string{"off", "comment", "trailer"}}}
	f.value(&a.how, "annotate", "`HOW`: comment, which -annotate alone stands for, ends a stream of events with a comment;\n"+
		"trailer adds trailer fields, for clients that send TE: trailers; either adds header fields to an answer\n"+
		"that does not stream, which is held until it is judged; off changes nothing")
	a.size = 8 << 20
	f.value(&a.size, "annotate-max-size", "`SIZE` up to which such an answer is held. A larger one passes without a verdict")
	f.span(&a.wait, "annotate-max-wait", 10*time.Second, "how long after its head it is held at most, for the same")
}

// check finds a wait that would be none, and a verdict that nobody makes.
func (a *annotateOptions) check(relayOnly bool) error {
	if relayOnly && a.how.value != "off" {
		return errors.New("-annotate has nothing to tell with -relay-only: no turn is judged")
	}
	if a.wait == 0 {
		return errors.New("-annotate-max-wait cannot be 0: no answer would be judged in time; -annotate=off tells nothing")
	}
	return nil
}

// config is what the relay is told.
func (a *annotateOptions) config() proxy.Annotation {
	cfg := proxy.Annotation{HoldBytes: int64(a.size), HoldTime: a.wait}
	switch a.how.value {
	case "comment":
		cfg.How = proxy.AnnotateComment
	case "trailer":
		cfg.How = proxy.AnnotateTrailer
	}
	return cfg
}

// annotate is a choice that may be made without a word.
type annotate struct{ choice }

// IsBoolFlag lets the flag stand alone.
func (a *annotate) IsBoolFlag() bool { return true }

func (a *annotate) Set(s string) error {
	switch s {
	case "true":
		s = "comment"
	case "false":
		s = "off"
	}
	return a.choice.Set(s)
}

// joinAnnotate joins -annotate and a word for it that follows apart, which a
// flag that may stand alone would not take.
func joinAnnotate(args []string) (all []string) {
	for _, arg := range args {
		last := len(all) - 1
		word := slices.Contains([]string{"off", "comment", "trailer"}, arg)
		if word && last >= 0 && (all[last] == "-annotate" || all[last] == "--annotate") {
			all[last] += "=" + arg
			continue
		}
		all = append(all, arg)
	}
	return all
}
