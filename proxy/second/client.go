package second

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"

	"turnwatch/proxy/direct"
)

// client sends our questions.
type client struct {
	url  string
	key  func() string
	http *http.Client
}

func newClient(c *Config) (*client, error) {
	base, h, t := direct.Client(c.URL, c.TLS)
	t.DisableCompression = true
	if u, err := url.Parse(base); err != nil || u.Host == "" {
		return nil, fmt.Errorf("%q names no server to ask for second opinions: write http://host:port", c.URL)
	}
	return &client{url: base, key: c.Key, http: h}, nil
}

// errTooLarge is an answer beyond its bound.
var errTooLarge = errors.New("the answer is too large")

// statusError is an answer that is no success.
type statusError struct{ status int }

func (e *statusError) Error() string { return fmt.Sprintf("it answered with status %d", e.status) }

// reply is an answer.
type reply struct {
	contentType string
	body        []byte
}

// post returns the body of a successful answer of so many bytes at most.
func (c *client) post(ctx context.Context, path string, body []byte, most int64) ([]byte, error) {
	r, err := c.send(ctx, path, body, most)
	return r.body, err
}

// send sends a request of ours, with our key and no other, and reads the answer.
func (c *client) send(ctx context.Context, path string, body []byte, most int64) (r reply, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url+path, bytes.NewReader(body))
	if err != nil {
		return r, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "turnwatch")
	if c.key != nil {
		if key := c.key(); key != "" {
			req.Header.Set("Authorization", "Bearer "+key)
		}
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return r, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return r, &statusError{resp.StatusCode}
	}
	r.contentType = resp.Header.Get("Content-Type")
	r.body, err = io.ReadAll(io.LimitReader(resp.Body, most+1))
	if err == nil && int64(len(r.body)) > most {
		err = errTooLarge
	}
	return r, err
}

func timedOut(err error) bool {
	var late net.Error
	return errors.As(err, &late) && late.Timeout()
}
