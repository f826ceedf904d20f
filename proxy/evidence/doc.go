// Package evidence writes a folder for each corrupted turn: what one needs to
// prove it, to file it as a bug and to play it again. Reading one takes no more
// than tar and jq.
//
// # The folder
//
// A folder is named after the turn's id, so that names sort by time, and
// appears whole: it is written under a name that begins with a dot and then
// renamed. This is a public format. One process writes to the folder of folders: it
// is locked against others, where the system and the file system know such locks
// (Windows and some network mounts do not), as long as nobody puts another in its place.
//
//	manifest.json      what is here, and what is not and why
//	turn.json          the journal's line of the turn
//	request.head       request line and fields as they came, each line ended by CRLF
//	request.body       the request's body, byte for byte
//	answer.head        status line and fields as they came
//	answer.body        the answer's body, byte for byte: transfer and content coding taken off, so that the
//	                   offsets of findings count in it
//	answer.times.json  [[offset,ms],…]: the bytes from offset on came ms after the answer's first byte
//	windows.json       the bytes around each finding
//	config.json        what is known of the server's configuration
//	batch.json         how many requests were decoded at once, over the turn
//	overlap.jsonl      the journal's lines of turns that were under way at the same time
//	SHA256SUMS         of all other files; sha256sum -c reads it
//
// manifest.json:
//
//	v          version of the format; rises only when a field changes its meaning
//	id         of the turn
//	time       when the turn's request had come
//	by         the program that wrote it
//	bodies     whether bodies were to be kept
//	redacted   files in which redaction masked something; [] when none
//	request    of its body
//	  bytes    length
//	  sha256   hash before redaction; "" when the bytes were not there to be hashed
//	  lost     why there is no file of it, "" when there is one: bodies_off, evidence_memory (the bytes of all
//	           turns found no more room), too_large (more than a folder may hold), not_captured (of
//	           probes nothing that was said is kept)
//	  coding   content coding that was taken off; "" when none was
//	answer     likewise
//	overlap    turns that were under way at the same time, had ended by then, and are not listed, for want of room
//
// windows.json is a list, an object for each place that findings name:
//
//	offset, at_ms   as in the findings
//	kinds           of the findings there
//	from, to        the bytes of the answer's body that text stands for
//	text            those bytes; what is no UTF-8 is U+FFFD
//	masked          whether text shows the shape alone
//
// config.json has fingerprint and tags as turn.json has them, tags that were
// measured left out. batch.json has tags, those that were measured, and
// timeline, a list of how many requests the server worked on:
//
//	src                      where it is from, as that of a tag
//	first_step, last_step    the decode steps that it is of; else
//	at_ms                    the moment that it is of, since the request's head
//	t0_ms, t1_ms             optional: when the first and the last of the steps ended, on the server's clock
//	batch                    requests that were decoded at once
//	graph_bucket, queue      optional: padded size of the CUDA graph, requests that waited
//
// Turns that end after the folder was written are added to overlap.jsonl, 1024 of
// them at most, and SHA256SUMS is written anew: for as long as [Options].Late, in the
// latest 64 folders.
//
// # What is kept of what was said
//
// Without [Options].Bodies no text is kept: the bodies' files are missing, heads
// keep the values of fields that concern the protocol alone, the request's
// target loses its query, and windows show the shape of the bytes: every letter is x and every digit 9, but for
// the words of the protocols and of the markup of tool calls.
//
// With it everything is kept that redaction does not mask. Values of fields that
// hold credentials are masked always.
//
// # Redaction
//
// [Options].Patterns are regular expressions. What they match is masked wherever
// it stands: in the bytes, in the text that strings of JSON say however it is
// escaped, in JSON within such strings, and in text that a stream says piece by
// piece. [Options].Paths are JSON pointers, in which * stands for any one name
// or index and ** for any number of them: what they name is masked in the request, in
// the answer and its events, and in JSON within strings, such as the arguments of a
// call. Where something is not JSON, so that it cannot be told what a path names, its
// shape alone is kept.
//
// A mask has as many bytes as what it masks: letters become x, digits 9, and
// the punctuation of JSON stays, as do true, false and null. Offsets, times and
// structure remain true.
//
// # Promises
//
// Writing never delays a turn. A turn is copied into a bounded queue; one that
// finds no room is dropped and counted. A disk that is full, dead or hangs costs
// folders and nothing else. All folders together stay below a cap: the oldest
// are deleted.
package evidence
