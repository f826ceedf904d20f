// Package telemetry tells the world of turns: metrics, spans and log lines, by
// OpenTelemetry, which no other package knows.
//
// Everything is made after the last byte of a turn, from its record. What it
// costs is bounded, and a collector that is dead, slow or lying costs counted
// records and nothing else.
//
// # What a span leaves out
//
// Nothing reads a request or an answer for the sake of a span: it tells what
// the judge has read in any case. So these attributes of the GenAI conventions
// are missing:
//
//   - gen_ai.response.id and gen_ai.response.model stand in every event of a
//     stream, where the judge passes over them. sglang.rid is SGLang's own name
//     for the turn, by which its log and its spans are searched, and
//     gen_ai.request.model is the name by which it was asked for.
//   - gen_ai.request.temperature, top_p, top_k, seed, the penalties and the stop
//     sequences change no verdict.
//   - gen_ai.input.messages, gen_ai.output.messages, gen_ai.system_instructions
//     and gen_ai.tool.definitions hold text: they are there with [Config.Content]
//     alone, and only where the turn is corrupted and was kept.
package telemetry
