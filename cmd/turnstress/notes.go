package main

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"turnwatch/cmd/internal/stress"
	"turnwatch/proxy/journal"
)

// note is a line of what a matrix has done.
type note struct {
	Matrix  string `json:"matrix,omitempty"` // SHA-256 of its file: the first line
	Cell    string `json:"cell,omitempty"`
	Boot    int    `json:"boot,omitempty"`
	Target  int    `json:"target,omitempty"`
	Session *int   `json:"session,omitempty"` // played to its end
	Judged  bool   `json:"judged,omitempty"`
	Corrupt bool   `json:"corrupted,omitempty"`
	Batch   int    `json:"batch,omitempty"`
	Failed  string `json:"failed,omitempty"` // why a boot could not be run
	Group   int    `json:"group,omitempty"`  // of processes that was started, and when by the kernel's clock
	Since   string `json:"since,omitempty"`
	Ended   bool   `json:"ended,omitempty"` // … and has ended
}

// notes are what a matrix has done, kept in a file so that it can go on. A session
// is noted only once its turns are in the journal.
type notes struct {
	file    *os.File
	all     []note
	journal *journal.Writer
	handed  int64 // turns given to the journal
	waiting []waiting
}

// waiting is a note that waits for turns to be in the journal.
type waiting struct {
	n     note
	lines int64
}

// openNotes reads what was done and opens the file to note more.
func openNotes(path string, m *matrix, restart bool, w *journal.Writer) (*notes, error) {
	sum := sha256.Sum256(m.text)
	id := hex.EncodeToString(sum[:])
	n := &notes{journal: w}
	if restart {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("begin anew: %w", err)
		}
	}
	if err := n.read(path); err != nil {
		return nil, err
	}
	if len(n.all) > 0 && n.all[0].Matrix != id {
		return nil, fmt.Errorf("%s is of another matrix than this file holds now: give another -journal, or -restart", path)
	}
	var err error
	if n.file, err = os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600); err != nil {
		return nil, fmt.Errorf("note what is done: %w", err)
	}
	if len(n.all) == 0 {
		return n, n.add(note{Matrix: id})
	}
	_, err = n.file.WriteString("\n") // ends a line that a crash tore
	return n, err
}

// read reads the notes that are there. A torn line is passed over.
func (n *notes) read(path string) error {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read what was done: %w", err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		var line note
		if json.Unmarshal(lines.Bytes(), &line) == nil {
			n.all = append(n.all, line)
		}
	}
	return lines.Err()
}

// add notes a line at once.
func (n *notes) add(line note) error {
	n.all = append(n.all, line)
	return n.write(line)
}

func (n *notes) write(line note) error {
	b, err := json.Marshal(line)
	if err != nil {
		return err
	}
	if _, err := n.file.Write(append(b, '\n')); err != nil {
		return fmt.Errorf("note what is done: %w", err)
	}
	return nil
}

// session notes a session, in the file as soon as its turns are in the journal.
func (n *notes) session(line note) error {
	n.all = append(n.all, line)
	n.waiting = append(n.waiting, waiting{line, n.handed})
	return n.flush(false)
}

// flush notes the sessions whose turns are in the journal, or all.
func (n *notes) flush(all bool) error {
	s := n.journal.Stats()
	done := s.Lines
	for _, d := range s.Dropped {
		done += d
	}
	for len(n.waiting) > 0 && (all || n.waiting[0].lines <= done) {
		if err := n.write(n.waiting[0].n); err != nil {
			return err
		}
		n.waiting = n.waiting[1:]
	}
	return nil
}

// close notes what waits, once the journal is closed, and syncs.
func (n *notes) close() error {
	return errors.Join(n.flush(true), n.file.Sync(), n.file.Close())
}

// played counts the sessions of a cell at a target, and finds the largest batch.
func (n *notes) played(cell string, target int) (r stress.Rate, batch int) {
	for _, line := range n.all {
		if line.Cell != cell || line.Target != target || line.Session == nil {
			continue
		}
		batch = max(batch, line.Batch)
		if line.Judged {
			r.All++
			if line.Corrupt {
				r.Corrupted++
			}
		}
	}
	return r, batch
}

// inOrder counts the sessions of a cell at the first target, up to the first that is
// not played yet: what a test at every look may see.
func (n *notes) inOrder(cell string) (r stress.Rate) {
	played := map[int]note{}
	for _, line := range n.all {
		if line.Cell == cell && line.Target == 0 && line.Session != nil {
			played[*line.Session] = line
		}
	}
	for i := 0; ; i++ {
		line, ok := played[i]
		if !ok {
			return r
		}
		if line.Judged {
			r.All++
			r.Corrupted += btoi(line.Corrupt)
		}
	}
}

// has tells which sessions of a cell were played at every target.
func (n *notes) has(cell string, targets int) map[int]bool {
	times := map[[2]int]bool{}
	for _, line := range n.all {
		if line.Cell == cell && line.Session != nil {
			times[[2]int{*line.Session, line.Target}] = true
		}
	}
	done := map[int]bool{}
	for at := range times {
		if targets == 1 || times[[2]int{at[0], 0}] && times[[2]int{at[0], 1}] {
			done[at[0]] = true
		}
	}
	return done
}

// boots counts the boots of a cell that were begun.
func (n *notes) boots(cell string) (begun int) {
	for _, line := range n.all {
		if line.Cell == cell {
			begun = max(begun, line.Boot)
		}
	}
	return begun
}

// failure is why a cell could not be run the last time it was tried.
func (n *notes) failure(cell string) string {
	why := ""
	for _, line := range n.all {
		switch {
		case line.Cell != cell:
		case line.Failed != "":
			why = line.Failed
		case line.Session != nil:
			why = ""
		}
	}
	return why
}

// left are groups of processes that were begun and are not known to have ended.
func (n *notes) left() []note {
	open := map[int]note{}
	for _, line := range n.all {
		switch {
		case line.Group == 0:
		case line.Ended:
			delete(open, line.Group)
		default:
			open[line.Group] = line
		}
	}
	var all []note
	for _, line := range open {
		all = append(all, line)
	}
	return all
}
