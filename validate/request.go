package validate

// Judged reports whether requests with this method and path (without query)
// are turns that this package can judge.
func Judged(method, path string) bool {
	return method == "POST" && (path == "/v1/chat/completions" || path == "/invocations")
}

// Request is what a request allows and contains, as far as a verdict on its
// answer depends on it.
type Request struct {
	Model  string // as the request names it
	Stream bool
}

// ParseRequest reads the body of a request to the given path. It keeps
// nothing of body. An error means that its turn cannot be judged.
func ParseRequest(path string, body []byte) (*Request, error) { return &Request{}, nil }
