package main

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"turnwatch/proxy/sglangtest"
)

// TestNamedFaultsAreNamedByTheJournal puts the faults of the simulator through
// the sidecar: the journal must call the turn corrupted and name the kind
// first. Left out is call_in_text, which proves nothing in the midst of prose.
func TestNamedFaultsAreNamedByTheJournal(t *testing.T) {
	f := func(fault, want string) {
		t.Helper()
		made, err := sglangtest.NewFault(fault, 1, 1, "deepseekv4")
		if err != nil {
			t.Fatal(err)
		}
		s, err := start(sglangtest.Config{Faults: []sglangtest.Fault{made}}, filepath.Join(t.TempDir(), "j.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		defer s.close()
		r := result{stand: s}
		if err := r.play(context.Background(), options{sessions: 3, concurrency: 3}, nil); err != nil {
			t.Fatal(err)
		}
		struck, found, extra := r.compare()
		if struck == 0 || found != struck || extra != 0 {
			t.Errorf("%s: %d turns struck, %d found, %d others", fault, struck, found, extra)
			return
		}
		for _, u := range r.tally.Corrupted {
			if got := string(u.Findings[0].Kind); !slices.Contains(strings.Fields(want), got) {
				t.Errorf("%s: %s: got %s, want %s", fault, u.RequestID, got, want)
			}
		}
	}
	f("altered", "schema_value")
	f("bad_json", "args_json_invalid")
	f("args_truncated", "args_truncated")
	f("args_prefix", "args_missing_prefix")
	f("args_duplicated", "args_duplicated")
	f("args_trailing", "args_trailing_data")
	f("args_not_object", "args_not_object")
	f("args_empty", "args_empty")
	f("wrong_type", "schema_type")
	f("extra_property", "schema_additional")
	f("unknown_tool", "unknown_tool")
	f("name_malformed", "tool_name_malformed")
	f("null_name", "call_missing_name")
	f("index_collision", "call_index_collision")
	f("call_split", "call_split")
	f("duplicate_id", "duplicate_call_id")
	f("finish_without_call", "finish_without_call")
	f("delta_replay", "delta_replay")
	f("malformed_event", "sse_malformed_event")
	f("invalid_utf8", "invalid_utf8")
	f("post_finish", "post_finish_delta")
	f("missing_required", "schema_required args_empty")
	f("leaked_args", "markup_leak_args")
	f("swallowed", "swallowed_text empty_turn")
	f("leaked", "markup_leak_content")
	f("leaked_reasoning", "markup_leak_reasoning")
	f("special_token", "special_token_leak")
	f("salad", "garbled_text")
	f("replacement_char", "replacement_char")
	f("loop", "token_repetition")
	f("unsolicited_call", "unknown_tool")
}
