package stress

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"strconv"

	"turnwatch/proxy/turn"
	"turnwatch/validate/agents"
)

// tries bounds the requests that aligning a session takes.
const tries = 12

// align pads the session until the server counts as many tokens in its first
// request as are wanted: a multiple of Align, and a little more or less from
// session to session. What the server counts is asked for, with requests for one
// token: no tokenizer is as right as its own.
func (o *one) align(ctx context.Context) {
	page, want := o.w.Align, o.offset()
	rate, last := 1.0, 0 // tokens a word, and what the last request had
	tried := map[int]bool{}
	for words, added := 1, 0; len(tried) < tries; {
		tried[words] = true
		o.pad = agents.Filler(uint64(o.Number), words)
		n, err := o.count(ctx)
		if err != nil {
			break
		}
		if (n-want)%page == 0 {
			o.aligned = fmt.Sprintf("%d%+d", page, want)
			break
		}
		if added != 0 && n != last {
			rate = float64(n-last) / float64(added)
		}
		added, last = more(n-want, page, words, rate, tried), n
		words += added
	}
	o.p.aligned(o.aligned != "")
}

// more is how many words come nearest to a multiple of page, from so many tokens
// beyond one. Where they do not come nearer, or were tried, it is those of a page
// besides: other words.
func more(beyond, page, words int, rate float64, tried map[int]bool) int {
	left := ((-beyond)%page + page) % page
	if back := page - left; back < left && float64(words) > float64(back)/rate+1 {
		left = -back
	}
	n := int(math.Round(float64(left) / rate))
	for n == 0 || tried[words+n] {
		n += max(1, int(float64(page)/rate))
	}
	return n
}

// offset is how far from the multiple this session is to be.
func (o *one) offset() int {
	return o.Number%(2*o.w.Spread+1) - o.w.Spread
}

// count asks how many tokens the first request has.
func (o *one) count(ctx context.Context) (int, error) {
	if !o.p.allow() {
		return 0, errStopped
	}
	ctx, cancel := context.WithTimeoutCause(ctx, o.p.load.Timeout, errLate)
	defer cancel()
	opts := o.options()
	opts.Stream, opts.MaxTokens = false, 1
	req, err := o.s.request(ctx, http.MethodPost, chatPath, o.task.Request(1, opts))
	if err != nil {
		return 0, err
	}
	resp, err := o.s.client.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return 0, err
	}
	return promptTokens(body)
}

func promptTokens(body []byte) (int, error) {
	var answer struct {
		Usage struct {
			Prompt int `json:"prompt_tokens"`
		}
	}
	if err := json.Unmarshal(body, &answer); err != nil || answer.Usage.Prompt == 0 {
		return 0, fmt.Errorf("read the count of tokens: %w", err)
	}
	return answer.Usage.Prompt, nil
}

func (p *player) aligned(ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if ok {
		p.res.Aligned++
	} else {
		p.res.Unaligned++
	}
}

// label notes in the turn under which load it was made.
func (o *one) label(t *Turn) {
	t.Tags, t.Own, t.Config = t.AllTags(), nil, nil
	own := func(name, value string) {
		if value != "" {
			t.Tags[name] = turn.Tag{Value: value, Source: "own"}
		}
	}
	own("load_concurrency", strconv.Itoa(o.p.load.Concurrency[o.Stage]))
	own("load_group", o.w.Name)
	own("load_align", o.aligned)
	if b, ok := t.Tags["batch"]; t.told != "" && (!ok || b.Source == "own") {
		t.Tags["batch"] = turn.Tag{Value: t.told, Source: "header"}
	}
}
