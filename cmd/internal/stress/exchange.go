package stress

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"net/http"
	"strings"
	"time"

	"turnwatch/proxy/sglang"
	"turnwatch/proxy/turn"
	"turnwatch/validate"
	"turnwatch/validate/agents"
)

// exchange is one request and its answer: read, judged and tagged.
type exchange struct {
	s     *server
	t     *Turn
	body  []byte
	cut   *cutter
	sent  time.Time
	first time.Time // arrival of the answer's first byte; zero before it
	read  reader
	check *validate.Checker
	watch *sglang.Watch
}

// errLate is why an exchange ended that took longer than it may.
var errLate = errors.New("no end within -timeout")

// errLong is why an exchange ended whose answer went on and on.
var errLong = fmt.Errorf("an answer of more than %d MiB", maxAnswer>>20)

// ask sends a request and reads its answer. What is wrong is noted in the turn.
func (s *server) ask(ctx context.Context, t *Turn, body []byte, c *cutter) (agents.Answer, *sglang.Watch) {
	x := &exchange{s: s, t: t, body: body, cut: c, watch: s.tagger.Begin()}
	x.sent = time.Now()
	t.V, t.ID, t.Time, t.Arm, t.Path, t.BytesIn = turn.Version, turn.NewID(), x.sent, s.Arm, chatPath, int64(len(body))
	resp, err := x.send(ctx)
	if err == nil {
		err = x.receive(ctx, resp)
		resp.Body.Close()
	}
	x.watch.End()
	t.DurationMS = ms(time.Since(x.sent))
	t.Abort = c.end()
	answer, readErr := x.read.end()
	x.ended(ctx, err, readErr)
	x.judge()
	t.said = hash(answer)
	return answer, x.watch
}

// hash tells answers apart.
func hash(a agents.Answer) uint64 {
	h := fnv.New64a()
	io.WriteString(h, a.Text)
	for _, c := range a.Calls {
		io.WriteString(h, "\x00"+c.Name+"\x00"+c.Arguments)
	}
	return h.Sum64()
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func (x *exchange) send(ctx context.Context) (*http.Response, error) {
	req, err := x.s.schemas.ParseRequest(chatPath, x.body)
	if err != nil {
		return nil, fmt.Errorf("judge the request: %w", err)
	}
	req.TokenRate = x.s.rates.Of(req.Model)
	x.t.Model, x.t.Stream = req.Model, req.Stream
	out, err := x.s.request(ctx, http.MethodPost, chatPath, x.body)
	if err != nil {
		return nil, err
	}
	out.Header.Set("X-Session-Id", x.t.Session)
	out.Header.Set("X-Request-Id", x.t.RequestID)
	x.cut.begin()
	resp, err := x.s.client.Do(out)
	if err != nil {
		return nil, err
	}
	x.t.Status, x.first = resp.StatusCode, time.Now()
	x.watch.Head(head(resp))
	typ := resp.Header.Get("Content-Type")
	if enc := resp.Header.Get("Content-Encoding"); enc == "" || enc == "identity" {
		x.check = validate.NewChecker(req, validate.Head{Status: resp.StatusCode, ContentType: typ})
	}
	x.read.stream = strings.HasPrefix(typ, "text/event-stream")
	x.cut.answered()
	return resp, nil
}

// receive reads the body to its end.
func (x *exchange) receive(ctx context.Context, resp *http.Response) error {
	buf := x.s.buffers.Get().(*[16 << 10]byte)[:]
	defer x.s.buffers.Put((*[16 << 10]byte)(buf))
	begun := false
	for {
		n, err := resp.Body.Read(buf)
		if now := time.Now(); n > 0 {
			if !begun {
				begun, x.first = true, now
				x.t.TTFBMS = ms(now.Sub(x.sent))
			}
			x.take(now, buf[:n])
		}
		switch {
		case ctx.Err() != nil: // also where the rest came with what made us leave
			return ctx.Err()
		case x.t.BytesOut > maxAnswer:
			return errLong
		case err == io.EOF:
			return x.refusal(resp)
		case err != nil:
			return err
		}
	}
}

// take gives the bytes to who judges, tags and reads them.
func (x *exchange) take(now time.Time, p []byte) {
	x.t.BytesOut += int64(len(p))
	if x.check != nil {
		x.check.Feed(now.Sub(x.first), p)
	}
	x.watch.Data(p, now)
	x.read.feed(p)
	x.t.Events = x.read.events
	x.cut.said(x.read.events)
}

// refusal makes an error of an answer that is none.
func (x *exchange) refusal(resp *http.Response) error {
	if resp.StatusCode == http.StatusOK {
		return nil
	}
	text := brief(x.read.rest)
	x.read = reader{}
	return fmt.Errorf("%s: %s", resp.Status, text)
}

// ended says how the answer ended, and why there is none.
func (x *exchange) ended(ctx context.Context, err, readErr error) {
	t := x.t
	t.Ending = validate.Complete
	switch {
	case err == nil:
		t.Err, t.Abort = readErr, ""
		return
	case t.Abort != "":
		t.Ending = validate.ClientGone
		return
	case t.Status != 0 && t.Status != http.StatusOK:
	case context.Cause(ctx) == errLate:
		t.Ending, err = validate.ProxyCut, errLate
	case err == errLong:
		t.Ending = validate.ProxyCut
	case ctx.Err() != nil:
		t.Ending, t.Abort, err = validate.ClientGone, "stop", errStopped
	default:
		t.Ending = validate.ServerCut
	}
	t.Err = bare(err)
}

// judge makes the verdict.
func (x *exchange) judge() {
	t := x.t
	switch {
	case x.check != nil:
		t.Verdict = x.check.Finish(t.Ending)
		x.s.rates.Learn(t.Model, &t.Verdict)
	case t.Status == 0:
		t.Outcome, t.Reason = validate.Unverified, validate.ReasonNoAnswer
	default:
		t.Outcome, t.Reason = validate.Unverified, validate.ReasonNotInspectable
	}
	for i := range t.Findings {
		if f := &t.Findings[i]; t.Ending == validate.ClientGone && f.Kind == validate.TruncatedStreamCut {
			f.Kind = validate.TruncatedClientGone
		}
	}
	x.told()
}

// told reads what a sidecar in between said of the turn.
func (x *exchange) told() {
	var said struct {
		Verdict validate.Outcome
		Tags    map[string]string
	}
	if x.read.comment != nil && json.Unmarshal(x.read.comment, &said) == nil {
		x.t.Sidecar, x.t.told = said.Verdict, said.Tags["batch"]
	}
}
