package sglangtest

import (
	"io"
	"time"
)

// Config says what server is simulated. The zero value of every field is its
// default.
type Config struct {
	// Model is the served model's name. Default "sim/DeepSeek-V4". An answer
	// names the model that its request named, as SGLang does.
	Model string
	// Version is what the server says of itself. Default 0.5.18.
	Version string
	// Parser is the tool call parser, by SGLang's name. Default deepseekv4.
	// It decides how a call is cut into deltas and what leaked markup is.
	Parser string
	// IndexDtype is the type of the index keys: bf16 or fp8. Default bf16.
	IndexDtype string

	DisableCUDAGraph bool // decode without graphs: no padding, bucket 0
	DisableOverlap   bool // one stream, and no fault that needs two

	// Step is the time of one decode step. Zero runs as fast as it can.
	Step time.Duration
	// Prefill is the time to prefill a thousand prompt tokens.
	Prefill time.Duration
	// MaxRunning bounds the batch; more requests wait in a queue. Default 256.
	MaxRunning int
	// Buckets are the batch sizes that graphs were captured for, ascending.
	// Default 1, 2, 4, 8, then every multiple of 8 up to 256.
	Buckets []int
	// KeepAlive is how long an idle connection stays open. Default 5 s.
	KeepAlive time.Duration

	// Plugin adds what the server plugin of this project does: fields of the
	// head that say under which configuration and in which batch an answer
	// began, and the facts of a turn at FactsPath. SGLang itself sends neither.
	Plugin bool
	// KeepTokens adds the token ids of a turn to its facts, as the server plugin
	// does with TURNWATCH_KEEP_TOKENS=1: for callers who show a key of the
	// server (APIKey, AdminAPIKey), and for nobody where it has none. Tokens are
	// then counted as the model's vocabulary has them: pairs of characters, so
	// that turns take about three times as many steps.
	KeepTokens bool
	// Omit names parts of the plugin that are left out: its fields, less their
	// prefix, such as batch-size; facts for the route.
	Omit []string
	// APIKey and AdminAPIKey are wanted of every request but /health, /ping and
	// /metrics, and shown in clear at /server_info, as SGLang does.
	APIKey, AdminAPIKey string
	// StatusLog receives a line each StatusEvery that says which requests share
	// the batch. Default: none, one second.
	StatusLog   io.Writer
	StatusEvery time.Duration
	// LoadsEvery is how many decode steps old the load may be that /v1/loads
	// tells. Default 15, as in SGLang.
	LoadsEvery int

	// Scorer is how a request for log probabilities at /generate is answered.
	Scorer Scorer

	// Seed makes ids and plain texts. Faults take their own.
	Seed uint64
	// Faults strike answers, each at most once an answer.
	Faults []Fault
	// Script answers a request instead of the model. A nil answer leaves the
	// request to the model. It is called from many goroutines.
	Script func(*Request) *Answer
}

func (c Config) withDefaults() Config {
	str := func(p *string, v string) {
		if *p == "" {
			*p = v
		}
	}
	str(&c.Model, "sim/DeepSeek-V4")
	str(&c.Version, "0.5.18")
	str(&c.Parser, "deepseekv4")
	str(&c.IndexDtype, "bf16")
	if c.MaxRunning == 0 {
		c.MaxRunning = 256
	}
	if c.KeepAlive == 0 {
		c.KeepAlive = 5 * time.Second
	}
	if c.StatusEvery == 0 {
		c.StatusEvery = time.Second
	}
	if c.LoadsEvery == 0 {
		c.LoadsEvery = 15
	}
	if c.Buckets == nil {
		c.Buckets = []int{1, 2, 4}
		for n := 8; n <= 256; n += 8 {
			c.Buckets = append(c.Buckets, n)
		}
	}
	return c
}

// bucket returns the padded size of a batch, 0 when no graph is replayed.
func (c *Config) bucket(batch int) int {
	if c.DisableCUDAGraph {
		return 0
	}
	for _, b := range c.Buckets {
		if b >= batch {
			return b
		}
	}
	return 0
}
