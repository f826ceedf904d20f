package report

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"turnwatch/proxy/evidence"
	"turnwatch/proxy/turn"
)

// ReadEvidence reads the folders of turns at paths. What cannot be read is told,
// and the rest is used; an error means that nothing could be.
func ReadEvidence(paths []string) (all []*evidence.Folder, failed []error, err error) {
	for _, p := range paths {
		dirs, err := evidence.Find(p)
		if err != nil {
			failed = append(failed, err)
			continue
		}
		for _, dir := range dirs {
			f, err := evidence.Read(dir)
			if err != nil {
				failed = append(failed, err)
				continue
			}
			all = append(all, f)
		}
	}
	if len(all) == 0 {
		failed = append(failed, fmt.Errorf("no folder of a turn that can be read in %s", strings.Join(paths, ", ")))
		return nil, failed[:len(failed)-1], failed[len(failed)-1]
	}
	return all, failed, nil
}

// Issue writes a bug report, in Markdown, from evidence and, where there is one,
// from the report of the journals of the same time. It holds nothing that was
// said: no text of a request or an answer, no argument, no name of a session.
func Issue(w io.Writer, folders []*evidence.Folder, r *Report) error {
	p := page{w: w}
	p.printf("# %s\n", escapeMark(plain(issueTitle(folders))))
	for _, s := range issueSections(folders, r) {
		p.printf("\n## %s\n", s.title)
		for _, b := range s.blocks {
			p.mark(b)
		}
	}
	return p.err
}

func issueSections(folders []*evidence.Folder, r *Report) []section {
	all := []section{symptom(folders), seen(folders)}
	if r != nil {
		rates := section{title: "How often"}
		for _, l := range r.headline() {
			rates.para("%s", l)
		}
		all = append(all, rates, r.causes(), r.batch(), r.around())
	}
	all = append(all, setting(folders), loads(folders), again(folders), enclosed(folders))
	return slices.DeleteFunc(all, func(s section) bool { return len(s.blocks) == 0 })
}

// issueTitle says what is wrong with which model.
func issueTitle(folders []*evidence.Folder) string {
	kinds := kindCounts(folders)
	model := or(folders[0].Turn.Model, "the server")
	if len(kinds) == 0 {
		return fmt.Sprintf("[Bug] %s: corrupted turns with status 200", model)
	}
	return fmt.Sprintf("[Bug] %s: %s in answers with status 200", model, kinds[0].Name)
}

// kindCounts counts the folders by the kinds of their findings.
func kindCounts(folders []*evidence.Folder) []Count {
	counts := map[string]int{}
	for _, f := range folders {
		seen := map[string]bool{}
		for i := range f.Turn.Findings {
			k := string(f.Turn.Findings[i].Kind)
			if !seen[k] {
				seen[k] = true
				counts[k]++
			}
		}
	}
	return byCount(counts)
}

func symptom(folders []*evidence.Folder) section {
	s := section{title: "Describe the bug"}
	first, last := folders[0].Turn, folders[len(folders)-1].Turn
	s.para("Of the answers that came with their usual status, %d turned out corrupted, from %s to %s UTC. turnwatch, a sidecar that relays bytes unchanged and judges each turn, found in them:",
		len(folders), stamp(first.Time), stamp(last.Time))
	table := newKindTable()
	list := bullets{}
	for _, c := range kindCounts(folders) {
		list = append(list, fmt.Sprintf("%s, in %d of %d: %s", c.Name, c.Turns, len(folders), table.meaningOf(c.Name)))
	}
	s.add(list)
	return s
}

// shownFolders is how many turns a bug report lists.
const shownFolders = 20

// seen lists the turns and where they went bad.
func seen(folders []*evidence.Folder) section {
	s := section{title: "The turns"}
	t := table{head: []string{"turn", "time (UTC)", "path", "stream", "finding", "byte", "ms after the first byte", "batch", "batch there", "graph there", "output tokens"}, right: "lllllrrrrrr"}
	for _, f := range folders[:min(len(folders), shownFolders)] {
		u := f.Turn
		row := []string{u.ID, stamp(u.Time), u.Path, fmt.Sprint(u.Stream)}
		row = append(row, place(u)...)
		row = append(row, u.Tags["batch"].Value, u.Tags["batch_at_onset"].Value, u.Tags["graph_bucket_at_onset"].Value, tokens(u))
		for i := range row {
			row[i] = plain(row[i])
		}
		t.rows = append(t.rows, row)
	}
	s.add(t)
	if n := len(folders) - shownFolders; n > 0 {
		s.para("and %d more.", n)
	}
	s.shapes(folders)
	return s
}

// place is the first finding of a turn: kind, byte and moment.
func place(u *turn.Turn) []string {
	if len(u.Findings) == 0 {
		return []string{"", "", ""}
	}
	f := &u.Findings[0]
	return []string{string(f.Kind), fmt.Sprint(f.Offset), fmt.Sprintf("%.1f", f.AtMS)}
}

func tokens(u *turn.Turn) string {
	if u.Usage == nil {
		return ""
	}
	return fmt.Sprint(u.Usage.CompletionTokens)
}

// shapes shows the bytes around findings where they are a shape alone.
func (s *section) shapes(folders []*evidence.Folder) {
	var list bullets
	for _, f := range folders {
		for _, w := range f.Windows {
			if w.Masked && len(list) < shownExamples {
				list = append(list, fmt.Sprintf("%s, %s at byte %d, its bytes from %d on: %s", f.Turn.ID, strings.Join(w.Kinds, " "), w.Offset, w.From, plain(w.Text)))
			}
		}
	}
	if len(list) > 0 {
		s.para("The shape of the answer there (x for letters, 9 for digits):")
		s.add(list)
	}
}

// setting lists what is known of the server.
func setting(folders []*evidence.Folder) section {
	s := section{title: "Environment"}
	values := map[string]map[string]bool{}
	for _, f := range folders {
		for name, t := range f.Config.Tags {
			if perTurn(name) {
				continue
			}
			if values[name] == nil {
				values[name] = map[string]bool{}
			}
			values[name][t.Value] = true
		}
	}
	if len(values) == 0 {
		s.para("Nothing is known of the server's configuration: it neither sent nor told anything. Launch flags and version are to be added here.")
		return s
	}
	t := table{head: []string{"setting", "value"}, right: "ll"}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		t.rows = append(t.rows, []string{plain(name), plain(strings.Join(slices.Sorted(maps.Keys(values[name])), ", "))})
	}
	s.add(t)
	return s
}

// loads says how the server was loaded in the turn of which most is known.
func loads(folders []*evidence.Folder) section {
	s := section{title: "The batch over one of the turns"}
	best := slices.MaxFunc(folders, func(a, b *evidence.Folder) int { return cmp.Compare(len(a.Batch.Timeline), len(b.Batch.Timeline)) })
	if len(best.Batch.Timeline) == 0 {
		return s
	}
	t := table{head: []string{"step or moment", "batch", "source"}, right: "lrl"}
	for _, l := range best.Batch.Timeline[:min(len(best.Batch.Timeline), shownFolders)] {
		t.rows = append(t.rows, []string{step(&l), fmt.Sprint(l.Batch), l.Source})
	}
	s.para("Turn %s, beside %d others.", plain(best.Turn.ID), len(best.Overlap)+best.Manifest.Overlap)
	s.add(t)
	return s
}

// again says how it is played again.
func again(folders []*evidence.Folder) section {
	s := section{title: "Reproduction"}
	with, all := "", 0
	for _, f := range folders {
		if f.Manifest.Request.Lost == "" {
			with = or(with, f.Turn.ID)
			all++
		}
	}
	if all == 0 {
		s.para("The requests were not kept: turnwatch keeps them with -evidence-bodies. The load under which this happened is told above; turnstress makes one like it.")
		return s
	}
	s.para("The requests of %d of the %d turns were kept, byte for byte. With the evidence at hand, and as much load as there was:", all, len(folders))
	s.add(code(fmt.Sprintf("turnstress replay EVIDENCE/%s -target http://SERVER:PORT -times 30 -concurrency 8", plain(with))))
	s.para("It sends the recorded bytes again and tells how often the answer is corrupted. What the client saw, with its own timing:")
	s.add(code(fmt.Sprintf("turnstress serve EVIDENCE/%s", plain(with))))
	return s
}

// code is a line to be run.
type code string

// enclosed says what there is beside the report.
func enclosed(folders []*evidence.Folder) section {
	s := section{title: "What there is beside this"}
	s.para("For each turn a folder with SHA-256 sums: the judgement, the answer's bytes and when each came, the batch, the turns beside it. This report holds nothing of what was said; the folders may. Before they are given away, see what they hold:")
	s.add(code("jq . EVIDENCE/*/manifest.json"))
	t := table{head: []string{"turn", "request", "SHA-256", "answer", "SHA-256"}, right: "lrlrl"}
	for _, f := range folders[:min(len(folders), shownFolders)] {
		m := &f.Manifest
		t.rows = append(t.rows, []string{plain(f.Turn.ID), kept(&m.Request), m.Request.SHA256, kept(&m.Answer), m.Answer.SHA256})
	}
	s.add(t)
	return s
}

// step says what stretch of the turn a load is of.
func step(l *turn.Load) string {
	switch {
	case l.First != nil && l.Last != nil:
		return fmt.Sprintf("steps %d to %d", *l.First, *l.Last)
	case l.AtMS != nil:
		return fmt.Sprintf("%.0f ms", *l.AtMS)
	}
	return ""
}

// kept says whether a body is in the folder.
func kept(p *evidence.Part) string {
	if p.Lost != "" {
		return string(p.Lost)
	}
	return fmt.Sprintf("%d bytes", p.Bytes)
}
