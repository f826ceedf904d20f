package schema

import (
	"maps"
	"strings"
)

// draft is the dialect that a schema says it is written in.
type draft uint8

const (
	unstated  draft = iota // draft 2020-12, which is what SGLang takes all for
	draft7                 // or older
	draft2019              // 2019-09
	draft2020              // 2020-12
)

// dialect is the draft that a schema names.
func dialect(doc any) draft {
	o, _ := doc.(map[string]any)
	s, _ := o["$schema"].(string)
	_, s, _ = strings.Cut(strings.TrimSuffix(s, "#"), "://")
	switch s {
	case "json-schema.org/draft-07/schema", "json-schema.org/draft-06/schema", "json-schema.org/draft-04/schema":
		return draft7
	case "json-schema.org/draft/2019-09/schema":
		return draft2019
	case "json-schema.org/draft/2020-12/schema":
		return draft2020
	}
	return unstated
}

// newer are the keywords that draft 7 does not know.
func newer() []string {
	return []string{
		"prefixItems", "dependentRequired", "dependentSchemas", "minContains", "maxContains",
		"unevaluatedItems", "unevaluatedProperties", "$recursiveRef", "$dynamicRef",
	}
}

// older rewrites what older drafts say otherwise.
func (m *mender) older(o map[string]any) {
	switch m.draft {
	case draft7:
		for _, k := range newer() {
			delete(o, k)
		}
		if _, ok := o["$ref"].(string); ok {
			maps.DeleteFunc(o, func(k string, _ any) bool { return k != "$ref" && k != "definitions" && k != "$defs" })
		}
		m.dependencies(o)
	case draft2019:
		delete(o, "prefixItems")
		delete(o, "$dynamicRef")
	}
	delete(o, "dependencies")
	if tuple, ok := o["items"].([]any); ok {
		delete(o, "items")
		if rest, ok := o["additionalItems"]; ok {
			o["items"] = rest
		}
		if len(tuple) > 0 {
			o["prefixItems"] = tuple
		}
	}
	delete(o, "additionalItems")
}

// dependencies takes the two sorts apart.
func (m *mender) dependencies(o map[string]any) {
	all, ok := o["dependencies"].(map[string]any)
	if !ok {
		return
	}
	names, schemas := map[string]any{}, map[string]any{}
	for k, v := range all {
		if _, isList := v.([]any); isList {
			names[k] = v
		} else {
			schemas[k] = v
		}
	}
	o["dependentRequired"], o["dependentSchemas"] = names, schemas
}
