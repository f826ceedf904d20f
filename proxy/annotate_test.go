package proxy_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"turnwatch/proxy"
	"turnwatch/proxy/turn"
	"turnwatch/validate"
)

// noting annotates, and gives a busy machine time for it.
func noting(how proxy.Annotate) proxy.Config {
	return proxy.Config{Annotate: proxy.Annotation{How: how, HoldTime: 5 * time.Minute}}
}

// noted counts the annotations with an outcome.
func noted(p *relay, outcome string) int {
	for _, m := range p.AnnotationMetrics() {
		for _, s := range m.Series {
			if s.Labels[0].Value == outcome {
				return int(s.Value)
			}
		}
	}
	return -1
}

// remark is what a client was told.
type remark struct {
	Verdict validate.Outcome
	Kinds   []string
	Tags    map[string]string
}

var (
	commentChunk = regexp.MustCompile(`([0-9a-f]+)\r\n(: turnwatch (\{[^\n]*\})\n\n)\r\n(0[^\n]*\r\n\r\n)$`)
	noteFields   = regexp.MustCompile(`x-turnwatch-verdict: ([a-z]+)\r\n(?:x-turnwatch-kinds: ([a-z_, ]+)\r\n)?(?:x-turnwatch-batch: ([0-9]+)\r\n)?\r\n`)
)

// uncomment takes the one comment out of an answer.
func uncomment(t *testing.T, got string) (answer string, r remark, ok bool) {
	t.Helper()
	m := commentChunk.FindStringSubmatchIndex(got)
	if m == nil {
		return got, r, false
	}
	if size, text := got[m[2]:m[3]], got[m[4]:m[5]]; fmt.Sprintf("%x", len(text)) != size {
		t.Errorf("size of the chunk: got %s, want %x", size, len(text))
	}
	if err := json.Unmarshal([]byte(got[m[6]:m[7]]), &r); err != nil {
		t.Errorf("comment: %v", err)
	}
	return got[:m[0]] + got[m[8]:], r, true
}

// unfield takes the fields out of an answer, or out of its trailer.
func unfield(got string) (answer string, r remark, ok bool) {
	m := noteFields.FindStringSubmatchIndex(got)
	if m == nil {
		return got, r, false
	}
	r.Verdict = validate.Outcome(got[m[2]:m[3]])
	if m[4] >= 0 {
		r.Kinds = strings.Split(got[m[4]:m[5]], ", ")
	}
	if m[6] >= 0 {
		r.Tags = map[string]string{"batch": got[m[6]:m[7]]}
	}
	return got[:m[0]] + "\r\n" + got[m[1]:], r, true
}

// closing makes a request the last one of its connection.
func closing(request string) string {
	return strings.Replace(request, "\r\n\r\n", "\r\nConnection: close\r\n\r\n", 1)
}

// whole has a request answered and returns all that the client got.
func whole(t *testing.T, up *upstream, p *relay, request, answer string, size int, cut bool) string {
	t.Helper()
	c := p.dial()
	c.send(closing(request))
	s := up.next()
	s.until(request[strings.Index(request, "\r\n\r\n"):])
	s.sendPieces(answer, size)
	if cut {
		s.fin()
	}
	got, _ := c.rest()
	c.close()
	return got
}

// TestEveryCaseIsAnnotatedAndOtherwiseUnchanged, however the server cuts it,
// and the record of the turn is the one that it has without an annotation.
func TestEveryCaseIsAnnotatedAndOtherwiseUnchanged(t *testing.T) {
	seen, plain := newRecorder(), newRecorder()
	up := listen(t, "tcp")
	p, quiet := start(t, up, noting(proxy.AnnotateComment), seen), start(t, up, proxy.Config{}, plain)
	for _, tc := range loadCases(t) {
		answer := tc.answer(t)
		if got := whole(t, up, quiet, tc.request(tc.ID), answer, 0, tc.cut()); got != answer {
			t.Errorf("%s: unasked: got %s, want %s", tc.ID, clip(got), clip(answer))
		}
		want := plain.of(t, tc.ID)
		for _, size := range sizes {
			id := fmt.Sprint(tc.ID, "/", size)
			got := whole(t, up, p, tc.request(id), answer, size, tc.cut())
			rest, r, ok := uncomment(t, got)
			if !tc.Response.Stream {
				rest, r, ok = unfield(got)
			}
			if rest != answer {
				t.Errorf("%s: beside the annotation: got %s, want %s", id, clip(rest), clip(answer))
			}
			if due := !tc.cut() && tc.Response.Status/100 == 2 && closed(tc.body(t), tc.Response.Stream); ok != due {
				t.Errorf("%s: annotated: got %v, want %v", id, ok, due)
			}
			had := seen.of(t, id)
			if !alike(had, want) {
				t.Errorf("%s: recorded: got %s %v, want %s %v", id, had.Outcome, told(had), want.Outcome, told(want))
			}
			if kinds := kindsOf(had); ok && (r.Verdict != had.Outcome || !slices.Equal(r.Kinds, kinds)) {
				t.Errorf("%s: told: got %s %v, want %s %v", id, r.Verdict, r.Kinds, had.Outcome, kinds)
			}
		}
	}
	if got := noted(quiet, "told"); got != -1 {
		t.Errorf("unasked: got %d annotations counted, want no such series", got)
	}
}

// closed reports whether the last event has its end.
func closed(pieces []string, stream bool) bool {
	body := strings.Join(pieces, "")
	return !stream || strings.HasSuffix(body, "\n\n") || strings.HasSuffix(body, "\r\n\r\n") || body == ""
}

func kindsOf(t turn.Turn) []string {
	kinds := []string{}
	for _, f := range t.Findings {
		if !slices.Contains(kinds, string(f.Kind)) {
			kinds = append(kinds, string(f.Kind))
		}
	}
	if len(kinds) == 0 && !t.Stream {
		return nil
	}
	return kinds
}

// alike compares what two turns say but for their ids and times.
func alike(a, b turn.Turn) bool {
	line := func(t turn.Turn) string {
		t.ID, t.RequestID, t.Session, t.Prefix, t.Time, t.TTFBMS, t.DurationMS, t.Number = "", "", "", "", time.Time{}, 0, 0, 0
		t.Findings, t.Signals = slices.Clone(t.Findings), slices.Clone(t.Signals)
		for i := range t.Findings {
			t.Findings[i].AtMS = 0
		}
		for i := range t.Signals {
			t.Signals[i].AtMS = 0
		}
		return string(t.AppendJSON(nil))
	}
	return line(a) == line(b)
}

const (
	events = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nTransfer-Encoding: chunked\r\n\r\n"
	clean  = `{"choices":[{"index":0,"message":{"role":"assistant","content":"4"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1}}`
	done   = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"4\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"
	// asking is a good request for a turn.
	asking = "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 44\r\n\r\n" + `{"messages":[{"role":"user","content":"q"}]}`
)

// TestAnnotationKeepsTheConnection: further requests are served on it, also
// those that were sent at once.
func TestAnnotationKeepsTheConnection(t *testing.T) {
	for _, answer := range []string{events + chunked(done, 40), "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: " + fmt.Sprint(len(clean)) + "\r\n\r\n" + clean} {
		up := listen(t, "tcp")
		p := start(t, up, noting(proxy.AnnotateComment))
		c := p.dial()
		c.send(asking + asking + asking)
		for range 3 {
			s := up.next()
			s.read(asking)
			s.send(answer)
			if strings.Contains(answer, "chunked") {
				c.until(": turnwatch {\"verdict\":\"clean\",\"kinds\":[],\"tags\":{}}\n\n\r\n0\r\n\r\n")
			} else {
				c.until("x-turnwatch-verdict: clean\r\n\r\n" + clean)
			}
		}
		again(t, up, c)
		if got := up.accepted(); got != 1 {
			t.Errorf("connections to the server: got %d, want 1", got)
		}
		if got := noted(p, "told"); got != 3 {
			t.Errorf("told: got %d, want 3", got)
		}
		c.close()
	}
}

// TestServerConnectionOutlivesWhoIsToldTheVerdict and leaves at once: the server
// has said all.
func TestServerConnectionOutlivesWhoIsToldTheVerdict(t *testing.T) {
	stream := events + chunked(done, 40)
	for name, answer := range map[string][]string{
		"a stream with its head": {stream},
		"a stream in two reads":  {stream[:len(stream)-5], stream[len(stream)-5:]},
		"an answer that is held": {head("HTTP/1.1 200 OK", "Content-Type: application/json", fmt.Sprintf("Content-Length: %d", len(clean))), clean},
	} {
		t.Run(name, func(t *testing.T) {
			up := listen(t, "tcp")
			p := start(t, up, noting(proxy.AnnotateComment))
			for range 100 {
				c := p.dial()
				s := ask(up, c, asking)
				for _, part := range answer {
					s.send(part)
				}
				if strings.HasPrefix(answer[0], events) {
					c.until("\n\n\r\n0\r\n\r\n")
				} else {
					c.until(clean)
				}
				c.fin()
				p.rest()
			}
			if got := up.accepted(); got != 1 {
				t.Errorf("connections to the server: got %d, want 1", got)
			}
		})
	}
}

// TestAnnotationIsLeftOutWhereItCannotBe, and counted; the bytes are the
// server's alone.
func TestAnnotationIsLeftOutWhereItCannotBe(t *testing.T) {
	up := listen(t, "tcp")
	p := start(t, up, proxy.Config{Annotate: proxy.Annotation{How: proxy.AnnotateComment, HoldBytes: 1000, HoldTime: time.Minute}})
	f := func(why, answer string, cut bool) {
		t.Helper()
		before := noted(p, why)
		if got := whole(t, up, p, asking, answer, 0, cut); got != answer {
			t.Errorf("%s: got %s, want %s", why, clip(got), clip(answer))
		}
		if got := noted(p, why); got != before+1 {
			t.Errorf("%s: counted: got %d, want 1", why, got-before)
		}
	}
	f("length", head("HTTP/1.1 200 OK", "Content-Type: text/event-stream", fmt.Sprintf("Content-Length: %d", len(done)))+done, false)
	f("framing", head("HTTP/1.1 200 OK", "Content-Type: text/event-stream")+done, true)
	f("encoded", encoded("gzip"), false)
	f("event_open", events+chunked(strings.TrimSuffix(done, "\n"), 40), false)
	f("event_open", events+chunked(": a comment", 40), false)
	f("type", head("HTTP/1.1 200 OK", "Content-Type: application/x-ndjson", "Transfer-Encoding: chunked")+chunked("{}\n", 9), false)
	f("cut", events+chunked(done, 40)[:50], true)
	f("cut", strings.TrimSuffix(events+chunked(done, 40), "\r\n"), true)
	f("cut", strings.TrimSuffix(events+chunked(done, 40), "\r\n\r\n"), true)
	f("cut", head("HTTP/1.1 200 OK", "Content-Type: application/json", "Content-Length: 900")+clean, true)
	f("too_large", head("HTTP/1.1 200 OK", "Content-Type: application/json", "Content-Length: 40000")+pattern(40000), false)
	for _, answer := range []string{
		head("HTTP/1.1 200 OK", "Content-Type: application/json", "Content-Length: 0"),
		head("HTTP/1.1 500 No", "Content-Type: application/json", "Content-Length: 2") + "{}",
		head("HTTP/1.1 204 No Content"),
	} {
		if got := whole(t, up, p, asking, answer, 0, false); got != answer {
			t.Errorf("got %s, want %s", clip(got), clip(answer))
		}
	}
	holdsNothing(t, p)
}

// TestAnnotationOfAnHTTP10Answer: the client gets the events alone, or the
// verdict in the head.
func TestAnnotationOfAnHTTP10Answer(t *testing.T) {
	up := listen(t, "tcp")
	p := start(t, up, noting(proxy.AnnotateComment))
	old := strings.Replace(asking, "HTTP/1.1", "HTTP/1.0", 1)
	if got, want := whole(t, up, p, old, events+chunked(done, 40), 0, false), strings.Replace(events, "Transfer-Encoding: chunked\r\n", "", 1)+done; got != want {
		t.Errorf("events: got %s, want %s", clip(got), clip(want))
	}
	got := whole(t, up, p, old, head("HTTP/1.1 200 OK", "Content-Type: application/json", "Transfer-Encoding: chunked")+chunked(clean, 9), 0, false)
	if want := head("HTTP/1.1 200 OK", "Content-Type: application/json", "x-turnwatch-verdict: clean") + clean; got != want {
		t.Errorf("answer: got %s, want %s", clip(got), clip(want))
	}
}

// TestAnnotationAsTrailer goes to clients that ask for trailers, beside the
// server's own.
func TestAnnotationAsTrailer(t *testing.T) {
	const announced = "Trailer: x-turnwatch-verdict, x-turnwatch-kinds, x-turnwatch-batch\r\n\r\n"
	up := listen(t, "tcp")
	p := start(t, up, noting(proxy.AnnotateTrailer))
	for _, end := range []string{"0\r\n\r\n", "00;last\r\nX-Sum: 1\r\nX-Sum: 2\r\n\r\n"} {
		answer := events + strings.TrimSuffix(chunked(done, 40), "0\r\n\r\n") + end
		for _, size := range sizes {
			got := whole(t, up, p, strings.Replace(asking, "Host", "TE: deflate, trailers\r\nHost", 1), answer, size, false)
			want := strings.Replace(answer[:len(answer)-2], "\r\n\r\n", "\r\n"+announced, 1) + "x-turnwatch-verdict: clean\r\n\r\n"
			if got != want {
				t.Errorf("got %s, want %s", clip(got), clip(want))
			}
		}
		if got := whole(t, up, p, asking, answer, 0, false); got != answer {
			t.Errorf("unasked: got %s, want %s", clip(got), clip(answer))
		}
	}
	if got := noted(p, "no_te"); got != 2 {
		t.Errorf("not asked for: got %d, want 2", got)
	}
}

// TestAnnotationTellsTags that are known by then and meant for clients, and
// nothing of the server's configuration.
func TestAnnotationTellsTags(t *testing.T) {
	up := listen(t, "tcp")
	cfg := noting(proxy.AnnotateComment)
	cfg.Tags = func() proxy.TurnTags { return &peeker{} }
	p := start(t, up, cfg)
	_, r, ok := uncomment(t, whole(t, up, p, asking, events+chunked(done, 40), 0, false))
	if want := "map[batch_at_head:7 fingerprint:1a2b3c4d rid:\n\"]"; !ok || fmt.Sprint(r.Tags) != want {
		t.Errorf("tags: got %v, want %s", r.Tags, want)
	}
	_, r, ok = unfield(whole(t, up, p, asking, head("HTTP/1.1 200 OK", "Content-Type: application/json", "Transfer-Encoding: chunked")+chunked(clean, 9), 0, false))
	if !ok || r.Tags["batch"] != "7" {
		t.Errorf("tags: got %v, want a batch of 7", r.Tags)
	}
}

type peeker struct{ tags }

func (*peeker) Peek() map[string]turn.Tag {
	return map[string]turn.Tag{"batch_at_head": {Value: "7"}, "rid": {Value: "\n\""}, "fingerprint": {Value: "1a2b3c4d"},
		"model_path": {Value: "/models/secret"}, "random_seed": {Value: "1"}, "gpu": {Value: "H200"}}
}

// TestHeldAnswerPassesWhenItIsSlow, whole and without a verdict, and what has
// come is not held longer than allowed.
func TestHeldAnswerPassesWhenItIsSlow(t *testing.T) {
	up := listen(t, "tcp")
	seen := newRecorder()
	p := start(t, up, proxy.Config{Annotate: proxy.Annotation{How: proxy.AnnotateComment, HoldTime: 20 * time.Millisecond}}, seen)
	c := p.dial()
	s := ask(up, c, strings.Replace(asking, "Host", "X-Request-Id: slow\r\nHost", 1))
	answer := head("HTTP/1.1 200 OK", "Content-Type: application/json", fmt.Sprintf("Content-Length: %d", len(clean))) + clean
	s.send(answer[:len(answer)-20])
	c.read(answer[:len(answer)-20])
	s.send(answer[len(answer)-20:])
	c.read(answer[len(answer)-20:])
	if got := seen.of(t, "slow"); got.Outcome != validate.Clean || noted(p, "too_slow") != 1 {
		t.Errorf("got %s and %d counted as slow, want clean and 1", got.Outcome, noted(p, "too_slow"))
	}
	again(t, up, c)
	c.close()
	holdsNothing(t, p)
}

// TestHeldAnswerEndsWithItsClient: who leaves meanwhile is gone for the server.
func TestHeldAnswerEndsWithItsClient(t *testing.T) {
	up := listen(t, "tcp")
	seen := newRecorder()
	p := start(t, up, proxy.Config{Annotate: proxy.Annotation{How: proxy.AnnotateComment, HoldTime: time.Minute}}, seen)
	c := p.dial()
	s := ask(up, c, strings.Replace(asking, "Host", "X-Request-Id: gone\r\nHost", 1))
	s.send(head("HTTP/1.1 200 OK", "Content-Type: application/json", "Content-Length: 900") + clean)
	c.fin()
	s.ends()
	if got := seen.of(t, "gone"); got.Ending != validate.ClientGone {
		t.Errorf("ending: got %s, want %s", got.Ending, validate.ClientGone)
	}
	holdsNothing(t, p)
}

// TestAnnotationOfALargeRequest, which is judged only when its answer ends.
func TestAnnotationOfALargeRequest(t *testing.T) {
	up := listen(t, "tcp")
	p := start(t, up, noting(proxy.AnnotateComment))
	body := `{"messages":[{"role":"user","content":"` + strings.Repeat("x", 2<<20) + `"}]}`
	request := head("POST /v1/chat/completions HTTP/1.1", "Host: x", fmt.Sprintf("Content-Length: %d", len(body))) + body
	answer := events + chunked(done, 40)
	rest, r, ok := uncomment(t, whole(t, up, p, request, answer, 0, false))
	if rest != answer || !ok || r.Verdict != validate.Clean {
		t.Errorf("got %s, %v, told: %v, want the answer and clean", clip(rest), r, ok)
	}
}

// holdsNothing waits until the judge holds no memory any more: it gives it back
// after the last byte.
func holdsNothing(t *testing.T, p *relay) {
	t.Helper()
	held := p.Stats().JudgeMemory.Load
	for begin := time.Now(); held() != 0 && time.Since(begin) < patience; time.Sleep(time.Millisecond) {
	}
	if got := held(); got != 0 {
		t.Errorf("memory held in the end: got %d bytes", got)
	}
}
