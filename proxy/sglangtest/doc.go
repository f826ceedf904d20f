// Package sglangtest runs a simulated SGLang server on a loopback port, as
// net/http/httptest runs an HTTP server: for tests, for demonstrations and for
// load, without a GPU.
//
// # What is real
//
// The bytes: heads, chunks and events are those of SGLang under uvicorn; with a
// Config.Script the answers equal recorded ones but for times and ids.
//
// The batch: a clock admits requests from a queue, prefills them and gives each
// running request one token a step, so the batch size is the number of requests
// that are really running, and the graph bucket that size padded to a captured
// one. A client that leaves takes its request out of the batch.
//
// The faults: a Fault says over that state when it strikes, and what it then
// does to the rest of an answer. Origin is the story the project began with.
//
// What is told: with Config.Plugin the fields and the route of this project's
// server plugin, from the same state that the faults see.
//
// # What was recorded
//
// A Player answers with what was recorded at a real server, byte for byte and
// at the times it came, and tells the facts of those turns.
//
// # What is not
//
// Other dialects than chat completions are answered by scripts alone. There is
// one choice, no log probabilities, no grammar, no speculative decoding. The
// parsers' repairs are not imitated: an answer that ends early shows what it
// had. A client that leaves is noticed at once, where SGLang may take seconds.
//
// # The model
//
// The simulated model follows a plan in the last user message: lines such as
//
//  1. Call get_ticket with ticket = "TCK-4821", depth = 3.
//  2. Call read_log with path = result.path, host = result[1].host.
//  3. Answer: "TCK-4821 is closed"
//
// Each assistant message after that user message is a step that was taken, so
// an answer is the first step left. A value is a JSON literal or a field of a
// tool result: result.FIELD of the latest one, result[N].FIELD of the Nth since
// the user message; it is copied character for character. Without a plan, or
// after its last step, the answer is plain text. The notation is plain enough
// for any model that calls tools, so the same session can be put to a real one.
//
// The session of a request is its X-Session-Id header, else the user field of
// its body, else its first user message; the turn is one more than the number
// of assistant messages in it.
package sglangtest
