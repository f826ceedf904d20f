//go:build e2e

package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
)

// value is an attribute's, of whichever type.
type value struct {
	String string `json:"stringValue"`
	Int    string `json:"intValue"`
	Bool   *bool  `json:"boolValue"`
	Array  struct{ Values []value }
}

// attributes are those of a span or an event, by their keys.
type attributes map[string]value

func (a *attributes) UnmarshalJSON(b []byte) error {
	var list []struct {
		Key   string
		Value struct {
			value
			Array struct{ Values []value } `json:"arrayValue"`
		}
	}
	err := json.Unmarshal(b, &list)
	*a = attributes{}
	for _, kv := range list {
		v := kv.Value.value
		v.Array = kv.Value.Array
		(*a)[kv.Key] = v
	}
	return err
}

// span is one of the Collector's file.
type span struct {
	TraceID    string
	Name       string
	Kind       int
	Attributes attributes
	Events     []struct {
		Name       string
		Attributes attributes
	}
	Links []struct{ TraceID string }
}

// spans reads a file of traces. A line that is being written is left out.
func spans(file string) (all []span, err error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	for line := range bytes.Lines(b) {
		if !bytes.HasSuffix(line, []byte("\n")) {
			break
		}
		var batch struct {
			ResourceSpans []struct {
				ScopeSpans []struct{ Spans []span }
			}
		}
		if err := json.Unmarshal(line, &batch); err != nil {
			return nil, err
		}
		for _, r := range batch.ResourceSpans {
			for _, s := range r.ScopeSpans {
				all = append(all, s.Spans...)
			}
		}
	}
	return all, nil
}

// byTurn returns the spans of turns by the id of the turn.
func byTurn(all []span) map[string]span {
	m := map[string]span{}
	for _, s := range all {
		if id := s.Attributes["turnwatch.turn.id"].String; id != "" {
			m[id] = s
		}
	}
	return m
}

// record is a turn of the journal.
type record struct {
	ID, Verdict, Arm, Fingerprint string
	Type                          string
	Tags                          map[string]struct{ V string }
	Findings                      []struct{ Kind string }
}

// journal reads the turns of a journal.
func journal(file string) (all []record, err error) {
	names, err := filepath.Glob(file + "*")
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		for s := bufio.NewScanner(bytes.NewReader(b)); s.Scan(); {
			var r record
			if err := json.Unmarshal(s.Bytes(), &r); err == nil && r.Type == "" {
				all = append(all, r)
			}
		}
	}
	return all, err
}
