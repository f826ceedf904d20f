// Package report reads journals and says how often turns were corrupted, under
// which conditions, and what that proves.
//
// # Counting
//
// The unit is the session: one of which any turn was judged. It is corrupted
// when one of its turns is. Turns that are unverified are in no denominator, and
// findings whose cause is the parser are told apart: a turn that has no others
// counts as sound here. A session is one of its sidecar, arm and configuration:
// what goes on under another configuration is another session. The batch of a turn is the largest over
// its decode steps; that of a session the largest of its turns.
//
// # Reading
//
// Journals come whole, torn, compressed, rotated, from many sidecars and from
// versions to come. What cannot be read is counted and located, the rest is
// used. A turn is kept in about a hundred bytes.
package report
