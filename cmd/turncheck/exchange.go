package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"turnwatch/validate"
)

// exchange is a request and its answer.
type exchange struct {
	id      string
	path    string // of the API; empty if it does not say
	request []byte
	head    validate.Head
	pieces  [][]byte
	times   []time.Duration // when each piece came; nil if that is not known
	ending  validate.Ending
}

// body is the whole body of the answer.
func (x *exchange) body() []byte { return bytes.Join(x.pieces, nil) }

// at is when a piece came.
func (x *exchange) at(piece int) time.Duration {
	if piece >= len(x.times) {
		return 0
	}
	return x.times[piece]
}

// api is the path of the API that an answer looks like.
func (x *exchange) api() string {
	body := x.body()
	front := body[:min(len(body), 1<<10)]
	has := func(s string) bool { return bytes.Contains(front, []byte(s)) }
	switch {
	case has("chat.completion"), has(`"choices"`):
	case has("event: message_start"), has(`"type":"message"`), has(`"type": "message"`):
		return "/v1/messages"
	case has("event: response.created"), has(`"object":"response"`), has(`"object": "response"`):
		return "/v1/responses"
	}
	return "/v1/chat/completions"
}

// response is an answer as a case file holds it.
type response struct {
	Status   int
	Headers  map[string]string
	Chunks   []json.RawMessage
	Body     json.RawMessage
	BodyText *string         `json:"body_text"`
	BodyB64  []byte          `json:"body_b64"`
	Ending   validate.Ending // as the journal has it; complete if it does not say
}

// errNoTurn is JSON that holds something else.
var errNoTurn = errors.New("no request and response in it")

// parse reads a turn in JSON.
func parse(data []byte) (*exchange, error) {
	var raw struct {
		ID, Path          string
		Request, Response json.RawMessage
	}
	var of *json.UnmarshalTypeError
	err := json.Unmarshal(data, &raw)
	switch {
	case errors.As(err, &of) && of.Field == "": // an array, a number
		return nil, errNoTurn
	case err != nil:
		return nil, err
	case raw.Request == nil || raw.Response == nil:
		return nil, errNoTurn
	}
	x := &exchange{id: raw.ID, path: raw.Path, request: raw.Request}
	return x, x.answer(raw.Response)
}

// answer reads a response: as a case file has it, as the body itself, or as
// the text of one.
func (x *exchange) answer(raw json.RawMessage) error {
	var r response
	x.ending = validate.Complete
	if raw[0] == '"' {
		var text string
		err := json.Unmarshal(raw, &text)
		x.head, x.pieces = validate.Head{Status: http.StatusOK}, [][]byte{[]byte(text)}
		return err
	}
	if err := json.Unmarshal(raw, &r); err != nil || r.bare() {
		x.head, x.pieces = validate.Head{Status: http.StatusOK, ContentType: "application/json"}, [][]byte{raw}
		return nil
	}
	x.head.Status = max(r.Status, http.StatusOK)
	for name, value := range r.Headers {
		if strings.EqualFold(name, "content-type") {
			x.head.ContentType = value
		}
	}
	if r.Ending != "" {
		x.ending = r.Ending
	}
	return x.pick(&r)
}

// bare reports whether an object is no response but the body of one.
func (r *response) bare() bool {
	return r.Chunks == nil && r.Body == nil && r.BodyText == nil && r.BodyB64 == nil && r.Status == 0 && r.Headers == nil
}

// pick takes the body from where it is.
func (x *exchange) pick(r *response) error {
	switch {
	case r.BodyText != nil:
		x.pieces = [][]byte{[]byte(*r.BodyText)}
	case r.BodyB64 != nil:
		x.pieces = [][]byte{r.BodyB64}
	case r.Chunks == nil:
		x.pieces = [][]byte{r.Body}
	}
	for i, raw := range r.Chunks {
		p, err := chunk(raw)
		if err != nil {
			return fmt.Errorf("read chunk %d: %w", i, err)
		}
		x.pieces = append(x.pieces, p)
	}
	return nil
}

// chunk reads a piece of a body: a string, or bytes in base64.
func chunk(raw json.RawMessage) ([]byte, error) {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return []byte(text), nil
	}
	var b struct{ B64 *[]byte }
	if err := json.Unmarshal(raw, &b); err != nil {
		return nil, err
	}
	if b.B64 == nil {
		return nil, errors.New("neither a string nor b64")
	}
	return *b.B64, nil
}

// maxBody bounds what one answer may decode to.
const maxBody = 64 << 20

// parseHTTP reads an answer as it came over the wire, or with the body that a
// client had made of it, as curl -i writes it.
func parseHTTP(data []byte) (*exchange, error) {
	resp, rest, err := readHead(data)
	if err != nil {
		return nil, fmt.Errorf("read the head: %w", err)
	}
	x := &exchange{ending: validate.Complete, head: validate.Head{Status: resp.StatusCode, ContentType: resp.Header.Get("Content-Type")}}
	body := rest
	if len(resp.TransferEncoding) == 0 || len(rest) == 0 || chunkedBody(rest) {
		if body, err = io.ReadAll(io.LimitReader(resp.Body, maxBody)); err != nil {
			x.ending = validate.ServerCut
		}
	}
	switch coding := resp.Header.Get("Content-Encoding"); {
	case coding == "" || coding == "identity":
	case coding != "gzip" && coding != "x-gzip":
		return nil, fmt.Errorf("decode the body: content coding %q is not known here", coding)
	default:
		if body, err = inflate(body); err != nil && x.ending == validate.Complete {
			return nil, fmt.Errorf("decode the body: %w", err)
		}
	}
	x.pieces = [][]byte{body}
	return x, nil
}

// readHead reads the final head of an answer, and returns what follows it, too.
func readHead(data []byte) (resp *http.Response, rest []byte, err error) {
	src := bytes.NewReader(data)
	r := bufio.NewReader(src)
	for resp == nil || resp.StatusCode/100 == 1 && resp.StatusCode != http.StatusSwitchingProtocols {
		if resp, err = http.ReadResponse(r, nil); err != nil {
			return nil, nil, err
		}
	}
	return resp, data[len(data)-src.Len()-r.Buffered():], nil
}

// chunkedBody reports whether a body begins with the size of a chunk.
func chunkedBody(body []byte) bool {
	line, _, _ := bytes.Cut(body, []byte("\n"))
	size, _, _ := bytes.Cut(line, []byte(";"))
	size = bytes.TrimSpace(size)
	return len(size) > 0 && len(bytes.Trim(size, "0123456789abcdefABCDEF")) == 0
}

// eventStream reports whether data is the body of a stream of events, alone.
func eventStream(data []byte) bool {
	for _, field := range []string{"data:", "event:", "id:", "retry:", ":"} {
		if bytes.HasPrefix(data, []byte(field)) {
			return true
		}
	}
	return false
}

// parseEvents reads the body of a stream of events.
func parseEvents(data []byte) *exchange {
	return &exchange{ending: validate.Complete, pieces: [][]byte{data},
		head: validate.Head{Status: http.StatusOK, ContentType: "text/event-stream"}}
}

func inflate(b []byte) ([]byte, error) {
	z, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(z, maxBody))
}
