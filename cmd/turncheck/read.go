package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"unicode/utf8"

	"turnwatch/proxy/turn"
	"turnwatch/validate"
)

// reader finds the turns in files.
type reader struct {
	request []byte // of raw answers; nil if none was named
	path    string // of the API; empty if the answers tell
	memory  *validate.Schemas
	echoes  *validate.Echoes
	rates   turn.Rates
	stdin   io.Reader
	pipes   map[string][]byte // what was in those read
	each    func(*validate.Request, *exchange, validate.Verdict)
	stderr  io.Writer
	failed  bool
	sweeps  bool // through a folder
	judged  int
}

// fail tells of an input that could not be read.
func (r *reader) fail(file string, line int, err error) {
	r.failed = true
	var path *fs.PathError
	if errors.As(err, &path) {
		err = path.Err
	}
	if line > 0 {
		file = fmt.Sprintf("%s:%d", file, line)
	}
	fmt.Fprintf(r.stderr, "turncheck: %s: %v\n", file, err)
}

// pass passes over what nothing can be judged of. Only in a folder may it lie
// among what can.
func (r *reader) pass(file string, line int, why error) {
	if !r.sweeps {
		r.fail(file, line, why)
		return
	}
	fmt.Fprintf(r.stderr, "turncheck: %s: passed over: %v\n", file, why)
}

// learn reads everything once to learn how many tokens the models spend on
// text. What cannot be read is told when it is judged.
func (r *reader) learn(paths []string) {
	told := r.stderr
	r.stderr = io.Discard
	r.each = func(req *validate.Request, _ *exchange, v validate.Verdict) { r.rates.Learn(req.Model, &v) }
	for _, path := range paths {
		r.read(path)
	}
	r.stderr, r.failed = told, false
}

// read judges the turns in a file, or in the files of a folder.
func (r *reader) read(path string) {
	info, err := os.Stat(path)
	switch {
	case path == "-":
		r.file(path)
	case err != nil:
		r.fail(path, 0, err)
	case info.IsDir():
		r.folder(path)
	default:
		r.file(path)
	}
}

// folder judges the turns in all files of a folder and those below it that
// look as if they held some.
func (r *reader) folder(root string) {
	found, before := false, r.judged
	r.sweeps = true
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			r.fail(path, 0, err)
			return nil
		}
		if d.IsDir() && isEvidence(path) {
			found = true
			r.evidence(path)
			return fs.SkipDir
		}
		found = r.entry(path, d) || found
		return nil
	})
	r.sweeps = false
	switch {
	case err != nil:
		r.fail(root, 0, err)
	case !found:
		r.fail(root, 0, errors.New("no .json, .jsonl, .ndjson, .http or .sse file and no evidence in it"))
	case r.judged == before:
		r.fail(root, 0, errors.New("nothing in it could be judged"))
	}
}

// entry judges the turns in an entry of a folder, if it looks like a file of
// such. Pipes and the like are left alone: they may never end.
func (r *reader) entry(path string, d fs.DirEntry) bool {
	switch ending(path) {
	case ".json", ".jsonl", ".ndjson", ".http", ".sse":
	default:
		return false
	}
	if d.IsDir() {
		return false
	}
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		r.fail(path, 0, errors.New("it is no file: name it by itself to have it read"))
		return true
	}
	r.file(path)
	return true
}

// file judges the turns in a file.
func (r *reader) file(path string) {
	data, err := r.load(path)
	switch {
	case err != nil:
		r.fail(path, 0, err)
	case bytes.HasPrefix(data, []byte("HTTP/")), ending(path) == ".sse", eventStream(data):
		r.raw(path, data)
	case journal(data):
		r.pass(path, 0, errors.New("this is a journal, not requests and responses: it holds no text that could be judged"))
	case lines(path, data):
		r.lines(path, data)
	default:
		if !r.recorded(path, 1, data, plainName(path)) {
			r.pass(path, 1, other(data))
		}
	}
}

// journal reports whether the first line is one that turnwatch writes.
func journal(data []byte) bool {
	first, _, _ := bytes.Cut(bytes.TrimSpace(data), []byte("\n"))
	var line struct {
		V                 int
		Verdict, Type     string
		Request, Response json.RawMessage
	}
	return json.Unmarshal(first, &line) == nil && line.V > 0 && line.Verdict+line.Type != "" && line.Request == nil && line.Response == nil
}

// lines reports whether a file holds a JSON text on each line, and not one
// over all of them.
func lines(path string, data []byte) bool {
	if ext := ending(path); ext == ".jsonl" || ext == ".ndjson" {
		return true
	}
	first, rest, _ := bytes.Cut(bytes.TrimSpace(data), []byte("\n"))
	return len(rest) > 0 && json.Valid(first)
}

func (r *reader) lines(path string, data []byte) {
	n, turns := 0, 0
	var others []int
	for line := range bytes.Lines(data) {
		n++
		if line = bytes.TrimSpace(line); len(line) > 0 {
			turns++
			if !r.recorded(path, n, line, fmt.Sprintf("%s:%d", path, n)) {
				others = append(others, n)
			}
		}
	}
	switch len(others) {
	case 0:
		if turns == 0 {
			r.fail(path, 0, errors.New("no line in it"))
		}
	case turns:
		r.pass(path, 0, errNoTurn)
	default:
		for _, n := range others {
			r.fail(path, n, errNoTurn)
		}
	}
}

// recorded judges a turn in JSON that begins on a line of a file, and reports
// whether it is one.
func (r *reader) recorded(path string, line int, data []byte, id string) bool {
	x, err := parse(data)
	if errors.Is(err, errNoTurn) {
		return false
	}
	if err == nil && !utf8.Valid(data) {
		err = notUTF8(data)
	}
	if err != nil {
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			line += bytes.Count(data[:min(int(syntax.Offset), len(data))], []byte("\n"))
		}
		r.fail(path, line, explain(data, err))
		return true
	}
	if x.id == "" {
		x.id = id
	}
	r.judge(path, line, x)
	return true
}

// raw judges an answer as it came over the wire, or the events of one.
func (r *reader) raw(path string, data []byte) {
	if r.request == nil {
		r.pass(path, 0, errors.New("a raw answer needs its request: name it with -request"))
		return
	}
	x := parseEvents(data)
	if bytes.HasPrefix(data, []byte("HTTP/")) {
		var err error
		if x, err = parseHTTP(data); err != nil {
			r.fail(path, 1, err)
			return
		}
	}
	x.id, x.request = plainName(path), r.request
	r.judge(path, 0, x)
}

// judge judges a turn.
func (r *reader) judge(path string, line int, x *exchange) {
	api := cmp.Or(x.path, r.path, x.api())
	if !validate.Judged("POST", api) {
		r.fail(path, line, fmt.Errorf("no turn has the path %q", api))
		return
	}
	req, err := validate.ParseRequest(api, x.request)
	if err != nil {
		r.fail(path, line, err)
		return
	}
	req.Schemas = r.memory
	if rate := r.rates.Of(req.Model); rate != validate.CautiousRate {
		req.TokenRate = rate
	}
	r.echoes.Keep(req, x.request)
	defer req.Free()
	c := validate.NewChecker(req, x.head)
	for i, p := range x.pieces {
		c.Feed(x.at(i), p)
	}
	r.judged++
	r.each(req, x, c.Finish(x.ending))
}
