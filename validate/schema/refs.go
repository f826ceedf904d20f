package schema

import (
	"encoding/json"
	"net/url"
	"strings"
)

// ref keeps references inside the document and drops all others.
func (m *mender) ref(o map[string]any) {
	r, ok := o["$ref"]
	if !ok {
		return
	}
	m.refs = true
	s, ok := r.(string)
	m.foreign = m.foreign || ok && s != "#" && !strings.HasPrefix(s, "#/")
	if _, found := resolve(m.root, s); !ok || !found {
		m.drop(o, "$ref")
		return
	}
	o["$ref"] = m.renamed(s)
}

// renamed is a reference to where the mended schema has its target.
func (m *mender) renamed(ref string) string {
	steps := strings.Split(ref, "/")
	at := m.root
	for i, step := range steps[1:] {
		o, isObject := at.(map[string]any)
		_, tuple := o["items"].([]any)
		switch {
		case !isObject:
		case step == "items" && tuple:
			steps[i+1] = "prefixItems"
		case step == "additionalItems" && tuple:
			steps[i+1] = "items"
		case step == "dependencies" && m.draft == draft7:
			steps[i+1] = "dependentSchemas"
		}
		at, _ = resolve(at, "#/"+step)
	}
	return strings.Join(steps, "/")
}

// resolve follows a local JSON pointer reference.
func resolve(root any, ref string) (any, bool) {
	if ref == "#" {
		return root, true
	}
	path, ok := strings.CutPrefix(ref, "#/")
	if !ok {
		return nil, false
	}
	at := root
	for _, step := range strings.Split(path, "/") {
		step, err := url.PathUnescape(step)
		if err != nil {
			return nil, false
		}
		step = strings.ReplaceAll(strings.ReplaceAll(step, "~1", "/"), "~0", "~")
		switch c := at.(type) {
		case map[string]any:
			at, ok = c[step]
		case []any:
			at, ok = element(c, step)
		default:
			ok = false
		}
		if !ok {
			return nil, false
		}
	}
	return at, true
}

func element(l []any, step string) (any, bool) {
	var n int
	if json.Unmarshal([]byte(step), &n) != nil || n < 0 || n >= len(l) {
		return nil, false
	}
	return l[n], true
}
