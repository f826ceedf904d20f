package sglangtest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// Request is a chat request as scripts and the model see it.
type Request struct {
	Path    string
	Header  http.Header
	Body    []byte
	Session string // who asks; see the package comment
	Turn    int    // from 1

	Model     string
	Messages  []Message
	Tools     []string // names
	Stream    bool
	Usage     bool // the stream ends with a usage event
	UsageEach bool // each of its events tells the usage so far
	MaxTokens int  // 0 is no limit
	RID       string

	choice string // tool_choice, when it is a word
}

// Message is one message of a request.
type Message struct {
	Role, Text string
	Calls      int
}

// body is the part of a chat request that is looked at.
type body struct {
	Model    string `json:"model"`
	Messages []struct {
		Role    string            `json:"role"`
		Content json.RawMessage   `json:"content"`
		Calls   []json.RawMessage `json:"tool_calls"`
	} `json:"messages"`
	Tools []struct {
		Function struct {
			Name string `json:"name"`
		} `json:"function"`
	} `json:"tools"`
	ToolChoice    json.RawMessage `json:"tool_choice"`
	Stream        bool            `json:"stream"`
	StreamOptions struct {
		IncludeUsage bool `json:"include_usage"`
		Continuous   bool `json:"continuous_usage_stats"`
	} `json:"stream_options"`
	MaxTokens           int    `json:"max_tokens"`
	MaxCompletionTokens int    `json:"max_completion_tokens"`
	RID                 string `json:"rid"`
	User                string `json:"user"`
}

func parseRequest(path string, h http.Header, raw []byte) (*Request, error) {
	var b body
	if err := json.Unmarshal(raw, &b); err != nil {
		return nil, err
	}
	r := &Request{Path: path, Header: h, Body: raw, Model: b.Model, Stream: b.Stream, Usage: b.StreamOptions.IncludeUsage, UsageEach: b.StreamOptions.Continuous,
		MaxTokens: cmp.Or(b.MaxCompletionTokens, b.MaxTokens), RID: b.RID, Turn: 1}
	for _, m := range b.Messages {
		r.Messages = append(r.Messages, Message{Role: m.Role, Text: text(m.Content), Calls: len(m.Calls)})
		if m.Role == "assistant" {
			r.Turn++
		}
	}
	for _, t := range b.Tools {
		r.Tools = append(r.Tools, t.Function.Name)
	}
	json.Unmarshal(b.ToolChoice, &r.choice) // an object leaves it empty
	r.Session = r.session(b.User)
	return r, nil
}

// text returns the text of a message's content: a string, or a list of parts.
func text(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	var parts []struct {
		Text string `json:"text"`
	}
	if json.Unmarshal(raw, &parts) != nil {
		return ""
	}
	var b strings.Builder
	for _, p := range parts {
		b.WriteString(p.Text)
	}
	return b.String()
}

func (r *Request) session(user string) string {
	if s := r.Header.Get("X-Session-Id"); s != "" {
		return s
	}
	if user != "" {
		return user
	}
	for _, m := range r.Messages {
		if m.Role == "user" {
			return fmt.Sprintf("%016x", hash(0, m.Text))
		}
	}
	return ""
}

// parsed reports whether a tool call parser reads along with the answer.
func (r *Request) parsed() bool { return len(r.Tools) > 0 && r.choice != "none" }

func (r *Request) promptTokens() int {
	n := 0
	for _, m := range r.Messages {
		n += len(m.Text)
	}
	return max(1, n/4)
}

// invalid says what SGLang objects to in r, empty when nothing.
func (r *Request) invalid() string {
	switch {
	case len(r.Messages) == 0:
		return "Messages cannot be empty."
	case len(r.Tools) == 0 && r.choice == "required":
		return "Tools cannot be empty if tool choice is set to required."
	case r.MaxTokens < 0:
		return "max_completion_tokens must be positive"
	}
	return ""
}

// hash mixes a seed and words into 64 even bits.
func hash(seed uint64, words ...string) uint64 {
	h := 0xcbf29ce484222325 ^ seed*0x9e3779b97f4a7c15
	for _, w := range words {
		for i := 0; i < len(w); i++ {
			h = (h ^ uint64(w[i])) * 0x100000001b3
		}
		h = (h ^ 0xff) * 0x100000001b3
	}
	h = (h ^ h>>33) * 0xff51afd7ed558ccd
	h = (h ^ h>>33) * 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}

// chance returns a number in [0, 1) that depends on nothing but its arguments.
func chance(seed uint64, words ...string) float64 {
	return float64(hash(seed, words...)>>11) / (1 << 53)
}
