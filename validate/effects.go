package validate

import (
	"slices"

	"github.com/tidwall/gjson"
)

// HasEffects reports whether a request does more on the server than make an answer, or
// needs what only the server holds that it was sent to: it is not to be sent elsewhere, or
// again. One that names a field twice may do either, for readers differ in which they take.
func HasEffects(path string, body []byte) bool {
	of, once := fieldsOf(gjson.ParseBytes(body))
	if !once {
		return true
	}
	set := func(names ...string) bool {
		return slices.ContainsFunc(names, func(n string) bool { v := of[n]; return v.Exists() && v.Type != gjson.Null && v.Type != gjson.False })
	}
	switch path {
	case "/v1/responses": // stores unless told not to
		return !(of["store"].Type == gjson.False) || set("background", "previous_response_id", "conversation") || foreignTools(of["tools"], "function", "custom")
	case "/v1/messages":
		return set("mcp_servers", "container") || foreignTools(of["tools"], "", "custom", "bash_", "text_editor_", "computer_", "memory_")
	case "/generate", "/vertex_generate":
		return set("session_params")
	}
	return set("store", "background", "web_search_options") || foreignTools(of["tools"], "function", "custom")
}

// fieldsOf returns the fields of an object, and whether each is there once.
func fieldsOf(object gjson.Result) (of map[string]gjson.Result, once bool) {
	of, once = map[string]gjson.Result{}, true
	if !object.IsObject() {
		return of, true
	}
	object.ForEach(func(name, v gjson.Result) bool {
		once = once && !of[name.String()].Exists()
		of[name.String()] = v
		return once
	})
	return of, once
}

// foreignTools reports whether there is a tool that the server runs itself, or that may be
// one: whose type is none of these, and begins with none that ends in an underscore.
func foreignTools(tools gjson.Result, client ...string) (found bool) {
	if tools.Type == gjson.Null {
		return false
	}
	tools.ForEach(func(_, tool gjson.Result) bool {
		of, once := fieldsOf(tool)
		kind := of["type"].String()
		found = !once || !slices.ContainsFunc(client, func(c string) bool {
			return kind == c || len(c) > 0 && c[len(c)-1] == '_' && len(kind) > len(c) && kind[:len(c)] == c
		})
		return !found
	})
	return found
}
