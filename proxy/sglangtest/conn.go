package sglangtest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

// serve answers the requests on one connection, as uvicorn with h11 does.
func (s *Server) serve(c net.Conn) {
	br := bufio.NewReaderSize(c, 64<<10)
	for {
		req, body, err := readRequest(c, br)
		if err != nil {
			if !quiet(err) {
				io.WriteString(c, "HTTP/1.1 400 Bad Request\r\ncontent-type: text/plain; charset=utf-8\r\nconnection: close\r\n\r\nInvalid HTTP request received.")
			}
			return
		}
		w := &writer{c: c, close: wantsClose(req), plain: !req.ProtoAtLeast(1, 1), head: req.Method == "HEAD"}
		if !s.answer(c, br, w, req, body) || w.close {
			return
		}
		c.SetReadDeadline(time.Now().Add(s.cfg.KeepAlive))
		if _, err := br.Peek(1); err != nil {
			return
		}
		c.SetReadDeadline(time.Time{})
	}
}

// answer writes one response while it watches for a client that leaves: the
// end of what it sends, be it a close or a half-close, cancels the request. It
// reports whether the connection can be used again.
func (s *Server) answer(c net.Conn, br *bufio.Reader, w *writer, req *http.Request, body []byte) bool {
	ctx, cancel := context.WithCancel(s.ctx)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		if _, err := br.Peek(1); err != nil {
			cancel()
		}
	}()
	s.route(ctx, w, req, body)
	gone := ctx.Err() != nil
	c.SetReadDeadline(time.Unix(1, 0)) // ends the watch
	<-watched
	cancel()
	c.SetReadDeadline(time.Time{})
	return !gone && !w.broken
}

func readRequest(c net.Conn, br *bufio.Reader) (*http.Request, []byte, error) {
	req, err := http.ReadRequest(br)
	if err != nil {
		return nil, nil, err
	}
	if strings.EqualFold(req.Header.Get("Expect"), "100-continue") {
		if _, err := io.WriteString(c, "HTTP/1.1 100 Continue\r\n\r\n"); err != nil {
			return nil, nil, err
		}
	}
	body, err := io.ReadAll(req.Body)
	return req, body, err
}

// quiet reports whether err is a client that left, which gets no answer.
func quiet(err error) bool {
	var ne net.Error
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.As(err, &ne)
}

func wantsClose(req *http.Request) bool {
	return req.Close || !req.ProtoAtLeast(1, 1)
}

// writer writes one response. Its errors stick; a broken response cuts the
// connection.
type writer struct {
	c      net.Conn
	close  bool // Connection: close
	plain  bool // HTTP/1.0: no chunks
	head   bool // no body
	broken bool
	err    error
}

func (w *writer) write(p []byte) {
	if w.err != nil {
		return
	}
	if _, w.err = w.c.Write(p); w.err != nil {
		w.broken = true
	}
}

// start writes a head whose fields are given as they go on the wire.
func (w *writer) start(status int, fields ...string) {
	var b strings.Builder
	fmt.Fprintf(&b, "HTTP/1.1 %d %s\r\ndate: %s\r\nserver: uvicorn\r\n", status, http.StatusText(status), time.Now().UTC().Format(http.TimeFormat))
	for _, f := range fields {
		b.WriteString(f + "\r\n")
	}
	if w.close {
		b.WriteString("Connection: close\r\n")
	}
	b.WriteString("\r\n")
	w.write([]byte(b.String()))
}

// full writes a whole response.
func (w *writer) full(status int, typ string, body []byte, fields ...string) {
	fields = append(fields, fmt.Sprintf("content-length: %d", len(body)))
	if typ != "" {
		fields = append(fields, "content-type: "+typ)
	}
	w.start(status, fields...)
	if !w.head && len(body) > 0 {
		w.write(body)
	}
}

func (w *writer) json(status int, body []byte, fields ...string) {
	w.full(status, "application/json", body, fields...)
}

// stream begins a chunked response, its head with more fields if there are.
func (w *writer) stream(status int, typ string, fields ...string) {
	fields = append(fields, "content-type: "+typ)
	if !w.plain {
		fields = append(fields, "Transfer-Encoding: chunked")
	}
	w.start(status, fields...)
}

// chunk writes one event, which is one chunk and one write.
func (w *writer) chunk(p []byte) {
	if w.plain {
		w.write(p)
		return
	}
	w.write(fmt.Appendf(nil, "%x\r\n%s\r\n", len(p), p))
}

func (w *writer) end() {
	if !w.plain {
		w.write([]byte("0\r\n\r\n"))
	}
}

// cut ends the response where it is.
func (w *writer) cut() { w.broken = true }
