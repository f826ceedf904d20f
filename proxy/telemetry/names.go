package telemetry

import "strings"

// The attributes of series and spans. Prometheus spells them with underscores:
// turnwatch_verdict. A key stands here once, and nowhere else.
const (
	KeyModel       = "gen_ai.request.model"          // as the request names it; unknown where it could not be read, other beyond a bound
	KeyArm         = "turnwatch.arm"                 // live, control, candidate or probe
	KeyVerdict     = "turnwatch.verdict"             // clean, corrupted, truncated or unverified
	KeyCause       = "turnwatch.cause"               // of a corruption: unknown, or parser where all of it is; none without one
	KeySuspect     = "turnwatch.suspect"             // whether there are signals, that convict nobody alone
	KeyBatchRange  = "turnwatch.batch_range"         // 1, 2-4, 5-8, 9-16, 17-32, 33-64, 65-128, 129+ or unknown
	KeyFingerprint = "sglang.config.fingerprint"     // 8 hex digits; none where nothing is known, other beyond a bound
	KeyKind        = "turnwatch.finding.kind"        // validate.Kinds has them all
	KeySeverity    = "turnwatch.finding.severity"    // minor, major or critical
	KeyLint        = "turnwatch.lint"                // validate.Lints has them all
	KeyReason      = "reason"                        // why something was given up
	KeyResult      = "result"                        // what became of something
	KeyOutcome     = "outcome"                       // what became of something that was asked for
	KeyStage       = "stage"                         // of an exchange with the server
	KeySource      = "source"                        // header, facts, status_log, poll, label, own or none
	KeyMetadata    = "metadata"                      // what the source tells: batch or configuration
	KeyPhase       = "phase"                         // of the way of a turn through us
	KeyQueue       = "queue"                         // that something waits in
	KeySignal      = "signal"                        // traces, metrics, logs, or lines of our own log
	KeyPoll        = "poll"                          // what the server was asked for
	KeyLabel       = "label"                         // whose values went beyond their bound: model, fingerprint or group
	KeyWorse       = "worse"                         // the arm that the evidence speaks against: the candidate or what it is held against
	KeyAgainst     = "against"                       // the arm that another is held against: live or control
	KeyBound       = "bound"                         // of an interval: low, seen or high
	KeyAnswer      = "answer"                        // of a probe: right, wrong or unknown
	KeyWord        = "word"                          // of a comparison: worse, better, no difference, undecided or not comparable; of a second opinion: server, model or unknown
	KeyOf          = "of"                            // why a second opinion was asked for: flagged, or control for a clean turn taken at random
	KeyBy          = "by"                            // what a second opinion rests on: scores, replays or none
	KeyStatus      = "http.response.status_code"     // of the answer; none where there was none
	KeyFinish      = "gen_ai.response.finish_reason" // stop, length, tool_calls, content_filter, function_call, abort, error or other
)

// Type is what a metric does.
type Type string

// The types of metrics.
const (
	Counter   Type = "counter" // only rises
	Gauge     Type = "gauge"
	Histogram Type = "histogram"
)

// Metric describes a family of series, under the name that OpenTelemetry
// exports it by.
type Metric struct {
	Name   string
	Type   Type
	Unit   string   // as UCUM spells it: s, By, {turn}; empty for a bare number
	Help   string   // a sentence
	Labels []string // attribute keys, in the order in which code gives their values
	Bounds []float64
}

// Prometheus is the name of the family at /metrics. A histogram's series have
// _bucket, _sum and _count after it.
func (m Metric) Prometheus() string {
	name := strings.ReplaceAll(m.Name, ".", "_")
	suffix := map[string]string{"s": "_seconds", "By": "_bytes"}[m.Unit]
	name = strings.TrimSuffix(name, suffix) + suffix
	if m.Type == Counter {
		name += "_total"
	}
	return name
}

// Metrics lists every family there is, of whatever part of turnwatch.
func Metrics() []Metric {
	var all []Metric
	for _, group := range [][]Metric{
		turnMetrics(), genAIMetrics(), alarmMetrics(), armMetrics(), shadowMetrics(), probeMetrics(), opinionMetrics(), relayMetrics(), judgeMetrics(), sourceMetrics(), journalMetrics(), ownMetrics(), processMetrics(),
	} {
		all = append(all, group...)
	}
	return all
}

// turnLabels tell turns and sessions apart.
func turnLabels() []string {
	return []string{KeyModel, KeyArm, KeyVerdict, KeyCause, KeySuspect, KeyBatchRange, KeyFingerprint}
}

func turnMetrics() []Metric {
	model := []string{KeyModel, KeyArm}
	with := func(more ...string) []string { return append(model[:2:2], more...) }
	return []Metric{
		{"turnwatch.turns", Counter, "{turn}", "Turns, by verdict. Those whose cause is the parser are no part of a rate.", turnLabels(), nil},
		{"turnwatch.sessions", Counter, "{session}", "Sessions, each once: at its first corrupted turn, else when it is over.", turnLabels(), nil},
		{"turnwatch.sessions.open", Gauge, "{session}", "Sessions that are not over and had no corrupted turn.", nil, nil},
		{"turnwatch.findings", Counter, "{finding}", "Findings in turns, by kind.", with(KeyKind, KeySeverity, KeyCause, KeyFingerprint), nil},
		{"turnwatch.signals", Counter, "{signal}", "Signals in turns: evidence that makes no verdict.", with(KeyKind), nil},
		{"turnwatch.lints", Counter, "{lint}", "Turns with an oddity of the protocol that is no corruption, by what it is.", []string{KeyLint}, nil},
		{"turnwatch.tool_calls", Counter, "{call}", "Tool calls, by whether anything is wrong with them: valid, invalid or unchecked.", with(KeyResult), nil},
		{"turnwatch.finish_reasons", Counter, "{choice}", "Choices, by why they ended.", with(KeyFinish), nil},
		{"turnwatch.answers", Counter, "{answer}", "Answers to turns, by their HTTP status.", []string{KeyStatus}, nil},
		{"turnwatch.batch.running", Histogram, "{request}", "Largest batch that a turn was decoded in.", with(KeyVerdict),
			[]float64{1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 128, 256}},
		{"turnwatch.metadata.turns", Counter, "{turn}", "Turns, by where their batch and their configuration are known from.", []string{KeyMetadata, KeySource}, nil},
		{"turnwatch.config.info", Gauge, "", "The configurations that made turns. Always 1; joins a fingerprint to what is behind it.", configLabels(), nil},
		{"turnwatch.label.overflow", Counter, "{turn}", "Turns that were counted under other, because too many models, configurations or both together were seen.", []string{KeyLabel}, nil},
	}
}

// configPrefix begins the key of a configuration tag.
const configPrefix = "sglang.config."

func configKey(tag string) string { return configPrefix + tag }

// infoTags are the configuration tags that a configuration is shown with.
func infoTags() []string {
	return []string{"index_dtype", "kv_cache_dtype", "cuda_graph", "overlap", "overlap_schedule", "attention_backend", "tool_call_parser", "reasoning_parser",
		"speculative_algorithm", "tp_size", "dp_size", "quantization"}
}

func configLabels() []string {
	all := []string{KeyFingerprint, AttrVersion}
	for _, tag := range infoTags() {
		all = append(all, configKey(tag))
	}
	return all
}

// Bounds of the GenAI conventions, and two more: turns of agents run longer.
func genAIBounds() []float64 {
	return []float64{.01, .02, .04, .08, .16, .32, .64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92, 163.84, 327.68}
}

func tokenBounds() []float64 {
	return []float64{1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576}
}

// genAIMetrics are those of the GenAI conventions. The second name of each is
// used instead of the first on OTEL_SEMCONV_STABILITY_OPT_IN.
func genAIMetrics() []Metric {
	labels := []string{AttrOperation, AttrProvider, KeyModel, KeyArm, AttrErrorType}
	return []Metric{
		{MetricDuration, Histogram, "s", "From the request's head to the end of the answer.", labels, genAIBounds()},
		{MetricFirstChunk, Histogram, "s", "From the request's head to the first byte of the answer, of turns that stream.", labels, genAIBounds()},
		{LatestDuration, Histogram, "s", "From the request's head to the end of the answer.", labels, genAIBounds()},
		{LatestFirstChunk, Histogram, "s", "From the request's head to the first byte of the answer, of turns that stream.", labels, genAIBounds()},
		{LatestInput, Counter, "{token}", "Tokens of requests, as the server counts them.", labels[:4:4], nil},
		{LatestOutput, Counter, "{token}", "Tokens of answers, as the server counts them.", labels[:4:4], nil},
		{MetricTokens, Histogram, "{token}", "Tokens, as the server counts them.", append(labels[:4:4], AttrTokenType), tokenBounds()},
	}
}

func alarmMetrics() []Metric {
	by := []string{KeyModel, KeyFingerprint}
	return []Metric{
		{"turnwatch.alarms", Counter, "{alarm}", "Times that corruption rose beyond what chance does once in -alarm-spacing.", by, nil},
		{"turnwatch.alarm.sessions", Counter, "{session}", "Sessions that the alarm has seen.", by, nil},
		{"turnwatch.alarm.log10_evidence", Gauge, "", "Evidence of a rise, log10 of the Shiryaev-Roberts statistic.", by, nil},
		{"turnwatch.alarm.log10_evidence_max", Gauge, "", "The greatest that it was since the last alarm or the start.", by, nil},
		{"turnwatch.alarm.log10_threshold", Gauge, "", "At which an alarm is counted.", by, nil},
		{"turnwatch.alarm.p0", Gauge, "", "Share of corrupted sessions that is taken for usual.", by, nil},
	}
}

// armMetrics compare batches.
func armMetrics() []Metric {
	return []Metric{
		{"turnwatch.batch.log10_e", Gauge, "", "Evidence that turns in batches of two and more are corrupted more often, log10 of an always-valid e-value.",
			[]string{KeyModel, KeyFingerprint}, nil},
	}
}

// shadowMetrics tell what became of the requests that other servers got, too, and
// what their answers say.
func shadowMetrics() []Metric {
	arm, held := []string{KeyArm}, []string{KeyModel, KeyArm, KeyAgainst}
	with := func(labels []string, more ...string) []string {
		return append(labels[:len(labels):len(labels)], more...)
	}
	return []Metric{
		{"turnwatch.shadow.offered", Counter, "{request}", "Requests offered to an arm: paired, dropped, failed, or still under way.", arm, nil},
		{"turnwatch.shadow.paired", Counter, "{request}", "Requests that an arm answered and whose live turn is recorded.", arm, nil},
		{"turnwatch.shadow.dropped", Counter, "{request}", "Requests that were not sent to an arm, or given up by us, by reason.", with(arm, KeyReason), nil},
		{"turnwatch.shadow.failed", Counter, "{request}", "Requests that an arm spoiled, by how.", with(arm, KeyReason), nil},
		{"turnwatch.shadow.waiting", Gauge, "{request}", "Requests that wait for an arm.", arm, nil},
		{"turnwatch.shadow.running", Gauge, "{request}", "Requests that an arm is answering.", arm, nil},
		{"turnwatch.shadow.paused", Gauge, "", "1 while an arm gets no requests, by reason: backoff or max_batch.", with(arm, KeyReason), nil},
		{"turnwatch.shadow.pairs", Counter, "{pair}", "Pairs of answers to one request, by which is corrupted: both_clean, only_live, only_control, only_candidate, both or unjudged.",
			with(held, KeyFingerprint, KeyOutcome), nil},
		{"turnwatch.shadow.votes", Counter, "{session}", "Sessions with a pair of which one answer alone is corrupted, by the arm that the first such pair speaks against.",
			with(held, KeyFingerprint, KeyWorse), nil},
		{"turnwatch.shadow.prompt_mismatches", Counter, "{pair}", "Pairs whose prompts the arms count differently: another template or tokenizer.", with(held), nil},
		{"turnwatch.shadow.log10_e", Gauge, "", "Evidence that one arm is corrupted more often, log10 of an always-valid e-value; decided at 1.6.", with(held, KeyWorse), nil},
		{"turnwatch.shadow.suspect.log10_e", Gauge, "", "The same of suspect turns, that convict nobody.", with(held, KeyWorse), nil},
		{"turnwatch.shadow.difference", Gauge, "", "Share of corrupted answers less that of what the arm is held against, and the always-valid interval around it.", with(held, KeyBound), nil},
		{"turnwatch.shadow.word", Gauge, "", "1 for the word that the comparison has come to.", with(held, KeyWord), nil},
	}
}

// probeMetrics tell what turns with known answers showed.
func probeMetrics() []Metric {
	kind := []string{KeyKind, KeyBound}
	return []Metric{
		{"turnwatch.probe.turns", Counter, "{turn}", "Probes, by whether their answer is the right one.", []string{KeyAnswer}, nil},
		{"turnwatch.probe.skipped", Counter, "{turn}", "Probes that were not sent, by reason: nobody_there or busy.", []string{KeyReason}, nil},
		{"turnwatch.probe.wrong_share", Gauge, "", "Share of wrong answers among probes, and the always-valid interval around it.", []string{KeyBatchRange, KeyFingerprint, KeyBound}, nil},
		{"turnwatch.probe.log10_e", Gauge, "", "Evidence that more than 0.1% of answers to probes are wrong, log10 of an always-valid e-value; beyond doubt at 1.3.", nil, nil},
		{"turnwatch.probe.recall", Gauge, "", "Share of wrong answers to probes of which a kind was told, and the always-valid interval around it.", kind, nil},
		{"turnwatch.probe.false_alarms", Gauge, "", "Share of right answers to probes of which a kind was told, and the always-valid interval around it.", kind, nil},
		{"turnwatch.probe.demoted", Gauge, "", "1 for a kind that is a signal from now on: it was a finding in more than 1 of 10,000 right answers to probes, beyond doubt.", []string{KeyKind}, nil},
	}
}

// opinionMetrics tell whose words flagged turns are.
func opinionMetrics() []Metric {
	return []Metric{
		{"turnwatch.opinions", Counter, "{turn}", "Second opinions: server (the model would not have said it), model (it finds its own words plausible) or unknown.",
			[]string{KeyWord, KeyOf, KeyBy}, nil},
		{"turnwatch.opinion.unknown", Counter, "{turn}", "Second opinions that are unknown, by reason.", []string{KeyReason}, nil},
		{"turnwatch.opinion.dropped", Counter, "{turn}", "Turns that no second opinion was asked on, by reason.", []string{KeyReason}, nil},
	}
}

func relayMetrics() []Metric {
	return []Metric{
		{"turnwatch.requests", Counter, "{request}", "Requests of clients, judged or not.", nil, nil},
		{"turnwatch.requests.judged", Counter, "{request}", "Requests that were taken for turns.", nil, nil},
		{"turnwatch.requests.refused", Counter, "{request}", "Requests answered by us because their framing is not safe to forward.", nil, nil},
		{"turnwatch.request.bytes", Counter, "By", "Bytes of request bodies relayed to the server.", nil, nil},
		{"turnwatch.response.bytes", Counter, "By", "Bytes of answers relayed to clients.", nil, nil},
		{"turnwatch.clients.gone", Counter, "{client}", "Clients that left before the end of their answer.", nil, nil},
		{"turnwatch.client.connections", Gauge, "{connection}", "Open connections of clients.", nil, nil},
		{"turnwatch.accept.errors", Counter, "{connection}", "Connections of clients that could not be accepted.", nil, nil},
		{"turnwatch.open_streams", Gauge, "{answer}", "Answers in progress.", nil, nil},
		{"turnwatch.loop.busy", Counter, "s", "Time that loops took to pass on what had come.", nil, nil},
		{"turnwatch.loop.late", Counter, "{time}", "Times that a loop took longer than 10 ms to pass on what had come.", nil, nil},
		{"turnwatch.upstream.dials", Counter, "{connection}", "Connections opened to the server.", nil, nil},
		{"turnwatch.upstream.reuses", Counter, "{exchange}", "Exchanges on a connection to the server that had served before.", nil, nil},
		{"turnwatch.upstream.errors", Counter, "{exchange}", "Exchanges that the server spoiled, by stage.", []string{KeyStage}, nil},
		{"turnwatch.dropped", Counter, "{item}", "What was given up so that the bytes could pass, by reason.", []string{KeyReason}, nil},
		{"turnwatch.queue.depth", Gauge, "{item}", "What waits, by queue.", []string{KeyQueue}, nil},
		{"turnwatch.proxy.overhead", Histogram, "s", "Time that we add: first_byte, to the request and to the first byte of its answer; chunk, to a read of the answer (sampled).",
			[]string{KeyPhase}, nil},
		{"turnwatch.identity.checks", Counter, "{answer}", "Answers of which digests were taken at both sockets (sampled), by whether they are the same: same or different.",
			[]string{KeyResult}, nil},
		{"turnwatch.annotations", Counter, "{answer}", "Successful answers to turns, by whether their clients were told the verdict, or why not.", []string{KeyOutcome}, nil},
		{"turnwatch.tls.reloads", Counter, "{change}", "Changes of TLS files, by what became of them: taken or kept_old.", []string{KeyResult}, nil},
		{"turnwatch.tls.expiry.timestamp", Gauge, "s", "When the first of our certificates in use expires.", nil, nil},
	}
}

func judgeMetrics() []Metric {
	return []Metric{
		{"turnwatch.judge.memory", Gauge, "By", "Bytes held for judging.", nil, nil},
		{"turnwatch.validation.duration", Histogram, "s", "Time that judging takes: request, to read what it allows; chunk, of one read (sampled); end, after the last byte.",
			[]string{KeyPhase}, nil},
		{"turnwatch.echo.false_discovery", Gauge, "", "Upper bound of the share of wrong ones among the latest echo signals of parameters that are always copied; 1 until enough was seen.", nil, nil},
		{"turnwatch.validation.skipped", Counter, "{turn}", "Turns that are unverified, by reason.", []string{KeyReason}, nil},
		{"turnwatch.schema.skips", Counter, "{call}", "Calls that were not held against their schema, or not against all of it, by reason.", []string{KeyReason}, nil},
	}
}

// sourceMetrics tell how it is learned what the server was like.
func sourceMetrics() []Metric {
	return []Metric{
		{"turnwatch.turn_facts", Counter, "{turn}", "Turns that facts were due for, by what became of asking the server for them.", []string{KeyOutcome}, nil},
		{"turnwatch.polls", Counter, "{poll}", "Polls of what the server tells of itself, by what was asked and what became of it: ok or failed.", []string{KeyPoll, KeyOutcome}, nil},
		{"turnwatch.config_changes", Counter, "{change}", "Changes of the configuration from one turn to the next.", nil, nil},
		{"turnwatch.server_restarts", Counter, "{restart}", "Times that the server seemed to have been started anew.", nil, nil},
	}
}

func journalMetrics() []Metric {
	return []Metric{
		{"turnwatch.journal.lines", Counter, "{line}", "Lines written to the journal.", nil, nil},
		{"turnwatch.journal.bytes", Counter, "By", "Bytes written to the journal.", nil, nil},
		{"turnwatch.journal.errors", Counter, "{write}", "Attempts to write to the journal that its disk refused.", nil, nil},
		{"turnwatch.journal.rotations", Counter, "{file}", "Files begun after another.", nil, nil},
		{"turnwatch.journal.removed_files", Counter, "{file}", "Files deleted to keep -journal-max-total.", nil, nil},
		{"turnwatch.evidence.folders", Counter, "{folder}", "Folders written of corrupted turns.", nil, nil},
		{"turnwatch.evidence.bytes", Counter, "By", "Bytes written in them.", nil, nil},
		{"turnwatch.evidence.removed_folders", Counter, "{folder}", "Folders deleted to keep -evidence-max-total.", nil, nil},
		{"turnwatch.evidence.queued", Gauge, "By", "Bytes that wait for the disk of the evidence.", nil, nil},
	}
}

// ownMetrics tell how telemetry itself fares.
func ownMetrics() []Metric {
	return []Metric{
		{"turnwatch.traces.kept", Counter, "{span}", "Turns whose span was kept, by the first reason that applied: corrupted, unverified, error, slow, sampled or ratio.", []string{KeyReason}, nil},
		{"turnwatch.telemetry.exports", Counter, "{export}", "Attempts to export, by signal and what became of them: ok or failed.", []string{KeySignal, KeyOutcome}, nil},
		{"turnwatch.telemetry.exported", Counter, "{item}", "Spans and log records that a collector took.", []string{KeySignal}, nil},
		{"turnwatch.telemetry.dropped", Counter, "{item}", "Spans, log records and lines of the log that were given up, by signal and reason: queue_full, rate_limited, export_failed, content_memory (the span went without what was said) or panic.",
			[]string{KeySignal, KeyReason}, nil},
		{"turnwatch.reloads", Counter, "{reload}", "Times that settings were re-read on SIGHUP, by what became of them: taken or kept_old.", []string{KeyResult}, nil},
		{"turnwatch.build.info", Gauge, "", "The build that runs. Always 1.", []string{"version", "goversion"}, nil},
	}
}

// processMetrics have the names that dashboards for Go programs know.
func processMetrics() []Metric {
	return []Metric{
		{"go.goroutines", Gauge, "", "Goroutines that exist.", nil, nil},
		{"process.start_time", Gauge, "s", "When the process started, in seconds since 1970.", nil, nil},
		{"process.cpu", Counter, "s", "CPU time used, user and system.", nil, nil},
		{"process.resident_memory", Gauge, "By", "Memory that is resident.", nil, nil},
		{"process.open_fds", Gauge, "", "File descriptors that are open.", nil, nil},
		{"process.max_fds", Gauge, "", "File descriptors that may be open.", nil, nil},
	}
}
