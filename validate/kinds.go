package validate

// Kind names what is wrong. The set is closed: it is also a metric label.
type Kind string

// The kinds of corruption, the most specific first: findings stand in this
// order.
const (
	SSEMalformedEvent   Kind = "sse_malformed_event"
	InvalidUTF8         Kind = "invalid_utf8"
	PostFinishDelta     Kind = "post_finish_delta"
	DeltaReplay         Kind = "delta_replay"
	TokenRepetition     Kind = "token_repetition"
	ForeignContent      Kind = "foreign_content"
	SpecialTokenLeak    Kind = "special_token_leak"
	MarkupLeakContent   Kind = "markup_leak_content"
	MarkupLeakReasoning Kind = "markup_leak_reasoning"
	CallInText          Kind = "call_in_text"
	GarbledText         Kind = "garbled_text"
	ReplacementChar     Kind = "replacement_char"
	ToolNameMalformed   Kind = "tool_name_malformed"
	UnknownTool         Kind = "unknown_tool"
	CallIndexCollision  Kind = "call_index_collision"
	CallSplit           Kind = "call_split"
	CallMissingName     Kind = "call_missing_name"
	NameRepeated        Kind = "name_repeated"
	DuplicateCallID     Kind = "duplicate_call_id"
	MarkupLeakArgs      Kind = "markup_leak_args"
	ArgsMissingPrefix   Kind = "args_missing_prefix"
	ArgsDuplicated      Kind = "args_duplicated"
	ArgsTrailingData    Kind = "args_trailing_data"
	ArgsTruncated       Kind = "args_truncated"
	ArgsJSONInvalid     Kind = "args_json_invalid"
	ArgsWrongWireType   Kind = "args_wrong_wire_type"
	ArgsNotObject       Kind = "args_not_object"
	ArgsEmpty           Kind = "args_empty"
	SchemaRequired      Kind = "schema_required"
	SchemaType          Kind = "schema_type"
	SchemaValue         Kind = "schema_value"
	SchemaAdditional    Kind = "schema_additional"
	ArgsDuplicateKey    Kind = "args_duplicate_key"
	ArgsSchemaViolated  Kind = "args_schema_violation"
	EmptyTurn           Kind = "empty_turn"
	SwallowedText       Kind = "swallowed_text"
	FinishWithoutCall   Kind = "finish_without_call"
	UnsolicitedCall     Kind = "unsolicited_call"
	ServerReported      Kind = "server_reported_malformed"
	EchoNearMiss        Kind = "echo_near_miss"
	EchoAbsent          Kind = "echo_absent"
)

// The kinds that are no corruption: they say why an answer is truncated or
// cannot be judged.
const (
	TruncatedLength     Kind = "truncated_length"
	TruncatedAbort      Kind = "truncated_abort"
	TruncatedFilter     Kind = "truncated_content_filter"
	TruncatedError      Kind = "truncated_error"
	TruncatedStreamCut  Kind = "truncated_stream_cut"
	TruncatedClientGone Kind = "truncated_client_gone"
	TruncatedProxyCut   Kind = "truncated_proxy_cut"
	UpstreamError       Kind = "upstream_error"
	BodyMalformed       Kind = "body_malformed"
)

// KindInfo describes a kind.
type KindInfo struct {
	Kind     Kind
	Severity Severity
	Outcome  Outcome // what a turn is that has no worse finding
	Cause    Cause
	Meaning  string
}

// table is that of Kinds, and rank where a kind stands in it. Neither changes.
var (
	table = Kinds()
	rank  = func() map[Kind]int {
		all := make(map[Kind]int, len(table))
		for i := range table {
			all[table[i].Kind] = i
		}
		return all
	}()
)

// Kinds returns the table of kinds, in the order in which findings stand.
func Kinds() []KindInfo {
	const c, t, u = Corrupted, Truncated, Unverified
	const no, parser = CauseUnknown, CauseParser
	return []KindInfo{
		{SSEMalformedEvent, Critical, c, no, "the data of an event is neither one JSON value nor [DONE]"},
		{InvalidUTF8, Major, c, no, "bytes that are not UTF-8"},
		{PostFinishDelta, Major, c, no, "text or a tool call after the choice was finished"},
		{DeltaReplay, Major, c, no, "a delta that repeats all the text so far"},
		{TokenRepetition, Critical, c, no, "text that goes round in circles to its end"},
		{ForeignContent, Critical, c, no, "text of another request"},
		{SpecialTokenLeak, Critical, c, no, "tokens of the chat template in the text"},
		{MarkupLeakContent, Critical, c, no, "markup of tool calls in the content"},
		{MarkupLeakReasoning, Critical, c, no, "a call of a declared tool in the reasoning, and none outside"},
		{CallInText, Critical, c, no, "a call of a declared tool as content"},
		{GarbledText, Critical, c, no, "words glued from several scripts, or bytes of tokens"},
		{ReplacementChar, Major, c, no, "replacement characters that the server made"},
		{ToolNameMalformed, Critical, c, no, "a name that no function can have"},
		{UnknownTool, Major, c, no, "a tool that the request did not offer"},
		{CallIndexCollision, Major, c, parser, "a second call on an index in use"},
		{CallSplit, Critical, c, parser, "one call spread over several indices or ids"},
		{CallMissingName, Critical, c, no, "arguments of a call that never got a name"},
		{NameRepeated, Minor, c, parser, "a call's name sent again with a later delta"},
		{DuplicateCallID, Minor, c, parser, "two calls of one choice with one id"},
		{MarkupLeakArgs, Critical, c, no, "markup in a key or a value of the arguments"},
		{ArgsMissingPrefix, Critical, c, no, "arguments that lost their opening brace"},
		{ArgsDuplicated, Critical, c, no, "the same arguments two or more times in a row"},
		{ArgsTrailingData, Critical, c, no, "more bytes after complete arguments"},
		{ArgsTruncated, Critical, c, no, "arguments that end too early in a turn declared complete"},
		{ArgsJSONInvalid, Critical, c, no, "arguments that are not JSON"},
		{ArgsWrongWireType, Minor, c, parser, "arguments sent as a JSON value instead of a string"},
		{ArgsNotObject, Major, c, no, "arguments that are JSON but no object"},
		{ArgsEmpty, Critical, c, no, "no arguments although the tool requires some"},
		{SchemaRequired, Critical, c, no, "a required property is missing"},
		{SchemaType, Major, c, no, "a value of the wrong type"},
		{SchemaValue, Major, c, no, "a value that enum, const, a pattern or a range forbids"},
		{SchemaAdditional, Minor, c, no, "a property that the schema forbids"},
		{ArgsDuplicateKey, Minor, c, no, "one key twice with different values"},
		{ArgsSchemaViolated, Major, c, no, "arguments that violate the tool's schema"},
		{EmptyTurn, Major, c, no, "tokens were spent, and neither text nor a call is there"},
		{SwallowedText, Major, c, no, "more tokens were spent than what is there explains"},
		{FinishWithoutCall, Critical, c, no, "finished for tool calls, and there is none"},
		{UnsolicitedCall, Minor, c, no, "a call although the request allowed none"},
		{ServerReported, Critical, c, parser, "an error of the server that tells of malformed tool markup"},
		{EchoNearMiss, Major, c, no, "a value that is almost a copy of what the request holds; a signal unless it is asked to convict"},
		{EchoAbsent, Minor, c, no, "a value that should be a copy of what the request holds, and is none; a signal only"},
		{TruncatedLength, Minor, t, no, "the token budget was used up"},
		{TruncatedAbort, Minor, t, no, "the server aborted the turn"},
		{TruncatedFilter, Minor, t, no, "a content filter stopped the turn"},
		{TruncatedError, Minor, t, no, "an error event after output began"},
		{TruncatedStreamCut, Minor, t, no, "the answer ends without being finished"},
		{TruncatedClientGone, Minor, t, no, "the client left before the turn was finished"},
		{TruncatedProxyCut, Minor, t, no, "the relay cut the answer"},
		{UpstreamError, Minor, u, no, "an error instead of an answer"},
		{BodyMalformed, Minor, u, no, "an answer that is none in the protocol of its path"},
	}
}

// Reason says why a turn is unverified. The set is closed.
type Reason string

// The reasons. Those of the first group are given by the relay.
const (
	ReasonNotInspectable   Reason = "not_inspectable"   // an unknown content coding
	ReasonRequestMalformed Reason = "request_malformed" // the request is no JSON object
	ReasonFinishQueue      Reason = "finish_queue"      // too many turns wait for their verdict
	ReasonJudgeMemory      Reason = "judge_memory"      // no memory left for judging
	ReasonCheckerPanic     Reason = "checker_panic"     // a fault of ours
	ReasonLoopLate         Reason = "loop_late"         // the relay was behind as the turn began

	ReasonTooLarge             Reason = "too_large" // an event, a call or the turn exceeds a limit
	ReasonNoAnswer             Reason = "no_answer" // cut before the first byte of the body
	ReasonUpstreamError        Reason = "upstream_error"
	ReasonBodyMalformed        Reason = "body_malformed"
	ReasonClientSchemaRejected Reason = "client_schema_rejected" // the server refused a tool's schema
)

// Reasons returns every reason, so that a counter of each can stand at 0.
func Reasons() []Reason {
	return []Reason{
		ReasonNotInspectable, ReasonRequestMalformed, ReasonFinishQueue, ReasonJudgeMemory, ReasonCheckerPanic, ReasonLoopLate,
		ReasonTooLarge, ReasonNoAnswer, ReasonUpstreamError, ReasonBodyMalformed, ReasonClientSchemaRejected,
	}
}

// Skip says why a call was not held against its schema, or not against all of
// it. The set is closed.
type Skip string

// The skips.
const (
	SchemaTooComplex Skip = "schema_too_complex"
	SchemaUnusable   Skip = "schema_unusable"
	SchemaPartly     Skip = "schema_partly" // keywords of it could not be understood
)

// Lint names a protocol oddity that is no corruption. The set is closed.
type Lint string

// The lints.
const (
	LintCopiesDiffer       Lint = "args_copies_differ" // a call's arguments, told twice, are not the same
	LintDuplicateKey       Lint = "args_duplicate_key" // with equal values
	LintEmptyString        Lint = "args_empty_string"
	LintNull               Lint = "args_null"
	LintDuplicateFinish    Lint = "duplicate_finish"
	LintDuplicateIndex     Lint = "duplicate_index_in_chunk"
	LintEmptyChoices       Lint = "empty_choices"
	LintFinishSuspect      Lint = "finish_reason_suspect"
	LintFinishStop         Lint = "finish_stop_with_calls"
	LintIDRepeated         Lint = "id_repeated"
	LintIDReused           Lint = "id_reused_across_turns"
	LintKeepalive          Lint = "keepalive_comment"
	LintLateName           Lint = "late_name"
	LintLegacy             Lint = "legacy_function_call"
	LintMarkupInContent    Lint = "markup_leak_content" // of a call that was cut off
	LintReasoningInContent Lint = "reasoning_in_content"
	LintMissingID          Lint = "missing_call_id"
	LintMissingIndex       Lint = "missing_call_index"
	LintMissingType        Lint = "missing_call_type"
	LintMissingDone        Lint = "missing_done"
	LintMissingFinish      Lint = "missing_finish_reason"
	LintRoleRepeated       Lint = "role_repeated"
	LintUnknownFinish      Lint = "unknown_finish_reason"
	LintWrappedArguments   Lint = "wrapped_arguments"
)

// Lints returns every lint, so that a counter of each can stand at 0.
func Lints() []Lint {
	return []Lint{
		LintCopiesDiffer, LintDuplicateKey, LintEmptyString, LintNull, LintDuplicateFinish, LintDuplicateIndex,
		LintEmptyChoices, LintFinishSuspect, LintFinishStop, LintIDRepeated, LintIDReused, LintKeepalive,
		LintLateName, LintLegacy, LintMarkupInContent, LintReasoningInContent, LintMissingID, LintMissingIndex,
		LintMissingType, LintMissingDone, LintMissingFinish, LintRoleRepeated, LintUnknownFinish, LintWrappedArguments,
	}
}
