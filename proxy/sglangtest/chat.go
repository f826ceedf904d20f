package sglangtest

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"
)

// turn answers a request on one of the paths that carry a turn.
func (s *Server) turn(ctx context.Context, w *writer, req *http.Request, raw []byte) {
	typ := req.Header.Get("Content-Type")
	if !strings.HasPrefix(strings.ToLower(typ), "application/json") {
		refuse(w, http.StatusBadRequest, "Bad Request", "Unsupported Media Type: Only 'application/json' is allowed")
		return
	}
	r, err := parseRequest(req.URL.Path, req.Header, raw)
	if err != nil {
		refuse(w, http.StatusBadRequest, "Bad Request", "%s", complaint(err))
		return
	}
	a := s.script(r)
	if a.Canned != nil {
		a.Canned.write(w)
		return
	}
	if r.Path == "/generate" {
		s.generate(ctx, w, raw)
		return
	}
	if r.Path != "/v1/chat/completions" && r.Path != "/invocations" {
		s.notFound(w)
		return
	}
	if bad := r.invalid(); bad != "" {
		refuse(w, http.StatusBadRequest, "BadRequestError", "%s", bad)
		return
	}
	s.chat(ctx, w, r, a)
}

// complaint words a body that is no request.
func complaint(err error) string {
	var syntax *json.SyntaxError
	var typ *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		return "JSON decode error: " + err.Error()
	case errors.As(err, &typ):
		return "1 validation error: body." + typ.Field + ": Input should be a valid " + typ.Type.String()
	}
	return err.Error()
}

func (s *Server) script(r *Request) *Answer {
	if s.cfg.Script != nil {
		if a := s.cfg.Script(r); a != nil {
			return a.clone()
		}
	}
	return s.model(r)
}

func (c *Canned) write(w *writer) {
	if c.Chunks == nil {
		w.full(c.Status, c.Type, c.Body)
		return
	}
	w.stream(c.Status, c.Type)
	for _, p := range c.Chunks {
		w.chunk(p)
	}
	w.end()
}

// reply is one chat answer on its way out.
type reply struct {
	w       *writer
	r       *Request
	enc     encoder
	rec     *Record
	fields  func() []string // what the plugin adds to the head
	started bool
	made    []Delta // by a request that does not stream
}

func (s *Server) chat(ctx context.Context, w *writer, r *Request, a *Answer) {
	rec := &Record{RID: r.RID, Session: r.Session, Turn: r.Turn, PromptTokens: a.PromptTokens, CUDAGraph: !s.cfg.DisableCUDAGraph}
	if rec.RID == "" {
		rec.RID = s.newID()
	}
	if rec.PromptTokens == 0 {
		rec.PromptTokens = r.promptTokens()
	}
	rec.Faults = s.mistake(r, a)
	s.tokens(rec, r, a)
	q, err := s.engine.submit(rec, s.state(r), a, r.MaxTokens)
	if err != nil {
		refuse(w, http.StatusBadRequest, "BadRequestError", "Duplicate request ID detected: %s", rec.RID)
		return
	}
	p := &reply{w: w, r: r, rec: rec, fields: func() []string { return s.fields(rec) }}
	p.enc = encoder{id: rec.RID, model: r.Model, created: time.Now().Unix(), prompt: rec.PromptTokens, usageEach: r.UsageEach, tools: r.parsed()}
	if !p.follow(ctx, s.engine, q) {
		s.engine.leave(q)
		w.cut()
	}
}

func (s *Server) state(r *Request) State {
	return State{IndexDtype: s.cfg.IndexDtype, CUDAGraph: !s.cfg.DisableCUDAGraph, Overlap: !s.cfg.DisableOverlap,
		Session: r.Session, Turn: r.Turn, Stream: r.Stream}
}

// follow relays q to the client until it ends. It reports false when the
// client left or the answer is to be cut.
func (p *reply) follow(ctx context.Context, e *engine, q *seq) bool {
	for {
		deltas, end, err := e.next(ctx, q)
		if err != nil {
			return false
		}
		p.pass(deltas, end)
		if p.w.err != nil {
			return false
		}
		if end != nil {
			return p.end(end)
		}
	}
}

// pass sends deltas on, or keeps them. The head of a stream waits for the
// first token, so that an error before it can still be an HTTP error.
func (p *reply) pass(deltas []Delta, end *Answer) {
	if !p.r.Stream {
		p.made = append(p.made, deltas...)
		return
	}
	if !p.started {
		if len(deltas) == 0 && end != nil && end.Failure != nil {
			return
		}
		p.w.stream(http.StatusOK, eventStream, p.fields()...)
		p.w.chunk(p.enc.role())
		p.started = true
	}
	for _, d := range deltas {
		p.w.chunk(p.enc.delta(d))
	}
}

func (p *reply) end(a *Answer) bool {
	if a.Cut {
		return false
	}
	if p.started {
		p.endStream(a)
		return true
	}
	if f := a.Failure; f != nil {
		p.w.json(f.Status, errorBody(f))
		return true
	}
	p.w.json(http.StatusOK, p.enc.whole(assemble(p.made), a, p.rec.PromptTokens, p.rec.CompletionTokens), p.fields()...)
	return true
}

func (p *reply) endStream(a *Answer) {
	usage := p.r.Usage
	if a.Failure != nil {
		p.w.chunk(errorEvent(a.Failure))
		usage = usage && a.Failure.Usage
	} else if a.Finish != "" {
		p.w.chunk(p.enc.finish(a.Finish, a.Matched, p.rec.CompletionTokens))
	}
	for _, d := range a.After {
		p.w.chunk(p.enc.delta(d))
	}
	if usage {
		p.w.chunk(p.enc.usage(p.rec.PromptTokens, p.rec.CompletionTokens))
	}
	p.w.chunk([]byte(done))
	p.w.end()
}
