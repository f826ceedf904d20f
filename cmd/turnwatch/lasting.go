package main

// lasting are the settings that want a new start, and why. All others are
// reloadable.
func lasting() map[string]string {
	all := map[string]string{}
	for _, g := range []struct {
		why   string
		names []string
	}{
		{"the listener stands", []string{"listen", "tls-cert", "tls-key", "admin", "admin-token-file", "admin-open", "ready-upstream", "pprof"}},
		{"all that is known is of the server that it was", []string{"upstream", "upstream-ca", "upstream-cert", "upstream-cert-key", "upstream-server-name",
			"upstream-insecure", "upstream-key-file", "tag-prefix", "tag", "label-file", "turn-facts", "no-poll", "poll-metrics", "status-log"}},
		{"the loops and answers in progress have it", []string{"loops", "max-lag", "connect-timeout", "first-byte-timeout", "idle-timeout"}},
		{"turns and sessions in progress were begun with it", []string{"relay-only", "session-header", "session-idle", "session-turns", "echo", "propagate",
			"annotate", "annotate-max-size", "annotate-max-wait"}},
		{"a comparison must not change what it compares", []string{"shadow", "shadow-by", "shadow-model", "shadow-path", "shadow-header", "shadow-allow-side-effects",
			"shadow-cut-with-client"}},
		{"the arms' workers and queues are made", []string{"shadow-concurrency", "shadow-queue"}},
		{"a bound that is set after a look proves nothing", []string{"shadow-margin", "shadow-batch-limit"}},
		{"the workers that ask for second opinions, and their queue, are made", []string{"opinion", "opinion-key-file", "opinion-control", "opinion-rate",
			"opinion-token-budget", "opinion-max-tokens", "opinion-concurrency", "opinion-queue", "opinion-max-running", "opinion-wait",
			"opinion-timeout", "opinion-replays", "opinion-tokens"}},
		{"the file is open", []string{"journal", "evidence", "log-format", "alarm-state", "config"}},
		{"what a folder may hold was promised to whoever was recorded", []string{"evidence-bodies", "evidence-redact", "evidence-redact-path", "content"}},
		{"series and spans would go on under another name", []string{"provider"}},
	} {
		for _, name := range g.names {
			all[name] = g.why
		}
	}
	return all
}
