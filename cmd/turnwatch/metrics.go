package main

import "turnwatch/proxy"

func (s *service) relayMetrics() []proxy.Metric {
	return append(append(s.relay.Stats().Metrics(), s.relay.AnnotationMetrics()...), s.relay.EchoMetrics()...)
}

// journalMetrics says what became of the journal's lines. What is missing from
// the journal joins the relay's own family of drops.
func (s *service) journalMetrics() []proxy.Metric {
	if s.journal == nil {
		return nil
	}
	st := s.journal.Stats()
	dropped := proxy.Metric{Name: "turnwatch_dropped_total"}
	for reason, n := range st.Dropped {
		dropped.Series = append(dropped.Series, proxy.Sample{Labels: []proxy.Label{{Name: "reason", Value: string(reason)}}, Value: float64(n)})
	}
	return []proxy.Metric{
		dropped,
		proxy.Counter("turnwatch_journal_lines_total", "Lines written to the journal.", st.Lines),
		proxy.Counter("turnwatch_journal_bytes_total", "Bytes written to the journal.", st.Bytes),
		proxy.Counter("turnwatch_journal_errors_total", "Attempts to write to the journal that its disk refused.", st.Errors),
		proxy.Counter("turnwatch_journal_rotations_total", "Files begun after another.", st.Rotations),
		proxy.Counter("turnwatch_journal_removed_files_total", "Files deleted to keep -journal-max-total.", st.Removed),
		proxy.Gauge("turnwatch_journal_queued_lines", "Lines that wait for the journal's disk.", float64(st.QueuedLines)),
	}
}
