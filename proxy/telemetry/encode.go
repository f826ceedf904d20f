package telemetry

import (
	"math"
	"slices"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"google.golang.org/protobuf/encoding/protowire"
)

// message is one of Protocol Buffers as it goes over the wire. Spans are
// written so at once: the objects that the SDK would make of a turn, and those
// that its exporter would make of these, cost more than all the rest.
type message []byte

func (m *message) bytes(field protowire.Number, b []byte) {
	*m = protowire.AppendBytes(protowire.AppendTag(*m, field, protowire.BytesType), b)
}

func (m *message) text(field protowire.Number, s string) {
	*m = protowire.AppendString(protowire.AppendTag(*m, field, protowire.BytesType), valid(s))
}

func (m *message) number(field protowire.Number, n uint64) {
	*m = protowire.AppendVarint(protowire.AppendTag(*m, field, protowire.VarintType), n)
}

// some adds a number that is above 0.
func (m *message) some(field protowire.Number, n int) {
	if n > 0 {
		m.number(field, uint64(n))
	}
}

func (m *message) fixed32(field protowire.Number, n uint32) {
	*m = protowire.AppendFixed32(protowire.AppendTag(*m, field, protowire.Fixed32Type), n)
}

func (m *message) fixed64(field protowire.Number, n uint64) {
	*m = protowire.AppendFixed64(protowire.AppendTag(*m, field, protowire.Fixed64Type), n)
}

// begin begins a message within this one, and returns where.
func (m *message) begin() int { return len(*m) }

// end makes what was added since a message of its own, as the value of a field.
func (m *message) end(field protowire.Number, at int) {
	var room [16]byte
	*m = slices.Insert(*m, at, head(room[:0], field, len(*m)-at)...)
}

// The fields of OTLP's messages KeyValue, AnyValue and ArrayValue.
const (
	pairKey, pairValue                                       = 1, 2
	valueText, valueYes, valueNumber, valueDouble, valueList = 1, 2, 3, 4, 5
	listEntry                                                = 1
)

// attrs adds attributes to a message, within limits.
type attrs struct {
	to      *message
	field   protowire.Number
	left    int // how many more are taken; below 0: any number
	length  int // of a value that is text, in characters; below 0: any
	dropped int // those beyond the limit
}

// str adds a text, unless it is empty.
func (a *attrs) str(key, value string) {
	if value != "" {
		a.text("", key, value)
	}
}

// text adds one whose key is made of two parts.
func (a *attrs) text(prefix, key, value string) {
	value = a.cut(value)
	if a.begin(prefix, key, field(len(value))) {
		*a.to = appendText(*a.to, value)
	}
}

func (a *attrs) positive(key string, n int64) {
	if n > 0 {
		a.number("", key, n)
	}
}

func (a *attrs) number(prefix, key string, n int64) {
	if a.begin(prefix, key, 1+protowire.SizeVarint(uint64(n))) {
		a.to.number(valueNumber, uint64(n))
	}
}

func (a *attrs) double(key string, f float64) {
	if a.begin("", key, 1+protowire.SizeFixed64()) {
		a.to.fixed64(valueDouble, math.Float64bits(f))
	}
}

func (a *attrs) yes(key string, v bool) {
	if a.begin("", key, 1+1) {
		a.to.number(valueYes, protowire.EncodeBool(v))
	}
}

// known adds one that has been made: a text or a number.
func (a *attrs) known(kv attribute.KeyValue) {
	if kv.Value.Type() == attribute.INT64 {
		a.number("", string(kv.Key), kv.Value.AsInt64())
		return
	}
	a.str(string(kv.Key), kv.Value.AsString())
}

// array adds as many names as there are, up to maxEvents.
func array[T any, N ~string](a *attrs, key string, all []T, name func(*T) N) {
	all = all[:min(len(all), maxEvents)]
	size := 0
	for i := range all {
		size += field(field(len(a.cut(string(name(&all[i]))))))
	}
	if !a.begin("", key, field(size)) {
		return
	}
	*a.to = head(*a.to, valueList, size)
	for i := range all {
		one := a.cut(string(name(&all[i])))
		*a.to = appendText(head(*a.to, listEntry, field(len(one))), one)
	}
}

// begin adds an attribute up to its value, which takes size bytes, if there is
// room for one.
func (a *attrs) begin(prefix, key string, size int) bool {
	if a.left == 0 {
		a.dropped++
		return false
	}
	a.left--
	long := len(prefix) + len(key)
	b := head(*a.to, a.field, field(long)+field(size))
	b = append(append(head(b, pairKey, long), prefix...), key...)
	*a.to = head(b, pairValue, size)
	return true
}

// field is how much a field of ours takes whose value takes size bytes: their
// numbers are below 16.
func field(size int) int { return 1 + protowire.SizeBytes(size) }

// head adds a field up to its value.
func head(b []byte, number protowire.Number, size int) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, number, protowire.BytesType), uint64(size))
}

func appendText(b []byte, s string) []byte { return append(head(b, valueText, len(s)), s...) }

// cut makes a text valid, and no longer than it may be.
func (a *attrs) cut(s string) string {
	if a.length < 0 || len(s) <= a.length {
		return valid(s)
	}
	s = strings.ToValidUTF8(s, "")
	left := a.length
	for i := range s {
		if left == 0 {
			return s[:i]
		}
		left--
	}
	return s
}

// valid makes a text UTF-8: one that is not would cost the whole batch.
func valid(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }
