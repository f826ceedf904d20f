package report

import (
	"fmt"
	"math"
	"strings"
)

// causes says what explains what was found.
func (r *Report) causes() section {
	s := section{id: "cause", title: "What explains it"}
	for i := range r.Explained {
		switch e := &r.Explained[i]; {
		case e.Word == "none":
		case i > 0 && e.like(&r.Explained[0]):
			s.para("%s sessions: the same, by the same sessions.", title(e.Outcome))
		default:
			s.explained(e)
		}
	}
	return s
}

// like reports whether two outcomes have one explanation.
func (e *Explained) like(f *Explained) bool {
	return len(e.Causes) == 1 && len(f.Causes) == 1 && e.Causes[0].Text == f.Causes[0].Text &&
		e.Causes[0].Inside == f.Causes[0].Inside && e.Causes[0].Outside == f.Causes[0].Outside
}

func (s *section) explained(e *Explained) {
	searched := e.searched()
	switch e.Word {
	case "nothing_separates":
		s.para("%s sessions: nothing separates them from the others (%s; family-wise p = %s).", title(e.Outcome), searched, pValue(e.P))
		if n := e.Nearest; n != nil {
			s.para("Nearest, and no evidence: %s: %s inside, %s outside.", plain(n.Text), n.Inside, n.Outside)
		}
		return
	case "not_yet":
		s.para("%s sessions: something separates them, and it is not yet clear which of the conditions (%s).", title(e.Outcome), searched)
	default:
		s.para("%s sessions (%s):", title(e.Outcome), searched)
	}
	for i := range e.Causes {
		s.cause(&e.Causes[i])
	}
	if e.Unexplained > 0 {
		s.para("%d %s sessions lie outside of all that.", e.Unexplained, e.Outcome)
	}
}

// searched says what was tried, and how p accounts for it: by permutations, by
// Bonferroni's bound, or not at all where no conjunction stands out.
func (e *Explained) searched() string {
	tried := fmt.Sprintf("%d conjunctions of %d factors", e.Tried, len(e.Factors))
	switch {
	case e.Permutations > 0:
		return fmt.Sprintf("%s, %d permutations", tried, e.Permutations)
	case e.P < 1:
		return tried + ", Bonferroni's bound"
	}
	return tried
}

func title(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

func (s *section) cause(c *Cause) {
	s.add(finding{plain(c.Text), fmt.Sprintf("%s inside (%d/%d), %s outside (%d/%d), family-wise p = %s", short(c.Inside), c.Inside.Corrupted, c.Inside.All,
		short(c.Outside), c.Outside.Corrupted, c.Outside.All, pValue(c.P))})
	all := bullets{}
	for _, o := range c.Open {
		all = append(all, o.String())
	}
	if len(c.Similar) > 0 {
		all = append(all, "could as well be "+plain(strings.Join(c.Similar, ", "))+": the data do not tell")
	}
	for _, a := range c.Aliases {
		all = append(all, fmt.Sprintf("%s is an alias of %s here: no session tells them apart", plain(a.Instead), plain(a.Of)))
	}
	for _, i := range c.Implied {
		all = append(all, plain(i))
	}
	if c.Boots != "" {
		all = append(all, c.Boots)
	}
	if f := c.Fresh; f != nil {
		all = append(all, fmt.Sprintf("sessions kept from the search: %s inside, %s outside, p = %s at every look", f.Inside, f.Outside, pValue(f.P)))
	}
	if len(all) > 0 {
		s.add(all)
	}
	s.next(c.Next)
}

// String says how far the condition is from being told apart.
func (o *Open) String() string {
	s := fmt.Sprintf("%s is not yet separated: with it %s, without it %s", plain(o.Condition), o.With, o.Without)
	if o.More > 0 {
		s += fmt.Sprintf("; %s without it, all clean, would do", plural(o.More, "more session"))
	}
	return s
}

// next lists the cells to run.
func (s *section) next(cells []Cell) {
	if len(cells) == 0 {
		return
	}
	t := table{head: []string{"run next", "sessions", "if you look after each", "seen so far", "to settle"}, right: "lrrrl"}
	for _, c := range cells {
		t.rows = append(t.rows, []string{plain(c.Set), fmt.Sprint(c.Fixed), fmt.Sprint(c.PeekSafe), fmt.Sprintf("%d/%d", c.Seen.Corrupted, c.Seen.All), plain(c.Why)})
	}
	s.add(t)
}

// short writes a rate without its counts: 14.8% [9.9, 21.3].
func short(r Rate) string {
	return fmt.Sprintf("%s [%.1f, %.1f]", percent(r.Rate), 100*r.Low, 100*r.High)
}

// finding is a conclusion, and what it stands on.
type finding struct{ text, grounds string }

// comparison sets the two sides side by side.
func (r *Report) comparison() section {
	s := section{id: "comparison", title: "Comparison"}
	c := r.Comparison
	if c == nil {
		return s
	}
	s.add(finding{c.sentence(), fmt.Sprintf("difference of sessions %+.1f points [%+.1f, %+.1f]", 100*c.Difference.Estimate, 100*c.Difference.Low, 100*c.Difference.High)})
	t := table{head: []string{"", "turns chosen by", "sessions", "rate", "95%", "turns", "rate", "median batch", "tokens"}, right: "llrrlrrrr"}
	for i, side := range []*Side{&c.A, &c.B} {
		row := append([]string{string("AB"[i]), plain(side.Name)}, rateCells(side.Sessions)...)
		row = append(row, fmt.Sprintf("%d/%d", side.Turns.Corrupted, side.Turns.All), percent(side.Turns.Rate), fmt.Sprintf("%g", side.Batch), fmt.Sprintf("%g", side.Length))
		t.rows = append(t.rows, row)
	}
	s.add(t)
	all := bullets{c.grounds(), fmt.Sprintf("suspect sessions: A %s, B %s", c.A.Suspect, c.B.Suspect)}
	if c.Suspects != nil {
		all = append(all, fmt.Sprintf("by suspect sessions %s; %s", c.Suspects.says(c.Margin), c.Suspects.grounds()))
	}
	if !r.Source.Prometheus {
		all = append(all, fmt.Sprintf("within model and range of batches p = %s (exact CMH)", pValue(c.Stratified)))
	}
	for _, m := range c.Match {
		all = append(all, m.String())
	}
	s.add(append(all, c.Warnings...))
	return s
}

// String says what became of the requests that both sides had.
func (m Match) String() string {
	if m.F1 > 0 {
		return fmt.Sprintf("%s: %.3f, of %d requests that both sides had", m.Name, m.F1, m.Of)
	}
	return fmt.Sprintf("%s: %d of %d requests that both sides had", m.Name, m.N, m.Of)
}

// grounds says what a word stands on.
func (c *Contrast) grounds() string {
	s := fmt.Sprintf("p = %s however often one looks; %s if the sessions were counted out in advance (Fisher)", pValue(c.Anytime), pValue(c.P))
	if c.After > 0 {
		s += fmt.Sprintf("; told apart after %d sessions of both", c.After)
	}
	return s
}

// says puts the word.
func (c *Contrast) says(margin float64) string {
	switch c.Word {
	case "worse", "better":
		return fmt.Sprintf("B is %s than A", c.Word)
	case "no_difference":
		return "no difference is larger than " + percent(margin)
	}
	return "nothing is decided"
}

// sentence says what the comparison decides.
func (c *Comparison) sentence() string {
	switch {
	case c.Word == "no_difference":
		return fmt.Sprintf("No difference larger than %s.", percent(c.Margin))
	case c.Word != "undecided":
		return c.says(c.Margin) + "."
	case c.A.Sessions.All == 0:
		return c.A.nobody("A")
	case c.B.Sessions.All == 0:
		return c.B.nobody("B")
	case c.More > 0:
		return fmt.Sprintf("Undecided: about %s on each side, at these rates.", plural(c.More, "more session"))
	}
	return "Undecided: the rates are equal so far."
}

// nobody says that a side has no sessions: its choice may be misspelt.
func (s *Side) nobody(side string) string {
	return fmt.Sprintf("Undecided: of %s, %s, no session was judged.", side, plain(s.Name))
}

// around says what happened near the first bad bytes.
func (r *Report) around() section {
	s := section{id: "around", title: "What happened around it"}
	n := r.Neighbours
	if n == nil || len(n.Exposures) == 0 {
		return s
	}
	s.para("%d corrupted turns at their first bad byte, held against %d clean ones of the same sidecar, model, configuration and range of batches at the same age, at other times. An odds ratio of 1 says that it has nothing to do with it.", n.Cases, n.Controls)
	t := table{head: []string{"", "corrupted", "clean", "odds ratio", "95%", "p"}, right: "lrrrlr"}
	for _, x := range n.Exposures {
		t.rows = append(t.rows, []string{x.Name, x.Cases.String(), x.Controls.String(), number2(x.Ratio), "[" + digits(x.Low, 2) + ", " + number2(x.High) + "]", pValue(x.P)})
	}
	s.add(t)
	if len(n.Exposures) > 1 {
		s.para("The p-values are corrected for the %d lines of this table.", len(n.Exposures))
	}
	if left := n.left(); left != "" {
		s.para("%s", left)
	}
	return s
}

// left says which corrupted turns the table is not about.
func (n *Neighbours) left() string {
	s := ""
	if n.Alone > 0 {
		s += fmt.Sprintf("%d corrupted turns have no clean one to be held against.", n.Alone)
	}
	if n.Left > 0 {
		s += fmt.Sprintf(" %d more were left out, evenly over time.", n.Left)
	}
	return s
}

// String writes the fraction as 3/40.
func (f Fraction) String() string { return fmt.Sprintf("%d/%d", f.Exposed, f.All) }

// number2 writes two digits of a number, ∞ for none.
func number2(x *float64) string {
	if x == nil {
		return "∞"
	}
	return digits(*x, 2)
}

// digits writes so many digits of a number, more where it is large, and never an exponent.
func digits(x float64, n int) string {
	if x < 1e-4 && x > 0 {
		return "<0.0001"
	}
	if x >= math.Pow10(n) {
		return fmt.Sprintf("%.0f", x)
	}
	return fmt.Sprintf("%.*g", n, x)
}
