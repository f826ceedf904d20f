package report

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"
)

// line writes a turn with what is given, the rest plain.
func line(session, verdict, more string) string {
	return fmt.Sprintf(`{"v":1,"id":"%s-%s%d","time":"2026-03-01T12:00:00Z","arm":"live","status":200,"ending":"complete","session":"%s","verdict":"%s"%s}`+"\n",
		session, verdict, len(more), session, verdict, more)
}

func found(kind, cause string) string {
	return fmt.Sprintf(`,"findings":[{"kind":"%s","cause":"%s","at_ms":5}]`, kind, cause)
}

func TestSessionsAndTurnsAreCounted(t *testing.T) {
	f := func(sessions, turns string, lines ...string) {
		t.Helper()
		r := Make(read(t, strings.Join(lines, ""), "-"), Options{})
		got := [2]string{fmt.Sprintf("%d/%d", r.Sessions.Corrupted, r.Sessions.All), fmt.Sprintf("%d/%d", r.Turns.Corrupted, r.Turns.All)}
		if got != [2]string{sessions, turns} {
			t.Errorf("got sessions and turns %v, want %s and %s", got, sessions, turns)
		}
	}
	bad := found("schema_value", "unknown")
	f("0/1", "0/2", line("a", "clean", ""), line("a", "clean", `,"turn":2`))
	f("0/1", "0/1", line("a", "clean", ""), line("a", "clean", "")) // the same turn again
	f("1/2", "1/3", line("a", "clean", ""), line("a", "corrupted", bad), line("b", "clean", ""))
	f("0/1", "0/1", line("a", "unverified", ""), line("b", "truncated", ""))
	f("0/1", "0/1", line("a", "corrupted", found("call_split", "parser")))
	f("1/1", "1/1", line("a", "corrupted", ""))
	f("0/2", "0/2", line("", "clean", ""), line("", "clean", `,"turn":1`))
	f("1/2", "1/2", line("a", "clean", `,"fingerprint":"1"`), line("a", "corrupted", `,"fingerprint":"2"`+bad))
	f("0/1", "0/1", line("a", "clean", ""), strings.Replace(line("b", "corrupted", bad), `"live"`, `"candidate"`, 1))
	f("1/1", "1/1", strings.Replace(line("b", "corrupted", bad), `"live"`, `"candidate"`, 1))
}

func TestLineIsTheSameEverywhere(t *testing.T) {
	var lines string
	for i := range 40 {
		verdict, more := "clean", ""
		if i < 6 {
			verdict, more = "corrupted", found("schema_value", "unknown")
		}
		lines += line(fmt.Sprint(i), verdict, more)
	}
	var b strings.Builder
	if err := Make(read(t, lines, "-"), Options{}).Text(&b); err != nil {
		t.Fatal(err)
	}
	if got, want := strings.SplitN(b.String(), "\n", 2)[0], "CORRUPTION sessions: 6/40 = 15.0%  [7.1%, 29.1%]"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestBatchIsTheLargestOfTheSession(t *testing.T) {
	batch := func(n int) string { return fmt.Sprintf(`,"tags":{"batch":{"v":"%d","src":"facts"}}`, n) }
	r := Make(read(t, line("a", "clean", batch(1))+line("a", "corrupted", batch(6)+found("schema_value", "unknown"))+line("b", "clean", batch(1)), "-"), Options{})
	var got []string
	for _, l := range r.Batch {
		got = append(got, fmt.Sprintf("%s: %d/%d %d/%d", l.Value, l.Sessions.Corrupted, l.Sessions.All, l.Turns.Corrupted, l.Turns.All))
	}
	if want := "1: 0/1 0/2|5-8: 1/1 1/1"; strings.Join(got, "|") != want {
		t.Errorf("got %q, want %q", strings.Join(got, "|"), want)
	}
}

func TestTimelineMarksChanges(t *testing.T) {
	w := world{seed: 1, sessions: 400, background: 0.1}.lines()
	at := began.Add(90 * time.Second)
	w += fmt.Sprintf(`{"v":1,"type":"config_change","time":"%s","from":"1","to":"2","turn":"x","changed":{"overlap":{"from":"on","to":"off"}}}`+"\n", at.Format(time.RFC3339Nano))
	w += fmt.Sprintf(`{"v":1,"type":"server_restart","time":"%s","arm":"live","why":"its counters began anew"}`+"\n", at.Add(time.Minute).Format(time.RFC3339Nano))
	r := Make(read(t, w, "-"), Options{})
	n := 0
	for _, b := range r.Timeline.Bins {
		n += b.Sessions.All
	}
	if n != 400 || len(r.Timeline.Bins) > maxBins || len(r.Timeline.Events) != 2 || !r.Timeline.Events[0].Time.Equal(at) {
		t.Errorf("%d sessions in %d bins, events %+v", n, len(r.Timeline.Bins), r.Timeline.Events)
	}
	var b strings.Builder
	if err := r.Text(&b); err != nil || !regexp.MustCompile(`▶ 2026-03-01 12:01:30 .*overlap on→off(?s:.*)▶ 2026-03-01 12:02:30 .*server started anew: its counters`).MatchString(b.String()) {
		t.Errorf("%v in\n%s", err, &b)
	}
}

func TestRankingNamesTheWorst(t *testing.T) {
	r := Make(read(t, world{seed: 1, sessions: 800, inside: 0.5, cause: func(dtype, _, _ string, _ int) bool { return dtype == "bf16" }}.lines(), "-"), Options{})
	if got := r.Ranking[0].Value; got != "index_dtype=bf16" {
		t.Errorf("got %s first, want index_dtype=bf16", got)
	}
	if got := r.Tags[0].Name; got != "index_dtype" && got != "boot" {
		t.Errorf("the first tag is %s", got)
	}
	if got := r.Tags[len(r.Tags)-1]; len(got.Levels) != 1 {
		t.Errorf("the last tag is %+v, want one that is the same everywhere", got)
	}
}

func TestJSONHoldsNoNulls(t *testing.T) {
	for _, in := range []string{"", world{seed: 1, sessions: 20, background: 0.5}.lines()} {
		var b strings.Builder
		if err := Make(read(t, in, "-"), Options{}).JSON(&b); err != nil {
			t.Fatal(err)
		}
		if !json.Valid([]byte(b.String())) || strings.Contains(b.String(), "null") {
			t.Errorf("got %s", b.String())
		}
	}
}

func TestPageNeedsNothingElse(t *testing.T) {
	var b strings.Builder
	if err := Make(read(t, world{seed: 1, sessions: 200, background: 0.1}.lines(), "-"), Options{}).HTML(&b); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"<script", "<link", "src=", "@import", "url("} {
		if strings.Contains(b.String(), bad) {
			t.Errorf("the page has %q", bad)
		}
	}
	for _, m := range regexp.MustCompile(`https?://[^"\s<]+`).FindAllString(b.String(), -1) {
		if m != "http://www.w3.org/2000/svg" {
			t.Errorf("the page names %s", m)
		}
	}
	if !strings.Contains(b.String(), "<svg") || !strings.Contains(b.String(), "prefers-color-scheme: dark") || !strings.Contains(b.String(), "@media print") {
		t.Error("no drawing, no dark form or no form for paper")
	}
}

func TestComparison(t *testing.T) {
	f := func(a, b float64, n int, want string, exit int) {
		t.Helper()
		lines := world{seed: 1, sessions: n, background: a, suspects: 0.5}.lines() + strings.ReplaceAll(world{seed: 2, sessions: n, background: b}.lines(), `"arm":"live"`, `"arm":"candidate"`)
		o := Options{}
		o.A, _ = ParseSelector("arm=live", began)
		o.B, _ = ParseSelector("arm=candidate", began)
		r := Make(read(t, lines, "-"), o)
		if r.Comparison.Word != want || r.Exit() != exit {
			t.Errorf("%v and %v: got %s, exit %d; want %s, %d: %+v", a, b, r.Comparison.Word, r.Exit(), want, exit, r.Comparison)
		}
		if decided := want == "worse" || want == "better"; decided != (r.Comparison.After > 0) || r.Comparison.After > 2*n {
			t.Errorf("%v and %v: told apart after %d sessions of %d", a, b, r.Comparison.After, 2*n)
		}
		if s := r.Comparison.Suspects; s.Word != "better" || s.After == 0 || s.Anytime > alpha {
			t.Errorf("%v and %v: by suspect sessions got %+v, want better", a, b, s)
		}
	}
	f(0, 0.3, 200, "worse", ExitCorrupted)
	f(0.3, 0, 200, "better", ExitGood)
	f(0, 0, 200, "no_difference", ExitGood)
	f(0.05, 0.10, 40, "undecided", ExitUndecided)
}

// TestChoiceOfNobodyIsNamed: more sessions would not help a choice that is misspelt.
func TestChoiceOfNobodyIsNamed(t *testing.T) {
	var o Options
	o.A, _ = ParseSelector("fingerprint=nope", began)
	o.B, _ = ParseSelector("arm=live", began)
	r := Make(read(t, world{seed: 1, sessions: 40, background: 0.5}.lines(), "-"), o)
	if got, want := r.Comparison.sentence(), "Undecided: of A, fingerprint=nope, no session was judged."; got != want || r.Exit() != ExitUndecided {
		t.Errorf("got %q, exit %d; want %q, %d", got, r.Exit(), want, ExitUndecided)
	}
}

// Equal journals and seeds make equal reports: what is drawn depends on the order
// of the sessions.
func TestReportIsTheSameEachTime(t *testing.T) {
	lines := world{seed: 1, sessions: 120, inside: 0.5, background: 0.05, cause: origin}.lines()
	var first string
	for range 3 {
		var b strings.Builder
		if err := Make(read(t, lines, "-"), Options{Seed: 1, Permutations: 200}).JSON(&b); err != nil {
			t.Fatal(err)
		}
		if first == "" {
			first = b.String()
		}
		if b.String() != first {
			t.Fatalf("the same journal made\n%s\nand\n%s", first, b.String())
		}
	}
}

// The comparison that was once believed: 6/40 against 2/40 decides nothing.
func TestPlausibleFixIsUndecided(t *testing.T) {
	var lines string
	for i := range 80 {
		arm, more, verdict := "live", "", "clean"
		if i >= 40 {
			arm = "candidate"
		}
		if i < 6 || i == 40 || i == 41 {
			verdict, more = "corrupted", found("schema_value", "unknown")
		}
		lines += strings.Replace(line(fmt.Sprint(i), verdict, more), `"live"`, `"`+arm+`"`, 1)
	}
	o := Options{}
	o.A, _ = ParseSelector("arm=live", began)
	o.B, _ = ParseSelector("arm=candidate", began)
	r := Make(read(t, lines, "-"), o)
	if c := r.Comparison; c.Word != "undecided" || c.More < 80 || c.P < 0.26 || c.P > 0.27 {
		t.Errorf("got %+v, want undecided, p = 0.263", c)
	}
}

func TestSelector(t *testing.T) {
	d := read(t, world{seed: 1, sessions: 80}.lines(), "-")
	f := func(text string, want int) {
		t.Helper()
		s, err := ParseSelector(text, began.Add(time.Hour))
		if err != nil {
			t.Fatal(err)
		}
		n := len(d.view(func(r *row) bool { return s.match(d, r) }).rows)
		if n != want {
			t.Errorf("%s: got %d turns, want %d", text, n, want)
		}
	}
	f("index_dtype=bf16", 200)
	f("index_dtype=bf16,cuda_graph=on, overlap=off", 50)
	f("fingerprint=00000003", 50)
	f("arm=control", 0)
	f("model=sim/DeepSeek-V4,replica=-", 400)
	f("since=1h", 400)
	f("until=1h", 0)
	f("since=2026-03-01T12:00:00Z,until=2026-03-01T12:00:03Z", 5)
	for _, bad := range []string{"bf16", "=x", "since=yesterday", "since=-3h", "since=1.5d"} {
		if _, err := ParseSelector(bad, began); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
}

func TestSpans(t *testing.T) {
	f := func(s string, want time.Duration) {
		t.Helper()
		if got, err := ParseSpan(s); err != nil || got != want {
			t.Errorf("%s: got %v, %v; want %v", s, got, err, want)
		}
	}
	f("7d", 7*24*time.Hour)
	f("1d12h", 36*time.Hour)
	f("90m", 90*time.Minute)
}

func TestDosesAreOfTheStep(t *testing.T) {
	tags := func(steps, onset string) string {
		return fmt.Sprintf(`,"tags":{"batch":{"v":"9"},"batch_steps":{"v":"%s"},"batch_at_onset":{"v":"%s"}}`, steps, onset)
	}
	r := Make(read(t, line("a", "clean", tags("1:100,5-8:300", ""))+line("b", "corrupted", tags("1:100,5-8:100,9-16:50", "6")+found("schema_value", "unknown"))+
		line("c", "unverified", tags("1:900", ""))+line("d", "clean", "")+line("e", "clean", tags("x:1,5-8:-2,129+:99999999,,9-16", "")), "-"), Options{})
	var got []string
	for _, d := range r.Steps {
		got = append(got, fmt.Sprintf("%s %d/%d", d.Batch, d.Events, d.Steps))
	}
	if want := "1 0/200|5-8 1/400|9-16 0/50|129+ 0/65535"; strings.Join(got, "|") != want {
		t.Errorf("got %s, want %s", strings.Join(got, "|"), want)
	}
	if d := r.Steps[1]; d.Rate != 2.5 || d.Low <= 0 || d.High <= 2.5 {
		t.Errorf("got %+v", d)
	}
}
