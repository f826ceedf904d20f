package sglang

import (
	"bytes"
	"strings"
)

// field is a line of an answer's head that was asked for.
type field struct{ name, value string } // the name in lower case

// matcher says which fields of a head are tags. It does not change.
type matcher struct {
	prefixes []string          // lower case
	names    map[string]string // other fields, in lower case, to tags
	longest  int               // of all these
}

func newMatcher(c *Config) *matcher {
	m := &matcher{names: make(map[string]string, len(c.Headers))}
	for _, p := range c.Prefixes {
		m.prefixes = append(m.prefixes, strings.ToLower(p))
	}
	for header, tag := range c.Headers {
		m.names[strings.ToLower(header)] = tag
		m.longest = max(m.longest, len(header))
	}
	return m
}

// copy copies the lines of a head that are tags: at most maxFields of them, of
// each as much as a tag can hold. It is all that is done on an answer's path.
func (m *matcher) copy(head []byte) (fields []field) {
	for len(head) > 0 && len(fields) < maxFields {
		var line []byte
		line, head, _ = bytes.Cut(head, []byte{'\n'})
		i := bytes.IndexByte(line, ':')
		if i < 1 || !m.wants(line[:i]) {
			continue
		}
		// More than maxValue, so that the end of a character is seen.
		value := bytes.Trim(line[i+1:], " \t\r")
		fields = append(fields, field{
			name:  strings.ToLower(string(line[:min(i, 2*maxName)])),
			value: string(value[:min(len(value), maxValue+8)]),
		})
	}
	return fields
}

func (m *matcher) wants(name []byte) bool {
	for _, p := range m.prefixes {
		if len(name) > len(p) && hasFold(name, p) {
			return true
		}
	}
	if len(name) > m.longest {
		return false
	}
	_, ok := m.names[string(bytes.ToLower(name))]
	return ok
}

// hasFold reports whether name begins with p, which is in lower case.
func hasFold(name []byte, p string) bool {
	for i := range len(p) {
		if c := name[i]; c != p[i] && !('A' <= c && c <= 'Z' && c|0x20 == p[i]) {
			return false
		}
	}
	return true
}

// told is what a head tells, sorted out.
type told struct {
	config []field        // configuration, canonical
	other  []field        // any other tag
	counts map[string]int // batch-size, graph-bucket, queue-depth
	rid    string
	facts  string // path
}

// sort tells the fields apart.
func (m *matcher) sort(fields []field) told {
	var h told
	for _, f := range fields {
		if name, ok := m.names[f.name]; ok {
			h.other = append(h.other, field{name, clean(f.value)})
			continue
		}
		h.add(m.cut(f.name), f.value)
	}
	return h
}

// cut takes the longest prefix off.
func (m *matcher) cut(name string) string {
	rest := name
	for _, p := range m.prefixes {
		if r, ok := strings.CutPrefix(name, p); ok && len(r) < len(rest) {
			rest = r
		}
	}
	return tagName(rest)
}

func (h *told) add(name, raw string) {
	value := clean(raw)
	flag, isFlag := strings.CutPrefix(name, "config_")
	switch {
	case value == "" || secret(name) || flag == "" && isFlag:
	case name == "turn_facts":
		if askable(raw) && h.facts == "" {
			h.facts = strings.TrimRight(raw, "/")
		}
	case name == "batch_size" || name == "graph_bucket" || name == "queue_depth":
		if n, ok := count(value); ok && (n > 0 || name != "batch_size") {
			h.count(name, n)
		}
	case name == "dp_rank":
		if _, ok := count(value); ok {
			h.other = append(h.other, field{name, value})
		}
	case name == "version":
		h.config = append(h.config, field{name, value})
	case isFlag && (flag == "version" || !measured(flag)):
		n, v := canonical(flag, word(flag, value))
		h.config = append(h.config, field{n, v})
	case name == "rid":
		h.rid = value
		h.other = append(h.other, field{name, value})
	case !isFlag && !measured(name):
		h.other = append(h.other, field{name, value})
	}
}

func (h *told) count(name string, n int) {
	if h.counts == nil {
		h.counts = make(map[string]int, 3)
	}
	h.counts[name] = n
}

// askable reports whether a path may be asked for facts: one of the server's
// own, and none that would generate a token.
func askable(path string) bool {
	return len(path) > 1 && len(path) <= maxValue && path[0] == '/' && path[1] != '/' &&
		strings.Trim(strings.ToLower(path), "abcdefghijklmnopqrstuvwxyz0123456789-_./~") == "" &&
		!strings.Contains(path, "..") && !strings.HasPrefix(path, "/health")
}
