package proxy

import "bytes"

// request is the head of a request as the client sent it.
type request struct {
	raw                     []byte // lent; the rest lies in it
	method, target, version []byte
	fields                  []byte // the field lines and the empty one
	isHead, isConnect       bool
}

// newRequest reads a head that the guard has taken.
func newRequest(raw []byte) request {
	line, fields, _ := cutLine(raw)
	r := request{raw: raw, fields: fields}
	var rest []byte
	r.method, rest, _ = bytes.Cut(line, []byte{' '})
	r.target, r.version, _ = bytes.Cut(rest, []byte{' '})
	r.isHead, r.isConnect = string(r.method) == "HEAD", string(r.method) == "CONNECT"
	return r
}

// free gives the head's bytes back; what kind of request it was stays known.
func (r *request) free(b *buffers) {
	b.put(r.raw)
	r.raw, r.method, r.target, r.version, r.fields = nil, nil, nil, nil, nil
}

// path returns the path of the target, without its query.
func (r *request) path() []byte {
	target := r.target
	if i := bytes.Index(target, []byte("://")); i > 0 && target[0] != '/' {
		target = target[i+3:]
		target = target[max(0, bytes.IndexByte(target, '/')):]
	}
	path, _, _ := bytes.Cut(target, []byte{'?'})
	return path
}
