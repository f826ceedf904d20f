// Package proxy relays the requests of clients to one server and watches the
// turns among them. It keeps three promises:
//
//   - The bytes pass unchanged. What the server sends, framing included, is
//     what the client gets; what the client sends is what the server gets. Only
//     fields that RFC 9110 calls hop-by-hop are taken out, and none is invented.
//   - Watching costs the client nothing. What was read is written before it is
//     judged, and no judge, sink, disk or panic can delay, change or end an
//     answer.
//   - A client that leaves is gone for the server too: its upstream connection
//     is closed at once, so that the server stops generating.
//
// [Config.Annotate], off by default, bends the first two where it is asked to:
// it adds the verdict to what the server sends, and so the end of a stream, and
// an answer that does not stream, wait for the judge within limits.
//
// # The journey of a turn
//
// A connection is accepted and put under the [watcher], which learns of its end
// from the kernel (listen.go). One of plain TCP on Linux is a guest of its, and known to
// the runtime's poller only if it lasts for more than an answer (accept_linux.go,
// guest_linux.go). A [guard] takes only requests whose framing
// has a single reading, and shows fasthttp a summary of each (guard.go).
// Server.handle takes the request (handle.go), an exchange sends it upstream (send.go) over a connection known
// to be clean (upstream.go). While the server works, an observer reads what the
// request allows (observe.go). The answer's head goes out less its hop-by-hop
// fields (answer.go), its body as it was read (relay.go), framing recognised and
// never touched (frame.go). Where both sides are plain sockets of Linux, a loop
// relays what streams, one thread for many, and the goroutine waits (loop_linux.go,
// carry_linux.go); the other way, a goroutine for each answer, is the reference,
// and the tests run on both. What was written waits for the judge beside the
// relay's own state until it is a few events, and in a loop until no other stream has
// anything to be passed on (backlog.go). Then the observer feeds the checker,
// and keeps the bytes until the verdict where evidence is wanted (keep.go).
// When the last byte has gone, the turn is offered to the finisher, which
// judges what can only be known at the end, values that are no copies of what the
// request holds among it (echo.go), looks for words of other conversations
// (strangers.go), finds the session (session.go, claim.go),
// gives the turn its tags (tags.go), hands it to the sinks and lets a later turn have
// what watched it (observe.go). While turns come fast, it lets some gather first
// (finish.go). Where
// clients are told the verdict, it is made before the last chunk (annotate.go).
//
// Once sent, the request may be offered to other servers, too (shadow_sample.go,
// shadow.go): each arm has a queue and workers (shadow_arms.go), which send it
// less what authorizes the caller (shadow_head.go) and have the answer judged like the
// live one (shadow_client.go). When the live turn
// is recorded and no arm is left to wait for, the pair is made (shadow_mirror.go)
// and added up in package pairs.
//
// Where probes are asked for, turns with known answers are sent among those of
// clients (probe.go), and what they show is added up (probe_book.go).
//
// A sink may ask for a second opinion on it (package second), for which what was said is lent
// (keep.go).
//
// What the relay has to say for people it says aside: a log that hangs is waited for by
// nobody (aside.go).
//
// On its way a turn gets its place in the caller's trace (trace.go), a share of
// the answers is compared at both sockets (proof.go), and it is measured what
// all this takes (times.go).
//
// fasthttp reads chunked bodies and keeps connections alive; answers are written past
// it, because its own writer reorders fields, re-cuts chunks and drops
// trailers. See [clientConn.swallow].
package proxy
