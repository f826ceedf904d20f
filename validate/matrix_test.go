package validate

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// cell is what a parser made of a text.
type cell struct {
	parser, fault, mode string
	text                string // what the model said
	saw                 string // as testdata/parsers.json tells it
}

// corruptions damage good markup as the cells of the matrix are damaged.
func corruptions(good, opener, terminator string) map[string]string {
	before, after, _ := strings.Cut(good, "Paris")
	damaged := []rune(opener)
	damaged[len(damaged)/2] = 'X'
	return map[string]string{
		"good":          good,
		"end_cut":       strings.TrimSuffix(good, terminator),
		"mid_cut":       before + "Pa",
		"begin_corrupt": strings.Replace(good, opener, string(damaged), 1),
		"name_unknown":  strings.Replace(good, "get_weather", "get_wexther", 1),
		"val_garbage":   before + "Pa\"我{}\\n" + after,
	}
}

func cells(t *testing.T) (all []cell) {
	t.Helper()
	load := func(file string, into any) {
		data, err := os.ReadFile(file)
		if err == nil {
			err = json.Unmarshal(data, into)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	var rows []map[string]string
	var parsers map[string]struct{ Good, Opener, Terminator string }
	load("testdata/parsers.json", &rows)
	load("markup/testdata/markup.json", &parsers)
	for _, row := range rows {
		p := parsers[row["parser"]]
		texts := corruptions(p.Good, p.Opener, p.Terminator)
		for key, saw := range row {
			fault, mode, ok := strings.Cut(key, "/")
			if ok {
				all = append(all, cell{row["parser"], fault, mode, texts[fault], saw})
			}
		}
	}
	slices.SortFunc(all, func(a, b cell) int { return strings.Compare(a.String(), b.String()) })
	return all
}

func (c cell) String() string { return c.parser + " " + c.fault + "/" + c.mode }

var (
	callCell = regexp.MustCompile(`^CALL\((\S+) (.*)\)(\+LEAK)? fr=(\w+)$`)
	badCell  = regexp.MustCompile(`^CALL\(bad JSON: \["(.*)"\]\)(\+LEAK)? fr=(\w+)$`)
)

// read is what is visible of the answer.
func (c cell) read(t *testing.T) (name, args, content, finish string) {
	t.Helper()
	switch {
	case c.saw == "SWALLOWED fr=stop":
		return "", "", "I will check.", "stop"
	case c.saw == "LEAK fr=stop":
		return "", "", "I will check.\n\n" + c.text, "stop"
	}
	name, args = "get_weather", ""
	leak := ""
	if m := badCell.FindStringSubmatch(c.saw); m != nil {
		if err := json.Unmarshal([]byte(`"`+m[1]+`"`), &args); err != nil {
			t.Fatalf("%s: %s: %v", c, c.saw, err)
		}
		leak, finish = m[2], m[3]
	} else if m := callCell.FindStringSubmatch(c.saw); m != nil {
		name, args, leak, finish = m[1], m[2], m[3], m[4]
	} else {
		t.Fatalf("%s: %s", c, c.saw)
	}
	if content = "I will check."; leak != "" {
		content += "\n\n" + c.text[:strings.IndexByte(c.text, '>')+1]
	}
	return name, args, content, finish
}

// body is the answer in SGLang's shape.
func (c cell) body(t *testing.T) (body, kind string) {
	t.Helper()
	name, args, content, finish := c.read(t)
	quote := func(s string) string {
		b, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	function := `{"name":` + quote(name) + `,"arguments":` + quote(args) + `}`
	if name == "None" {
		function = `{"name":null,"arguments":` + quote(args) + `}`
	}
	calls := "null"
	if name != "" {
		calls = `[{"id":"call_1","index":0,"type":"function","function":` + function + `}]`
	}
	usage := fmt.Sprintf(`{"prompt_tokens":200,"completion_tokens":%d}`, 5+len(c.text)/3)
	if c.mode == "N" {
		return `{"choices":[{"index":0,"message":{"role":"assistant","content":` + quote(content) + `,"tool_calls":` + calls +
			`},"finish_reason":"` + finish + `"}],"usage":` + usage + `}`, "application/json"
	}
	event := func(delta, finish string) string {
		return `data: {"choices":[{"index":0,"delta":` + delta + `,"finish_reason":` + finish + `}]}` + "\n\n"
	}
	for r := []rune(content); len(r) > 0; {
		n := min(6, len(r))
		body += event(`{"content":`+quote(string(r[:n]))+`}`, "null")
		r = r[n:]
	}
	if name != "" {
		body += event(`{"tool_calls":`+calls+`}`, "null")
	}
	return body + event(`{}`, `"`+finish+`"`) + `data: {"choices":[],"usage":` + usage + "}\n\ndata: [DONE]\n\n", "text/event-stream"
}

// invisible reports whether nothing in the answer tells of the fault: a call
// of a declared tool whose arguments conform to its schema.
func (c cell) invisible() bool {
	m := callCell.FindStringSubmatch(c.saw)
	if m == nil || m[1] != "get_weather" || m[3] != "" {
		return false
	}
	var args struct{ City *string }
	return json.Unmarshal([]byte(m[2]), &args) == nil && args.City != nil
}

// TestParserMatrix: of what SGLang's parsers make of corrupted markup, all that
// is visible is found; the rest is told by nothing in the answer.
func TestParserMatrix(t *testing.T) {
	req, err := ParseRequest("/v1/chat/completions", []byte(`{"messages":[{"role":"user","content":"What is the weather in Paris?"}],"tools":[{"type":"function","function":{"name":"get_weather",
		"parameters":{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	ordinary := map[string]string{
		"minicpm5 name_unknown/N":     "<function name=…> of no declared tool is markup like any other",
		"qwen3_coder begin_corrupt/S": "nothing but <tooX_call> is left beside the call",
	}
	req.TokenRate = 1 // as the model's other turns tell
	found, hidden := 0, 0
	for _, c := range cells(t) {
		body, kind := c.body(t)
		k := NewChecker(req, Head{200, kind})
		k.Feed(0, []byte(body))
		v := k.Finish(Complete)
		switch corrupted := v.Outcome == Corrupted; {
		case c.fault == "good" || c.invisible():
			if v.Outcome != Clean {
				t.Errorf("%s: %s: got %s %v, want clean", c, c.saw, v.Outcome, told(v))
			}
			if c.fault != "good" {
				hidden++
			}
		case ordinary[c.String()] != "":
			if corrupted {
				t.Errorf("%s: got %v, want it to be taken for ordinary text: %s", c, told(v), ordinary[c.String()])
			}
			hidden++
		case !corrupted:
			t.Errorf("%s: %s: got %s %v, want corrupted", c, c.saw, v.Outcome, told(v))
		default:
			found++
		}
	}
	t.Logf("of %d corrupted answers %d were found, and nothing tells of %d", found+hidden, found, hidden)
}
