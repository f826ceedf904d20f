package validate

import (
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/tidwall/gjson"

	"turnwatch/validate/echo"
)

// TestComparedValuesAreThoseOfTheArguments: which values are compared, under
// which parameter and where they begin, as gjson has them.
func TestComparedValuesAreThoseOfTheArguments(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	e := NewEchoes(1 << 20)
	c := &Checker{req: &Request{Model: "m"}}
	for range 3000 {
		args, err := json.MarshalIndent(someObject(r, 4), "", []string{"", "\t"}[r.IntN(2)])
		if err != nil {
			t.Fatal(err)
		}
		got := comparison{c: c, e: e, k: &call{args: args}, desk: new(desk)}
		want := comparison{c: c, e: e, k: got.k, desk: new(desk)}
		got.value(0, len(args), 0)
		byGJSON(&want, gjson.ParseBytes(args))
		if !reflect.DeepEqual(got.all, want.all) || !reflect.DeepEqual(got.values, want.values) {
			t.Fatalf("%s: got %+v %+v, want %+v %+v", args, got.values, got.all, want.values, want.all)
		}
	}
}

// byGJSON takes in a value of the arguments and those in it.
func byGJSON(w *comparison, v gjson.Result) {
	switch {
	case v.IsObject(), v.IsArray():
		v.ForEach(func(key, member gjson.Result) bool {
			was := len(w.path)
			w.path = append(append(w.path, '/'), key.Str...)
			byGJSON(w, member)
			w.path = w.path[:was]
			return true
		})
	case v.Type == gjson.Number:
		w.add(echo.Value{Text: []byte(v.Raw), Number: true}, v.Index, true)
	case v.Type == gjson.String:
		w.add(echo.Value{Text: []byte(v.Str)}, v.Index+1, len(v.Str)+2 == len(v.Raw))
	}
}

func someValue(r *rand.Rand, depth int) any {
	texts := []string{"", "plain-1", "two words 2026", "a \"quote\"", "back\\slash99", "é – 日本", "\x00\n", "x@y.dev"}
	switch n := r.IntN(8); {
	case n == 0 && depth > 0:
		return []any{someValue(r, depth-1), someValue(r, depth-1), []any{}}
	case n <= 2 && depth > 0:
		return someObject(r, depth-1)
	case n == 3:
		return []any{nil, true, 12, -3.5e-7, 1e21}[r.IntN(5)]
	}
	return texts[r.IntN(len(texts))] + texts[r.IntN(len(texts))]
}

func someObject(r *rand.Rand, depth int) map[string]any {
	all := map[string]any{}
	for range r.IntN(4) {
		all[[]string{"a", "b c", "d\"e", "é\n", ""}[r.IntN(5)]] = someValue(r, depth)
	}
	return all
}
