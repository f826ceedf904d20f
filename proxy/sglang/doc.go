// Package sglang says what is known of an SGLang server while it made a turn:
// under which configuration, and in which batch. SGLang itself sends no such
// thing with an answer, so what there is comes from several places, and every
// tag says from which and how old it was.
//
// # Sources
//
//	header      fields of the answer's head: our plugin's, a gateway's
//	facts       what the plugin tells of a turn after its end, step by step
//	status_log  SGLang's log of which requests shared a batch
//	poll        /model_info and /server_info, once; /v1/loads, each second while turns run
//	label       what the operator declared
//	own         how many turns of ours were decoding: an estimate, but always there
//
// # Tags
//
// Where several sources know a tag, the first of these is taken:
//
//	batch_at_head, graph_bucket_at_head, queue_at_head       header, poll, own
//	batch, graph_bucket: the largest over the decode steps   facts, status_log, poll, own, header
//	batch_at_onset, graph_bucket_at_onset: at the bad byte   facts, status_log, poll, own
//	batch_steps: decode steps by range of the batch          facts
//	configuration, such as cuda_graph or kv_cache_dtype      header, poll, label
//	own_batch_min, _mean, _max, _at_onset                    own
//	rid, dp_rank, version and any other field                header
//
// Errors have no fields of the plugin: theirs are those of the latest head that
// had some, until a restart is noticed.
//
// The bad byte is the first that a finding of a corrupted turn names, or a signal
// of one that is only suspect.
//
// graph_bucket is the size that a batch is padded to for its CUDA graph, and 0
// where graphs are off, whatever a source says. The age of a tag is the time
// between its observation and what it is used for: the head, the onset, or the
// nearest moment of the decoding.
//
// # Promises
//
// Nothing here delays an answer. On its path a few lines of its head are
// copied, after they were written to the client; all else happens after its
// last byte, in goroutines of this package. A server, file or route that hangs
// costs the tags that it would have told, and is counted.
//
// Nothing is asked that could change a turn: never /health, which generates a
// token, and /server_info, which interrupts the scheduler, once a start. Of
// its answer only fields on a list are kept, because it shows API keys in
// clear.
package sglang
