package evidence

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// words are those of the protocols and of the markup of calls, which tell what
// went wrong and nothing of what was said.
const words = " " +
	"data event id retry object choices delta index tool_calls tool_call tool_response tools function function_call " +
	"functions name names arguments parameters parameter param content reasoning_content reasoning role assistant " +
	"user system developer tool type text string number integer finish_reason stop_reason matched_stop stop length " +
	"logprobs usage prompt_tokens completion_tokens total_tokens model created message messages error code null " +
	"true false chat completion chunk response output output_text output_index content_index item item_id status " +
	"completed in_progress partial_json input input_json_delta text_delta thinking_delta content_block " +
	"content_block_start content_block_delta content_block_stop message_start message_delta message_stop tool_use " +
	"meta_info output_ids done done_reason think thinking analysis commentary final channel constrain json " +
	"recipient start end begin header_id eot_id eom_id im_start im_end im_sep calls sep invoke args arg_key " +
	"arg_value DSML python_tag section action call "

// known reports whether a word is one of them.
func known(word []byte) bool {
	return strings.Contains(words, " "+string(word)+" ")
}

// shape masks everything but punctuation, control characters, U+FFFD and the
// words of the protocols.
func shape(t *text, from, to int) {
	b := t.b[from:to]
	for i := 0; i < len(b); {
		n := 0
		for i+n < len(b) && letter(b[i+n]) {
			n++
		}
		switch r, size := utf8.DecodeRune(b[i:]); {
		case n > 0:
			if !known(b[i : i+n]) {
				t.cover(from+i, from+i+n)
			}
		case r == utf8.RuneError || b[i] < utf8.RuneSelf && (b[i] < '0' || b[i] > '9'):
			n = size
		default:
			n = size
			t.cover(from+i, from+i+n)
		}
		i += n
	}
}

func letter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' || c == '_' }

// shapeOf returns the shape of b alone.
func shapeOf(b []byte) []byte {
	file := newFile(b)
	shape(file, 0, len(b))
	out, _ := file.masked()
	return out
}

// plainFields are those of heads that concern the protocol alone, besides
// those that begin as plainPrefix does.
const plainFields = " " +
	"accept accept-encoding cache-control connection content-encoding content-length content-type date expect " +
	"keep-alive server te trailer transfer-encoding upgrade user-agent x-accel-buffering "

const plainPrefix = "x-sglang-"

// secretWords are parts of the names of fields that hold credentials.
func secretWords() []string {
	return []string{"auth", "cookie", "key", "token", "secret", "password", "passwd", "credential", "signature"}
}

// withheld stands for a credential.
const withheld = "[withheld]"

// head masks the head of a message. Credentials are never kept; without bodies
// the values of fields that may name somebody are not either.
func (m *masker) head(b []byte, bodies bool) ([]byte, bool) {
	var out bytes.Buffer
	masked, first := false, true
	for line := range bytes.Lines(b) {
		text, end := line, ""
		if i := bytes.IndexAny(line, "\r\n"); i >= 0 {
			text, end = line[:i], string(line[i:])
		}
		kept, changed := m.field(string(text), bodies, first)
		masked, first = masked || changed, false
		out.WriteString(kept + end)
	}
	return out.Bytes(), masked
}

// field masks a line of a head. changed tells of redaction alone.
func (m *masker) field(line string, bodies, start bool) (kept string, changed bool) {
	name, value, isField := strings.Cut(line, ":")
	lower := strings.ToLower(name)
	switch {
	case start:
		line = startLine(line, bodies)
	case !isField:
	case credential(lower):
		return name + ": " + withheld, false
	case !bodies && !plainField(lower):
		line = name + ":" + string(blankAll(value))
	}
	kept = m.line(line)
	return kept, kept != line
}

// startLine masks the query of a request line, which may hold credentials too.
func startLine(line string, bodies bool) string {
	path, rest, ok := strings.Cut(line, "?")
	if !ok {
		return line
	}
	query, version, _ := strings.Cut(rest, " ")
	if !bodies {
		return path + " " + version
	}
	all := strings.Split(query, "&")
	for i, p := range all {
		if name, _, ok := strings.Cut(p, "="); ok && credential(strings.ToLower(name)) {
			all[i] = name + "=" + withheld
		}
	}
	return path + "?" + strings.Join(all, "&") + " " + version
}

func plainField(name string) bool {
	return strings.Contains(plainFields, " "+name+" ") || strings.HasPrefix(name, plainPrefix)
}

// credential reports whether a field holds one, by its name.
func credential(name string) bool {
	for _, w := range secretWords() {
		if strings.Contains(name, w) {
			return true
		}
	}
	return false
}

// blankAll masks everything but spaces and punctuation.
func blankAll(s string) []byte {
	b := []byte(s)
	for i, c := range b {
		if letter(c) || '0' <= c && c <= '9' || c >= utf8.RuneSelf {
			b[i] = blank(c)
		}
	}
	return b
}
