package turn

// Drop says why something was not judged or not recorded. The set is closed:
// it is the label reason of turnwatch_dropped_total.
type Drop string

// The reasons for a drop.
const (
	DropFinishQueue  Drop = "finish_queue"  // too many turns waited for the end of their judgement
	DropRecordQueue  Drop = "record_queue"  // the turn is lost: not even its bare record found room
	DropJudgeMemory  Drop = "judge_memory"  // no room was left to hold the turn's bytes for the judge
	DropTooLarge     Drop = "too_large"     // one request, answer or line is beyond its own limit
	DropCheckerPanic Drop = "checker_panic" // the judge broke
	DropLoopLate     Drop = "loop_late"     // the relay was behind as the turn began: it passes unjudged
	DropSinkPanic    Drop = "sink_panic"    // a sink broke on the turn
	DropJournalQueue Drop = "journal_queue" // too many lines waited for the journal's disk
	DropJournalError Drop = "journal_error" // the journal's disk refused the line

	DropEchoMemory     Drop = "echo_memory"     // no room was left to hold an answer against its request
	DropEvidenceMemory Drop = "evidence_memory" // no room was left to keep what was said for evidence
	DropEvidenceQueue  Drop = "evidence_queue"  // too much evidence waited for its disk
	DropEvidenceError  Drop = "evidence_error"  // that disk refused the folder
)

// Drops returns every reason, so that a counter of each can stand at 0 before
// the first drop.
func Drops() []Drop {
	return []Drop{
		DropFinishQueue, DropRecordQueue, DropJudgeMemory, DropTooLarge, DropCheckerPanic, DropLoopLate, DropSinkPanic,
		DropJournalQueue, DropJournalError, DropEchoMemory, DropEvidenceMemory, DropEvidenceQueue, DropEvidenceError,
	}
}
