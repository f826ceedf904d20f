// Package second asks for a second opinion on turns: is what is wrong with one the
// server's, or the model's own? It is a sink of turns, off the path of any answer, and asks one
// question at a time.
//
// # What is asked
//
// Turns of clients that are corrupted or suspect, and a small random share of clean ones,
// the control: how often they are called the server's is the rate of false words.
//
// By scores: where the server tells the ids of a turn's tokens (the plugin's
// TURNWATCH_KEEP_TOKENS), they are sent to /generate, which says how probable the model finds each one after those
// before it; package validate/opinion judges that. The chat template is never imitated: the prompt's ids
// are the server's own. The server that made the turn is asked from token 0 on, so that it takes
// nothing from its prefix cache, which may hold what damaged the turn. Another server is asked from
// the prompt's last token on: its cache was filled by itself.
//
// By replays: where there are no ids, and the request had temperature 0 and does nothing on the server but make an
// answer, it is sent again some times, each alone on an idle server. If all answers agree with the turn, the words are the model's. If all agree with each
// other and part from the turn within the flagged call, at the flagged byte or before it, they are the server's: an answer
// may part from its replays where two tokens are equally probable, but it does so at any place, and seldom where a check
// found fault. Everything else is unknown, control turns that differ among it.
//
// # Promises
//
// Nothing waits for an opinion. Turns are offered to a bounded queue, questions are bounded in number, size, tokens and time,
// and none is asked while the server is busy or the relay late. What is not asked is counted with its
// reason; what is asked and comes to nothing is unknown, with its reason. No credentials of
// clients are used.
package second
