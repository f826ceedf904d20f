package validate

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// edited is a turn of an agent that did what it was asked to: what it writes is
// nearly what it was given.
type edited struct {
	Kind   string // what it did
	Said   string // by the user
	Result string // of the tool call before
	Tool   string // that is called, with Args
	Args   json.RawMessage
	Text   string // else the answer
}

func editedTurns(t *testing.T) (all []edited) {
	t.Helper()
	f, err := os.Open("testdata/copies.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		var e edited
		if err := json.Unmarshal(s.Bytes(), &e); err != nil {
			t.Fatal(err)
		}
		all = append(all, e)
	}
	return all
}

func inJSON(v any) string {
	b, _ := json.Marshal(v)
	return string(b)
}

// agentPrompt is what an agent's requests begin with.
const agentPrompt = "You are Ana's assistant at Acme (org 4471, workspace ws-88213). Today is 2026-11-29. Use the tools. " +
	"Repositories live under /home/ana/projects; tickets look like OPS-1000 to OPS-1187. Never write to prod-db-1.acme.dev."

// request is that of the turn.
func (e *edited) request() string {
	messages := fmt.Sprintf(`{"role":"system","content":%s},{"role":"user","content":%s}`, inJSON(agentPrompt), inJSON(e.Said))
	if e.Result != "" {
		messages += fmt.Sprintf(`,{"role":"assistant","content":null,"tool_calls":[{"id":"call_5d1f0a77c2","type":"function","function":{"name":"look","arguments":"{}"}}]},`+
			`{"role":"tool","tool_call_id":"call_5d1f0a77c2","content":%s}`, inJSON(e.Result))
	}
	tool := e.Tool
	if tool == "" {
		tool = "look"
	}
	return fmt.Sprintf(`{"model":"m","messages":[%s],"tools":[{"type":"function","function":{"name":%q,"parameters":{"type":"object"}}}]}`, messages, tool)
}

func (e *edited) answer() string {
	if e.Tool == "" {
		return fmt.Sprintf(`{"choices":[{"index":0,"message":{"role":"assistant","content":%s},"finish_reason":"stop"}]}`, inJSON(e.Text))
	}
	return fmt.Sprintf(`{"choices":[{"index":0,"message":{"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":"function",`+
		`"function":{"name":%q,"arguments":%s}}]},"finish_reason":"tool_calls"}]}`, e.Tool, inJSON(string(e.Args)))
}

// compared judges an answer with a request held against it.
func compared(t *testing.T, e *Echoes, request, answer string) Verdict {
	t.Helper()
	r, err := ParseRequest("/v1/chat/completions", []byte(request))
	if err != nil {
		t.Fatal(err)
	}
	e.Keep(r, []byte(request))
	defer r.Free()
	c := NewChecker(r, Head{200, "application/json"})
	c.Feed(0, []byte(answer))
	return c.Finish(Complete)
}

// trusting returns echoes that convict: a parameter was always a copy for long,
// then corruption set in.
func trusting(t *testing.T) *Echoes {
	t.Helper()
	e := NewEchoes(1 << 20)
	e.Convict = true
	for i := range 5200 {
		site := fmt.Sprintf("Z%d-%04d", i%7, i)
		said := edited{Said: "Alert " + site, Tool: "alert", Args: json.RawMessage(inJSON(map[string]string{"site": site}))}
		if i > 5000 && i%4 == 0 {
			said.Said = "Alert " + strings.Replace(site, "-", "-9", 1)
		}
		compared(t, e, said.request(), said.answer())
	}
	if got := e.FalseDiscovery(); got > maxFalse {
		t.Fatalf("false discoveries: got a bound of %.3f, want at most %v", got, maxFalse)
	}
	return e
}

// TestEditsOfAgentsAreNoVerdict: what agents legitimately make of what they
// were given, the next number, another day, a mended word, convicts nobody
// even where convicting is allowed, and few such turns are suspect.
func TestEditsOfAgentsAreNoVerdict(t *testing.T) {
	all, e := editedTurns(t), trusting(t)
	told, of := map[string]int{}, map[string]int{}
	sum := 0
	for i := range all {
		x := &all[i]
		v := compared(t, e, x.request(), x.answer())
		of[x.Kind]++
		if v.Outcome != Clean || !slices.Contains(v.Checks, CheckEcho) {
			t.Errorf("%s: %s: got %s %v, want clean", x.Kind, x.Said, v.Outcome, v.Findings)
		}
		if v.Suspect {
			told[x.Kind]++
			sum++
			t.Logf("%s: %s %s%s: %v", x.Kind, x.Said, x.Args, x.Text, v.Signals)
		}
	}
	t.Logf("suspect: %d of %d: %v of %v", sum, len(all), told, of)
	if len(all) < 200 || sum*10 > len(all) {
		t.Errorf("got %d of %d edits of agents suspect, want at most a tenth of 200 or more", sum, len(all))
	}
}

// TestNearMissConvictsPastTheBound: only where a parameter has long been a copy
// and the bound on false discoveries allows it, and never as a signal alone.
func TestNearMissConvictsPastTheBound(t *testing.T) {
	wrong := edited{Said: "Alert Z5-747747", Tool: "alert", Args: json.RawMessage(`{"site":"Z5-747774"}`)}
	other := edited{Said: "Alert Z5-747747", Tool: "page", Args: json.RawMessage(`{"site":"Z5-747774"}`)}
	f := func(what string, e *Echoes, x *edited, want string) {
		t.Helper()
		if got := say(compared(t, e, x.request(), x.answer())); got != want {
			t.Errorf("%s: got %s, want %s", what, got, want)
		}
	}
	f("nothing is known", &Echoes{Convict: true, habits: NewEchoes(1 << 10).habits}, &wrong, "clean suspect")
	e := trusting(t)
	f("a parameter that was always a copy", e, &wrong, "corrupted echo_near_miss suspect")
	f("one that nobody knows", e, &other, "clean suspect")
	e.Convict = false
	f("signals alone", e, &wrong, "clean suspect")
}

// TestEchoSignalsStandWhereTheValueParts, whatever the dialect's escapes and
// wherever the stream is cut.
func TestEchoSignalsStandWhereTheValueParts(t *testing.T) {
	const request = `{"model":"m","messages":[{"role":"user","content":"Tell jgdxdy.47@tnoy.dev that order RX-93724, \"4.5\\u00b0\", is late."}],` +
		`"tools":[{"type":"function","function":{"name":"send","parameters":{"type":"object","properties":{"to":{"type":"string"},"refs":{"type":"array"}}}}}]}`
	const args = ` {"to":"jgdxdy.47@tndy.dev","refs":["RX-93724","say \"RX-98724\""]}`
	body := calls(entry(0, "c", "send", args)) + ev(`{"content":"Sent to jgdxyd.47@tnoy.dev."}`, "") + ev(`{}`, "tool_calls") + done
	f := func(piece int) string {
		r, err := ParseRequest("/v1/chat/completions", []byte(request))
		if err != nil {
			t.Fatal(err)
		}
		NewEchoes(1<<16).Keep(r, []byte(request))
		defer r.Free()
		c := NewChecker(r, Head{200, "text/event-stream"})
		for at := 0; at < len(body); at += piece {
			c.Feed(0, []byte(body[at:min(at+piece, len(body))]))
		}
		v := c.Finish(Complete)
		all := string(v.Outcome)
		for _, s := range v.Signals {
			all += fmt.Sprintf("\n%s %s %s at %.8s", s.Kind, s.Path, s.Edit, body[s.Offset:])
		}
		return all
	}
	want := "clean" +
		"\necho_near_miss /to sub@12 at dy.dev\\\"" +
		"\necho_near_miss /refs/1 sub@4 at say \\\\\\\"" +
		"\necho_near_miss  swap@4 at yd.47@tn"
	for _, piece := range []int{len(body), 1, 7} {
		if got := f(piece); got != want {
			t.Errorf("pieces of %d: got %s, want %s", piece, got, want)
		}
	}
}
