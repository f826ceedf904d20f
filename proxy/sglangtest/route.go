package sglangtest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

const eventStream = "text/event-stream; charset=utf-8"

// route answers one request. ctx is done when the client has left.
func (s *Server) route(ctx context.Context, w *writer, req *http.Request, body []byte) {
	path := req.URL.Path
	switch {
	case !s.admits(req):
		w.json(http.StatusUnauthorized, []byte(`{"error":"Unauthorized"}`))
	case turns[path]:
		if s.allow(w, req, "POST") {
			s.turn(ctx, w, req, body)
		}
	case path == "/abort_request":
		if s.allow(w, req, "POST") {
			s.abortRequest(w, body)
		}
	case path == "/health" || path == "/health_generate":
		if s.allow(w, req, "GET") {
			s.health(ctx, w)
		}
	default:
		s.info(w, req)
	}
}

// turns are the paths that carry a turn. The simulator speaks the first two;
// the others are answered by a script or not at all.
var turns = map[string]bool{
	"/v1/chat/completions": true, "/invocations": true,
	"/v1/completions": true, "/generate": true, "/v1/responses": true, "/v1/messages": true, "/api/chat": true, "/api/generate": true,
}

func (s *Server) allow(w *writer, req *http.Request, methods ...string) bool {
	for _, m := range methods {
		if req.Method == m {
			return true
		}
	}
	w.json(http.StatusMethodNotAllowed, []byte(`{"detail":"Method Not Allowed"}`), "allow: "+strings.Join(methods, ", "))
	return false
}

func (s *Server) notFound(w *writer) {
	w.json(http.StatusNotFound, []byte(`{"detail":"Not Found"}`))
}

// refuse answers with an error in SGLang's shape.
func refuse(w *writer, status int, typ, format string, args ...any) {
	w.json(status, errorBody(&Failure{Status: status, Type: typ, Message: fmt.Sprintf(format, args...)}))
}

func (s *Server) abortRequest(w *writer, body []byte) {
	var b struct {
		RID string `json:"rid"`
		All bool   `json:"abort_all"`
	}
	if err := json.Unmarshal(body, &b); err != nil {
		refuse(w, http.StatusBadRequest, "Bad Request", "%v", err)
		return
	}
	if b.RID != "" || b.All {
		s.engine.abortPrefix(b.RID)
	}
	w.full(http.StatusOK, "", nil)
}

// health generates one token, as SGLang's does: it joins the batch.
func (s *Server) health(ctx context.Context, w *writer) {
	rec := &Record{RID: "HEALTH_CHECK_" + s.newID(), PromptTokens: 1}
	q, err := s.engine.submit(rec, State{}, &Answer{Silent: 1}, 1)
	if err != nil {
		refuse(w, http.StatusServiceUnavailable, "SERVICE_UNAVAILABLE", "%v", err)
		return
	}
	for {
		_, end, err := s.engine.next(ctx, q)
		if err != nil {
			s.engine.leave(q)
			w.cut()
			return
		}
		if end != nil {
			w.full(http.StatusOK, "", nil)
			return
		}
	}
}
