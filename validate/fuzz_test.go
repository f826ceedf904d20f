package validate

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// FuzzChecker feeds any request and any answer: no panic, no finding outside
// the body, no memory beyond what was fed and what each call takes, the same
// verdict however it is cut.
func FuzzChecker(f *testing.F) {
	for _, tc := range loadCases(f) {
		var body []byte
		for _, p := range tc.pieces(f) {
			body = append(body, p...)
		}
		f.Add([]byte(tc.Request), body, uint16(tc.Response.Status), tc.Response.Headers["content-type"], uint8(13))
	}
	f.Add([]byte(offer), []byte(calls(entry(0, "", "", "{"), entry(0, "x", "f", "}"))+"data: \r\rdata: {\"error\":1}"), uint16(0), "", uint8(1))
	var many []string // each takes more than its bytes
	for i := range 40 {
		many = append(many, entry(i, fmt.Sprint(i), "f", ""))
	}
	f.Add([]byte(offer), []byte(calls(many...)), uint16(200), "text/event-stream", uint8(200))
	ways := []Ending{Complete, ServerCut, ClientGone, ProxyCut}
	f.Fuzz(func(t *testing.T, request, body []byte, status uint16, kind string, cut uint8) {
		req, err := ParseRequest("/v1/chat/completions", request)
		if (err == nil) && !json.Valid(request) {
			t.Fatalf("a request that is no JSON was parsed: %q", request)
		}
		c := NewChecker(req, Head{int(status), kind})
		for p := body; len(p) > 0; {
			n := min(len(p), 1+int(cut)*3)
			c.Feed(time.Duration(len(body)-len(p)), p[:n])
			p = p[n:]
		}
		if held := c.Held(); held > 8*len(body)+64<<10+heldSize*c.calls {
			t.Errorf("%d bytes held of %d with %d calls", held, len(body), c.calls)
		}
		v := c.Finish(ways[int(cut)%len(ways)])
		for _, x := range v.Findings {
			if x.Offset < 0 || x.Offset > int64(len(body)) || x.Severity == "" || x.Cause == "" {
				t.Errorf("finding %+v in %d bytes", x, len(body))
			}
		}
		if got, want := spelled(t, v), spelled(t, run(req, Head{int(status), kind}, ways[int(cut)%len(ways)], body)); got != want {
			t.Errorf("in pieces of %d:\ngot  %s\nwant %s", 1+int(cut)*3, got, want)
		}
		if (v.Outcome == Unverified) != (v.Reason != "") {
			t.Errorf("verdict %s for the reason %q", v.Outcome, v.Reason)
		}
	})
}

func TestLimits(t *testing.T) {
	f := func(name string, piece func(i int) string, n int, want Reason) {
		t.Helper()
		req, err := ParseRequest("/v1/chat/completions", []byte(offer))
		if err != nil {
			t.Fatal(err)
		}
		c := NewChecker(req, Head{200, "text/event-stream"})
		for i := range n {
			c.Feed(0, []byte(piece(i)))
		}
		if held := c.Held(); held > maxTurnArgs+maxEvent {
			t.Errorf("%s: %d bytes held", name, held)
		}
		if v := c.Finish(Complete); v.Reason != want || (want != "") != (v.Outcome == Unverified) {
			t.Errorf("%s: got %s %s, want %q", name, v.Outcome, v.Reason, want)
		}
	}
	long := strings.Repeat("x", 1<<16)
	args := calls(entry(0, "", "", long))
	f("arguments of a call", func(int) string { return args }, 17, ReasonTooLarge)
	f("arguments in the limit", func(int) string { return args }, 15, "")
	f("arguments of a turn", func(i int) string { return calls(entry(i, "c", "f", long)) }, maxTurnArgs>>16+1, ReasonTooLarge)
	f("calls", func(i int) string { return calls(entry(i, "c", "f", "{}")) }, maxCalls+1, ReasonTooLarge)
	f("choices", func(i int) string {
		return strings.Replace(ev(`{"content":"x"}`, ""), `"index":0`, fmt.Sprintf(`"index":%d`, i), 1)
	}, maxChoices+1, ReasonTooLarge)
	f("a line", func(int) string { return long }, maxEvent>>16+2, ReasonTooLarge)
}

// TestMillionDeltasStayBounded, however many pieces a text comes in, and its
// end is judged as its beginning.
func TestMillionDeltasStayBounded(t *testing.T) {
	req, err := ParseRequest("/v1/chat/completions", []byte(offer))
	if err != nil {
		t.Fatal(err)
	}
	c := NewChecker(req, Head{200, "text/event-stream"})
	var events [7][]byte
	for i := range events {
		events[i] = []byte(ev(fmt.Sprintf(`{"content":"wor%d\n"}`, i*i), ""))
	}
	for i := range 1_000_000 / slower {
		c.Feed(time.Duration(i)*time.Millisecond, events[i*i%len(events)])
	}
	c.Feed(0, []byte(ev(`{"content":"<|im_end|>"}`, "")+end("stop")))
	if held := c.Held(); held > 2<<20 {
		t.Errorf("%d bytes held", held)
	}
	if got := say(c.Finish(Complete)); !strings.Contains(got, string(SpecialTokenLeak)) {
		t.Errorf("got %s, want %s", got, SpecialTokenLeak)
	}
}

func TestIdleCheckerIsSmall(t *testing.T) {
	req, err := ParseRequest("/v1/chat/completions", []byte(offer))
	if err != nil {
		t.Fatal(err)
	}
	const n = 1000
	all := make([]*Checker, n)
	var m0, m1 runtime.MemStats
	runtime.GC()
	runtime.GC() // what other tests left in a pool is there until the second
	runtime.ReadMemStats(&m0)
	for i := range all {
		all[i] = NewChecker(req, Head{200, "text/event-stream"})
		for range 50 {
			all[i].Feed(0, []byte(textEvent))
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&m1)
	if got := (m1.HeapAlloc - m0.HeapAlloc) / n; got > 4<<10 {
		t.Errorf("got %d bytes a checker of which %d are its own, want at most 4096", got, unsafe.Sizeof(Checker{}))
	}
	runtime.KeepAlive(all)
}

// TestHostileTurnIsBounded lets many calls each ask for all the effort that
// one may cause.
func TestHostileTurnIsBounded(t *testing.T) {
	var tools, entries []string
	for i := range 100 {
		tools = append(tools, fmt.Sprintf(`{"function":{"name":"f%d","parameters":{"properties":{"l":{"items":{"enum":[%s1]}},"p%d":{"pattern":"(x+x+)+y"}}}}}`,
			i, strings.Repeat("0,", 4000), i))
	}
	args, err := json.Marshal(fmt.Sprintf(`{"l":[%s1],"p":1e399}`, strings.Repeat("2,", 2000)))
	if err != nil {
		t.Fatal(err)
	}
	for i := range 500 {
		entries = append(entries, fmt.Sprintf(`{"id":"c%d","type":"function","function":{"name":"f%d","arguments":%s}}`, i, i%100, args))
	}
	req, err := ParseRequest("/v1/chat/completions", []byte(`{"tools":[`+strings.Join(tools, ",")+`]}`))
	if err != nil {
		t.Fatal(err)
	}
	answer := []byte(`{"choices":[{"index":0,"message":{"tool_calls":[` + strings.Join(entries, ",") + `]},"finish_reason":"tool_calls"}]}`)
	const most = slower * 100 * time.Millisecond
	cpu := hostile(t, req, answer)
	for range 2 { // it may have been the machine
		if cpu > most {
			cpu = min(cpu, time.Duration(float64(hostile(t, req, answer))/slowness(t)))
		}
	}
	if cpu > most {
		t.Errorf("got %v, want at most %v", cpu, most)
	}
	t.Logf("%v", cpu)
}

// hostile judges an answer of 500 calls, in bounded memory, and returns the CPU
// that its end took.
func hostile(t *testing.T, req *Request, answer []byte) time.Duration {
	t.Helper()
	c := NewChecker(req, Head{200, "application/json"})
	c.Feed(0, answer)
	var m0, m1 runtime.MemStats
	runtime.ReadMemStats(&m0)
	var v Verdict
	cpu := spent(t, func() { v = c.Finish(Complete) })
	runtime.ReadMemStats(&m1)
	if len(v.Skips) == 0 || v.Calls != 500 {
		t.Errorf("got %d calls and %d skips", v.Calls, len(v.Skips))
	}
	if bytes := m1.TotalAlloc - m0.TotalAlloc; bytes > 64<<20 {
		t.Errorf("got %d KiB", bytes>>10)
	}
	return cpu
}

// slowness is how many times the CPU of the machine that the bound was set on
// this one takes to read some JSON, but at least one.
func slowness(t *testing.T) float64 {
	t.Helper()
	text := []byte("[" + strings.Repeat(`{"a":[1,2.5e3,"x\n",true,null]},`, 60_000) + "0]")
	cpu := spent(t, func() {
		for range 8 {
			json.Valid(text)
		}
	})
	return max(1, float64(cpu)/float64(slower*50*time.Millisecond))
}

// spent is the CPU time that f takes on its thread.
func spent(t *testing.T, f func()) time.Duration {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	now := func() time.Duration {
		var u unix.Rusage
		if err := unix.Getrusage(unix.RUSAGE_THREAD, &u); err != nil {
			t.Fatal(err)
		}
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	before := now()
	f()
	return now() - before
}
