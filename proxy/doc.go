// Package proxy relays and watches.
package proxy
