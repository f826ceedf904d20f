package sglang

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// Bounds of what a server may tell.
const (
	maxTags   = 400 // a turn: more than all of the below and what is polled
	maxFields = 128 // a head
	maxLabels = 64  // declared, and as many in a file
	maxName   = 96
	maxValue  = 256
	maxCount  = 1 << 20 // requests in a batch or a queue
)

// tagName makes a tag's name of a header's, less its prefix, or of a field's.
func tagName(s string) string {
	b := []byte(s[:min(len(s), maxName)])
	for i, c := range b {
		switch {
		case 'A' <= c && c <= 'Z':
			b[i] = c + 'a' - 'A'
		case 'a' <= c && c <= 'z', '0' <= c && c <= '9', c == '.':
		default:
			b[i] = '_'
		}
	}
	return string(b)
}

// clean makes a value safe for a line of a journal, a label and a log: valid
// UTF-8 without control characters, and not too long.
func clean(s string) string {
	end := min(len(s), maxValue)
	for end > 0 && end < len(s) && !utf8.RuneStart(s[end]) {
		end--
	}
	s = strings.Map(func(r rune) rune {
		if r < ' ' || 0x7f <= r && r < 0xa0 || r == '\u2028' || r == '\u2029' {
			return '\uFFFD'
		}
		return r
	}, strings.ToValidUTF8(s[:end], "\uFFFD"))
	return strings.TrimSpace(s)
}

// count reads a number of requests. A lie, negative, huge or no number, is not
// taken.
func count(s string) (int, bool) {
	n, err := strconv.Atoi(strings.TrimSpace(s))
	return n, err == nil && plausible(n)
}

func plausible(n int) bool { return 0 <= n && n <= maxCount }

// measured reports whether a tag's value is found out a turn, so that nobody
// may declare it.
func measured(name string) bool {
	switch name {
	case "rid", "dp_rank", "version", "retractions", "peers", "batch_steps":
		return true
	}
	for _, p := range []string{"batch", "graph_bucket", "queue", "own_batch"} {
		if name == p || strings.HasPrefix(name, p+"_at_") || p == "own_batch" && strings.HasPrefix(name, p+"_") {
			return true
		}
	}
	return false
}

// secret reports whether a name looks like that of something which must not be
// kept, should a server be so careless as to send it.
func secret(name string) bool {
	for _, s := range []string{"api_key", "apikey", "secret", "password", "passwd", "credential", "authorization", "cookie", "bearer"} {
		if strings.Contains(name, s) {
			return true
		}
	}
	return false
}

// canonical gives a configuration tag the name that it has whatever source it
// is from: a flag that switches something off is told as the state of the
// thing.
func canonical(name, value string) (string, string) {
	switch name {
	case "disable_cuda_graph":
		return "cuda_graph", opposite(value)
	case "disable_overlap_schedule": // of the scheduler; overlap is that of two streams
		return "overlap_schedule", opposite(value)
	case "dsa_indexer_dtype", "qsa_indexer_dtype":
		return "index_dtype", value
	}
	return name, value
}

// word reads a value that came as text: booleans become on and off, and what is
// known to be nothing none. 1 and 0 are booleans unless the name is that of a
// number.
func word(name, v string) string {
	switch strings.ToLower(v) {
	case "true", "on":
		return "on"
	case "false", "off":
		return "off"
	case "null", "none":
		return "none"
	}
	switch {
	case v == "1" && !number(name):
		return "on"
	case v == "0" && !number(name):
		return "off"
	}
	return v
}

// number reports whether a configuration tag counts something.
func number(name string) bool {
	for _, s := range []string{"_size", "_seed", "_interval", "_bs", "_rank", "_steps", "_topk", "_requests", "_static", "_level", "_fraction", "_limit", "_tokens"} {
		if strings.HasSuffix(name, s) {
			return true
		}
	}
	return strings.HasPrefix(name, "num_") || strings.Contains(name, "_num_") || strings.Contains(name, "max_")
}

func opposite(v string) string {
	switch v {
	case "on":
		return "off"
	case "off":
		return "on"
	}
	return v
}
