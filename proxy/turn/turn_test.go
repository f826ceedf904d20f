package turn

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"turnwatch/validate"
)

func ptr[T any](v T) *T { return &v }

// full is a turn that has everything.
func full() *Turn {
	return &Turn{
		V: Version, ID: "01hq3k5w8m4x9c2v7b6n1t0zrd", RequestID: "req-7",
		Time:  time.Date(2026, 3, 1, 12, 30, 15, 123456789, time.FixedZone("", 3600)),
		Model: "zai-org/GLM-5", Path: "/v1/chat/completions", Stream: true, Status: 200, Ending: validate.Complete,
		BytesIn: 1024, BytesOut: 900, TTFBMS: 41.25, DurationMS: 1234.567,
		Verdict: validate.Verdict{
			Outcome: validate.Corrupted, Suspect: true, Constrained: true,
			Checks: []validate.Check{validate.CheckWire, validate.CheckJSON, validate.CheckSchema},
			Findings: []validate.Finding{{
				Kind: "schema_required", Severity: validate.Critical, Cause: validate.CauseUnknown, Choice: 0, Call: ptr(0),
				Tool: "book", Path: "/a", Offset: 812, ArgOffset: ptr(int64(17)), AtMS: 41.2, Constrained: true,
			}},
			Signals:       []validate.Signal{{Kind: "echo_near_miss", Call: ptr(0), Path: "/site", Offset: 640, AtMS: 30.1, Edit: "sub@4"}},
			Lints:         []validate.Lint{"id_repeated"},
			Vendor:        &validate.Vendor{K2VV: validate.VendorInvalid, OpenRouter: validate.VendorSchema, OnlyReasoning: true, Cyrillic: true},
			Calls:         1,
			FinishReasons: []string{"tool_calls"},
			Usage:         &validate.Usage{PromptTokens: 100, CompletionTokens: 20},
		},
		Tags: map[string]Tag{
			"index_dtype": {Value: "bf16", Source: "header"},
			"batch":       {Value: "17", Source: "poll", AgeMS: 250},
		},
		Fingerprint: "1a2b3c4d", Arm: Live, Session: "s-1", Number: 3, Answer: Wrong, Prefix: "0badcafe",
	}
}

const fullLine = `{"v":1,"id":"01hq3k5w8m4x9c2v7b6n1t0zrd","request_id":"req-7","time":"2026-03-01T11:30:15.123456789Z",` +
	`"model":"zai-org/GLM-5","path":"/v1/chat/completions","stream":true,"status":200,"ending":"complete",` +
	`"bytes_in":1024,"bytes_out":900,"ttfb_ms":41.25,"duration_ms":1234.567,` +
	`"usage":{"prompt_tokens":100,"completion_tokens":20},"finish_reasons":["tool_calls"],"calls":1,` +
	`"verdict":"corrupted","reason":"","suspect":true,"constrained":true,"checks":["wire","json","schema"],` +
	`"findings":[{"kind":"schema_required","severity":"critical","cause":"unknown","choice":0,"call":0,"tool":"book","path":"/a","offset":812,"arg_offset":17,"at_ms":41.2,"constrained":true}],` +
	`"signals":[{"kind":"echo_near_miss","choice":0,"call":0,"path":"/site","offset":640,"at_ms":30.1,"edit":"sub@4"}],` +
	`"lints":["id_repeated"],"vendor":{"k2vv":"invalid","openrouter":"schema_mismatch","only_reasoning":true,"cyrillic":true},"tags":{"batch":{"v":"17","src":"poll","age_ms":250},"index_dtype":{"v":"bf16","src":"header","age_ms":0}},` +
	`"fingerprint":"1a2b3c4d","arm":"live","session":"s-1","turn":3,"answer":"wrong","prefix":"0badcafe"}`

const emptyLine = `{"v":0,"id":"","request_id":"","time":"0001-01-01T00:00:00Z","model":"","path":"","stream":false,"status":0,"ending":"",` +
	`"bytes_in":0,"bytes_out":0,"ttfb_ms":0,"duration_ms":0,"finish_reasons":[],"calls":0,` +
	`"verdict":"","reason":"","suspect":false,"checks":[],"findings":[],"signals":[],"lints":[],"tags":{},` +
	`"fingerprint":"","arm":"","session":"","turn":0}`

func TestLineIsTheContract(t *testing.T) {
	f := func(in *Turn, want string) {
		t.Helper()
		got, err := json.Marshal(*in)
		if err != nil || string(got) != want {
			t.Errorf("line of a turn:\ngot  %s\nwant %s (%v)", got, want, err)
		}
	}
	f(full(), fullLine)
	f(&Turn{}, emptyLine)
	f(&Turn{Verdict: validate.Verdict{Findings: []validate.Finding{{Kind: "k"}}, Signals: []validate.Signal{{Kind: "k"}}}},
		strings.NewReplacer(
			`"findings":[]`, `"findings":[{"kind":"k","severity":"","cause":"","choice":0,"offset":0,"at_ms":0}]`,
			`"signals":[]`, `"signals":[{"kind":"k","choice":0,"offset":0,"at_ms":0}]`).Replace(emptyLine))
}

func TestRoundTrip(t *testing.T) {
	want := full()
	want.Time = want.Time.UTC()
	var got Turn
	if err := json.Unmarshal(want.AppendJSON(nil), &got); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(&got, want) {
		t.Errorf("a turn read back:\ngot  %+v\nwant %+v", got, *want)
	}
}

// A field that a type gained and AppendJSON does not know is lost in the round
// trip; that full sets every field makes TestRoundTrip see it.
func TestFullSetsEveryField(t *testing.T) {
	may := map[string]bool{"Turn.Verdict.Reason": true, "Turn.Verdict.Findings.Choice": true, "Turn.Verdict.Signals.Choice": true}
	for _, name := range unset("Turn", reflect.ValueOf(*full())) {
		if !may[name] {
			t.Errorf("%s is unset in the full turn", name)
		}
	}
}

// unset returns the fields of v, and of the structs in it, that are zero and
// part of the line.
func unset(name string, v reflect.Value) (names []string) {
	switch {
	case v.IsZero():
		return []string{name}
	case v.Type() == reflect.TypeFor[time.Time]():
	case v.Kind() == reflect.Slice:
		return unset(name, v.Index(0))
	case v.Kind() == reflect.Pointer && v.Elem().Kind() == reflect.Struct:
		return unset(name, v.Elem())
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() && f.Tag.Get("json") != "-" {
				names = append(names, unset(name+"."+f.Name, v.Field(i))...)
			}
		}
	}
	return names
}

func TestUnsetSeesAZeroField(t *testing.T) {
	got := unset("T", reflect.ValueOf(Turn{V: 1, Verdict: validate.Verdict{Findings: make([]validate.Finding, 1)}}))
	if !slices.Contains(got, "T.ID") {
		t.Errorf("got %v, want T.ID among them", got)
	}
}

func TestTextIsMended(t *testing.T) {
	f := func(in, want string) {
		t.Helper()
		got := string(appendString(nil, in))
		if got != want {
			t.Errorf("%q: got %s, want %s", in, got, want)
		}
		var back string
		if err := json.Unmarshal([]byte(got), &back); err != nil {
			t.Errorf("%q: %v", in, err)
		}
	}
	f("", `""`)
	f("a\nb\x00\"\\\x7f", `"a\u000ab\u0000\"\\\u007f"`)
	f("日本\u2028 <&>", "\"日本\u2028 <&>\"")
	f("a\xffb\xc3", `"a\ufffdb\ufffd"`)
	f("\ufffd", "\"\ufffd\"")
}

func TestTimesThatAreNoNumbers(t *testing.T) {
	f := func(in float64, want string) {
		t.Helper()
		o := object{b: []byte("{")}
		o.ms("x", in)
		if got := string(o.b); got != `{"x":`+want {
			t.Errorf("%v: got %s, want %s", in, got, want)
		}
	}
	f(math.NaN(), "0")
	f(math.Inf(1), "0")
	f(0.0004, "0")
	f(1e9+0.1234, "1000000000.123")
	f(-0.5, "-0.5")
}

// TestTimesAreTheShortestNumbers: what is written as an integer is what the shortest
// form of the number would be.
func TestTimesAreTheShortestNumbers(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	all := []float64{0, math.Copysign(0, -1), -0.0001, 0.0005, 0.00049, 0.999, 1, 0.1, 0.01, 1.1, 10, 1e11, 1e12, 999999999999.999, 1e15, 1e300, -17.25}
	for range 200_000 {
		all = append(all, math.Exp(r.Float64()*40-10), float64(r.Int64N(1e15))/1000)
	}
	for _, f := range all {
		want := strconv.FormatFloat(math.Round(f*1000)/1000, 'f', -1, 64)
		if got := string(appendMS(nil, f)); got != want {
			t.Fatalf("%v: got %s, want %s", f, got, want)
		}
	}
}

func TestIDsSortByTime(t *testing.T) {
	const lo, hi = 0, math.MaxUint64
	for _, ms := range []int64{0, 31, 32, 1_700_000_000_000, 1<<48 - 2} {
		if a, b := id(ms, hi, hi), id(ms+1, lo, lo); a >= b || len(a) != 26 {
			t.Errorf("id of %d ms: got %s, want 26 characters below %s", ms, a, b)
		}
	}
	if got, want := id(0, hi, hi), "0000000000zzzzzzzzzzzzzzzz"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestIDsDiffer(t *testing.T) {
	seen := map[string]bool{}
	for range 10_000 {
		seen[NewID()] = true
	}
	if len(seen) != 10_000 {
		t.Errorf("got %d different identifiers of 10000", len(seen))
	}
}

func TestDropsAreDistinct(t *testing.T) {
	all := Drops()
	slices.Sort(all)
	if n := len(slices.Compact(slices.Clone(all))); n != len(all) {
		t.Errorf("got %d different reasons of %d", n, len(all))
	}
}

func BenchmarkAppendJSON(b *testing.B) {
	f := func(name string, t *Turn) {
		b.Run(name, func(b *testing.B) {
			var line []byte
			b.ReportAllocs()
			for b.Loop() {
				line = t.AppendJSON(line[:0])
			}
		})
	}
	f("full", full())
	t := full()
	t.Config, t.Began = NewConfig(configured(60)), t.Time
	f("configured", t)
	live := *t
	live.Config, live.Tags = NewConfig(configured(2)), nil
	for _, name := range []string{"batch", "batch_at_head", "own_batch_max", "own_batch_mean", "own_batch_min", "queue_at_head", "rid"} {
		live.Own = append(live.Own, NamedTag{name, Tag{Value: "1", Source: "own"}})
	}
	f("live", &live)
	t.Tags, t.Config = t.AllTags(), nil
	f("mapped", t)
}

// plain is a Turn without its own encoding.
type plain Turn

func BenchmarkReflectedJSON(b *testing.B) {
	t := (*plain)(full())
	b.ReportAllocs()
	for b.Loop() {
		if _, err := json.Marshal(t); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkNewID(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		NewID()
	}
}
