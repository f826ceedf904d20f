package report

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// iso writes a moment as K2-Vendor-Verifier does.
func iso(at int64) string { return time.Unix(0, at).UTC().Format("2006-01-02T15:04:05.000000") }

// k2Row is a line of results.jsonl. Journals hold no bodies, so those are null
// and the hash empty.
type k2Row struct {
	Index    int         `json:"data_index"`
	Request  any         `json:"request"`
	Extra    any         `json:"extra_body"`
	Response *k2Response `json:"response"`
	Status   string      `json:"status"`
	Finish   *string     `json:"finish_reason"`
	Valid    *bool       `json:"tool_calls_valid"`
	Last     string      `json:"last_run_at"`
	Duration int64       `json:"duration_ms"`
	Hash     string      `json:"hash"`
}

// k2Response is what is known of the answer.
type k2Response struct {
	Model   string     `json:"model"`
	Choices []k2Choice `json:"choices"`
	Usage   K2Usage    `json:"usage"`
}

type k2Choice struct {
	Index  int    `json:"index"`
	Finish string `json:"finish_reason"`
}

// WriteK2VV writes results.jsonl and summary.json into a folder, as
// K2-Vendor-Verifier does, of the turns that the options choose.
func WriteK2VV(d *Data, o Options, dir string) error {
	v, _ := d.chosen(o)
	c := v.scorecard()
	if c == nil {
		return errors.New("write the scorecard: the journals hold no turn that a verifier would count; turnwatch records the field vendor since it has a scorecard")
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	err := create(filepath.Join(dir, "results.jsonl"), func(w io.Writer) error { return v.k2Rows(w) })
	if err != nil {
		return err
	}
	return create(filepath.Join(dir, "summary.json"), func(w io.Writer) error {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(c.K2VV)
	})
}

// create writes a file for its owner.
func create(path string, write func(io.Writer) error) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	b := bufio.NewWriter(f)
	return errors.Join(write(b), b.Flush(), f.Close())
}

func (v view) k2Rows(w io.Writer) error {
	e := json.NewEncoder(w)
	for i, r := range v.rows {
		if err := e.Encode(v.k2Row(i+1, r)); err != nil {
			return err
		}
	}
	return nil
}

func (v view) k2Row(i int, r *row) k2Row {
	k := k2Row{Index: i, Status: "failed", Last: iso(r.end()), Duration: int64(r.took)}
	if r.flags&isFailed != 0 {
		return k
	}
	finish := v.finish(r)
	k.Status, k.Finish = "success", &finish
	usage := K2Usage{Prompt: int64(max(0, r.prompt)), Completion: int64(max(0, r.tokens))}
	usage.Total = usage.Prompt + usage.Completion
	k.Response = &k2Response{v.d.models.all[r.model], []k2Choice{{0, finish}}, usage}
	switch r.score & k2Mask {
	case k2Valid, k2Invalid:
		valid := r.score&k2Mask == k2Valid
		k.Valid = &valid
	}
	return k
}

// counters is the scorecard as far as counters know.
func (s *section) counters(c *Scorecard) {
	s.para("Counters know calls by our rules and finish reasons. What vendors would count by theirs is in the journals.")
	t := table{head: []string{"figure", "", "rate", "95%"}, right: "lrrl"}
	for _, x := range []struct {
		name string
		Share
	}{{"valid tool calls", *c.Valid}, {"finished for tool_calls", c.MiniMax.FinishCalls}, {"corrupted turns", c.Ours.Turns}} {
		t.rows = append(t.rows, []string{x.name, strconv.Itoa(x.N) + "/" + strconv.Itoa(x.Of), percent(x.Rate), "[" + percent(x.Low) + ", " + percent(x.High) + "]"})
	}
	s.add(t)
}

// scores is the section of the scorecard.
func (r *Report) scores() section {
	s := section{id: "score", title: "Scorecard"}
	c := r.Scorecard
	if c == nil {
		return s
	}
	if c.Valid != nil {
		s.counters(c)
		return s
	}
	s.para("What those who verify vendors would count of these turns, by their own rules, without a prompt of theirs. Their rules see nothing of a stream that breaks off, and nothing of calls under another finish reason than tool_calls; %d corrupted turns here finished so.", c.Ours.Stop)
	t := table{head: []string{"figure", "by", "", "rate", "95%"}, right: "llrrl"}
	add := func(name, by string, x Share) {
		t.rows = append(t.rows, []string{name, by, strconv.Itoa(x.N) + "/" + strconv.Itoa(x.Of), percent(x.Rate), "[" + percent(x.Low) + ", " + percent(x.High) + "]"})
	}
	add("schema accuracy", "Moonshot K2VV", c.K2VV.SchemaAccuracy)
	add("tool call error rate", "OpenRouter", c.OpenRouter.Errors)
	add("Query-Success-Rate", "MiniMax", c.MiniMax.Success)
	add("Finish-ToolCalls-Rate", "MiniMax", c.MiniMax.FinishCalls)
	add("ToolCalls-Accuracy", "MiniMax", c.MiniMax.Accuracy)
	add("Error-Only-Reasoning", "MiniMax", c.MiniMax.OnlyReasoning)
	add("Language-Following", "MiniMax", c.MiniMax.Language)
	add("corrupted turns with calls", "turnwatch", c.Ours.Calls)
	add("corrupted turns", "turnwatch", c.Ours.Turns)
	s.add(t)
	return s
}
