package validate

import (
	"math/rand/v2"
	"reflect"
	"testing"

	"turnwatch/validate/wire"
)

// TestFreedCheckersForget judges answers with the memory of others, in changing
// order, and holds the verdicts against those of checkers of their own.
func TestFreedCheckersForget(t *testing.T) {
	all := corpus(t)
	want := make([]string, len(all))
	for i, a := range all {
		own := *a.req
		own.Schemas = NewSchemas(1 << 20)
		want[i] = spelled(t, run(&own, a.head, a.how, a.body))
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 10 * len(all) {
		i := r.IntN(len(all))
		a := all[i]
		if got := spelled(t, run(a.req, a.head, a.how, a.body, r.IntN(400), r.IntN(400), r.IntN(400))); got != want[i] {
			t.Fatalf("%s: got %s, want %s", a.name, got, want[i])
		}
	}
}

// TestRenewedCheckersAreNew looks into every field of what goes on to the next
// turn: nothing but empty lists may be left.
func TestRenewedCheckersAreNew(t *testing.T) {
	for _, a := range corpus(t) {
		c := NewChecker(a.req, a.head)
		c.Feed(3, a.body)
		c.Finish(a.how)
		c.renew()
		left(t, a.name, reflect.ValueOf(c).Elem())
	}
}

func left(t *testing.T, at string, v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			left(t, at+"."+v.Type().Field(i).Name, v.Field(i))
		}
	case reflect.Pointer:
		if !v.IsNil() {
			left(t, at, v.Elem())
		}
	case reflect.Slice:
		if v.Len() > 0 {
			t.Errorf("%s: %d are left", at, v.Len())
		}
		for i := range min(v.Cap(), 64) {
			if e := v.Slice(0, v.Cap()).Index(i); e.Type() != reflect.TypeFor[byte]() && e.Type() != reflect.TypeFor[wire.Odd]() && !e.IsZero() {
				t.Errorf("%s: element %d is left behind the end", at, i)
			}
		}
	case reflect.Map:
		if v.Len() > 0 {
			t.Errorf("%s: %d are left", at, v.Len())
		}
	default:
		if !v.IsZero() {
			t.Errorf("%s: %v is left", at, v)
		}
	}
}

// TestTrackFindsInAnyOrder asks a track that remembers where it was, and new ones.
func TestTrackFindsInAnyOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	var all track
	at := int64(0)
	for range 300 {
		at += r.Int64N(50)
		all.stretch(r.IntN(4), at, r.IntN(3) == 0)
		i := r.Int64N(all.dec + 2)
		anew := track{buf: all.buf, dec: all.dec, at: all.at}
		if got, want := all.find(i), anew.find(i); got != want {
			t.Fatalf("byte %d of %d: got %d, want %d", i, all.dec, got, want)
		}
	}
}
