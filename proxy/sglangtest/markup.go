package sglangtest

import (
	_ "embed"
	"encoding/json"
	"strings"
)

// markupJSON holds, for each parser, a call of get_weather with a city, Paris,
// in the markup of its models, and what ends it.
//
//go:embed markup.json
var markupJSON []byte

type markup struct {
	Good       string `json:"good"`
	Terminator string `json:"terminator"`
	AliasOf    string `json:"alias_of"`
}

// markupOf returns the markup that a parser reads, deepseekv4's for a parser
// that is not known.
func markupOf(parser string) markup {
	var all map[string]markup
	if err := json.Unmarshal(markupJSON, &all); err != nil {
		panic("sglangtest: read the embedded markup: " + err.Error())
	}
	if alias := all[parser].AliasOf; alias != "" {
		parser = alias
	}
	if m, ok := all[parser]; ok {
		return m
	}
	return all["deepseekv4"]
}

// write returns a call in the markup. Where a family writes parameters one by
// one, the first stands for all.
func (m markup) write(name, args string) string {
	const sample = `{"city": "Paris"}`
	s := strings.ReplaceAll(m.Good, "get_weather", name)
	if strings.Contains(s, sample) {
		return strings.Replace(s, sample, args, 1)
	}
	var all map[string]any
	json.Unmarshal([]byte(args), &all) // no object has no parameters
	for k, v := range all {
		text, ok := v.(string)
		if !ok {
			continue
		}
		return strings.Replace(strings.ReplaceAll(s, "city", k), "Paris", text, 1)
	}
	return s
}
