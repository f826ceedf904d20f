package report

import (
	"fmt"
	"math"

	"turnwatch/proxy/turn"
)

// Opinions are what the model, asked again, says of turns: whether their words are its own.
type Opinions struct {
	Flagged  Words            `json:"flagged"`
	Control  Words            `json:"control"` // clean turns, taken at random
	Reasons  []Count          `json:"unknown"` // why opinions are unknown
	Cache    []Count          `json:"cache"`   // what the scores rest on
	Examples []OpinionExample `json:"examples"`
}

// Words counts the words of a sample.
type Words struct {
	Asked   int   `json:"asked"`
	Server  int   `json:"server"`
	Model   int   `json:"model"`
	Unknown int   `json:"unknown"`
	Share   Share `json:"server_share"` // of server among the turns that a word was found for
}

// OpinionExample is a turn that the model would not have made.
type OpinionExample struct {
	ID          string  `json:"id"`
	Session     string  `json:"session,omitempty"`
	Of          string  `json:"of"`
	By          string  `json:"by"`
	Onset       int     `json:"onset"`
	P           float64 `json:"probability"`
	Alternative float64 `json:"alternative_probability"`
	Place       string  `json:"place"`
	Start       int     `json:"logprob_start_len"`
	Cache       string  `json:"cache"`
}

// maxOpinions bounds the opinions that are kept.
const maxOpinions = 100_000

// opinion notes one, of a turn that none was read of.
func (d *Data) opinion(o *turn.Opinion) {
	if d.opined == nil {
		d.opined = map[string]bool{}
	}
	if len(d.opinions) < maxOpinions && !d.opined[o.ID] {
		d.opined[o.ID] = true
		d.opinions = append(d.opinions, *o)
	}
}

// secondOpinions adds up those that the options choose; nil for none.
func (d *Data) secondOpinions(o Options, arm string) *Opinions {
	if arm != "" && arm != string(turn.Live) {
		return nil
	}
	all, reasons, caches := new(Opinions), map[string]int{}, map[string]int{}
	for i := range d.opinions {
		p := &d.opinions[i]
		if o.Model != "" && p.Model != o.Model || !within(p.Time.UnixNano(), o.Since, o.Until) {
			continue
		}
		all.words(p.Of).count(p)
		if p.Reason != "" {
			reasons[p.Reason]++
		}
		if p.By == "scores" {
			caches[p.Cache]++
		}
		if p.Word == "server" && len(all.Examples) < maxExamples {
			all.Examples = append(all.Examples, exampleOf(p))
		}
	}
	if all.Flagged.Asked+all.Control.Asked == 0 {
		return nil
	}
	all.Flagged.share()
	all.Control.share()
	all.Reasons, all.Cache = byCount(reasons), byCount(caches)
	return all
}

func (o *Opinions) words(of turn.Sample) *Words {
	if of == turn.Drawn {
		return &o.Control
	}
	return &o.Flagged
}

func (w *Words) count(p *turn.Opinion) {
	w.Asked++
	switch p.Word {
	case "server":
		w.Server++
	case "model":
		w.Model++
	default:
		w.Unknown++
	}
}

func (w *Words) share() {
	w.Share = newShare(w.Server, w.Server+w.Model)
}

func exampleOf(p *turn.Opinion) OpinionExample {
	e := OpinionExample{ID: p.ID, Session: p.Session, Of: string(p.Of), By: p.By, Onset: p.Onset, Place: string(p.Place), Start: p.Start, Cache: p.Cache}
	if p.Onset >= 0 {
		e.P, e.Alternative = math.Exp(min(p.LogProb, 0)), math.Exp(min(p.Alternative, 0))
	}
	return e
}

// opinions tells whether it is the server or the model.
func (r *Report) opinions() section {
	s := section{id: "opinions", title: "Server or model?"}
	o := r.Opinions
	if o == nil {
		return s
	}
	s.para("The model was asked again how probable it finds the tokens of %d flagged turns and of %d clean ones. server: it would not have said them; model: it finds its own words plausible.", o.Flagged.Asked, o.Control.Asked)
	t := table{head: []string{"turns", "asked", "server", "model", "unknown", "server of those told", "95%"}, right: "lrrrrrr"}
	for _, w := range []struct {
		name string
		*Words
	}{{"flagged", &o.Flagged}, {"clean (control)", &o.Control}} {
		t.rows = append(t.rows, []string{w.name, fmt.Sprint(w.Asked), fmt.Sprint(w.Server), fmt.Sprint(w.Model), fmt.Sprint(w.Unknown), w.Share.of(), w.Share.interval()})
	}
	s.add(t)
	s.verdictOn(o)
	s.onsets(o.Examples)
	return s
}

// verdictOn says what the two shares say of each other.
func (s *section) verdictOn(o *Opinions) {
	f, c := o.Flagged.Share, o.Control.Share
	switch {
	case f.Of == 0:
		s.para("Nothing was told of flagged turns.")
	case c.Of == 0:
		s.para("No clean turn was told of (-opinion-control): how often the word is wrong is not known here.")
	case f.Low > c.High:
		s.para("Flagged turns are the server's far more often than clean ones: what is wrong with them is not the model's. Of clean turns the word is false, or they are damaged unseen, in at most %s.", percent(c.High))
	case f.N == 0:
		s.para("No flagged turn is the server's: at 95%%, at most %s are. What is wrong with them is the model's own.", percent(f.High))
	default:
		s.para("Flagged turns cannot be told from clean ones by this yet.")
	}
	if len(o.Reasons) > 0 {
		t := table{head: []string{"unknown, because", "turns"}, right: "lr", fold: true}
		for _, n := range o.Reasons {
			t.rows = append(t.rows, []string{plain(n.Name), fmt.Sprint(n.Turns)})
		}
		s.add(t)
	}
}

// onsets lists turns that are the server's, with the token that gives it away.
func (s *section) onsets(all []OpinionExample) {
	if len(all) == 0 {
		return
	}
	t := table{head: []string{"turn", "of", "by", "token", "its probability", "the alternative's", "to the flag", "asked from", "cache"}, right: "lllrrrlrl"}
	for _, e := range all[:min(len(all), shownExamples)] {
		row := []string{plain(e.ID), plain(e.Of), plain(e.By), "", "", "", plain(e.Place), "", ""}
		if e.By == "scores" {
			row[3], row[4], row[5] = fmt.Sprint(e.Onset), fmt.Sprintf("%.1e", e.P), fmt.Sprintf("%.4f", e.Alternative)
			row[7], row[8] = fmt.Sprint(e.Start), plain(e.Cache)
		}
		t.rows = append(t.rows, row)
	}
	s.add(t)
}

// of writes the counts and their share; nothing of nothing.
func (s Share) of() string {
	if s.Of == 0 {
		return ""
	}
	return fmt.Sprintf("%d/%d = %s", s.N, s.Of, percent(s.Rate))
}

func (s Share) interval() string {
	if s.Of == 0 {
		return ""
	}
	return fmt.Sprintf("[%s, %s]", percent(s.Low), percent(s.High))
}
