package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestCauseOfARealRace reads what sidecars recorded in front of a GPU: see
// deploy/racelm/RESULTS.md. By what is suspect alone the three conditions of the
// race are told, and what comes with them.
func TestCauseOfARealRace(t *testing.T) {
	journals, err := filepath.Glob("../../deploy/racelm/testdata/*.jsonl.gz")
	if err != nil || len(journals) != 5 {
		t.Fatalf("journals: got %q, %v", journals, err)
	}
	code, out, errs := told("", journals...)
	if code != 1 || errs != "" {
		t.Errorf("exit %d, want 1: %s", code, errs)
	}
	_, suspect, _ := strings.Cut(out, "Suspect sessions")
	_, suspect, _ = strings.Cut(suspect, "\n")
	for _, want := range []string{
		"CORRUPTION sessions: 5/2340 = 0.2%",
		"16.2% [13.2, 19.9] inside (76/468), 0.0% [0.0, 0.2] outside (0/1872)",
		"graph_bucket=32 implies cuda_graph=on",
		"boots inside: 3, outside: 19",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("the report has no %q", want)
		}
	}
	if got, want := strings.TrimSpace(strings.SplitN(suspect, "\n", 2)[0]), "index_dtype=bf16 ∧ overlap=on ∧ graph_bucket=32"; got != want {
		t.Errorf("suspect sessions are explained by %q, want %q", got, want)
	}
}

// TestFixOfARealRaceIsTold compares eight boots of a server in front of a GPU, with
// the fault and with the fix by turns.
func TestFixOfARealRaceIsTold(t *testing.T) {
	code, out, errs := told("", "-a", "hold_staged=off", "-b", "hold_staged=on", "../../deploy/racelm/testdata/blocks")
	if code != 0 || errs != "" {
		t.Errorf("exit %d, want 0: %s", code, errs)
	}
	out = strings.Join(strings.Fields(out), " ")
	for _, want := range []string{
		"B is better than A. difference of sessions -1.4 points [-2.7, -0.7]",
		"A hold_staged=off 9/640 1.4%",
		"told apart after 620 sessions of both - suspect sessions: A 102/640 = 15.9% [13.3%, 19.0%], B 0/640",
		"by suspect sessions B is better than A",
		"told apart after 104 sessions of both",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("the report has no %q", want)
		}
	}
}
