// Package opinion says whether a turn's tokens are the model's own. The model is
// asked how likely it finds each token that was emitted, after those before it: what
// it all but rules out, while it is all but certain of another token, it did not say.
//
// # The words
//
//   - [Server]: at a token, the onset, sampling does not explain what stands there. The model
//     would not have said it.
//   - [Model]: every token is one that sampling explains well. The model finds its own
//     words plausible, mistakes among them.
//   - [Unknown]: neither, or it cannot be told; a [Reason] says why.
//
// # What sampling explains
//
// A token that is improbable is not absurd: at temperature 1 each is drawn from the
// whole vocabulary, and a turn of a thousand tokens is a thousand draws. The measure is
// therefore not a token's probability p(x) but the chance that a draw falls on it or on any
// token that is no more probable,
//
//	U(x) = sum of p(y) over all y with p(y) ≤ p(x),
//
// whose distribution under honest sampling lies above the uniform one: P(U ≤ u) ≤ u. By
// Bonferroni's inequality the smallest U of n tokens is below a/n in at most a share a
// of turns. [Server] takes n·U ≤ 1e-4: an honest server is called that in at most one
// turn of 10,000, whatever the model, the temperature and the number of tokens; and
// besides that what would have been no wonder there, the alternative and its like, has a probability of 0.9 together.
//
// Of the distribution only the k most probable tokens are told, so U is bounded from
// above. Of the tokens that are not told at most V = 2^18, more than any vocabulary has, are no
// more probable than x, so that they weigh at most V·p(x); and all of them weigh at most R,
// what is missing to 1, for which 1e-5 at least is taken, because 32 bit numbers
// tell no less. With w(y) = (p(y)/p(a))^(1/T), a the alternative, the chance at temperature T is w(y)/Z with
// Z = Σw ≥ the sum over the tokens that are told; for T ≤ 1 the rest that is no more probable than x weighs at
// most R/p(a)·(p(x)/p(a))^(1/T-1), for each of its tokens has p(y) ≤ p(x). A request that states no temperature is taken to
// have 1.
//
// Filters of the sampler (top_k, top_p, min_p) make U 0 where they certainly rule x out: as
// many tokens as top_k, or a mass that is top_p and half of what is missing from it to 1, or the share that min_p
// demands, lie more than the slack above it. Penalties and biases move single tokens by amounts that the request states: the alternative may
// have had as much less, so x is judged as if it had as much more. What moves them by unstated amounts (repetition
// penalties, custom processors) leaves [Model] and [Unknown].
//
// # Numbers differ from batch to batch
//
// The scores are made in another batch, by other kernels, than the answer was. Logits in bfloat16 are
// 0.06 to 0.125 apart where they are 16 to 32 in size, and sums in another order move them by a few such
// steps. x is therefore taken to be e times as probable as the scores say ([slack]). At temperature 0 there is no
// chance at all: the most probable token is taken, and another one only where both are about
// equal. A token that is e² times less probable than the best is not told from such a tie
// ([Model]); one that is e⁷ times less probable, some fifty steps, is none ([Server]).
//
// # What is not absurd
//
// The same text may be cut into other tokens. Where an alternative and what stands there, joined with what follows,
// begin alike as far as both go, white space aside, the model wanted the same text: that is a matter of
// tokens, and its verdict is [Unknown] from there on, as it is where a text is missing that would tell. A grammar rules
// tokens out that the scores know nothing of, and shares their probability among the others:
// of such turns it is only ever said that the model finds them plausible. Where more than two tokens are absurd, and
// they are most of the turn, or most of them are such as the scores expect one place earlier, the scores are not of this
// turn: another model, another prompt, other places.
package opinion
