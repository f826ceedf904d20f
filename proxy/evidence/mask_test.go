package evidence

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"
)

func masking(t testing.TB, pattern string, paths ...string) *masker {
	t.Helper()
	var all []*regexp.Regexp
	if pattern != "" {
		all = append(all, regexp.MustCompile(pattern))
	}
	m, err := newMasker(all, paths)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestPatternsMaskWhereverTheyMatch(t *testing.T) {
	f := func(in, want string) {
		t.Helper()
		got, changed := masking(t, `sk-[a-z0-9]+`).body([]byte(in))
		if string(got) != want || changed != (in != want) {
			t.Errorf("%s:\ngot  %s\nwant %s", in, got, want)
		}
	}
	f(`{"a":"b"}`, `{"a":"b"}`)
	f(`{"a":"key sk-ab12 ok"}`, `{"a":"key xxxxx99 ok"}`)
	f(`{"sk-ab":1}`, `{"xxxxx":1}`)
	f(`{"a":"s\u006b-ab1"}`, `{"a":"xxx999xxxx9"}`)
	f(`{"s\u006b-ab1":1}`, `{"xxx999xxxx9":1}`)
	f(`{"a":"\nsk-ab1\n"}`, `{"a":"\nxxxxx9\n"}`)
	f(`{"a":"{\"k\":\"sk-ab\"}"}`, `{"a":"{\"k\":\"xxxxx\"}"}`)
	f(`{"a":"{\"k\":\"\\u0073k-ab\"}"}`, `{"a":"{\"k\":\"xxx9999xxxx\"}"}`)
	f("data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a s\"}}]}\n\ndata: {\"choices\":[{\"index\":1,\"delta\":{\"content\":\"k-zz\"}}]}\n\n"+
		"data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"k-q1 b\"}}]}\n\ndata: [DONE]\n\n",
		"data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a x\"}}]}\n\ndata: {\"choices\":[{\"index\":1,\"delta\":{\"content\":\"k-zz\"}}]}\n\n"+
			"data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"xxx9 b\"}}]}\n\ndata: [DONE]\n\n")
	f("data: {\"delta\":{\"content\":\"x\"}}\n\ndata: {\"delta\":{\"content\":\"a good 1\n\n", "data: {\"delta\":{\"content\":\"x\"}}\n\ndata: {\"delta\":{\"content\":\"x xxxx 9\n\n")
	f("not json sk-ab1", "xxx json xxxxx9")
}

func TestPathsMaskWhatTheyName(t *testing.T) {
	f := func(path, in, want string) {
		t.Helper()
		got, _ := masking(t, "", path).body([]byte(in))
		if string(got) != want {
			t.Errorf("%s in %s:\ngot  %s\nwant %s", path, in, got, want)
		}
	}
	const call = `{"messages":[{"role":"user","content":"Hi 5"},{"arguments":"{\"password\":\"p\\n1\",\"n\":-12.5}"}]}`
	f("/messages/*/content", call, strings.Replace(call, "Hi 5", "xxx9", 1))
	f("/messages/1/content", call, call)
	f("/**/password", call, strings.Replace(call, `p\\n1`, `xxxx9`, 1))
	f("/messages/*/arguments/n", call, strings.Replace(call, `-12.5`, `-99.9`, 1))
	f("/messages/*/arguments", call, `{"messages":[{"role":"user","content":"Hi 5"},{"arguments":"xxxxxxxxxxxxxxxxxxxx9xxxxxxxxxx99x9x"}]}`)
	f("/a", `{"a":{"b":["c",1,true]},"d":"e"}`, `{"a":{"x":["x",9,true]},"d":"e"}`)
	f("/a~1b", `{"a/b":"c"}`, `{"a/b":"x"}`)
	stream := "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"{\\\"pass\"}}]}}]}\n\n" +
		"data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"word\\\":\\\"zz%s\"}}]}}]}\n\n"
	f("/**/password", fmt.Sprintf(stream, `\"}`), strings.Replace(fmt.Sprintf(stream, `\"}`), "zz", "xx", 1))
	// What is no JSON any more, so that nothing in it can be named, keeps its shape.
	f("/**/password", fmt.Sprintf(stream, ``), strings.NewReplacer("\\\"pass\"", "\\\"xxxx\"", "word", "xxxx", "zz", "xx").Replace(fmt.Sprintf(stream, ``)))
}

// TestHostileBodiesAreMaskedInBoundedMemory: a great many strings, channels or
// levels, and none of them keeps its secret.
func TestHostileBodiesAreMaskedInBoundedMemory(t *testing.T) {
	const size = 1 << 16
	f := func(name, body string) {
		t.Helper()
		m := masking(t, `sk-[a-z]+`, "/**/password")
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		got, _ := m.body([]byte(body))
		runtime.ReadMemStats(&after)
		if bytes.Contains(got, []byte("sk-secret")) {
			t.Errorf("%s: the secret is there", name)
		}
		if grown := int64(after.HeapSys) - int64(before.HeapSys); grown > 512*size {
			t.Errorf("%s: the heap grew by %d MiB", name, grown>>20)
		}
	}
	many := strings.Repeat(`"a",`, size/4)
	f("strings", `["sk-secret",`+many+`"sk-secret"]`)
	f("channels", `data: [`+many+`"sk-secret"]`+"\n\ndata: []\n\n")
	f("levels", strings.Repeat("[", size)+`"sk-secret"`)
	f("backslashes", `{"a":"`+strings.Repeat(`\\`, size/2)+` sk-secret"}`)
	f("events", strings.Repeat("data: {\"a\":\"b\"}\n\n", size/20)+"data: {\"a\":\"sk-secret\"}\n\n")
	f("indices", `data: {"c":[`+strings.Repeat(`{"index":1},`, size/12)+`{"index":1,"b":"sk-secret"}]}`+"\n\ndata: {}\n\n")
}

// TestDeepBodyIsMaskedSoon: each level takes little for each leaf below it, whatever the
// rule, and what is too deep for anybody keeps its shape alone.
func TestDeepBodyIsMaskedSoon(t *testing.T) {
	f := func(deep, leaves int) {
		t.Helper()
		body := strings.Repeat(`{"a":`, deep) + `{"password":"zz","b":[` + strings.Repeat("1,", leaves) + `1]}` + strings.Repeat(`}`, deep)
		done := make(chan []byte, 1)
		go func() {
			got, _ := masking(t, "", "/**/password", "/**/x/**/y/**/z").body([]byte(body))
			done <- got
		}()
		select {
		case got := <-done:
			if len(got) != len(body) || bytes.Contains(got, []byte("zz")) {
				t.Errorf("%d levels: got %.100q", deep, got)
			}
		case <-time.After(patience):
			t.Fatalf("%d levels and %d leaves are not masked after %v", deep, leaves, patience)
		}
	}
	f(200, 50_000)
	f(9000, 1)
}

func TestRulesAreRead(t *testing.T) {
	for _, bad := range []string{"", "/", "a", "a/b"} {
		if _, err := newMasker(nil, []string{bad}); err == nil {
			t.Errorf("%q: got no error", bad)
		}
	}
}

func TestHeadsKeepNoCredentials(t *testing.T) {
	f := func(bodies bool, in, want string) {
		t.Helper()
		got, _ := masking(t, `s3cret`).head([]byte(in), bodies)
		if string(got) != want {
			t.Errorf("bodies %t, %q:\ngot  %q\nwant %q", bodies, in, got, want)
		}
	}
	const in = "POST /v1/x?api_key=abc&q=1 HTTP/1.1\r\nHost: h1\r\nAuthorization: Bearer abc\r\nContent-Type: application/json\r\nX-Who: bob s3cret\r\n\r\n"
	f(true, in, "POST /v1/x?api_key=[withheld]&q=1 HTTP/1.1\r\nHost: h1\r\nAuthorization: [withheld]\r\nContent-Type: application/json\r\nX-Who: bob x9xxxx\r\n\r\n")
	f(false, in, "POST /v1/x HTTP/1.1\r\nHost: x9\r\nAuthorization: [withheld]\r\nContent-Type: application/json\r\nX-Who: xxx x9xxxx\r\n\r\n")
	f(false, "HTTP/1.1 200 OK\r\nx-sglang-config-index-dtype: bf16\r\nSet-Cookie: a=b\r\n\r\n",
		"HTTP/1.1 200 OK\r\nx-sglang-config-index-dtype: bf16\r\nSet-Cookie: [withheld]\r\n\r\n")
}

func TestShapeShowsWhatBroke(t *testing.T) {
	f := func(in, want string) {
		t.Helper()
		if got := string(shapeOf([]byte(in))); got != want {
			t.Errorf("%s: got %s, want %s", in, got, want)
		}
	}
	f(`data: {"choices":[{"delta":{"content":"Dear Bob, 42"}}]}`, `data: {"choices":[{"delta":{"content":"xxxx xxx, 99"}}]}`)
	f("<tool_call>\n{\"name\": \"pay\"", "<tool_call>\n{\"name\": \"xxx\"")
	f("<｜DSML｜invoke", "<xxxDSMLxxxinvoke")
	f("a\uFFFDb", "x\uFFFDx")
	f("日本", "xxxxxx")
}

// spell writes s as the inside of a string of JSON, its characters escaped by
// chance, depth times over.
func spell(r *rand.Rand, s string, depth int) string {
	var b strings.Builder
	for _, c := range s {
		switch {
		case c == '"' || c == '\\':
			b.WriteString(`\` + string(c))
		case c < ' ':
			fmt.Fprintf(&b, `\u%04x`, c)
		case r.IntN(4) == 0 && c < 0x10000:
			fmt.Fprintf(&b, `\u%04X`, c)
		default:
			b.WriteRune(c)
		}
	}
	if depth > 1 {
		return spell(r, b.String(), depth-1)
	}
	return b.String()
}

// cut cuts s into pieces by chance.
func cut(r *rand.Rand, s string) (all []string) {
	for len(s) > 0 {
		n := 1 + r.IntN(min(len(s), 7))
		all = append(all, s[:n])
		s = s[n:]
	}
	return all
}

// said is what the strings of a body say, each and all together, and what is
// said when that is read as strings once more.
func saidIn(body []byte) string {
	var b strings.Builder
	re := escapes()
	streams := map[string]*strings.Builder{}
	for line := range bytes.Lines(body) {
		line = bytes.TrimPrefix(bytes.TrimSpace(line), []byte("data:"))
		var v any
		if json.Unmarshal(line, &v) == nil {
			gather(v, "", streams)
		}
	}
	for _, s := range streams {
		text := s.String()
		for range 5 {
			b.WriteString(text + "\n")
			text = unescaped(text, re)
		}
	}
	return b.String()
}

// escapes finds escape sequences in a way of its own.
func escapes() *regexp.Regexp {
	return regexp.MustCompile(`\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\.`)
}

func unescaped(s string, re *regexp.Regexp) string {
	return re.ReplaceAllStringFunc(s, func(e string) string {
		var c string
		if json.Unmarshal([]byte(`"`+e+`"`), &c) != nil {
			return e
		}
		return c
	})
}

// gather joins the strings of a value by where they stand.
func gather(v any, at string, streams map[string]*strings.Builder) {
	switch v := v.(type) {
	case string:
		if streams[at] == nil {
			streams[at] = &strings.Builder{}
		}
		streams[at].WriteString(v)
	case []any:
		for i, e := range v {
			if o, ok := e.(map[string]any); ok && o["index"] != nil {
				i = int(o["index"].(float64))
			}
			gather(e, fmt.Sprint(at, "/", i), streams)
		}
	case map[string]any:
		for name, e := range v {
			gather(e, at+"/"+name, streams)
			gather(name, at+"/"+name+"#", streams)
		}
	}
}

// BenchmarkMask is a long conversation and an answer of some hundred events.
func BenchmarkMask(b *testing.B) {
	body := []byte(`{"messages":[` + strings.Repeat(`{"role":"user","content":"Look at \"src/main.go\" and tell me\n what it does, please."},`, 1500) + `{"role":"user","content":"x"}]}`)
	answer := []byte(strings.Repeat(`data: {"id":"0123456789","choices":[{"index":0,"delta":{"content":"some words","tool_calls":null},"finish_reason":null}]}`+"\n\n", 300))
	for name, m := range map[string]*masker{"pattern": masking(b, `sk-[A-Za-z0-9]{8,}`), "path": masking(b, "", "/**/password"), "both": masking(b, `sk-[A-Za-z0-9]{8,}`, "/**/password")} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(body) + len(answer)))
			b.ReportAllocs()
			for b.Loop() {
				m.body(body)
				m.body(answer)
			}
		})
	}
}
