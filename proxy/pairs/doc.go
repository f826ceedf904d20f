// Package pairs adds up what pairs of answers to equal requests say of a candidate, and
// words it.
//
// # What is compared
//
// A comparison is of one model, of one configuration of the candidate and one of what it
// is held against, by their fingerprints: when one of them changes, another comparison
// begins. The candidate is held against the control, which gets the same requests within
// the same limits and so runs in about the same batch. The live server does not: a mirror
// of a tenth of the traffic runs at a tenth of its batch, and what goes wrong in large
// batches alone would seem to be mended. Where there is no control, the word is "not
// comparable".
//
// # The words
//
// worse and better stand on an E-value of 40 or more, taken over sessions: each votes
// once, by its first pair in which one of the two answers alone is corrupted. They hold
// however often one looks: of twenty comparisons of equal arms at most one is ever called
// either. "no difference" means that the 95% confidence sequence of the difference lies
// within a margin; it is said of a batch like the live server's alone, and turns into
// "not comparable" at smaller ones. All follow from counts, so that those of replicas may
// be added up.
package pairs
