package main

import (
	"errors"
	"fmt"
	"regexp"

	"turnwatch/proxy"
	"turnwatch/proxy/evidence"
)

// evidenceOptions say what is kept of corrupted turns.
type evidenceOptions struct {
	dir      string
	maxTotal size
	maxTurn  size
	bodies   bool
	patterns list
	paths    list
}

func (f *flags) evidence(o *options) {
	e := &o.evidence
	f.group("Evidence (a folder for each corrupted turn)")
	f.text(&e.dir, "evidence", "", "`FOLDER` in which each corrupted turn gets a folder of its own; empty is none.\n"+
		"One that another turnwatch writes to is refused")
	e.maxTotal, e.maxTurn = 1<<30, 4<<20
	f.value(&e.maxTotal, "evidence-max-total", "`SIZE` of all folders together beyond which the oldest is deleted")
	f.value(&e.maxTurn, "evidence-max-turn", "`SIZE` of a turn's bodies beyond which its folder does without them")
	f.yes(&e.bodies, "evidence-bodies", "keep what was said, which it takes to replay a turn. Without it there are offsets,\n"+
		"hashes, kinds and the shape of the bytes around a finding")
	f.value(&e.patterns, "evidence-redact", "`REGEXP` of what is masked in it, however it is escaped or cut. Repeatable")
	f.value(&e.paths, "evidence-redact-path", "`POINTER` of what is masked in JSON, such as /messages/*/content or /**/password.\n"+
		"* is any one name, ** any number of them. Repeatable")
}

// check finds what contradicts itself.
func (e *evidenceOptions) check(relayOnly bool) error {
	switch {
	case e.dir == "" && (e.bodies || len(e.patterns.values)+len(e.paths.values) > 0):
		return errors.New("-evidence-bodies, -evidence-redact and -evidence-redact-path need -evidence")
	case e.dir == "":
		return nil
	case relayOnly:
		return errors.New("-evidence and -relay-only contradict each other: without a judge no turn is corrupted")
	case e.maxTotal < e.maxTurn:
		return fmt.Errorf("-evidence-max-total %v is less than -evidence-max-turn %v", &e.maxTotal, &e.maxTurn)
	}
	_, err := e.config(nil)
	return err
}

// config is what the writer is told.
func (e *evidenceOptions) config(s *service) (o evidence.Options, err error) {
	o = evidence.Options{MaxTotal: int64(e.maxTotal), MaxTurn: int64(e.maxTurn), Bodies: e.bodies,
		Paths: e.paths.values, By: "turnwatch " + version()}
	if s != nil {
		o.Logger = s.log
	}
	for _, p := range e.patterns.values {
		re, err := regexp.Compile(p)
		if err != nil {
			return o, fmt.Errorf("-evidence-redact %q is no regular expression: %w", p, err)
		}
		o.Patterns = append(o.Patterns, re)
	}
	if err := evidence.CheckPaths(o.Paths); err != nil {
		return o, fmt.Errorf("-evidence-redact-path: %w", err)
	}
	return o, nil
}

// openEvidence opens what keeps evidence, if that is wanted.
func (s *service) openEvidence() (err error) {
	if s.o.evidence.dir == "" {
		return nil
	}
	o, err := s.o.evidence.config(s)
	if err != nil {
		return err
	}
	s.evidence, err = evidence.Open(s.o.evidence.dir, o)
	if errors.Is(err, evidence.ErrInUse) {
		return hinted{fmt.Errorf("-evidence %s: %w", s.o.evidence.dir, evidence.ErrInUse), "give each turnwatch an -evidence folder of its own: turncheck reads them together"}
	} else if err != nil {
		return fmt.Errorf("-evidence %s: %w", s.o.evidence.dir, err)
	}
	s.cfg.Capture = max(s.cfg.Capture, int64(s.o.evidence.maxTurn))
	return nil
}

// evidenceMetrics says what became of the evidence. What is missing joins the
// relay's own family of drops.
func (s *service) evidenceMetrics() []proxy.Metric {
	if s.evidence == nil {
		return nil
	}
	st := s.evidence.Stats()
	return []proxy.Metric{
		proxy.ByLabel("turnwatch_dropped_total", "reason", st.Dropped),
		proxy.Counter("turnwatch_evidence_folders_total", st.Folders),
		proxy.Counter("turnwatch_evidence_bytes_total", st.Bytes),
		proxy.Counter("turnwatch_evidence_removed_folders_total", st.Removed),
		proxy.Gauge("turnwatch_evidence_queued_bytes", float64(st.Queued)),
	}
}
