package proxy

import (
	"slices"
	"strconv"
	"strings"
)

// head makes the head of the request as an arm gets it: the client's, less what is
// between it and the live server alone.
func (m *mirror) head(a *arm, size int) []byte {
	r := m.asked
	b := append(append(append([]byte(nil), r.method...), ' '), lessCredentials(pathAndQuery(string(r.target)))...)
	b = append(append(b, " HTTP/1.1\r\nHost: "...), a.host...)
	b = append(b, "\r\n"...)
	for line, rest, ok := cutLine(r.block); ok && len(line) > 0; line, rest, ok = cutLine(rest) {
		if name, _ := cutField(line); !m.hop.stays(name) && !private(strings.ToLower(string(name))) {
			b = append(append(b, line...), "\r\n"...)
		}
	}
	if key := a.key(); key != "" {
		b = append(append(append(b, "Authorization: Bearer "...), key...), "\r\n"...)
	}
	b = append(append(append(b, "X-Turnwatch-Arm: "...), a.Arm...), "\r\nContent-Length: "...)
	return append(strconv.AppendInt(b, int64(size), 10), "\r\n\r\n"...)
}

// key is what the arm's requests are authorized with; "" for nothing.
func (a *arm) key() string {
	if a.Key == nil {
		return ""
	}
	return a.Key()
}

// pathAndQuery cuts a target in absolute form, and leaves another as it is.
func pathAndQuery(target string) string {
	_, rest, ok := strings.Cut(target, "://")
	if !ok || strings.HasPrefix(target, "/") {
		return target
	}
	if i := strings.IndexByte(rest, '/'); i >= 0 {
		return rest[i:]
	}
	return "/"
}

// lessCredentials takes out of a target's query what authorizes.
func lessCredentials(target string) string {
	path, query, ok := strings.Cut(target, "?")
	if !ok {
		return target
	}
	all := slices.DeleteFunc(strings.Split(query, "&"), func(p string) bool {
		name, _, _ := strings.Cut(p, "=")
		return strings.EqualFold(name, "key") || credential(strings.ToLower(name))
	})
	if len(all) == 0 {
		return path
	}
	return path + "?" + strings.Join(all, "&")
}

// credential reports whether a field or a parameter, in small letters, holds one, by its
// name: better one too many than a secret that is told.
func credential(name string) bool {
	return slices.ContainsFunc([]string{"auth", "cookie", "token", "secret", "passw", "credential", "signature", "api-key", "api_key", "apikey", "access-key", "subscription-key"},
		func(part string) bool { return strings.Contains(name, part) })
}

// private reports whether a field, in small letters, is not for other arms: it frames the
// live request, authorizes with the live server, belongs to the caller's trace, or asks
// for an encoding that would only have to be undone.
func private(name string) bool {
	switch name {
	case "host", "content-length", "transfer-encoding", "expect", "accept-encoding", "upgrade",
		"x-turnwatch-arm",
		"traceparent", "tracestate", "baggage", "b3", "uber-trace-id", "sentry-trace", "x-cloud-trace-context", "x-amzn-trace-id":
		return true
	}
	return credential(name) || strings.HasPrefix(name, "x-b3-") || strings.HasPrefix(name, "x-datadog-") || strings.HasPrefix(name, "uberctx-")
}
