package proxy

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/valyala/fasthttp"
)

// failure is an answer of our own: the only bytes a client gets unasked that
// did not come from the server.
type failure struct {
	status  int
	code    string // also in x-turnwatch-error
	kind    string // OpenAI's error type
	message string
}

// failureOf says what the client is told of err.
func (s *Server) failureOf(err error) failure {
	var at *stageError
	var no *refusal
	switch {
	case errors.As(err, &no):
		return failure{no.status, "request", "invalid_request_error", "turnwatch refused the request: " + no.Error()}
	case errors.Is(err, errClientBody):
		return failure{400, "request", "invalid_request_error", err.Error()}
	case !errors.As(err, &at):
		return failure{502, "relay", "upstream_error", err.Error()}
	case at.stage == stageFirstByte || at.stage == stageIdle:
		return failure{504, string(at.stage), "upstream_timeout",
			fmt.Sprintf("no answer from the server at %s (-upstream): %v", s.cfg.Upstream, at.err)}
	}
	return failure{502, string(at.stage), "upstream_error",
		fmt.Sprintf("no answer from the server at %s (-upstream), stage %s: %v%s", s.cfg.Upstream, at.stage, at.err, distrust(at.err))}
}

// distrust says which setting helps where the server's certificate is the
// cause, or that it has none, and nothing elsewhere.
func distrust(err error) string {
	switch {
	case errors.As(err, new(x509.UnknownAuthorityError)):
		return "; -upstream-ca names the authority that vouches for it"
	case errors.As(err, new(x509.HostnameError)):
		return "; -upstream-server-name is the name that its certificate must hold"
	case errors.As(err, new(tls.RecordHeaderError)):
		return "; it speaks no TLS: is it an http:// -upstream?"
	}
	return ""
}

// fail tells the client what went wrong, unless it has left, and returns what was
// wrong first.
func (x *exchange) fail(err error) error {
	err = x.firstFault(err)
	if clientsFault(err) {
		x.s.stats.RefusedRequests.Add(1)
	}
	if !x.c.gone() && !x.s.cutting.Load() && !errors.Is(err, errClientGone) {
		x.tell(err)
	}
	return err
}

// clientsFault reports whether it was the request that was wrong.
func clientsFault(err error) bool {
	return errors.As(err, new(*refusal)) || errors.Is(err, errClientBody)
}

// tell answers the request ourselves.
func (x *exchange) tell(err error) {
	f := x.s.failureOf(err)
	x.s.log.Warn("answered a request ourselves", "status", f.status, "stage", f.code, "cause", f.message)
	if x.watch != nil {
		x.watch.t.Status = f.status
	}
	// What is left of a body may be too much to read, or may never come.
	x.closing = clientsFault(err) || x.body.src != nil || x.c.guard.state == guardBody
	x.failed = x.toClient(f.bytes(x.closing, x.req.isHead)) == nil
}

// firstFault returns what was wrong first: with the request's body, if its
// sender has ended over that, for the exchange then failed in consequence.
func (x *exchange) firstFault(err error) error {
	ended, sent := x.senderFault(sendGrace)
	if !ended {
		return err // it still reads from the client
	}
	if errors.Is(sent, errClientBody) {
		err = sent
	}
	if x.c.refused != nil {
		return x.c.refused
	}
	return err
}

// body is OpenAI's error shape.
func (f *failure) body() []byte {
	type detail struct {
		Message string  `json:"message"`
		Type    string  `json:"type"`
		Param   *string `json:"param"`
		Code    string  `json:"code"`
	}
	b, _ := json.Marshal(struct {
		Error detail `json:"error"`
	}{detail{f.message, f.kind, nil, f.code}}) // strings alone: cannot fail
	return b
}

// bytes is the whole answer.
func (f *failure) bytes(closing, head bool) []byte {
	body := f.body()
	b := fmt.Appendf(nil, "HTTP/1.1 %d %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\nx-turnwatch-error: %s\r\n",
		f.status, http.StatusText(f.status), len(body), f.code)
	if closing {
		b = append(b, "Connection: close\r\n"...)
	}
	b = append(b, "\r\n"...)
	if head {
		return b
	}
	return append(b, body...)
}

// refuse makes fasthttp's answer to a request that it could not read, or was
// not shown.
func (s *Server) refuse(ctx *fasthttp.RequestCtx, err error) {
	c := ctx.Conn().(*clientConn)
	if c.refused != nil {
		err = c.refused
	} else {
		err = &refusal{400, err}
	}
	s.stats.RefusedRequests.Add(1)
	f := s.failureOf(err)
	ctx.Response.Reset()
	ctx.Response.SetStatusCode(f.status)
	ctx.Response.Header.Set("Content-Type", "application/json")
	ctx.Response.Header.Set("x-turnwatch-error", f.code)
	ctx.Response.SetBodyRaw(f.body())
}
