package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"
)

// maxInput is how much of a file is read, as it lies there or inflated.
const maxInput = 1 << 30

var errLarge = fmt.Errorf("larger than the %d MiB that are read of a file: split it", maxInput>>20)

// load returns what is in a file, inflated if it is a gzip. A pipe, which can
// be read once only, is kept: everything is read twice.
func (r *reader) load(path string) ([]byte, error) {
	if data, had := r.pipes[path]; had {
		return data, nil
	}
	info, err := os.Stat(path)
	pipe := path == "-" || err == nil && !info.Mode().IsRegular()
	switch {
	case pipe:
	case err != nil:
		return nil, err
	case info.Size() > maxInput:
		return nil, errLarge
	}
	data, err := r.inflated(path)
	if pipe && err == nil {
		r.pipes[path] = data
	}
	return data, err
}

// inflated reads a file, or the standard input for -.
func (r *reader) inflated(path string) ([]byte, error) {
	in := r.stdin
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		in = f
	}
	data, err := bounded(in)
	if err != nil || !bytes.HasPrefix(data, []byte("\x1f\x8b")) {
		return data, err
	}
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err == nil {
		data, err = bounded(z)
	}
	if err != nil && !errors.Is(err, errLarge) {
		err = fmt.Errorf("inflate it: %w", err)
	}
	return data, err
}

func bounded(in io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(in, maxInput+1))
	if err == nil && len(data) > maxInput {
		err = errLarge
	}
	return data, err
}

// plainName is the name of a file without folders and endings.
func plainName(path string) string {
	name := strings.TrimSuffix(filepath.Base(path), ".gz")
	return strings.TrimSuffix(name, filepath.Ext(name))
}

// ending is the ending of a file's name, that of a gzip left off.
func ending(path string) string { return filepath.Ext(strings.TrimSuffix(path, ".gz")) }

// explain says in plain words why a text is no turn in JSON, where more can be
// said than what its reader says.
func explain(data []byte, err error) error {
	trimmed := bytes.TrimSpace(data)
	switch {
	case len(trimmed) == 0:
		return errors.New("nothing in it")
	case bytes.HasPrefix(data, []byte("\xff\xfe")), bytes.HasPrefix(data, []byte("\xfe\xff")):
		return errors.New("it is UTF-16: convert it to UTF-8")
	case trimmed[0] != '{' && trimmed[0] != '[':
		return fmt.Errorf("neither JSON, nor an HTTP answer, nor events: %w", err)
	case !utf8.Valid(data):
		return notUTF8(data)
	}
	return err
}

// notUTF8 says where a text stops being UTF-8. Bytes that are none would be
// taken for others, and the answer for a damaged one.
func notUTF8(data []byte) error {
	i := 0
	for i < len(data) {
		r, n := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && n == 1 {
			break
		}
		i += n
	}
	return fmt.Errorf(`byte %d is not UTF-8: put bytes that are none into "body_b64", or into a chunk {"b64":…}`, i)
}

// requestOf is the request in a file that -request names: the body of one, or
// a turn in JSON that has one. Another object would pass for a request without
// tools, and convict the server of every call.
func requestOf(data []byte) ([]byte, error) {
	var x map[string]json.RawMessage
	if err := json.Unmarshal(data, &x); err != nil {
		return nil, fmt.Errorf("it is not the JSON of a request: %w", err)
	}
	if x["request"] != nil && x["response"] != nil {
		return x["request"], nil
	}
	asked := []string{"messages", "prompt", "input", "text", "input_ids", "input_embeds", "instances", "tools"}
	if len(x) > 0 && !holds(x, asked) {
		return nil, fmt.Errorf("it is no request: it has none of %s; of evidence the request is in request.body", strings.Join(asked, ", "))
	}
	return data, nil
}

// holds reports whether an object has one of some members.
func holds(object map[string]json.RawMessage, names []string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return object[name] != nil })
}

// other says why JSON without request and response is no turn.
func other(data []byte) error {
	var x map[string]json.RawMessage
	if json.Unmarshal(data, &x) == nil && holds(x, []string{"choices", "output", "stop_reason", "done", "meta_info"}) {
		return errors.New("this is the body of an answer alone: save it with its head, as curl -i writes it, and name the request with -request")
	}
	return errNoTurn
}

// named reads the request that -request names.
func (r *reader) named(path string) ([]byte, error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return nil, errors.New("it is a folder: name the file in it that has the request; of evidence that is request.body")
	}
	data, err := r.load(path)
	if err != nil {
		return nil, err
	}
	return requestOf(data)
}
