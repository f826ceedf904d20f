package evidence

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"turnwatch/proxy/turn"
)

// job is a corrupted turn on its way to the disk: its own, nothing of it lent.
type job struct {
	t       *turn.Turn
	size    int64
	overlap [][]byte
	missing int
}

// weight is about how many bytes a job takes.
func weight(t *turn.Turn) int64 {
	n := 16 << 10
	if c := t.Capture; c != nil {
		n += len(c.Request.Head) + len(c.Request.Body) + len(c.Answer.Head) + len(c.Answer.Body) + 16*len(c.Answer.Marks)
	}
	return int64(n)
}

func newJob(t *turn.Turn, size int64) *job {
	own := *t
	own.Findings, own.Signals = slices.Clone(t.Findings), slices.Clone(t.Signals)
	own.Tags, own.Own, own.Config = t.AllTags(), nil, nil
	own.Capture = &turn.Capture{Request: turn.Said{Lost: LostNoCapture}, Answer: turn.Said{Lost: LostNoCapture}}
	if c := t.Capture; c != nil {
		own.Capture = &turn.Capture{Request: copied(c.Request), Answer: copied(c.Answer), Loads: slices.Clone(c.Loads)}
	}
	return &job{t: &own, size: size}
}

func copied(s turn.Said) turn.Said {
	s.Head, s.Body, s.Marks = bytes.Clone(s.Head), bytes.Clone(s.Body), slices.Clone(s.Marks)
	return s
}

// turn masks what clients and servers named in a record.
func (m *masker) turn(t *turn.Turn) {
	for _, s := range []*string{&t.RequestID, &t.Model, &t.Path, &t.Session} {
		*s = m.line(*s)
	}
	for i := range t.Findings {
		f := &t.Findings[i]
		f.Tool, f.Path = m.line(f.Tool), m.line(f.Path)
	}
	for i := range t.Signals {
		t.Signals[i].Path = m.line(t.Signals[i].Path)
	}
	for name, tag := range t.Tags {
		tag.Value = m.line(tag.Value)
		t.Tags[name] = tag
	}
}

// files are the contents of a folder, by name.
type files map[string][]byte

// json adds a file of JSON, on lines of its own for people who read it.
func (f files) json(name string, v any) {
	b, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		panic("evidence: " + name + ": " + err.Error()) // plain data always encodes
	}
	f[name] = append(b, '\n')
}

// size is that of all of them.
func (f files) size() (n int64) {
	for _, b := range f {
		n += int64(len(b))
	}
	return n
}

// sums makes the file of the hashes.
func (f files) sums() []byte {
	var b bytes.Buffer
	for _, name := range slices.Sorted(maps.Keys(f)) {
		if name != FileSums {
			b.WriteString(sum(f[name]) + "  " + name + "\n")
		}
	}
	return b.Bytes()
}

// files makes the folder of a turn.
func (w *Writer) files(j *job) files {
	f, t, c := make(files), j.t, j.t.Capture
	w.mask.turn(t)
	man := Manifest{V: Version, ID: t.ID, Time: t.Time.UTC(), By: w.opts.By, Bodies: w.opts.Bodies, Redacted: []string{}, Overlap: j.missing}
	if len(c.Request.Body)+len(c.Answer.Body) > int(w.opts.MaxTurn) {
		c.Request.Body, c.Request.Lost = nil, turn.DropTooLarge
	}
	shown := c.Answer.Body
	man.Request = w.message(f, &man, c.Request, FileRequestHead, FileRequestBody)
	man.Answer = w.message(f, &man, c.Answer, FileAnswerHead, FileAnswerBody)
	if b, ok := f[FileAnswerBody]; ok {
		shown = b
	}
	f[FileTurn] = append(t.AppendJSON(nil), '\n')
	f[FileAnswerTimes] = times(c.Answer.Marks)
	f.json(FileWindows, windows(t, shown, !w.opts.Bodies))
	config, measured := split(t.Tags)
	f.json(FileConfig, Config{t.Fingerprint, config})
	f.json(FileBatch, Batch{measured, append([]turn.Load{}, c.Loads...)})
	f[FileOverlap] = w.overlap(j.overlap)
	f.json(FileManifest, man)
	f[FileSums] = f.sums()
	return f
}

// message adds the files of a message, and says what became of its body.
func (w *Writer) message(f files, man *Manifest, s turn.Said, head, body string) Part {
	p := Part{Bytes: int64(len(s.Body)), Lost: s.Lost, Coding: s.Coding}
	masked, kept := false, []byte(nil)
	if f[head], masked = w.mask.head(s.Head, w.opts.Bodies); masked {
		man.Redacted = append(man.Redacted, head)
	}
	if s.Lost != "" {
		return p
	}
	p.SHA256 = sum(s.Body)
	if !w.opts.Bodies {
		p.Lost = LostBodiesOff
		return p
	}
	if kept, masked = w.mask.body(s.Body); masked {
		man.Redacted = append(man.Redacted, body)
	}
	f[body] = kept
	return p
}

// times writes when the pieces of an answer came.
func times(marks []turn.Mark) []byte {
	pairs := make([][2]float64, len(marks))
	for i, m := range marks {
		pairs[i] = [2]float64{float64(m.Off), float64(m.At.Microseconds()) / 1e3}
	}
	b, err := json.Marshal(pairs)
	if err != nil {
		panic("evidence: " + err.Error()) // numbers always encode
	}
	return append(b, '\n')
}

// split tells the tags of the configuration from those that were measured.
func split(tags map[string]turn.Tag) (config, measured map[string]turn.Tag) {
	config, measured = make(map[string]turn.Tag), make(map[string]turn.Tag)
	for name, tag := range tags {
		if measuredTag(name) {
			measured[name] = tag
		} else {
			config[name] = tag
		}
	}
	return config, measured
}

func measuredTag(name string) bool {
	if name == "rid" || name == "retractions" || name == "peers" {
		return true
	}
	for _, p := range []string{"batch", "graph_bucket", "queue", "own_batch"} {
		if name == p || strings.HasPrefix(name, p+"_at_") || strings.HasPrefix(name, "own_batch_") {
			return true
		}
	}
	return false
}

// around is how many bytes a window shows on each side.
const around = 160

// windows shows the bytes around each place that findings name.
func windows(t *turn.Turn, body []byte, masked bool) []Window {
	all := []Window{}
	for i := range t.Findings {
		f := &t.Findings[i]
		at := slices.IndexFunc(all, func(w Window) bool { return w.Offset == f.Offset })
		if at < 0 {
			at = len(all)
			from := min(max(f.Offset-around, 0), int64(len(body)))
			to := min(max(f.Offset+around, from), int64(len(body)))
			text := body[from:to]
			if masked {
				text = shapeOf(text)
			}
			all = append(all, Window{Offset: f.Offset, AtMS: f.AtMS, From: from, To: to, Text: string(bytes.ToValidUTF8(text, []byte("\uFFFD"))), Masked: masked})
		}
		all[at].Kinds = append(all[at].Kinds, string(f.Kind))
	}
	return all
}
