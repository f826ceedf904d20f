package telemetry

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"turnwatch/proxy/turn"
	"turnwatch/validate"
)

// saying is a corrupted turn in which this was said.
func saying(request, answer string) *turn.Turn {
	return aTurn(corrupted(validate.ArgsEmpty), func(t *turn.Turn) {
		t.Capture = &turn.Capture{Request: turn.Said{Body: []byte(request)}, Answer: turn.Said{Body: []byte(answer)}}
	})
}

// whole shows all that was said.
func whole(t *turn.Turn) (request, answer []byte) {
	return t.Capture.Request.Body, t.Capture.Answer.Body
}

// TestContentIsThatOfTheConventions, of corrupted turns, and of nobody where it was not
// asked for.
func TestContentIsThatOfTheConventions(t *testing.T) {
	const request = `{"messages":[{"role":"user","content":"Where is Mars?"}],"instructions":"Be kind.","tools":[{"type":"function","function":{"name":"f"}}]}`
	const answer = `{"choices":[{"index":0,"message":{"role":"assistant","content":"There."},"finish_reason":"stop"}]}`
	want := map[string]string{AttrSystem: `[{"type":"text","content":"Be kind."}]`, AttrTools: `[{"type":"function","name":"f"}]`, AttrContentCut: "",
		AttrInput:  `[{"role":"user","parts":[{"type":"text","content":"Where is Mars?"}]}]`,
		AttrOutput: `[{"role":"assistant","parts":[{"type":"text","content":"There."}],"finish_reason":"stop"}]`}
	f := func(what string, cfg Config, one *turn.Turn, told bool) {
		t.Helper()
		cfg.Limits = Limits{TraceRate: 1e6, TraceRatio: 1}
		_, id := ids(one)
		s := exportedTurns(t, cfg, nil, one).span(t, id)
		for key, w := range want {
			if !told {
				w = ""
			}
			if got := value(s.Attributes, key); got != w {
				t.Errorf("%s: %s: got %s, want %s", what, key, got, w)
			}
		}
	}
	f("asked for", Config{Content: whole}, saying(request, answer), true)
	f("not asked for", Config{}, saying(request, answer), false)
	clean := saying(request, answer)
	clean.Outcome, clean.Findings = validate.Clean, nil
	f("a clean turn", Config{Content: whole}, clean, false)
	f("nothing kept", Config{Content: whole}, aTurn(corrupted(validate.ArgsEmpty)), false)
}

// TestContentIsBounded: of a part, of an attribute, of a turn, and of all that wait; the
// span says so, and is sent all the same.
func TestContentIsBounded(t *testing.T) {
	message := func(n int) string { return fmt.Sprintf(`{"role":"user","content":"%s"}`, strings.Repeat("é", n)) }
	list := func(n, times int) string {
		return `{"messages":[` + strings.Repeat(message(n)+",", times-1) + message(n) + `]}`
	}
	f := func(what, request string, messages, least, most int) {
		t.Helper()
		one := saying(request, "{}")
		_, id := ids(one)
		s := exportedTurns(t, Config{Content: whole}, nil, one).span(t, id)
		var got []validate.Spoken
		said := value(s.Attributes, AttrInput)
		if said != "" && json.Unmarshal([]byte(said), &got) != nil || len(got) != messages || len(said) < least || len(said) > most || value(s.Attributes, AttrContentCut) != "true" {
			t.Errorf("%s: got %d messages in %d bytes, cut %q, want %d in %d to %d", what, len(got), len(said), value(s.Attributes, AttrContentCut), messages, least, most)
		}
	}
	f("a long message", list(20<<10, 1), 1, maxText, maxText+200)
	f("many", list(1000, 100), 25, 1000, maxContent)
	f("too much", list(maxSaid/2, 2), 0, 0, 0)

	c := newCollector(t)
	r := start(t, Config{Content: whole}, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT="+c.url+"/v1/traces", "OTEL_BSP_SCHEDULE_DELAY=60000", "OTEL_BSP_MAX_EXPORT_BATCH_SIZE=2000", "OTEL_BSP_MAX_QUEUE_SIZE=2048")
	const n = 400 // of 50 KiB each
	for range n {
		r.Finish(saying(list(500, 50), "{}"))
	}
	if held := r.spans.content.held.Load(); held > maxContentHeld || held < maxContentHeld/2 {
		t.Errorf("held: got %d bytes, want up to %d", held, maxContentHeld)
	}
	end(r)
	if got := r.own.dropped.get(traces + " " + contentFull); got == 0 || c.spanCount() != n || r.spans.content.held.Load() != 0 {
		t.Errorf("got %d spans without what was said of %d, %d bytes held", got, c.spanCount(), r.spans.content.held.Load())
	}
}
