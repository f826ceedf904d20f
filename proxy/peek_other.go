//go:build !unix

package proxy

// clean reports whether the idle connection may be used again. Where the
// socket cannot be asked, it may not.
func (up *upConn) clean() bool { return false }
