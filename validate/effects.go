package validate

import (
	"slices"

	"github.com/tidwall/gjson"
)

// HasEffects reports whether a request does more on the server than make an answer, or
// needs what only the server holds that it was sent to: it is not to be sent elsewhere, or
// again.
func HasEffects(path string, body []byte) bool {
	get := func(name string) gjson.Result { return gjson.GetBytes(body, name) }
	set := func(names ...string) bool {
		return slices.ContainsFunc(names, func(n string) bool { v := get(n); return v.Exists() && v.Type != gjson.Null && v.Type != gjson.False })
	}
	switch path {
	case "/v1/responses": // stores unless told not to
		return !(get("store").Type == gjson.False) || set("background", "previous_response_id", "conversation") || foreignTools(get("tools"), "function", "custom")
	case "/v1/messages":
		return set("mcp_servers", "container") || foreignTools(get("tools"), "", "custom", "bash_", "text_editor_", "computer_", "memory_")
	case "/generate", "/vertex_generate":
		return set("session_params")
	}
	return set("store", "background", "web_search_options") || foreignTools(get("tools"), "function", "custom")
}

// foreignTools reports whether there is a tool that the server runs itself: one whose
// type is none of these, and begins with none that ends in an underscore.
func foreignTools(tools gjson.Result, client ...string) (found bool) {
	tools.ForEach(func(_, tool gjson.Result) bool {
		kind := tool.Get("type").String()
		found = !slices.ContainsFunc(client, func(c string) bool {
			return kind == c || len(c) > 0 && c[len(c)-1] == '_' && len(kind) > len(c) && kind[:len(c)] == c
		})
		return !found
	})
	return found
}
