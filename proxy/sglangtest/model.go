package sglangtest

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// eos is the token at which answers of the model stop.
const eos = 1

// model answers r: the step of its plan that is due, else plain text.
func (s *Server) model(r *Request) *Answer {
	t := since(r)
	st, ok := due(t)
	switch {
	case ok && st.tool != "":
		return s.call(r, st, t, hash(s.cfg.Seed, "preamble", r.Session, strconv.Itoa(r.Turn))%2 == 0)
	case ok:
		return say(st.answer)
	}
	return say(plainText(s.cfg.Seed, r))
}

func say(text string) *Answer {
	a := &Answer{Finish: "stop", Matched: eos, Silent: 1}
	for _, p := range cut(text, 6) {
		a.Deltas = append(a.Deltas, Text(p))
	}
	return a
}

// task is a request since its last user message.
type task struct {
	plan    string
	taken   int // steps
	results []string
	before  int // calls in the whole request
}

func since(r *Request) task {
	var t task
	for _, m := range r.Messages {
		t.before += m.Calls
		switch m.Role {
		case "user":
			t.plan, t.taken, t.results = m.Text, 0, nil
		case "assistant":
			t.taken++
		case "tool":
			t.results = append(t.results, m.Text)
		}
	}
	return t
}

// step is one line of a plan: a call or an answer.
type step struct {
	tool, args string // args are as they stand in the plan
	answer     string
}

// due finds the first step that was not taken.
func due(t task) (step, bool) {
	prefix := strconv.Itoa(t.taken+1) + ". "
	for line := range strings.Lines(t.plan) {
		line, ok := strings.CutPrefix(strings.TrimSpace(line), prefix)
		if !ok {
			continue
		}
		if text, ok := strings.CutPrefix(line, "Answer: "); ok {
			return step{answer: unquote(text)}, true
		}
		if call, ok := strings.CutPrefix(line, "Call "); ok {
			tool, args, _ := strings.Cut(strings.TrimSuffix(call, "."), " with ")
			return step{tool: tool, args: args}, true
		}
	}
	return step{}, false
}

func unquote(text string) string {
	var s string
	if json.Unmarshal([]byte(text), &s) == nil {
		return s
	}
	return text
}

// call makes the call of a step, with or without some words before it.
func (s *Server) call(r *Request, st step, t task, preamble bool) *Answer {
	args, err := arguments(st.args, t.results)
	if err != nil {
		return say(fmt.Sprintf("I cannot call %s: %v.", st.tool, err))
	}
	a := &Answer{Finish: "tool_calls", Matched: eos, Silent: 4}
	turn := strconv.Itoa(r.Turn)
	if preamble {
		for _, p := range cut("I will call "+st.tool+".", 6) {
			a.Deltas = append(a.Deltas, Text(p))
		}
	}
	id := "call_" + fmt.Sprintf("%016x%016x", hash(s.cfg.Seed, "call", r.Session, turn), hash(s.cfg.Seed, "llac", r.Session, turn))[:24]
	if s.cfg.Parser == "kimi_k2" || s.cfg.Parser == "kimi_k3" {
		id = fmt.Sprintf("%s:%d", st.tool, t.before)
		if s.cfg.Parser == "kimi_k2" {
			id = "functions." + id
		}
	}
	a.Deltas = append(a.Deltas, pieces(s.cfg.Parser, id, st.tool, args)...)
	return a
}

// pieces cuts a call into deltas as the parser does: some read the whole call
// first, most send the name alone and then what they read.
func pieces(parser, id, tool, args string) []Delta {
	first := Begin(0, id, tool, "")
	first.Tokens = 8 // the markup before it
	switch parser {
	case "qwen25", "qwen", "hermes", "trinity", "llama3", "mistral", "pythonic", "lfm2", "gpt-oss":
		whole := More(0, args)
		whole.Tokens = max(1, len(args)/6)
		return []Delta{first, whole}
	case "kimi_k2":
		first.Call.Args, args = "{", args[1:]
	default:
		out := []Delta{first, More(0, "{")}
		return append(out, more(args[1:])...)
	}
	return append([]Delta{first}, more(args)...)
}

func more(args string) []Delta {
	var out []Delta
	for _, p := range cut(args, 6) {
		out = append(out, More(0, p))
	}
	return out
}

// arguments evaluates the arguments of a step, such as
//
//	ticket = "TCK-1", path = result.path
//
// to the text that json.dumps would write.
func arguments(src string, results []string) (string, error) {
	var fields []string
	for src != "" {
		name, rest, ok := strings.Cut(src, " = ")
		if !ok {
			return "", fmt.Errorf("no value after %q", src)
		}
		value, rest, err := value(rest, results)
		if err != nil {
			return "", fmt.Errorf("argument %s: %w", name, err)
		}
		fields = append(fields, quote(name)+": "+dumps(value))
		src = strings.TrimPrefix(rest, ", ")
	}
	return "{" + strings.Join(fields, ", ") + "}", nil
}

// value reads one value at the beginning of src.
func value(src string, results []string) (v, rest string, err error) {
	if ref, ok := strings.CutPrefix(src, "result"); ok {
		end := strings.IndexByte(ref+",", ',')
		v, err = field(ref[:end], results)
		return v, ref[end:], err
	}
	dec := json.NewDecoder(strings.NewReader(src))
	var raw json.RawMessage
	if err := dec.Decode(&raw); err != nil {
		return "", "", err
	}
	return string(raw), src[dec.InputOffset():], nil
}

// field reads what ref names: .NAME of the latest result, [N].NAME of the Nth.
func field(ref string, results []string) (string, error) {
	n := len(results)
	if i := strings.IndexByte(ref, ']'); i > 0 {
		var err error
		if n, err = strconv.Atoi(ref[1:i]); err != nil {
			return "", err
		}
		ref = ref[i+1:]
	}
	if n < 1 || n > len(results) {
		return "", fmt.Errorf("there is no tool result %d", n)
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal([]byte(results[n-1]), &fields); err != nil {
		return "", fmt.Errorf("read tool result %d: %w", n, err)
	}
	v, ok := fields[strings.TrimPrefix(ref, ".")]
	if !ok {
		return "", fmt.Errorf("tool result %d has no field %s", n, strings.TrimPrefix(ref, "."))
	}
	return string(v), nil
}

// dumps writes JSON with the separators of Python's json.dumps.
func dumps(src string) string {
	var b strings.Builder
	inString := false
	for i := 0; i < len(src); i++ {
		c := src[i]
		switch {
		case inString && c == '\\':
			b.WriteByte(c)
			i++
			c = src[i]
		case c == '"':
			inString = !inString
		case !inString && (c == ' ' || c == '\n' || c == '\t' || c == '\r'):
			continue
		}
		b.WriteByte(c)
		if !inString && (c == ',' || c == ':') {
			b.WriteByte(' ')
		}
	}
	return b.String()
}

var sentences = []string{
	"The request is clear, and nothing in it needs a tool.", "I looked at what you gave me and found no open question.",
	"Everything is in order as far as I can tell.", "There is nothing left to do on my side.",
	"Send me the next step when you are ready.", "The notes agree with what you describe.",
}

// plainText is two sentences that the seed picks.
func plainText(seed uint64, r *Request) string {
	h := hash(seed, "text", r.Session, strconv.Itoa(r.Turn))
	n := uint64(len(sentences))
	return sentences[h%n] + " " + sentences[(h/n)%n]
}
