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
// The tokens: with Config.KeepTokens the facts hold the ids of what went in and
// came out. See Scores.
//
// # What was recorded
//
// A Player answers with what was recorded at a real server, byte for byte and
// at the times it came, and tells the facts of those turns.
//
// # What is not
//
// Other dialects than chat completions are answered by scripts alone, but for
// token ids at /generate, one list a request. There is one choice, no log
// probabilities of chat, no grammar, no speculative decoding. The parsers'
// repairs are not imitated: an answer that ends early shows what it had. A
// client that leaves is noticed at once, where SGLang may take seconds.
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
//
// # Scores
//
// POST /generate with {"input_ids": […], "sampling_params": {"max_new_tokens": 0},
// "return_logprob": true, "logprob_start_len": N, "top_logprobs_num": K} tells how
// likely the model finds each token from position N on. The model reads the
// prompt back from its tokens and knows its own answers to it: of a turn that
// follows a plan each token has 0.97 or more; plain text begins with one of
// several sentences, a call with or without some words before it. What a fault
// made of an answer is absurd (below 1e-12) where the right token is near
// certain, unless the fault is the model's own (Mistake): then what it emitted is
// likely. What a prompt says is scored, too, and some of it is absurd. Every
// server of the same seed, faults and script says the same. Config.Scorer has one
// lie, stall, refuse, or be misled by a damaged prefix cache.
//
// The shapes are those of SGLang 0.5.12 and 0.5.23, as its own code makes them:
//
//   - Entry i of input_token_logprobs is [log probability, id, text] of position
//     N+i, so there are n-N of n tokens. The first has a null for its number, and
//     null stands for it in input_top_logprobs: to score the answer from its
//     first token, N is one less than the length of the prompt. Text is null
//     unless return_text_in_logprobs is set.
//   - N may be n, and -1 or no N means n: there are no entries. A larger N is
//     answered with 400. Any other negative N, like an id outside of the
//     vocabulary, is not checked, and the scheduler dies of it: here the
//     connection is cut.
//   - max_new_tokens 0 makes no token: output_ids and output_token_logprobs are
//     empty, finish_reason is {"type":"length","length":0}, and
//     output_top_logprobs tells once what would come next. In a batch with other
//     requests SGLang may tell output_token_logprobs of it, too.
//   - At most N tokens come from the prefix cache (cached_tokens): with N = 0
//     none does.
//   - Log probabilities are of the raw logits: temperature and top_p do not
//     count. One that is no number is null, at any position.
//   - SGLang tells the last id of its vocabulary, and any beyond, as 0.
//   - Without top_logprobs_num above 0 there are no lists of alternatives.
//   - A full queue is answered with 503 and {"object":"error",…}, a request that
//     is not in order with 400 and {"error":{"message":…}}, or, where a type is
//     wrong, {"object":"error",…}.
package sglangtest
