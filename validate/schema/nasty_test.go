package schema

import (
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Bounds of the effort that a schema and an instance may cause together.
const (
	maxCPU   = 50 * time.Millisecond
	maxBytes = 64 << 20
)

// effort runs f and says how much CPU its thread took and how much memory it allocated.
func effort(t *testing.T, f func()) (cpu time.Duration, bytes uint64) {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	runtime.GC()
	var m0, m1 runtime.MemStats
	runtime.ReadMemStats(&m0)
	before := spent(t)
	f()
	cpu = spent(t) - before
	runtime.ReadMemStats(&m1)
	return cpu, m1.TotalAlloc - m0.TotalAlloc
}

// spent is the CPU time of this thread so far.
func spent(t testing.TB) time.Duration {
	t.Helper()
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_THREAD, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// chain is a schema whose definitions each use the next one twice.
func chain(n int, keyword string) string {
	var b strings.Builder
	fmt.Fprintf(&b, `{"$ref":"#/$defs/d0","$defs":{`)
	for i := range n {
		fmt.Fprintf(&b, `"d%d":{"%s":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]},`, i, keyword, i+1, i+1)
	}
	fmt.Fprintf(&b, `"d%d":{"type":"string"}}}`, n)
	return b.String()
}

// bounded fails where f takes more than its bounds each of three times. On a machine
// that is slower, or just now is, its CPU may be as much more.
func bounded(t *testing.T, f func()) {
	t.Helper()
	cpu, bytes := effort(t, f)
	for range 2 {
		if cpu <= maxCPU*slower {
			break
		}
		again, _ := effort(t, f)
		cpu = min(cpu, time.Duration(float64(again)/slowness(t)))
	}
	if cpu > maxCPU*slower || bytes > maxBytes*slower {
		t.Errorf("got %v and %d KiB, want at most %v and %d KiB", cpu, bytes>>10, maxCPU*slower, maxBytes*slower>>10)
	}
	t.Logf("%v, %d KiB", cpu, bytes>>10)
}

// slowness is how many times the CPU of the machine that the bounds were set on
// this one takes to read some JSON, but at least one.
func slowness(t testing.TB) float64 {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	text := []byte(array(60_000, func(int) string { return `{"a":[1,2.5e3,"x\n",true,null]}` }))
	before := spent(t)
	for range 8 {
		json.Valid(text)
	}
	return max(1, float64(spent(t)-before)/float64(maxCPU*slower))
}

func nest(open, inner, end string, n int) string {
	return strings.Repeat(open, n) + inner + strings.Repeat(end, n)
}

// array is an array of n values, each made by f.
func array(n int, f func(int) string) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(f(i))
	}
	return "[" + b.String() + "]"
}

func TestHostileInputIsBounded(t *testing.T) {
	const tree = `{"type":"object","properties":{"v":{"anyOf":[{"type":"string"},{"$ref":"#"}]},"w":{"oneOf":[{"$ref":"#"},{"$ref":"#"}]}}}`
	digits := strings.Repeat("9", 1<<20-10)
	same := func(s string) func(int) string { return func(int) string { return s } }
	number := func(i int) string { return fmt.Sprint(i) }
	wide := func(n int, f func(int) string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `"p%d":%s,`, i, f(i))
		}
		return strings.TrimSuffix(b.String(), ",")
	}
	for name, in := range map[string][2]string{
		"anyOf doubling":            {chain(24, "anyOf"), `{"a":1}`},
		"allOf doubling":            {chain(24, "allOf"), `{"a":1}`},
		"oneOf doubling, long":      {chain(150, "oneOf"), `{"a":1}`},
		"recursion with branches":   {tree, nest(`{"v":`, `{}`, `}`, 60)},
		"recursion, two ways":       {tree, nest(`{"w":`, `{}`, `}`, 30)},
		"loop of references":        {`{"$ref":"#"}`, `{}`},
		"loop through allOf":        {`{"allOf":[{"$ref":"#/$defs/a"}],"$defs":{"a":{"anyOf":[{"$ref":"#"}]}}}`, `{}`},
		"deep schema":               {nest(`{"properties":{"a":`, `{}`, `}}`, 1000), `{}`},
		"deep within bounds":        {nest(`{"properties":{"a":`, `{"type":"string"}`, `}}`, 14), nest(`{"a":`, `1`, `}`, 14)},
		"wide schema":               {`{"properties":{` + wide(1500, same(`{"type":"int"}`)) + `}}`, `{` + wide(1500, same(`"x"`)) + `}`},
		"many properties":           {`{"additionalProperties":{"type":"string"}}`, `{` + wide(15_000, same(`1`)) + `}`},
		"all forbidden":             {`{"additionalProperties":false}`, `{` + wide(15_000, same(`1`)) + `}`},
		"huge schema":               {`{"description":"` + strings.Repeat("x", MaxBytes) + `"}`, `{}`},
		"multipleOf, huge exponent": {`{"properties":{"n":{"multipleOf":1e-400000}}}`, `{"n":1}`},
		"multipleOf, small":         {`{"properties":{"n":{"multipleOf":1e-300}}}`, `{"n":1e300}`},
		"instance, huge exponent":   {`{"properties":{"n":{"minimum":1,"multipleOf":3}}}`, `{"n":1e400000}`},
		"instance, huger exponent":  {`{"properties":{"n":{"minimum":1}}}`, `{"n":1e100000000000000000000}`},
		"a megabyte of digits":      {`{"properties":{"n":{"minimum":1}}}`, `{"n":` + digits + `}`},
		"many long numbers":         {`{"properties":{"n":{"items":{"multipleOf":0.0000001}}}}`, `{"n":` + array(9_000, same(strings.Repeat("9", 60))) + `}`},
		"many numbers, exponents":   {`{"properties":{"n":{"items":{"multipleOf":1e-300}}}}`, `{"n":` + array(9_000, same("1.5e300")) + `}`},
		"unique of many":            {`{"properties":{"l":{"uniqueItems":true}}}`, `{"l":` + array(19_000, number) + `}`},
		"unique of twenty big":      {`{"properties":{"l":{"uniqueItems":true}}}`, `{"l":` + array(20, same(array(900, same("1")))) + `}`},
		"unique, half a million":    {`{"properties":{"l":{"uniqueItems":true}}}`, `{"l":` + array(500_000, same("1")) + `}`},
		"enum of big values":        {`{"enum":` + array(500, same(array(15, number))) + `}`, array(19_000, number)},
		"enum of numbers":           {`{"properties":{"l":{"items":{"enum":` + array(5_000, number) + `}}}}`, `{"l":` + array(2_000, same("-1")) + `}`},
		"pattern that multiplies":   {`{"properties":{"s":{"pattern":"((a{1,30}){1,30}){1,30}$"}}}`, `{"s":"` + strings.Repeat("a", 900_000) + `b"}`},
		"pattern of states":         {`{"properties":{"s":{"pattern":"(x+x+)+y[a-z]{0,200}[0-9]$"}}}`, `{"s":"` + strings.Repeat("x", 900_000) + `"}`},
		"many patterns":             {`{"patternProperties":{` + wide(1000, same(`{"pattern":"^(a|b|c)*z$"}`)) + `}}`, `{` + wide(15_000, same(`"x"`)) + `}`},
		"ways without end":          {`{"properties":{"s":{"pattern":"^(?:(a+)+|(a?)*)+(?<!b)\\1$"}}}`, `{"s":"` + strings.Repeat("a", 2000) + `!"}`},
		"few ways at many places":   {`{"properties":{"s":{"pattern":"(?<=(?:a?){9,}(?:c|a)*)b\\1?"}}}`, `{"s":"` + strings.Repeat("a", 2000) + `!"}`},
		"few ways, many steps":      {`{"properties":{"l":{"items":{"pattern":"^(?:(?:[ab]b?)(?:[a-c]))*(?<=c)$"}}}}`, `{"l":` + array(400, same(`"`+strings.Repeat("a", 2000)+`"`)) + `}`},
		"ways, again and again":     {`{"properties":{"l":{"items":{"pattern":"(a+)\\1(?<=a+)b"}}}}`, `{"l":` + array(2_000, same(`"`+strings.Repeat("a", 60)+`"`)) + `}`},
		"ways of names":             {`{"patternProperties":{"(a+)+(?<=a)\\1b":{"type":"null"}}}`, `{` + wide(2_000, same(`1`)) + `}`},
		"groups in groups":          {`{"properties":{"s":{"pattern":"` + nest("(", "a(?<=a)", ")*", 300) + `"}}}`, `{"s":"` + strings.Repeat("a", 2000) + `"}`},
		"many groups in groups":     {`{"properties":{` + wide(300, func(i int) string { return fmt.Sprintf(`{"pattern":"%s{%d}"}`, nest("(", "a(?<=a)", ")", 25), i) }) + `}}`, `{` + wide(300, same(`"x"`)) + `}`},
		"rounds of nothing":         {`{"properties":{"s":{"pattern":"(?:(?:(?:){99999}){99999}){99999}(?<=x)"}}}`, `{"s":"x"}`},
		"many irregular patterns":   {`{"properties":{` + wide(300, func(i int) string { return fmt.Sprintf(`{"pattern":"(?<=[\\p{L}\\p{N}]{%d})x"}`, i) }) + `}}`, `{` + wide(300, same(`"x"`)) + `}`},
		"long pattern":              {`{"pattern":"` + strings.Repeat("(a|b)?", 4000) + `"}`, `{}`},
		"10,000 levels":             {`{}`, nest("[", "", "]", 10_000)},
		"a million levels":          {`{}`, nest("[", "", "]", 500_000)},
		"contains and unevaluated":  {`{"contains":{"const":1},"unevaluatedItems":{"contains":{"contains":{"const":2}}}}`, array(100, same(array(100, same("[1]"))))},
		"four thousand branches":    {`{"properties":{"s":{"anyOf":` + array(4_000, func(i int) string { return fmt.Sprintf(`{"enum":["%sx%d"]}`, strings.Repeat("a", 10), i) }) + `}}}`, `{"s":"` + strings.Repeat(`\u0061`, 100_000) + `"}`},
		"branches, each too long":   {`{"properties":{"s":{"anyOf":` + array(1_500, func(i int) string { return fmt.Sprintf(`{"maxLength":%d}`, 100_000+i) }) + `}}}`, `{"s":"` + strings.Repeat(`\u0061`, 110_000) + `"}`},
		"many required, many times": {`{"items":{"required":` + array(5_000, func(i int) string { return fmt.Sprintf(`"p%d"`, i) }) + `}}`, array(300_000, same("{}"))},
		"one needs many":            {`{"items":{"dependentRequired":{"a":` + array(5_000, func(i int) string { return fmt.Sprintf(`"p%d"`, i) }) + `}}}`, array(100_000, same(`{"a":1}`))},
		"many big patterns":         {`{"properties":{` + wide(3000, func(i int) string { return fmt.Sprintf(`{"pattern":"(a{1,30}){1,30}%d"}`, i) }) + `}}`, `{` + wide(3000, same(`"aaaaaaaaaaaaaaaaaaaaaaaaaaaa"`)) + `}`},
		"pattern of a million":      {`{"pattern":"((((a{30}){30}){30}){30})"}`, `{}`},
		"a list of itself, deep":    {`{"items":{"$ref":"#"}}`, nest("[", "", "]", 900)},
		"a list of itself, deeper":  {`{"items":{"anyOf":[{"$ref":"#"},{"$ref":"#"}]}}`, nest("[", "", "]", 900)},
		"dead branches, many times": {`{"items":{"anyOf":` + array(1_000, func(i int) string { return fmt.Sprintf(`{"const":%d}`, i) }) + `}}`, array(200_000, same("-1"))},
		"conditions, many times":    {`{"items":{"allOf":` + array(500, func(i int) string { return fmt.Sprintf(`{"if":{"const":%d},"then":false}`, i) }) + `}}`, array(200_000, same("-1"))},
		"unique and big":            {`{"items":{"uniqueItems":true}}`, array(200, same(array(2_000, number)))},
		"long names":                {`{"patternProperties":{"^(a|b)*c$":{}},"propertyNames":{"pattern":"(a|aa)+$"}}`, `{"` + strings.Repeat("a", 1_000_000) + `":1}`},
		"names, spelled out":        {`{"properties":{` + wide(5_000, same(`{}`)) + `},"additionalProperties":false}`, `{` + strings.TrimSuffix(strings.Repeat(`"\u0070\u0031\u0030":1,`, 40_000), ",") + `}`},
		"deep, for the program":     {nest(`{"properties":{"a":`, `{"type":"string"}`, `}}`, 62), nest(`{"a":`, `1`, `}`, 62)},
		"deep, for the library":     {nest(`{"properties":{"a":`, `{"type":"string"}`, `},"unevaluatedProperties":false}`, 14), nest(`{"a":`, `1`, `}`, 14)},
		"wide, for the library":     {`{"properties":{` + wide(1900, same(`{"type":"string"}`)) + `},"unevaluatedProperties":false}`, `{` + wide(1900, same(`1`)) + `}`},
		"big schema":                {`{"properties":{` + wide(4_500, same(`{"type":"string"}`)) + `}}`, `{` + wide(4_500, same(`1`)) + `}`},
		"many alternatives":         {`{"items":{"anyOf":` + array(4_990, func(i int) string { return fmt.Sprintf(`{"const":%d}`, i) }) + `}}`, array(3, same("7"))},
		"long references":           {`{"allOf":` + array(40, same(`{"$ref":"#`+strings.Repeat("/a", 1500)+`"}`)) + `}`, `{}`},
		"not not not":               {nest(`{"not":`, `{"type":"object"}`, `}`, 15), `{"a":` + array(19_000, number) + `}`},
	} {
		t.Run(name, func(t *testing.T) {
			bounded(t, func() { Compile([]byte(in[0])).Check([]byte(in[1]), NewBudget()) })
		})
	}
}

// TestManySchemasOfATurnAreBounded lets a turn ask for schema after schema.
func TestManySchemasOfATurnAreBounded(t *testing.T) {
	for name, sub := range map[string]string{"program": `"maxProperties":9`, "library": `"unevaluatedProperties":false`} {
		t.Run(name, func(t *testing.T) {
			bounded(t, func() {
				b, c := NewBudget(), NewCache(1<<20)
				for i := range 2000 {
					s := b.Compile(c, fmt.Appendf(nil, `{%s,"properties":{"p%d":{"type":"string"},"q":{"items":{"enum":["a","b"]}}}}`, sub, i))
					s.Check([]byte(`{"q":["a"]}`), b)
				}
			})
		})
	}
}

func TestNothingIsLoaded(t *testing.T) {
	for _, ref := range []string{"file:///etc/hostname", "http://127.0.0.1:1/x", "https://json-schema.org/draft/2020-12/other", "other.json"} {
		doc := map[string]any{"properties": map[string]any{"a": map[string]any{"$ref": ref}}}
		if build(doc, engine, deny{}) != nil {
			t.Errorf("%s: a reference to the outside was compiled", ref)
		}
	}
}

func FuzzCheck(f *testing.F) {
	f.Add(`{"type":"object","required":["a"],"properties":{"a":{"anyOf":[{"type":"int"},{"$ref":"#"}]}}}`, `{"a":{"a":1e3}}`)
	f.Add(chain(5, "oneOf"), `{"b":[1,2,"x"]}`)
	f.Add(`{"patternProperties":{"^\\s(?=x)":{"not":{}}},"unevaluatedProperties":false,"if":{},"then":{"enum":[1]}}`, `{"":null}`)
	f.Add(`{"items":{"enum":["a",{"b":1}]},"uniqueItems":true,"contains":{"maxLength":1}}`, `}],{":[\\u12`)
	f.Add(editSchema, editArgs)
	f.Fuzz(func(t *testing.T, params, args string) {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		begin := spent(t)
		defer func() {
			if cpu := spent(t) - begin; cpu > 40*maxCPU*slower { // instrumented, and several budgets
				t.Errorf("%s on %s: got %v", params, args, cpu)
			}
		}()
		s := Compile([]byte(params))
		c := s.Checker(NewBudget())
		for i := range len(args) {
			c.Feed([]byte(args[i : i+1])) // which may be anything
		}
		if !json.Valid([]byte(args)) {
			return
		}
		cut, cutStatus := c.Finish([]byte(args))
		found, st := s.Check([]byte(args), NewBudget())
		if st != Ready && s.program == nil && found != nil {
			t.Errorf("violations of a schema that judges nothing: %v", found)
		}
		if st == Ready && cutStatus == Ready && !slices.EqualFunc(found, cut, same) {
			t.Errorf("%s on %s: got %+v, byte by byte %+v", params, args, found, cut)
		}
		s.Wrapped([]byte(args), NewBudget())
	})
}
