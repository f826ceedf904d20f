package telemetry

// The attributes of the GenAI conventions, version 1.41, the last that the
// OpenTelemetry project's Go packages hold.
const (
	AttrOperation     = "gen_ai.operation.name"
	AttrProvider      = "gen_ai.provider.name"
	AttrTokenType     = "gen_ai.token.type"
	AttrStream        = "gen_ai.request.stream"
	AttrMaxTokens     = "gen_ai.request.max_tokens"
	AttrChoices       = "gen_ai.request.choice.count"
	AttrFinishReasons = "gen_ai.response.finish_reasons"
	AttrFirstChunk    = "gen_ai.response.time_to_first_chunk"
	AttrInputTokens   = "gen_ai.usage.input_tokens"
	AttrOutputTokens  = "gen_ai.usage.output_tokens"
	AttrThinking      = "gen_ai.usage.reasoning.output_tokens"
	AttrConversation  = "gen_ai.conversation.id"
	AttrErrorType     = "error.type"
	AttrServerAddress = "server.address"
	AttrServerPort    = "server.port"
)

// The attributes of the GenAI conventions that hold what was said: see
// Config.Content.
const (
	AttrSystem = "gen_ai.system_instructions"
	AttrInput  = "gen_ai.input.messages"
	AttrOutput = "gen_ai.output.messages"
	AttrTools  = "gen_ai.tool.definitions"
)

// The event of the GenAI conventions that tells a verdict, and its attributes.
const (
	EventEvaluation     = "gen_ai.evaluation.result"
	AttrEvaluationName  = "gen_ai.evaluation.name"
	AttrEvaluationLabel = "gen_ai.evaluation.score.label"
	AttrEvaluationValue = "gen_ai.evaluation.score.value"
)

// The metrics of the GenAI conventions, version 1.41.
const (
	MetricDuration   = "gen_ai.client.operation.duration"
	MetricFirstChunk = "gen_ai.client.operation.time_to_first_chunk"
	MetricTokens     = "gen_ai.client.token.usage"
)

// The metrics that have another name in the newest version, which is its own
// project's v0.1.0. It has counters of tokens instead of a histogram.
const (
	LatestDuration   = "gen_ai.client.inference.duration"
	LatestFirstChunk = "gen_ai.client.inference.time_to_first_chunk"
	LatestInput      = "gen_ai.client.inference.usage.input_tokens"
	LatestOutput     = "gen_ai.client.inference.usage.output_tokens"
)

// SchemaURL is that of version 1.41.
const SchemaURL = "https://opentelemetry.io/schemas/1.41.0"

// The attributes of our own, of spans alone.
const (
	AttrTurnID       = "turnwatch.turn.id"
	AttrRequestID    = "turnwatch.request.id"
	AttrSession      = "turnwatch.session.id"
	AttrTurnIndex    = "turnwatch.turn.index"
	AttrEnding       = "turnwatch.ending"
	AttrReason       = "turnwatch.reason"
	AttrChecks       = "turnwatch.checks"
	AttrLints        = "turnwatch.lints"
	AttrSignals      = "turnwatch.signals"
	AttrFindings     = "turnwatch.findings"
	AttrConstrained  = "turnwatch.constrained"
	AttrCalls        = "turnwatch.tool_calls.count"
	AttrInvalid      = "turnwatch.tool_calls.invalid"
	AttrBytesOut     = "turnwatch.response.bytes"
	AttrKept         = "turnwatch.kept"
	AttrContentCut   = "turnwatch.content.cut" // true: some of what was said is left out
	AttrLinkKind     = "turnwatch.link.kind"
	AttrChoice       = "turnwatch.finding.choice"
	AttrCall         = "turnwatch.finding.tool_index"
	AttrTool         = "turnwatch.finding.tool"
	AttrPointer      = "turnwatch.finding.json_pointer"
	AttrOffset       = "turnwatch.finding.byte_offset"
	AttrArgOffset    = "turnwatch.finding.arg_offset"
	AttrMetaSource   = "turnwatch.metadata.source"
	AttrMetaAge      = "turnwatch.metadata.age"
	AttrBatch        = "sglang.batch.running"
	AttrQueued       = "sglang.batch.queued"
	AttrGraphBucket  = "sglang.graph_bucket"
	AttrBatchAtOnset = "sglang.batch.at_onset"
	AttrVersion      = "sglang.version"
	AttrRID          = "sglang.rid"
)

// The events of our own.
const (
	EventFinding   = "turnwatch.finding"
	EventTruncated = "turnwatch.stream.truncated"
)
