package main

import "turnwatch/proxy"

func (s *service) relayMetrics() []proxy.Metric {
	all := append(s.relay.Stats().Metrics(), s.relay.QueueMetrics())
	return append(append(all, s.relay.AnnotationMetrics()...), append(s.relay.EchoMetrics(), s.relay.ProbeMetrics()...)...)
}

// journalMetrics says what became of the journal's lines. What is missing from
// the journal joins the relay's own family of drops.
func (s *service) journalMetrics() []proxy.Metric {
	if s.journal == nil {
		return nil
	}
	st := s.journal.Stats()
	return []proxy.Metric{
		proxy.ByLabel("turnwatch_dropped_total", "reason", st.Dropped),
		proxy.Counter("turnwatch_journal_lines_total", st.Lines),
		proxy.Counter("turnwatch_journal_bytes_total", st.Bytes),
		proxy.Counter("turnwatch_journal_errors_total", st.Errors),
		proxy.Counter("turnwatch_journal_rotations_total", st.Rotations),
		proxy.Counter("turnwatch_journal_removed_files_total", st.Removed),
		proxy.ByLabel("turnwatch_queue_depth", "queue", map[string]int64{"journal": int64(st.QueuedLines)}),
	}
}
