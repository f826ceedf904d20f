package main

// arms compares what answers the same requests.
func arms() board {
	pairs := func(outcome string) string {
		return ranged("turnwatch_shadow_pairs_total", byModel+`,outcome=~"`+outcome+`"`)
	}
	return board{uid: "turnwatch-arms", title: "turnwatch: arms",
		help: "Live turns beside those of other arms: the same requests, answered by another configuration.",
		rows: []row{
			{"Pairs over the time shown", 4, []panel{
				{title: "Only the control is corrupted", shape: number, unit: "short", help: "Pairs of which the control's answer alone is corrupted; the live one's, where there is no control.", queries: []query{{pairs("only_control|only_live") + "\nor vector(0)", "", false}}},
				{title: "Only the candidate is corrupted", shape: number, unit: "short", help: "Pairs of which the candidate's answer alone is corrupted.", queries: []query{{pairs("only_candidate") + "\nor vector(0)", "", false}}},
				{title: "Both are corrupted", shape: number, unit: "short", help: "They say nothing about which is worse.", queries: []query{{pairs("both") + "\nor vector(0)", "", false}}},
				{title: "Both are clean", shape: number, unit: "short", help: "They say nothing about which is worse.", queries: []query{{pairs("both_clean") + "\nor vector(0)", "", false}}},
			}},
			{"Corruption", 9, []panel{
				{title: "Corrupted, by arm", unit: "percentunit", points: true, help: "Share of corrupted turns, with the 95% interval of Wilson.",
					queries: []query{{share("turnwatch_arm"), "{{turnwatch_arm}}", false}, {wilson("-"), "{{turnwatch_arm}} low", false}, {wilson("+"), "{{turnwatch_arm}} high", false}}},
				{title: "Evidence that an arm is worse", unit: "none", signed: true, help: "log10 of the e-value of the pairs, for either direction. The word is made at 1.6; 4 is ten thousand to one.",
					queries: []query{{`max by (turnwatch_arm, worse) (turnwatch_shadow_log10_e{` + byModel + `}) or on () vector(0)`, "{{turnwatch_arm}}: {{worse}} is worse", false}}},
				{title: "Difference", unit: "percentunit", signed: true, help: "Share of corrupted answers less that of what the arm is held against, with its always-valid 95% interval.",
					queries: []query{{`max by (turnwatch_arm, bound) (turnwatch_shadow_difference{` + byModel + `}) or on () vector(0)`, "{{turnwatch_arm}} {{bound}}", false}}},
				{title: "Word", unit: "short", help: "What the comparison has come to; not comparable where there is no control.",
					queries: []query{{`max by (turnwatch_arm, word) (turnwatch_shadow_word{` + byModel + `} == 1) or on () vector(0)`, "{{turnwatch_arm}}: {{word}}", false}}},
			}},
			probeRow(),
			opinionRow(),
			{"Speed", 9, []panel{
				{title: "Time to the first byte, by arm", unit: "s", help: "Half of the turns that stream are below the first line, nineteen in twenty below the second.", queries: []query{
					{quantile("0.5", "turnwatch_arm", "gen_ai_client_operation_time_to_first_chunk_seconds", byArm), "p50 {{turnwatch_arm}}", false},
					{quantile("0.95", "turnwatch_arm", "gen_ai_client_operation_time_to_first_chunk_seconds", byArm), "p95 {{turnwatch_arm}}", false}}},
				{title: "Duration, by arm", unit: "s", help: "Of whole turns.", queries: []query{
					{quantile("0.5", "turnwatch_arm", "gen_ai_client_operation_duration_seconds", byArm), "p50 {{turnwatch_arm}}", false},
					{quantile("0.95", "turnwatch_arm", "gen_ai_client_operation_duration_seconds", byArm), "p95 {{turnwatch_arm}}", false}}},
				{title: "Turns by arm", unit: "reqps", help: "An arm gets a share of the live requests.", queries: []query{{rate("turnwatch_arm", "turnwatch_turns_total", byArm), "{{turnwatch_arm}}", false}}},
			}},
		}}
}

// wilson is a bound of Wilson's 95% interval of the share of corrupted turns by
// arm: (p + z²/2n ± z·√(p(1-p)/n + z²/4n²)) / (1 + z²/n), with n the turns
// within the last hour.
func wilson(sign string) string {
	n := `sum by (turnwatch_arm) (increase(turnwatch_turns_total{` + byArm + `,` + judged + `}[1h]))`
	k := `sum by (turnwatch_arm) (increase(turnwatch_turns_total{` + byArm + `,` + bad + `}[1h]))`
	p := "(" + k + " / (" + n + " > 0))"
	return "(" + p + " + 1.92 / " + n + " " + sign + " 1.96 * sqrt(" + p + " * (1 - " + p + ") / " + n + " + 0.96 / " + n + " ^ 2))\n/ (1 + 3.84 / " + n + ")"
}

// health shows how turnwatch itself fares, and the server as it sees it.
func health() board {
	return board{uid: "turnwatch-health", title: "turnwatch: relay and server",
		help: "What the relay costs, what is not judged and why, where tags come from, and how the server answers.",
		rows: []row{healthRelay(), healthServer(), healthJudge(), healthTags(), healthTelemetry(), healthProcess()}}
}

func healthRelay() row {
	return row{"The relay", 8, []panel{
		{title: "Added latency", unit: "s", help: "Time that turnwatch adds, 99 in 100 are below: first_byte, to a request and the first byte of its answer; chunk, to a read of it.",
			queries: []query{{quantile("0.99", "phase", "turnwatch_proxy_overhead_seconds", on), "p99 {{phase}}", false}}},
		{title: "Bytes compared at both sockets", unit: "reqps", help: "A sample of answers: what was read and what was written. Different must not occur.",
			queries: []query{{rate("result", "turnwatch_identity_checks_total", on), "{{result}}", false}}},
		{title: "Requests and open streams", unit: "reqps", right: "open streams", help: "Requests of clients, and answers in progress (dashed).", queries: []query{
			{rate("job", "turnwatch_requests_total", on), "requests", false},
			{rate("job", "turnwatch_clients_gone_total", on), "clients that left", false},
			{`sum(turnwatch_open_streams{` + on + `})`, "open streams", false}}},
		{title: "Given up", unit: "reqps", help: "What was given up so that the bytes could pass, and tries of the journal that its disk refused.", queries: []query{
			{rate("reason", "turnwatch_dropped_total", on), "{{reason}}", false},
			{rate("job", "turnwatch_journal_errors_total", on), "journal refused", false}}},
	}}
}

func healthServer() row {
	return row{"The server", 8, []panel{
		{title: "Status of answers", unit: "reqps", help: "HTTP status of answers to turns.", queries: []query{
			{rate("http_response_status_code", "turnwatch_answers_total", on), "{{http_response_status_code}}", false}}},
		{title: "Errors of the server, by stage", unit: "reqps", help: "Exchanges that the server spoiled.", queries: []query{{rate("stage", "turnwatch_upstream_errors_total", on), "{{stage}}", false}}},
		{title: "Time to the first byte", unit: "s", help: "Of turns that stream.", queries: []query{
			{quantile("0.5", "gen_ai_request_model", "gen_ai_client_operation_time_to_first_chunk_seconds", byModel), "p50 {{gen_ai_request_model}}", false},
			{quantile("0.99", "gen_ai_request_model", "gen_ai_client_operation_time_to_first_chunk_seconds", byModel), "p99 {{gen_ai_request_model}}", false}}},
		{title: "SGLang's requests", unit: "short", help: "What SGLang says of itself: running, and waiting.", queries: []query{
			{running, "running", false},
			{`sum({__name__=~"sglang[:_]num_queue_reqs",job=~"$sglang_job"})`, "waiting", false}}},
	}}
}

func healthJudge() row {
	return row{"Judging", 8, []panel{
		{title: "Not judged, by reason", unit: "reqps", help: "Turns that are unverified. They are in no rate.", queries: []query{{rate("reason", "turnwatch_validation_skipped_total", on), "{{reason}}", false}}},
		{title: "Time of judging", unit: "s", help: "99 in 100 are below: request, to read what it allows; chunk, of one read; end, after the last byte.",
			queries: []query{{quantile("0.99", "phase", "turnwatch_validation_duration_seconds", on), "p99 {{phase}}", false}}},
		{title: "Oddities of the protocol", unit: "reqps", help: "What is no corruption and should not be, such as a stream without its end mark.",
			queries: []query{{rate("turnwatch_lint", "turnwatch_lints_total", on), "{{turnwatch_lint}}", false}}},
		{title: "Signals", unit: "reqps", help: "Evidence that makes no verdict.", queries: []query{{rate("turnwatch_finding_kind", "turnwatch_signals_total", byArm), "{{turnwatch_finding_kind}}", false}}},
	}}
}

func healthTags() row {
	by := func(what string) []query {
		return []query{{rate("source", "turnwatch_metadata_turns_total", on+`,metadata="`+what+`"`), "{{source}}", false}}
	}
	return row{"Tags", 8, []panel{
		{title: "Where the batch is known from", unit: "reqps", help: "Turns by the best source of their batch.", queries: by("batch")},
		{title: "Where the configuration is known from", unit: "reqps", help: "Turns by the best source of their configuration.", queries: by("configuration")},
		{title: "Polls", unit: "reqps", help: "What the server was asked of itself.", queries: []query{{rate("poll, outcome", "turnwatch_polls_total", on), "{{poll}} {{outcome}}", false}}},
		{title: "Changes", unit: "reqps", help: "Changes of the configuration, and restarts of the server.", queries: []query{
			{rate("job", "turnwatch_config_changes_total", on), "configuration", false}, {rate("job", "turnwatch_server_restarts_total", on), "restarts", false}}},
	}}
}

func healthTelemetry() row {
	return row{"Telemetry", 8, []panel{
		{title: "Exports", unit: "reqps", help: "Attempts to send to the Collector.", queries: []query{{rate("signal, outcome", "turnwatch_telemetry_exports_total", on), "{{signal}} {{outcome}}", false}}},
		{title: "Spans kept, by reason", unit: "reqps", help: "Corrupted turns are always kept.", queries: []query{{rate("reason", "turnwatch_traces_kept_total", on), "{{reason}}", false}}},
		{title: "Telemetry given up", unit: "reqps", help: "The first thing that turnwatch gives up.",
			queries: []query{{rate("signal, reason", "turnwatch_telemetry_dropped_total", on), "{{signal}} {{reason}}", false}}},
		{title: "Counted under other", unit: "reqps", help: "Turns with more models or configurations than series are kept for.",
			queries: []query{{rate("label", "turnwatch_label_overflow_total", on), "{{label}}", false}}},
	}}
}

func healthProcess() row {
	return row{"The process", 8, []panel{
		{title: "Memory", unit: "bytes", help: "Resident, and held for judging.", queries: []query{
			{`process_resident_memory_bytes{` + on + `}`, "resident {{instance}}", false}, {`turnwatch_judge_memory_bytes{` + on + `}`, "judging {{instance}}", false}}},
		{title: "CPU", unit: "none", help: "Cores in use.", queries: []query{{rate("instance", "process_cpu_seconds_total", on), "{{instance}}", false}}},
		{title: "Goroutines and descriptors", unit: "short", help: "Neither may grow without end.", queries: []query{
			{`go_goroutines{` + on + `}`, "goroutines {{instance}}", false}, {`process_open_fds{` + on + `}`, "descriptors {{instance}}", false}}},
		{title: "Queues", unit: "short", help: "What waits.", queries: []query{{`sum by (queue) (turnwatch_queue_depth{` + on + `})`, "{{queue}}", false}}},
	}}
}

// probeRow shows what turns with known answers told, where any are sent.
func probeRow() row {
	audit := func(name string) []query {
		return []query{{`max by (turnwatch_finding_kind, bound) (` + name + `{` + on + `}) or on () vector(0)`, "{{turnwatch_finding_kind}} {{bound}}", false}}
	}
	return row{"Probes: turns with known answers", 9, []panel{
		{title: "Wrong answers to probes, by batch", unit: "percentunit", points: true, help: "Share of wrong answers, with its always-valid 95% interval.",
			queries: []query{{`max by (turnwatch_batch_range, sglang_config_fingerprint, bound) (turnwatch_probe_wrong_share{` + on + `}) or on () vector(0)`,
				"{{turnwatch_batch_range}} {{sglang_config_fingerprint}} {{bound}}", false}}},
		{title: "Evidence that probes come back wrong", unit: "none", signed: true, help: "log10 of the e-value against at most 0.1% of wrong answers. Beyond doubt at 1.3.",
			queries: []query{{`max by (job) (turnwatch_probe_log10_e{` + on + `}) or on () vector(0)`, "{{job}}", false}}},
		{title: "Wrong answers that were told, by kind", unit: "percentunit", points: true, help: "Recall of each kind on probes, with its always-valid 95% interval.", queries: audit("turnwatch_probe_recall")},
		{title: "Right answers that were told, by kind", unit: "percentunit", points: true, help: "False alarms of each kind on probes, with its always-valid 95% interval.", queries: audit("turnwatch_probe_false_alarms")},
	}}
}

// opinionRow shows whose words flagged turns are, where second opinions are asked for.
func opinionRow() row {
	return row{"Second opinions: server or model", 9, []panel{
		{title: "Server or model?", unit: "short", help: "Second opinions over the last hour, on flagged turns and on the control of clean ones. server: the model would not have said it. Of the control that is the rate of false words, or damage that no check saw.",
			queries: []query{{`sum by (of, word) (increase(turnwatch_opinions_total{` + on + `}[1h])) or on () vector(0)`, "{{of}} {{word}}", false}}},
		{title: "Why opinions are unknown", unit: "short", help: "By reason, over the last hour.",
			queries: []query{{`sum by (reason) (increase(turnwatch_opinion_unknown_total{` + on + `}[1h])) > 0 or on () vector(0)`, "{{reason}}", false}}},
		{title: "Turns that no opinion was asked on", unit: "short", help: "By reason, over the last hour.",
			queries: []query{{`sum by (reason) (increase(turnwatch_opinion_dropped_total{` + on + `}[1h])) > 0 or on () vector(0)`, "{{reason}}", false}}},
	}}
}
