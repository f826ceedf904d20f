package sglangtest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// State is what a fault may know when it decides: the configuration, the
// batch, the step, and whose answer it is.
type State struct {
	IndexDtype         string
	CUDAGraph, Overlap bool

	Batch  int   // requests in this decode step; 0 before the first
	Bucket int   // their padded number, 0 without a graph
	Step   int64 // of the server
	Token  int   // tokens of this answer so far

	Session string
	Turn    int
	Try     int // how often this turn was asked for before
	Stream  bool
	Prompt  uint64 // digest of the messages, the same whoever asks
}

// Fault strikes the answers whose state satisfies When, and then changes what
// is left of them.
//
// When is asked before the first token, with a batch of 0, and at each decode
// step, until Do changed something. It must depend on its argument alone, so
// that a run can be repeated. Nil is always. Do is given the rest of the
// answer: what was sent is no longer in it.
//
// A fault of the Model is no fault of the server: the model itself means the
// other answer, and finds it likely when it is asked to score it. Its When is
// asked once, and is told the Prompt alone.
type Fault struct {
	Name  string
	When  func(State) bool
	Do    func(*Answer)
	Model bool
}

// Origin is the fault the project began with: with bf16 index keys, replayed
// graphs, two streams that overlap and more than one request in the batch, a
// value in a call comes out altered. It strikes about the given share of
// sessions, in half of their turns.
func Origin(seed uint64, share float64) Fault {
	return Fault{
		Name: "origin",
		Do:   Altered,
		When: func(s State) bool {
			return s.IndexDtype == "bf16" && s.CUDAGraph && s.Overlap && s.Batch > 1 &&
				chance(seed, "origin", s.Session) < share &&
				chance(seed, "turn", s.Session, strconv.Itoa(s.Turn)) < 0.5
		},
	}
}

// Rate returns a condition that holds for the given share of turns, whatever
// the configuration. A turn that is asked for again draws anew, so that equal
// requests do not all meet one fate; in a run that is repeated it is the same.
func Rate(seed uint64, name string, share float64) func(State) bool {
	return func(s State) bool {
		words := []string{name, s.Session, strconv.Itoa(s.Turn)}
		if s.Try > 0 {
			words = append(words, strconv.Itoa(s.Try))
		}
		return chance(seed, words...) < share
	}
}

// Mistake has the model mean another value in the given share of prompts,
// whoever asks and however often.
func Mistake(seed uint64, share float64) Fault {
	return Fault{Name: "mistake", Do: Altered, Model: true, When: func(s State) bool {
		return chance(seed, "mistake", strconv.FormatUint(s.Prompt, 16)) < share
	}}
}

// NewFault makes a fault of the catalogue by name. The share is of sessions for
// origin and of turns for the others. The parser decides what markup looks like.
func NewFault(name string, share float64, seed uint64, parser string) (Fault, error) {
	if name == "origin" {
		return Origin(seed, share), nil
	}
	if name == "mistake" {
		return Mistake(seed, share), nil
	}
	for _, c := range catalogue(parser) {
		if c.name == name {
			return Fault{Name: name, When: Rate(seed, name, share), Do: c.do}, nil
		}
	}
	return Fault{}, fmt.Errorf("no fault is named %q; there are %s", name, strings.Join(FaultNames(), ", "))
}

// FaultNames lists the faults that NewFault makes.
func FaultNames() []string {
	names := []string{"origin", "mistake"}
	for _, c := range catalogue("") {
		names = append(names, c.name)
	}
	return names
}

// Catalogue describes the faults that NewFault makes, one a line.
func Catalogue() string {
	var b strings.Builder
	fmt.Fprintf(&b, "  %-18s %s\n", "origin", "altered, where bf16, graph, overlap and a batch above 1 meet; RATE is of sessions (0.15)")
	fmt.Fprintf(&b, "  %-18s %s\n", "mistake", "altered, and the model itself means it: equal prompts meet one fate, at every server of the seed")
	for _, c := range catalogue("") {
		fmt.Fprintf(&b, "  %-18s %s\n", c.name, c.doc)
	}
	return b.String()
}

// class is one visible class of corruption.
type class struct {
	name, doc string
	do        func(*Answer)
}

func catalogue(parser string) []class {
	return slices.Concat(argumentClasses(parser), callClasses(), textClasses(parser), endClasses())
}

func argumentClasses(parser string) []class {
	return []class{
		{"altered", "one character of an argument's value is another: valid JSON, wrong content", Altered},
		{"swapped", "one token of a value or of the text is another than the model meant", Swapped},
		{"retokenised", "the same text in other tokens: no corruption", Retokenised},
		{"bad_json", "the arguments are no JSON", BadJSON},
		{"args_truncated", "the arguments stop early in a turn that finishes", TruncatedArgs},
		{"args_prefix", "the opening brace of the arguments is lost", MissingPrefix},
		{"args_duplicated", "the arguments come twice", DuplicatedArgs},
		{"args_trailing", "bytes follow the arguments", TrailingData},
		{"args_not_object", "the arguments are encoded twice", NotObject},
		{"args_empty", "the arguments are {}", EmptyArgs},
		{"missing_required", "the last property is missing", MissingProperty},
		{"wrong_type", "a string is a list of one string", WrongType},
		{"extra_property", "a property nobody asked for", ExtraProperty},
		{"leaked_args", "markup at the end of an argument's value", LeakedArgs(parser)},
	}
}

func callClasses() []class {
	return []class{
		{"unknown_tool", "a letter of the tool's name is another", UnknownTool},
		{"name_malformed", "markup in the tool's name", MalformedName},
		{"null_name", "the call has no name", NullName},
		{"index_collision", "a second call on the index of the first", IndexCollision},
		{"call_split", "one call over two indices", SplitCall},
		{"duplicate_id", "two calls share an id", DuplicateID},
		{"finish_without_call", "finish tool_calls, and no call", FinishWithoutCall},
		{"unsolicited_call", "a call where none was due", UnsolicitedCall},
		{"swallowed", "the call is gone, finish stop: only the token count knows", Swallowed},
	}
}

func textClasses(parser string) []class {
	return []class{
		{"leaked", "the call's markup as content", Leaked(parser)},
		{"leaked_reasoning", "the call's markup as reasoning", LeakedReasoning(parser)},
		{"call_in_text", "the call as JSON in the content", CallInText},
		{"special_token", "a control token in the content", SpecialToken},
		{"salad", "many scripts in one sentence", Salad},
		{"replacement_char", "U+FFFD in the content", ReplacementChar},
		{"loop", "the same words until the token limit", Loop},
		{"delta_replay", "a delta repeats the text so far (streams)", DeltaReplay},
	}
}

func endClasses() []class {
	return []class{
		{"malformed_event", "an event that is no JSON (streams)", MalformedEvent},
		{"invalid_utf8", "half a character", InvalidUTF8},
		{"post_finish", "a delta after the finish (streams)", PostFinish},
		{"cut", "the connection breaks in the middle", CutOff},
		{"length", "the token limit in the middle", EndWith("length")},
		{"abort", "an abort in the middle", EndWith("abort")},
		{"error", "an error event in the middle", FailMidway},
		{"first_error", "an HTTP error instead of an answer", FailFirst},
	}
}
