package schema

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
)

// tell spells the outcome of a check: the status if it is not Ready, else the
// violations as class and pointer, sorted.
func tell(params, args string) string {
	s := Compile([]byte(params))
	found, st := s.Check([]byte(args), NewBudget())
	switch st {
	case TooComplex:
		return "too complex"
	case Unusable:
		return "unusable"
	}
	classes := []string{"other", "required", "type", "value", "additional"}
	var out []string
	for _, v := range found {
		t := classes[v.Class] + " /" + strings.TrimPrefix(v.Pointer, "/")
		if v.At < 0 {
			t = classes[v.Class] + " by the library /" + strings.Join(v.Path, "/") + v.Key
		}
		if v.Minor {
			t += " minor"
		}
		out = append(out, t)
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}

func TestCheck(t *testing.T) {
	f := func(params, args, want string) {
		t.Helper()
		if got := tell(params, args); got != want {
			t.Errorf("%s on %s: got %q, want %q", params, args, got, want)
		}
	}
	for _, any := range []string{``, `null`, `{}`, `true`} {
		f(any, `{"a":1}`, "")
	}
	const obj = `{"type":"object","required":["a"],"properties":{"a":{"type":"integer","minimum":1},"b":{"enum":["x","y"]},"c":{"pattern":"^[a-z]+$"}},"additionalProperties":false}`
	f(obj, `{"a":1,"b":"x","c":"q"}`, "")
	f(obj, `{"a":3.0}`, "")
	f(obj, `{"a":2e2}`, "")
	f(obj, `{"a":9223372036854775807}`, "")
	f(obj, `{}`, "required /a")
	f(obj, `{"a":"1"}`, "type /a minor")
	f(obj, `{"a":"one"}`, "type /a")
	f(obj, `{"a":0}`, "value /a")
	f(obj, `{"a":1,"b":"z","c":"Q"}`, "value /b, value /c")
	f(obj, `{"a":1,"d":2,"e":3}`, "additional /*, additional /*")
	f(`{"const":{"a":1.0}}`, `{"a":1}`, "")

	// Alternatives tell what was meant.
	f(`{"properties":{"z":{"anyOf":[{"type":"string"},{"type":"null"}]}}}`, `{"z":1}`, "type /z")
	f(`{"properties":{"z":{"anyOf":[{"type":"object","required":["k"]},{"type":"null"}]}}}`, `{"z":{}}`, "required /z/k")
	f(`{"properties":{"z":{"oneOf":[{"const":1},{"minimum":5}]}}}`, `{"z":3}`, "value /z")
	f(`{"properties":{"z":{"anyOf":[{"required":["k"]},{"maxProperties":0}]}}}`, `{"z":{"a":1}}`, "other /z")
	f(`{"not":{"required":["a"]}}`, `{"a":1}`, "other /")
	f(`{"if":{"required":["a"]},"then":{"required":["b"]}}`, `{"a":1}`, "required /b")
	f(`{"dependentRequired":{"a":["b"]}}`, `{"a":1}`, "required /b")
	f(`{"propertyNames":{"maxLength":1}}`, `{"ab":1}`, "value /")
	f(`{"properties":{"a":false}}`, `{"a":1}`, "additional /a")

	// References stay inside.
	f(`{"properties":{"e":{"$ref":"#/$defs/E"}},"$defs":{"E":{"type":"object"}}}`, `{"e":"{}"}`, "type /e")
	f(`{"properties":{"e":{"$ref":"#/definitions/E"}},"definitions":{"E":{"type":"object"}}}`, `{"e":1}`, "type /e")
	f(`{"properties":{"e":{"$ref":"#/$defs/None"}}}`, `{"e":1}`, "")
	f(`{"properties":{"e":{"$ref":"http://127.0.0.1:1/x"}}}`, `{"e":1}`, "")
	f(`{"properties":{"e":{"$ref":"file:///etc/passwd"}}}`, `{"e":1}`, "")
	f(`{"$schema":"file:///etc/passwd","$id":"http://x/","type":"object"}`, `[]`, "type /")
	f(`{"properties":{"n":{"$ref":"#"}},"required":["v"]}`, `{"v":1,"n":{"v":2,"n":{}}}`, "required /n/n/v")

	f(`{"allOf":[{"$ref":"other.json"}],"unevaluatedProperties":false}`, `{"e":1}`, "unusable")
	f(`{"properties":{"n":{"not":{"$ref":"#/$defs/N"}}},"$defs":{"N":{"pattern":"(?=a)"}}}`, `{"n":"x"}`, "unusable")

	// Sloppy schemas are read as the server reads them.
	f(`{"type":"dict","properties":{"n":{"type":"int32"},"s":{"type":"varchar(255)"},"l":{"type":"List[str]"}}}`, `{"n":"x","s":1,"l":2}`, "type /l, type /n, type /s")
	f(`{"properties":{"s":{"pattern":"^[[:alpha:]]+$"},"t":{"pattern":"^[a-z&&[^b]]+$"}}}`, `{"s":"ab","t":"ac"}`, "")
	f(`{"properties":{"n":{"type":"any"},"m":{"type":"interval"}}}`, `{"n":1,"m":[]}`, "")
	f(`{"properties":{"n":{"type":"string","nullable":true,"enum":["a"]}}}`, `{"n":null}`, "")
	f(`{"properties":{"n":{"minimum":1,"exclusiveMinimum":true}}}`, `{"n":1}`, "value /n")
	f(`{"properties":{"n":{"required":true}},"required":null}`, `{}`, "")
	f(`{"properties":null}`, `{}`, "")
	f(`{"properties":{"n":{"items":[{"type":"string"},{"type":"number"}]}}}`, `{"n":["a","b"]}`, "type /n/1")
	f(`{"enum":[]}`, `{}`, "")
	f(`{"properties":{"n":{"format":"date-time"}}}`, `{"n":"yesterday"}`, "")

	// Patterns that cannot be held are no violation, wherever they stand.
	for _, p := range []string{`(?>a)b`, `\\Aa(?=b)`, `(?P<x>y)(?P=x)`} {
		f(`{"properties":{"p":{"pattern":"`+p+`"}}}`, `{"p":"zzz"}`, "")
		f(`{"properties":{"p":{"not":{"pattern":"`+p+`"}}}}`, `{"p":"zzz"}`, "")
		f(`{"properties":{"p":{"oneOf":[{"pattern":"`+p+`"},{"type":"string"}]}}}`, `{"p":"zzz"}`, "")
		f(`{"patternProperties":{"`+p+`":{"type":"number"}},"additionalProperties":false}`, `{"p":"zzz"}`, "")
	}

	// Those that RE2 does not know are held by another engine.
	f(`{"properties":{"p":{"pattern":"(?=a)b"}}}`, `{"p":"zzz"}`, "value /p")
	f(`{"properties":{"p":{"pattern":"^[a-z-]+(?<!-)$"}}}`, `{"p":"a-"}`, "value /p")
	f(`{"properties":{"p":{"pattern":"^[a-z-]+(?<!-)$"}}}`, `{"p":"a-b"}`, "")
	f(`{"properties":{"p":{"not":{"pattern":"(.)\\1"}}}}`, `{"p":"abba"}`, "value /p")
	f(`{"properties":{"p":{"not":{"pattern":"(.)\\1"}}}}`, `{"p":"abab"}`, "")
	f(`{"properties":{"p":{"oneOf":[{"pattern":"(?<=a)b"},{"pattern":"b"}]}}}`, `{"p":"ab"}`, "other /p")
	f(`{"properties":{"p":{"oneOf":[{"pattern":"(?<=a)b"},{"pattern":"b"}]}}}`, `{"p":"b"}`, "")
	f(`{"patternProperties":{"(?<=x)y$":{"type":"number"}},"additionalProperties":false}`, `{"xy":"a"}`, "type /*")
	f(`{"patternProperties":{"(?<=x)y$":{"type":"number"}},"additionalProperties":false}`, `{"xy":1}`, "")
	f(`{"patternProperties":{"(?<=x)y$":{"type":"number"}},"additionalProperties":false}`, `{"zy":1}`, "additional /*")
	f(`{"properties":{"p":{"$ref":"#/$defs/p"}},"$defs":{"p":{"items":{"pattern":"(?<!a)b$"}}}}`, `{"p":["b","ab"]}`, "value /p/1")
	f(`{"properties":{"p":{"pattern":"(.)\\1"}}}`, `{"p":"\uD83D\uDE00😀"}`, "")
	f(`{"properties":{"p":{"pattern":"^\\u0041\\d\\/\\s[\\s]$"}}}`, `{"p":"A1/\u00a0\ufeff"}`, "")
	f(`{"properties":{"p":{"pattern":"^[^]$"}}}`, `{"p":"ab"}`, "value /p")

	f(`{"properties":{"a":{"items":{"properties":{"x":{}}},"allOf":[{"prefixItems":[{}],"items":false}]}}}`, `{"a":[{"y":{"z":1}},[]]}`, "additional /a")

	// Lookaheads at the beginning are other patterns.
	f(`{"properties":{"p":{"pattern":"^(?!\\s*$).+"}}}`, `{"p":"  "}`, "value /p")
	f(`{"properties":{"p":{"pattern":"^(?!\\s*$).+"}}}`, `{"p":" x"}`, "")
	f(`{"properties":{"p":{"pattern":"^(?!\\s*$).+"}}}`, `{"p":1}`, "")
	f(`{"properties":{"p":{"pattern":"^(?=.*[A-Z)])(?=.*\\d)(?!.*(?:a|b)c).{3,}$"}}}`, `{"p":"xA1"}`, "")
	f(`{"properties":{"p":{"pattern":"^(?=.*[A-Z)])(?=.*\\d)(?!.*(?:a|b)c).{3,}$"}}}`, `{"p":"xa1"}`, "value /p")
	f(`{"properties":{"p":{"pattern":"^(?=.*[A-Z)])(?=.*\\d)(?!.*(?:a|b)c).{3,}$"}}}`, `{"p":"A1bc"}`, "value /p")
	f(`{"properties":{"p":{"pattern":"^(?=x)?y"}}}`, `{"p":"z"}`, "")
	f(`{"properties":{"p":{"pattern":"^(?=x)y|z"}}}`, `{"p":"q"}`, "value /p")
	f(`{"properties":{"p":{"pattern":"^(?=x)y|z"}}}`, `{"p":"z"}`, "")

	f(`{"type":"object","properties":{"a":{"minLength":"x"}}}`, `{}`, "unusable")
	f(`7`, `{}`, "")
	f(`{`, `{}`, "unusable")
}

func TestNeedsAndDeclares(t *testing.T) {
	f := func(params string, want bool) {
		t.Helper()
		if got := Compile([]byte(params)).Needs(); got != want {
			t.Errorf("%s: got %v, want %v", params, got, want)
		}
	}
	f(`{}`, false)
	f(`{"properties":{"a":{}}}`, false)
	f(`{"required":["a"]}`, true)
	f(`{"allOf":[{"required":["a"]}]}`, true)
	f(`{"$ref":"#/$defs/A","$defs":{"A":{"required":["a"]}}}`, true)
	s := Compile([]byte(`{"properties":{"a":{"properties":{"b":{}}}},"required":["c"]}`))
	for name, want := range map[string]bool{"a": true, "b": true, "c": true, "d": false} {
		if got := s.Declares(name); got != want {
			t.Errorf("declares %s: got %v, want %v", name, got, want)
		}
	}
}

func TestWrapped(t *testing.T) {
	const params = `{"type":"object","required":["a"],"properties":{"a":{"type":"integer"}},"additionalProperties":false}`
	f := func(params, args string, want bool) {
		t.Helper()
		if got := Compile([]byte(params)).Wrapped([]byte(args), NewBudget()); got != want {
			t.Errorf("%s: got %v, want %v", args, got, want)
		}
	}
	f(params, `{"arguments":{"a":1}}`, true)
	f(params, `{"input":{"a":1}}`, true)
	f(params, `{"arguments":"{\"a\":1}"}`, true)
	f(params, `{"arguments":{"a":"x"}}`, false)
	f(params, `{"arguments":{"a":1},"b":2}`, false)
	f(params, `{"args":{"a":1}}`, false)
	f(params, `{"arguments":"1"}`, false)
	f(`{"required":["a"],"properties":{"a":{},"input":{}}}`, `{"input":{"a":1}}`, false)
}

func TestCache(t *testing.T) {
	params := func(i int) []byte { return fmt.Appendf(nil, `{"type":"object","maxProperties":%d}`, i+1000) }
	c := NewCache(4 * (overhead + len(params(0)) + Compile(params(0)).size))
	first := c.Compile(params(0))
	for i := range 4 {
		c.Compile(params(i))
	}
	if c.Compile(params(0)) != first {
		t.Error("a schema in use was forgotten")
	}
	for i := range 100 {
		c.Compile(params(i))
	}
	if n := c.used.Len(); n > 4 || len(c.byKey) != n || c.bytes > c.max {
		t.Errorf("got %d entries of %d bytes, want at most 4 of %d", n, c.bytes, c.max)
	}
	if last := c.Compile(params(99)); c.Compile(params(99)) != last {
		t.Error("the last schema was not remembered")
	}
	var none *Cache
	if none.Compile(params(1)).Status() != Ready {
		t.Error("without a cache nothing compiles")
	}
}

// TestCacheCompilesOnce lets many ask for few schemas at once.
func TestCacheCompilesOnce(t *testing.T) {
	c := NewCache(1 << 20)
	var got [8][16]*Schema
	var wg sync.WaitGroup
	for i := range got {
		for k := range got[i] {
			wg.Go(func() {
				got[i][k] = c.Compile(fmt.Appendf(nil, `{"type":"object","required":["a","b"],"maxProperties":%d}`, i))
			})
		}
	}
	wg.Wait()
	for i := range got {
		for _, s := range got[i] {
			if s != got[i][0] {
				t.Fatal("a schema was compiled twice")
			}
		}
	}
}

// TestSizeIsThatOfTheHeap holds that what a schema counts in the cache is
// about what it keeps.
func TestSizeIsThatOfTheHeap(t *testing.T) {
	const n = 200
	for name, text := range map[string]string{
		"edit": editSchema, "enum": `{"enum":` + array(500, func(i int) string { return fmt.Sprintf(`"word %d"`, i) }) + `}`,
		"pattern": `{"properties":{"a":{"pattern":"^([a-z]{1,20}-){3}[0-9]+$"}}}`, "library": `{"properties":{"a":{"type":"string"}},"unevaluatedProperties":false}`,
	} {
		all := make([]*Schema, n)
		var m0, m1 runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m0)
		for i := range all {
			all[i] = Compile([]byte(text))
		}
		runtime.GC()
		runtime.ReadMemStats(&m1)
		heap, size := int(m1.HeapAlloc-m0.HeapAlloc)/n, all[0].size+len(text)
		t.Logf("%s: %d bytes of text, %d counted, %d kept", name, len(text), size, heap)
		if heap > 2*size+1024 {
			t.Errorf("%s: got %d bytes kept, want at most twice the %d counted", name, heap, size)
		}
		runtime.KeepAlive(all)
	}
}
