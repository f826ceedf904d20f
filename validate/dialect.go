package validate

import "turnwatch/validate/wire"

// Judged reports whether requests with this method and path (without query)
// are turns that this package can judge.
func Judged(method, path string) bool {
	_, ok := dialectOf(path)
	return ok && (method == "POST" || method == "PUT" && path == "/generate")
}

// dialectOf is the protocol of a path, and whether it has one. Answers are read
// in the protocol of the path that was asked, whatever they look like: one of
// another protocol is no answer to its client.
func dialectOf(path string) (wire.Dialect, bool) {
	switch path {
	case "/v1/chat/completions", "/invocations":
		return wire.Chat, true
	case "/v1/completions":
		return wire.Completions, true
	case "/generate":
		return wire.Native, true
	case "/vertex_generate":
		return wire.Vertex, true
	case "/v1/responses":
		return wire.Responses, true
	case "/v1/messages":
		return wire.Messages, true
	case "/api/chat":
		return wire.OllamaChat, true
	case "/api/generate":
		return wire.OllamaGenerate, true
	}
	return wire.Chat, false
}
