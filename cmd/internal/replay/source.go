// Package replay plays recorded turns again: their requests against a server,
// or their answers to clients.
package replay

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"turnwatch/proxy/evidence"
	"turnwatch/proxy/sglangtest"
	"turnwatch/proxy/turn"
)

// Source is a recorded turn.
type Source struct {
	Name   string // its folder, or the file and the line
	Method string
	Target string // path and query
	Fields []Field
	Body   []byte
	// SHA256 is that of the request's body before anything was masked; empty if it was not
	// recorded.
	SHA256   string
	Redacted bool       // what is secret in Body is masked
	Turn     *turn.Turn // the recorded verdict; nil if there is none
	Answer   sglangtest.Recording
	Facts    string // the path under which the server told facts; "" if none
	Lost     Lost
}

// Field is a field of a head, as it was spelled.
type Field struct{ Name, Value string }

// Lost says why the bodies of a turn are not there; "" when they are.
type Lost struct{ Request, Answer turn.Drop }

// Path is the target without its query.
func (s *Source) Path() string {
	path, _, _ := strings.Cut(s.Target, "?")
	return path
}

// Host is the server that the client asked; "" if it is not known.
func (s *Source) Host() string {
	for _, f := range s.Fields {
		if strings.EqualFold(f.Name, "host") {
			return f.Value
		}
	}
	return ""
}

// Load reads the recorded turns that the paths name: folders of evidence, those
// that hold some, and files of captures.
func Load(paths []string) (all []Source, err error) {
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			return nil, fmt.Errorf("read what was recorded: %w", err)
		}
		load := loadCaptures
		if info.IsDir() {
			load = loadEvidence
		}
		some, err := load(path)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	return all, nil
}

func loadEvidence(path string) (all []Source, err error) {
	dirs, err := evidence.Find(path)
	if err != nil {
		return nil, err
	}
	for _, dir := range dirs {
		f, err := evidence.Read(dir)
		if err != nil {
			return nil, err
		}
		all = append(all, fromFolder(f))
	}
	return all, nil
}

// fromFolder takes over what a folder holds.
func fromFolder(f *evidence.Folder) Source {
	s := Source{Name: filepath.Base(f.Dir), Body: f.Request.Body, SHA256: f.Manifest.Request.SHA256,
		Redacted: f.Redacted(evidence.FileRequestBody), Turn: f.Turn, Lost: Lost{f.Request.Lost, f.Answer.Lost}}
	s.Method, s.Target, s.Fields = parseHead(f.Request.Head)
	s.Answer = sglangtest.Recording{RID: f.Batch.Tags["rid"].Value, Method: s.Method, Path: s.Path(), Body: s.Body, Pieces: pieces(f)}
	s.Facts, s.Answer.Facts = facts(f)
	return s
}

// parseHead takes the head of a request apart.
func parseHead(head []byte) (method, target string, fields []Field) {
	for i, line := range strings.Split(strings.TrimSuffix(string(head), "\r\n\r\n"), "\r\n") {
		if i == 0 {
			method, target, _ = strings.Cut(line, " ")
			target, _, _ = strings.Cut(target, " ")
			continue
		}
		if name, value, ok := strings.Cut(line, ":"); ok {
			fields = append(fields, Field{name, strings.Trim(value, " \t")})
		}
	}
	return method, target, fields
}

// pieces puts an answer on the wire again: a chunk for each piece that came,
// where there were chunks.
func pieces(f *evidence.Folder) []sglangtest.Piece {
	whole := f.Turn.Ending == "complete"
	head, chunked := answerHead(f, whole)
	first := time.Duration(f.Turn.TTFBMS * float64(time.Millisecond))
	all := []sglangtest.Piece{{At: first, Data: head}}
	body, marks := f.Answer.Body, f.Answer.Marks
	for i, m := range marks {
		end := len(body)
		if i+1 < len(marks) {
			end = marks[i+1].Off
		}
		if m.Off >= end || end > len(body) {
			continue
		}
		b := body[m.Off:end]
		if chunked {
			b = fmt.Appendf(nil, "%x\r\n%s\r\n", len(b), b)
		}
		all = append(all, sglangtest.Piece{At: first + m.At, Data: b})
	}
	if last := &all[len(all)-1]; chunked && whole {
		last.Data = append(bytes.Clone(last.Data), "0\r\n\r\n"...)
	}
	return all
}

// answerHead makes the head that an answer is played with: as it came, but for
// what concerned its connection and the coding that was taken off.
func answerHead(f *evidence.Folder, whole bool) (head []byte, chunked bool) {
	start, fields := cutHead(f.Answer.Head)
	var b bytes.Buffer
	b.WriteString(start + "\r\n")
	for _, field := range fields {
		switch strings.ToLower(field.Name) {
		case "connection", "keep-alive", "trailer", "content-encoding":
			continue
		case "transfer-encoding":
			chunked = true
		case "content-length":
			if f.Answer.Coding != "" || whole {
				field.Value = strconv.Itoa(len(f.Answer.Body) + cutShort(whole))
			}
		}
		b.WriteString(field.Name + ": " + field.Value + "\r\n")
	}
	b.WriteString("Connection: close\r\n\r\n")
	return b.Bytes(), chunked
}

// cutShort is what a length must exceed the bytes by for the answer to be cut.
func cutShort(whole bool) int {
	if whole {
		return 0
	}
	return 1
}

// cutHead takes the head of an answer apart.
func cutHead(head []byte) (start string, fields []Field) {
	start, _, _ = strings.Cut(string(head), "\r\n")
	_, _, fields = parseHead(head)
	return start, fields
}

// facts makes the turn facts of what a folder knows of the decode steps.
func facts(f *evidence.Folder) (path string, body []byte) {
	type run struct {
		First  int      `json:"first_step"`
		Last   int      `json:"last_step"`
		Batch  int      `json:"batch"`
		Bucket *int     `json:"bucket,omitempty"`
		T0     *float64 `json:"t0_ms,omitempty"`
		T1     *float64 `json:"t1_ms,omitempty"`
	}
	var told struct {
		RID        string `json:"rid"`
		Completion int64  `json:"completion_tokens"`
		CUDAGraph  *bool  `json:"cuda_graph,omitempty"`
		Runs       []run  `json:"decode_runs"`
	}
	for _, l := range f.Batch.Timeline {
		if l.Source == "facts" && l.First != nil && l.Last != nil {
			told.Runs = append(told.Runs, run{*l.First, *l.Last, l.Batch, l.Bucket, l.T0MS, l.T1MS})
		}
	}
	if told.RID = f.Batch.Tags["rid"].Value; told.RID == "" || len(told.Runs) == 0 {
		return "", nil
	}
	if f.Turn.Usage != nil {
		told.Completion = f.Turn.Usage.CompletionTokens
	}
	if tag, ok := f.Config.Tags["cuda_graph"]; ok {
		on := tag.Value == "on"
		told.CUDAGraph = &on
	}
	body, _ = json.Marshal(told) // plain data always encodes
	_, fields := cutHead(f.Answer.Head)
	i := slices.IndexFunc(fields, func(f Field) bool { return strings.EqualFold(f.Name, "x-sglang-turn-facts") })
	if i >= 0 {
		path = fields[i].Value
	}
	return path, body
}

func loadCaptures(path string) (all []Source, err error) {
	recs, err := sglangtest.ReadCaptures(path)
	if err != nil {
		return nil, err
	}
	for i, r := range recs {
		all = append(all, Source{Name: fmt.Sprintf("%s:%d", filepath.Base(path), i+1), Method: r.Method, Target: r.Path, Body: r.Body, Answer: r,
			Fields: []Field{{"Content-Type", "application/json"}, {"X-Request-Id", r.RID}}})
	}
	return all, nil
}

func sum(b []byte) string {
	h := sha256.Sum256(b)
	return hex.EncodeToString(h[:])
}

// head makes the fields that a request is sent with, and says in what they
// differ from those that were recorded.
func (s *Source) head(target, key string) (http.Header, []string) {
	h, differ := make(http.Header), []string{}
	named := s.named()
	for _, f := range s.Fields {
		lower := strings.ToLower(f.Name)
		switch {
		case lower == "host" && target != "" && !strings.HasSuffix(target, "//"+f.Value):
			differ = append(differ, f.Name+" (of -target)")
		case lower == "host" || lower == "content-length":
		case f.Value == "[withheld]":
			differ = append(differ, f.Name+" (withheld)")
		case slices.Contains(hopByHop(), lower) || slices.Contains(named, lower):
			differ = append(differ, f.Name+" (of the connection)")
		case lower == "accept-encoding" || lower == "expect":
			differ = append(differ, f.Name+" (left out so that the answer can be judged)")
		default:
			h[f.Name] = append(h[f.Name], f.Value)
		}
	}
	if key != "" {
		h["Authorization"] = []string{"Bearer " + key}
		differ = append(differ, "Authorization (from -key-file)")
	}
	if len(h.Values("User-Agent")) == 0 {
		h["User-Agent"] = nil // none, and not that of the library
	}
	if strings.Contains(s.Target, "[withheld]") {
		differ = append(differ, "the query (withheld in part)")
	}
	return h, differ
}

// named are the fields that Connection names.
func (s *Source) named() (all []string) {
	for _, f := range s.Fields {
		if strings.EqualFold(f.Name, "connection") {
			for name := range strings.SplitSeq(strings.ToLower(f.Value), ",") {
				all = append(all, strings.TrimSpace(name))
			}
		}
	}
	return all
}

// hopByHop are the fields that RFC 9110 §7.6.1 says concern one connection.
func hopByHop() []string {
	return []string{"connection", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade"}
}
