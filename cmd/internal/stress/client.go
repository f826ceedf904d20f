package stress

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	"turnwatch/validate/agents"
)

// ask sends one request and reads its stream to the end.
func (r *runner) ask(ctx context.Context, t Turn, body []byte) (agents.Answer, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.load.URL+"/v1/chat/completions", bytes.NewReader(body))
	if err != nil {
		return agents.Answer{}, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Session-Id", t.Session)
	req.Header.Set("X-Request-Id", t.RequestID())
	resp, err := r.client.Do(req)
	if err != nil {
		return agents.Answer{}, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		b, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<10)) // the status is error enough
		return agents.Answer{}, fmt.Errorf("%s: %s", resp.Status, bytes.TrimSpace(b))
	}
	return readStream(resp.Body)
}

// chunk is the part of an event that an answer is made of.
type chunk struct {
	Choices []struct {
		Delta struct {
			Content string `json:"content"`
			Calls   []struct {
				Index    int `json:"index"`
				Function struct {
					Name      string `json:"name"`
					Arguments string `json:"arguments"`
				} `json:"function"`
			} `json:"tool_calls"`
		} `json:"delta"`
	} `json:"choices"`
	Error json.RawMessage `json:"error"`
}

// readStream puts an answer together as agents' clients do: by the index of
// the call, forgiving what they forgive.
func readStream(r io.Reader) (agents.Answer, error) {
	var a agents.Answer
	lines := bufio.NewReader(r)
	for {
		line, err := lines.ReadString('\n')
		data, ok := strings.CutPrefix(strings.TrimSpace(line), "data: ")
		if data == "[DONE]" {
			_, err := io.Copy(io.Discard, lines)
			return a, err
		}
		if ok {
			if err := add(&a, data); err != nil {
				return a, err
			}
		}
		if err != nil {
			return a, fmt.Errorf("read stream: %w", noEOF(err))
		}
	}
}

// noEOF makes an error of an end that came too early.
func noEOF(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

func add(a *agents.Answer, data string) error {
	var c chunk
	if err := json.Unmarshal([]byte(data), &c); err != nil {
		return fmt.Errorf("read event: %w", err)
	}
	if c.Error != nil {
		return fmt.Errorf("server: %s", c.Error)
	}
	for _, choice := range c.Choices {
		a.Text += choice.Delta.Content
		for _, d := range choice.Delta.Calls {
			if d.Index < 0 || d.Index > len(a.Calls) {
				return fmt.Errorf("read event: call %d after %d calls", d.Index, len(a.Calls))
			}
			if d.Index == len(a.Calls) {
				a.Calls = append(a.Calls, agents.Call{})
			}
			a.Calls[d.Index].Name += d.Function.Name
			a.Calls[d.Index].Arguments += d.Function.Arguments
		}
	}
	return nil
}
