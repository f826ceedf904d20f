package proxy_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"turnwatch/proxy"
	"turnwatch/proxy/turn"
	"turnwatch/validate"
)

// recorder is a sink that keeps what it is given.
type recorder struct {
	bell  *bell
	turns []turn.Turn // guarded by bell.mu
}

func newRecorder() *recorder { return &recorder{bell: newBell()} }

func (r *recorder) Finish(t *turn.Turn) {
	kept := *t
	kept.Findings, kept.Tags, kept.Own = slices.Clone(t.Findings), t.AllTags(), nil
	r.bell.change(func() { r.turns = append(r.turns, kept) })
}

// of waits for the turn with the given request id.
func (r *recorder) of(t *testing.T, id string) (found turn.Turn) {
	t.Helper()
	if !r.bell.await(patience, func() bool {
		i := slices.IndexFunc(r.turns, func(t turn.Turn) bool { return t.RequestID == id })
		if i >= 0 {
			found = r.turns[i]
		}
		return i >= 0
	}) {
		t.Fatalf("%s: no turn came", id)
	}
	return found
}

// turnCase is one file of validate/testdata/cases.
type turnCase struct {
	ID       string
	Request  json.RawMessage
	Response struct {
		Stream   bool
		Status   int
		Headers  map[string]string
		Chunks   []json.RawMessage
		Body     json.RawMessage
		BodyText string `json:"body_text"`
		BodyB64  []byte `json:"body_b64"`
	}
	Expect struct {
		Verdict        validate.Outcome
		AcceptVerdicts []validate.Outcome `json:"accept_verdicts"`
		Kinds          []string
	}
}

func loadCases(t *testing.T) []turnCase {
	t.Helper()
	files := glob(t, "../validate/testdata/cases/*.json")
	cases := make([]turnCase, len(files))
	for i, f := range files {
		if err := json.Unmarshal([]byte(load(t, f)), &cases[i]); err != nil {
			t.Fatalf("%s: %v", f, err)
		}
	}
	return cases
}

func glob(t *testing.T, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: got %d files, %v", pattern, len(files), err)
	}
	return files
}

func load(t *testing.T, file string) string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// request is the case's request as a client sends it.
func (tc *turnCase) request(id string) string {
	return head("POST /v1/chat/completions HTTP/1.1", "Host: x", "X-Request-Id: "+id,
		"Content-Type: application/json", fmt.Sprintf("Content-Length: %d", len(tc.Request))) + string(tc.Request)
}

// body is the answer's body in the pieces of its network writes.
func (tc *turnCase) body(t *testing.T) (pieces []string) {
	t.Helper()
	switch r := &tc.Response; {
	case r.Chunks != nil:
		for _, raw := range r.Chunks {
			pieces = append(pieces, chunk(t, raw))
		}
		return pieces
	case r.BodyText != "":
		return []string{r.BodyText}
	case r.BodyB64 != nil:
		return []string{string(r.BodyB64)}
	}
	return []string{string(tc.Response.Body)}
}

func chunk(t *testing.T, raw json.RawMessage) string {
	t.Helper()
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	var b struct{ B64 string }
	if err := json.Unmarshal(raw, &b); err != nil {
		t.Fatal(err)
	}
	decoded, err := base64.StdEncoding.DecodeString(b.B64)
	if err != nil {
		t.Fatal(err)
	}
	return string(decoded)
}

// cut reports whether the case is of a connection that broke off.
func (tc *turnCase) cut() bool {
	return len(tc.Expect.Kinds) > 0 && tc.Expect.Kinds[0] == "truncated_stream_cut"
}

// answer is the case's answer on the wire: head, and a chunk for each piece.
func (tc *turnCase) answer(t *testing.T, fields ...string) string {
	lines := []string{fmt.Sprintf("HTTP/1.1 %d x", tc.Response.Status)}
	for name, value := range tc.Response.Headers {
		lines = append(lines, name+": "+value)
	}
	pieces := tc.body(t)
	if !tc.Response.Stream {
		body := strings.Join(pieces, "")
		return head(append(append(lines, fields...), fmt.Sprintf("Content-Length: %d", len(body)))...) + body
	}
	answer := head(append(append(lines, fields...), "Transfer-Encoding: chunked")...)
	for _, p := range pieces {
		answer += fmt.Sprintf("%x\r\n%s\r\n", len(p), p)
	}
	if tc.cut() {
		return answer
	}
	return answer + "0\r\n\r\n"
}

// sizes are the pieces in which a server writes; 0 is whole.
var sizes = []int{0, 1, 2, 7, 64}

// TestEveryCaseReachesTheClientUnchanged, however the server cuts it.
func TestEveryCaseReachesTheClientUnchanged(t *testing.T) {
	up := listen(t, "tcp")
	p := start(t, up, proxy.Config{}, newRecorder())
	for _, tc := range loadCases(t) {
		answer := tc.answer(t)
		for _, size := range sizes {
			relayed(t, up, p, tc.request(tc.ID), answer, answer, size, tc.cut())
		}
	}
}

// TestEverySampleReachesTheClientUnchanged: real answers of SGLang, less the
// Connection line of each.
func TestEverySampleReachesTheClientUnchanged(t *testing.T) {
	up := listen(t, "tcp")
	p := start(t, up, proxy.Config{}, newRecorder())
	for _, file := range glob(t, "../validate/testdata/samples/*.http") {
		answer := load(t, file)
		want := strings.Replace(answer, "Connection: close\r\n", "", 1)
		if want == answer {
			t.Errorf("%s: no Connection line", file)
		}
		for _, size := range sizes {
			relayed(t, up, p, post, answer, want, size, strings.Contains(file, "crash"))
		}
	}
}

// relayed lets the server answer in pieces and close its connection, when cut
// before the answer's end.
func relayed(t *testing.T, up *upstream, p *relay, request, answer, want string, size int, cut bool) {
	t.Helper()
	c := p.dial()
	s := ask(up, c, request)
	s.sendPieces(answer, size)
	c.read(want)
	if cut {
		s.fin()
		c.ends()
	}
	c.quietOrClosed()
	c.close()
}

// right reports whether a turn has a verdict that is expected, and, unless it
// is clean, one of the kinds that are.
func (tc *turnCase) right(got turn.Turn) bool {
	e := &tc.Expect
	if got.Outcome != e.Verdict && !slices.Contains(e.AcceptVerdicts, got.Outcome) {
		return false
	}
	return got.Outcome == validate.Clean || len(e.Kinds) == 0 ||
		slices.ContainsFunc(told(got), func(kind string) bool { return slices.Contains(e.Kinds, kind) })
}

func told(t turn.Turn) (kinds []string) {
	for _, f := range t.Findings {
		kinds = append(kinds, string(f.Kind))
	}
	if t.Reason != "" {
		kinds = append(kinds, string(t.Reason))
	}
	return kinds
}

// TestEveryCaseIsJudgedRight by the running proxy, in whichever encoding the
// answer comes.
func TestEveryCaseIsJudgedRight(t *testing.T) {
	for _, coding := range []string{"identity", "gzip", "br", "zstd"} {
		t.Run(coding, func(t *testing.T) {
			seen := newRecorder()
			up := listen(t, "tcp")
			p := start(t, up, proxy.Config{}, seen)
			for _, tc := range loadCases(t) {
				answer := tc.answer(t)
				if coding != "identity" {
					if tc.cut() {
						continue // what was not decoded cannot be told apart
					}
					answer = tc.compressed(t, coding)
				}
				relayed(t, up, p, tc.request(tc.ID), answer, answer, 0, tc.cut())
				got := seen.of(t, tc.ID)
				if !tc.right(got) {
					t.Errorf("%s: got %s %v, want %s %v", tc.ID, got.Outcome, told(got), tc.Expect.Verdict, tc.Expect.Kinds)
				}
				if want := int64(len(strings.Join(tc.body(t), ""))); coding == "identity" && got.BytesOut != want {
					t.Errorf("%s: bytes_out: got %d, want %d", tc.ID, got.BytesOut, want)
				}
			}
		})
	}
}

// compressed is the case's answer in a content coding.
func (tc *turnCase) compressed(t *testing.T, coding string) string {
	body := string(compress(coding, []byte(strings.Join(tc.body(t), ""))))
	return head(fmt.Sprintf("HTTP/1.1 %d x", tc.Response.Status), "Content-Type: "+tc.Response.Headers["content-type"],
		"Content-Encoding: "+coding, "Transfer-Encoding: chunked") + chunked(body, 100)
}

// TestTurnSaysHowItEnded and what was relayed.
func TestTurnSaysHowItEnded(t *testing.T) {
	whole := head("HTTP/1.1 200 OK", "Content-Type: text/event-stream", "Transfer-Encoding: chunked") + chunked("data: {}\n\n", 99)
	for _, tc := range []struct {
		want  validate.Ending
		sent  string
		leave func(c, s *peer)
	}{
		{validate.Complete, whole, func(c, s *peer) {}},
		{validate.ServerCut, whole[:len(whole)-5], func(c, s *peer) { s.fin() }},
		{validate.ServerCut, "", func(c, s *peer) { s.fin() }},
		{validate.ClientGone, whole[:len(whole)-5], func(c, s *peer) { c.fin() }},
		{validate.ClientGone, "", func(c, s *peer) { c.rst() }},
	} {
		t.Run(fmt.Sprintf("%s after %d bytes", tc.want, len(tc.sent)), func(t *testing.T) {
			seen := newRecorder()
			up := listen(t, "tcp")
			c := start(t, up, proxy.Config{}, seen).dial()
			s := ask(up, c, strings.Replace(post, "\r\n\r\n", "\r\nx-request-ID: r1\r\n\r\n", 1))
			s.send(tc.sent)
			c.read(tc.sent)
			tc.leave(c, s)
			got := seen.of(t, "r1")
			if got.Ending != tc.want {
				t.Errorf("ending: got %s, want %s", got.Ending, tc.want)
			}
			if got.Path != "/v1/chat/completions" || got.BytesIn != 2 {
				t.Errorf("path, bytes_in: got %s, %d, want those of the request", got.Path, got.BytesIn)
			}
		})
	}
}

// TestRequestThatBreaksIsNotTheServersFault: its client, which sent chunks
// and then none, is told so, and so is the record.
func TestRequestThatBreaksIsNotTheServersFault(t *testing.T) {
	seen := newRecorder()
	up := listen(t, "tcp")
	p := start(t, up, proxy.Config{}, seen)
	c := p.dial()
	c.send(head("POST /v1/chat/completions HTTP/1.1", "Host: x", "X-Request-Id: r1", "Transfer-Encoding: chunked"),
		strings.TrimSuffix(chunked(pattern(2<<20), 64<<10), "0\r\n\r\n"))
	up.next() // reads
	c.send("zz\r\n")
	if got := c.until("\r\n\r\n"); !strings.HasPrefix(got, "HTTP/1.1 400 ") {
		t.Errorf("client: got %.40q, want a 400", got)
	}
	if got := seen.of(t, "r1"); got.Ending != validate.ClientGone || got.Outcome != validate.Unverified {
		t.Errorf("turn: got %s, %s, want %s, %s", got.Ending, got.Outcome, validate.ClientGone, validate.Unverified)
	}
	if got := p.Stats().ClientsGone.Load(); got != 1 {
		t.Errorf("clients gone: got %d, want 1", got)
	}
}

// TestLongRequestIsJudgedLikeAShortOne: what it allows is known only after it
// has streamed through.
func TestLongRequestIsJudgedLikeAShortOne(t *testing.T) {
	seen := newRecorder()
	up := listen(t, "tcp")
	p := start(t, up, proxy.Config{}, seen)
	for _, tc := range loadCases(t) {
		if !tc.Response.Stream || len(tc.Expect.AcceptVerdicts) > 0 {
			continue
		}
		tc.Request = slices.Concat([]byte(`{"padding":"`+pattern(1<<20)+`",`), tc.Request[1:])
		answer := tc.answer(t)
		relayed(t, up, p, tc.request(tc.ID), answer, answer, 0, tc.cut())
		if got := seen.of(t, tc.ID); !tc.right(got) {
			t.Errorf("%s: got %s %v, want %s %v", tc.ID, got.Outcome, told(got), tc.Expect.Verdict, tc.Expect.Kinds)
		}
	}
}
