package validate

import (
	"bytes"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// TestCanaryOfAnotherSessionIsForeign, in text and in arguments; its own is not.
func TestCanaryOfAnotherSessionIsForeign(t *testing.T) {
	const own, other = "twcanary-4f1c9a02bd77", "twcanary-91bc5e3d0f28"
	request := `{"messages":[{"role":"user","content":"The tag is ` + own + `."}],"tools":[{"type":"function","function":{"name":"f"}}]}`
	f := func(body string, want ...Kind) {
		t.Helper()
		v := check(t, request, body, Complete)
		var got []Kind
		for _, x := range v.Findings {
			got = append(got, x.Kind)
			if body[x.Offset:x.Offset+3] != "twc" {
				t.Errorf("got offset %d, at %q", x.Offset, body[x.Offset:min(int(x.Offset)+20, len(body))])
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", body, got, want)
		}
	}
	f(ev(`{"content":"It is `+own+`."}`, "") + end("stop"))
	f(ev(`{"content":"\"It\" is `+other+`."}`, "")+end("stop"), ForeignContent)
	f(ev(`{"content":"twcanary-"}`, "") + end("stop"))
	f(oneCall(`{"tag":"` + own + `"}`))
	f(oneCall(`{"n":1,"tag":"`+other+`"}`), ForeignContent)
}

// TestStrangers are the distinctive words that the request does not hold.
func TestStrangers(t *testing.T) {
	request := `{"messages":[{"role":"user","content":"Ship ORD-10001 to \u0042ox-20002."}]}`
	body := ev(`{"content":"ORD-10001, ORD-30003, Box-20002, word, 1234567, a-rather-long-word\n`+"ORD-40004"+`"}`, "") + end("stop")
	v := check(t, request, body, Complete)
	var got []string
	for _, s := range v.Strangers {
		got = append(got, body[s.Offset:s.Offset+9])
	}
	if want := []string{"ORD-30003", "ORD-40004"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestWordsPassedOverAreNone reads texts, cut anywhere, as a whole and byte by byte.
func TestWordsPassedOverAreNone(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	parts := []string{"word", "-", "_", "x", " ", ".", "12", "345", "6", "twcanary-", "twcanary-91bc5e3d0f28", "ORD-10001", "é", "longerword"}
	for range 5000 {
		var text []byte
		for range r.IntN(12) {
			text = append(text, parts[r.IntN(len(parts))]...)
		}
		var fast, slow aliens
		fast.reset(new(lexicon))
		slow.reset(new(lexicon))
		cut := r.IntN(len(text) + 1)
		for _, p := range [][]byte{text[:cut], text[cut:]} {
			fast.read(p, bytes.ContainsAny(p, "0123456789"))
		}
		slow.each(text)
		fast.finish()
		slow.finish()
		if !reflect.DeepEqual(fast, slow) {
			t.Fatalf("%q cut at %d: got %+v, want %+v", text, cut, fast, slow)
		}
	}
}

func TestPlants(t *testing.T) {
	for _, text := range []string{"", "-", "twcanary", Canary, "a-b " + Canary, "-" + Canary + "-", "twcanary -", "wcanary-", "----twcanary-", "twcanar-y-"} {
		if got, want := plants([]byte(text)), strings.Contains(text, Canary); got != want {
			t.Errorf("%q: got %v, want %v", text, got, want)
		}
	}
}
