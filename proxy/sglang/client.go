package sglang

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"turnwatch/proxy/direct"
)

// client asks the server for what is not a turn.
type client struct {
	url  string
	name string // the upstream as it was set
	key  *watched[string]
	http *http.Client

	keyName string // the setting that names its file
}

// The bounds of an answer to us.
const (
	maxInfo  = 4 << 20
	maxFacts = 8 << 20
)

func newClient(c *Config, key *watched[string]) *client {
	base, h, t := direct.Client(c.Upstream, c.TLS)
	t.MaxConnsPerHost, t.MaxIdleConnsPerHost = c.FactsWorkers+1, c.FactsWorkers+1
	return &client{name: c.Upstream, url: base, key: key, keyName: c.KeyName, http: h}
}

// errNotThere is a route that the server does not have.
var errNotThere = errors.New("the server has no such route")

// errLarge is an answer beyond its bound.
var errLarge = errors.New("its answer is too large")

// get returns the body of the answer to a GET. Its errors hold nothing of it.
func (c *client) get(ctx context.Context, path string, most int64) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.url+path, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("User-Agent", "turnwatch")
	if key := c.key.get(); key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, c.unasked(path, err)
	}
	defer resp.Body.Close()
	switch {
	case resp.StatusCode == http.StatusNotFound:
		return nil, errNotThere
	case resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden:
		return nil, fmt.Errorf("it answered with status %d: it wants the key of %s, or another", resp.StatusCode, c.keyName)
	case resp.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("it answered with status %d", resp.StatusCode)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, most+1))
	if err == nil && int64(len(body)) > most {
		err = errLarge
	}
	return body, err
}

// unasked says what could not be asked of the server, under the name that the
// operator knows it by.
func (c *client) unasked(path string, err error) error {
	if at := (*url.Error)(nil); errors.As(err, &at) {
		err = at.Err
	}
	return fmt.Errorf("ask %s for %s: %w", c.name, path, err)
}

// either asks under the first name, and where that is not known under the
// name that older servers have.
func (c *client) either(ctx context.Context, most int64, names ...string) (body []byte, err error) {
	for _, name := range names {
		if body, err = c.get(ctx, name, most); !errors.Is(err, errNotThere) {
			return body, err
		}
	}
	return body, err
}
