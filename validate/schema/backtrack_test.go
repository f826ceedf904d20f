package schema

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// answers are what an implementation of ECMA-262 says of a pattern.
type answers struct {
	Pattern string   `json:"p"`
	Texts   []string `json:"t"`
	Matches []bool   `json:"m"` // null where it is no pattern
}

// recorded are the answers in testdata, or those in TURNWATCH_PATTERNS.
func recorded(t *testing.T) (all []answers) {
	t.Helper()
	name := os.Getenv("TURNWATCH_PATTERNS")
	if name == "" {
		name = "testdata/patterns.jsonl"
	}
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var a answers
		if err := json.Unmarshal(lines.Bytes(), &a); err != nil {
			t.Fatal(err)
		}
		all = append(all, a)
	}
	return all
}

// says is what a schema with only a pattern says of a text.
func says(t *testing.T, pattern, text string) (matches, evaluated bool) {
	t.Helper()
	doc, _ := json.Marshal(map[string]any{"pattern": pattern})
	data, _ := json.Marshal(text)
	c := Compile(doc).Checker(NewBudget())
	c.Feed(data)
	found, st := c.Finish(data)
	if st == Ready && len(found) > 0 && c.Lost() > 0 {
		t.Errorf("%s on %q: a pattern that was dropped made a violation", pattern, text)
	}
	return len(found) == 0, st == Ready && c.Lost() == 0
}

// TestPatternsMeanWhatTheSuiteSays reads the suite's optional tests of patterns.
// What is not evaluated is no violation.
func TestPatternsMeanWhatTheSuiteSays(t *testing.T) {
	for _, draft := range []string{"draft7", "draft2019-09", "draft2020-12"} {
		right, unknown := 0, 0
		for _, name := range []string{"ecmascript-regex.json", "non-bmp-regex.json"} {
			text, err := os.ReadFile(filepath.Join(suite(t), "tests", draft, "optional", name))
			if err != nil {
				t.Fatal(err)
			}
			var groups []suiteGroup
			if err := json.Unmarshal(text, &groups); err != nil {
				t.Fatal(err)
			}
			for _, g := range groups {
				for _, c := range g.Tests {
					k := Compile(g.Schema).Checker(NewBudget())
					k.Feed(c.Data)
					found, st := k.Finish(c.Data)
					switch {
					case st != Ready || k.Lost() > 0:
						unknown++
					case strings.HasPrefix(g.Description, `\a is not`): // RE2 knows it as a bell
					case (len(found) == 0) != c.Valid:
						t.Errorf("%s %s: %s: %s: got %v, want valid %v", draft, name, g.Description, c.Description, found, c.Valid)
					default:
						right++
					}
				}
			}
		}
		t.Logf("%s: %d right, %d not evaluated", draft, right, unknown)
		if unknown > 5 {
			t.Errorf("%s: got %d not evaluated", draft, unknown)
		}
	}
}

func TestPatternsMeanWhatECMAScriptSays(t *testing.T) {
	right, unknown := 0, 0
	for _, a := range recorded(t) {
		for i, text := range a.Texts {
			got, evaluated := says(t, a.Pattern, text)
			switch {
			case !evaluated && !got:
				t.Errorf("%s on %q: a violation though it was not evaluated", a.Pattern, text)
			case !evaluated:
				unknown++
			case a.Matches == nil:
				t.Errorf("%s: evaluated, but it is no pattern", a.Pattern)
			case got != a.Matches[i]:
				t.Errorf("%s on %q: got %v, want %v", a.Pattern, text, got, a.Matches[i])
			default:
				right++
			}
		}
	}
	t.Logf("%d right, %d not evaluated", right, unknown)
	if unknown > right/20 {
		t.Errorf("got %d not evaluated of %d", unknown, right+unknown)
	}
}

// TestBacktrackingIsBounded holds that what has too many ways, is too long or
// is too big is not tried, and that what has few is, however long it looks.
func TestBacktrackingIsBounded(t *testing.T) {
	f := func(pattern, text string, want bool) {
		t.Helper()
		if _, evaluated := says(t, pattern, text); evaluated != want {
			t.Errorf("%.40s on %.40s…: evaluated %v, want %v", pattern, text, evaluated, want)
		}
	}
	as := func(n int) string { return strings.Repeat("a", n) }
	f(`(a+)+\1$`, as(8)+"!", true)
	f(`(a+)+\1$`, as(40)+"!", false)
	f(`^(?:a|aa)*(?<!b)$`, as(40)+"!", false)
	f(`^(?:a|aab?){40}(?<=a{40})$`, as(60), false)
	f(`^(?=(?:a|aa)*$)(?<=x)b`, as(40)+"!", false)
	f(`(?<=^(?:a|aa)*)b`, as(40), false)
	f(`(\w+)\s+\1`, strings.Repeat("word ", 10), true)
	f(`^(?!.*(.)\1{2,})`, strings.Repeat("ab", 30), true)
	f(`^[a-z]+(?:-[a-z]+)*(?<!x)$`, strings.Repeat("abc-", 200)+"d", true)
	f(`(?<!x)y$`, as(maxBacktracked), true)
	f(`(?<!x)y$`, as(maxBacktracked+1), false)
	f(`(?<=a)`+strings.Repeat("(?:b)?", maxGroups), "a", false)
	f(`(?<=a)`+strings.Repeat("b?", maxPattern/2), "a", false)
}

// FuzzPattern holds any pattern against any text: whole and in pieces it must
// say the same, and what is not evaluated is no violation.
func FuzzPattern(f *testing.F) {
	for _, seed := range [][2]string{
		{`(?<=a)b`, "ab"}, {`(a+)+\1$`, "aaaa!"}, {`^(?<!\p{L})\d(?!x)`, "1x"}, {`(?<n>.)\k<n>`, "😀😀"}, {`^(?:a|(?=b))*(?<!c)$`, "aab"}, {`[\S](?=.)`, "\u2028a"},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, pattern, text string) {
		if len(pattern) > 100 || len(text) > 200 {
			return
		}
		matches, evaluated := says(t, pattern, text)
		if !matches && !evaluated {
			t.Errorf("%q on %q: a violation though it was not evaluated", pattern, text)
		}
		doc, _ := json.Marshal(map[string]any{"not": map[string]any{"pattern": pattern}})
		data, _ := json.Marshal(text)
		c := Compile(doc).Checker(NewBudget())
		for i := range data {
			c.Feed(data[i : i+1])
		}
		found, st := c.Finish(data)
		if both := evaluated && st == Ready && c.Lost() == 0; both && (len(found) == 0) == matches {
			t.Errorf("%q on %q: matches %v, and under not %v", pattern, text, matches, found)
		}
		if !evaluated && len(found) > 0 {
			t.Errorf("%q on %q: a violation under not though it was not evaluated", pattern, text)
		}
	})
}
