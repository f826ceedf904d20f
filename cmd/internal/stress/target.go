package stress

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"turnwatch/proxy/sglang"
	"turnwatch/proxy/turn"
	"turnwatch/validate"
)

// chatPath is where turns are asked for.
const chatPath = "/v1/chat/completions"

// Target is a server, or a relay in front of one.
type Target struct {
	URL     string      // http://host:port, with or without /v1
	Model   string      // named in each request; "" asks the server for the first it serves
	Key     string      // sent as a bearer token; "" sends none
	KeyFile string      // where that is from: the polls read it themselves
	TLS     *tls.Config // for https; nil trusts the system's roots
	Headers [][2]string // further fields of each request
	Arm     turn.Arm    // in the journal

	Labels map[string]string // declared configuration, for the tags
	Facts  string            // path to ask for the facts of a turn at, where the server names none
	NoPoll bool              // do not ask the server for its load each second
}

// server is a target that is being put under load.
type server struct {
	Target
	base    string
	client  http.Client
	tagger  *sglang.Tagger
	schemas *validate.Schemas
	rates   turn.Rates
	buffers sync.Pool // of *[16 << 10]byte
}

// memory is what a server's compiled schemas may take.
const memory = 64 << 20

// open prepares a target: connections for as many sessions at a time.
func (t Target) open(conns int) (*server, error) {
	u, err := url.Parse(t.URL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("target %q: must be http://host:port or https://host:port", t.URL)
	}
	s := &server{Target: t, schemas: validate.NewSchemas(memory)}
	s.buffers.New = func() any { return new([16 << 10]byte) }
	s.base = u.Scheme + "://" + u.Host + strings.TrimSuffix(strings.TrimSuffix(u.Path, "/"), "/v1")
	// Servers close idle connections after some seconds: ours go first, so that
	// no request meets one that is just being closed.
	s.client.Transport = &http.Transport{Proxy: http.ProxyFromEnvironment, MaxIdleConnsPerHost: conns, IdleConnTimeout: 4 * time.Second,
		DisableCompression: true, TLSClientConfig: t.TLS}
	s.client.CheckRedirect = stay
	s.tagger, err = sglang.New(sglang.Config{Upstream: u.Scheme + "://" + u.Host, TLS: t.TLS, KeyFile: t.KeyFile, Labels: t.Labels,
		Facts: t.Facts, NoPoll: t.NoPoll, Headers: map[string]string{"x-turnwatch-batch": "batch_told"}})
	return s, err
}

// stay follows no redirection: what another server answers is not the target's,
// and a turn would be asked for there without its body.
func stay(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// request makes a request with what all have.
func (s *server) request(ctx context.Context, method, path string, body []byte) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, method, s.base+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if s.Key != "" {
		req.Header.Set("Authorization", "Bearer "+s.Key)
	}
	for _, h := range s.Headers {
		req.Header.Add(h[0], h[1])
	}
	return req, nil
}

// knock makes sure that the server is there and learns the model's name.
func (s *server) knock(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	req, err := s.request(ctx, http.MethodGet, "/v1/models", nil)
	if err != nil {
		return err
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return fmt.Errorf("reach -target %s: %w", s.URL, bare(err))
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil {
		return fmt.Errorf("ask %s for its models: %w", s.URL, err)
	}
	if s.Model != "" {
		return nil
	}
	s.Model, err = firstModel(body)
	switch {
	case err == nil:
		return nil
	case resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden:
		return fmt.Errorf("ask %s for its models: %s: give -key-file FILE with a key that it takes", s.URL, resp.Status)
	}
	return fmt.Errorf("ask %s for its models: %s: %w; name one with -model", s.URL, resp.Status, err)
}

func firstModel(body []byte) (string, error) {
	var list struct {
		Data []struct{ ID string }
	}
	if err := json.Unmarshal(body, &list); err != nil {
		return "", err
	}
	if len(list.Data) == 0 || list.Data[0].ID == "" {
		return "", errors.New("it names none")
	}
	return list.Data[0].ID, nil
}

// bare takes off the address that the library puts before an error: the message
// names the target already.
func bare(err error) error {
	if u := (*url.Error)(nil); errors.As(err, &u) {
		return u.Err
	}
	return err
}

// head spells the head of an answer, for who reads tags out of it.
func head(resp *http.Response) []byte {
	b := []byte(resp.Proto + " " + resp.Status + "\r\n")
	for name, values := range resp.Header {
		for _, v := range values {
			b = append(append(append(append(b, name...), ": "...), v...), '\r', '\n')
		}
	}
	return append(b, '\r', '\n')
}
