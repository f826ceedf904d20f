package evidence

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode"

	"turnwatch/proxy/turn"
	"turnwatch/validate"
)

// plant is a turn in which a secret stands in every place that a client, a
// model or a server can put it.
type plant struct {
	r      *rand.Rand
	secret string
	mark   string // what a path names it by
}

// somewhere is the secret among other words.
func (p *plant) somewhere() string {
	words := []string{"as", "the \"key\" \\", "日本", p.secret, "x", "\n"}
	p.r.Shuffle(len(words), func(i, j int) { words[i], words[j] = words[j], words[i] })
	return strings.Join(words, " ")
}

// object is JSON that has it as a value, and nothing else of it.
func (p *plant) object() string {
	return fmt.Sprintf(`{"a":1,"%s":"%s","z":[2]}`, p.mark, spell(p.r, p.somewhere(), 1))
}

func (p *plant) request() []byte {
	return fmt.Appendf(nil, `{"model":"m","%s":"%s","messages":[{"role":"user","content":[{"type":"text","%s":"%s"}]},
		{"role":"assistant","tool_calls":[{"function":{"name":"f","arguments":"%s"}}]}]}`,
		p.mark, spell(p.r, p.somewhere(), 1), p.mark, spell(p.r, p.somewhere(), 1), spell(p.r, p.object(), 1))
}

// stream says it piece by piece, as arguments of a call, good or torn.
func (p *plant) stream() []byte {
	args := p.object()
	if p.r.IntN(2) == 0 {
		args = args[:len(args)-1-p.r.IntN(3)]
	}
	var b bytes.Buffer
	for _, piece := range cut(p.r, args) {
		fmt.Fprintf(&b, "data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"%s\"}}]}}]}\n\n", spell(p.r, piece, 1))
	}
	return append(b.Bytes(), "data: [DONE]\n\n"...)
}

// prose says it piece by piece as content, in two choices by turns, and once in an
// event that is torn.
func (p *plant) prose() []byte {
	var b bytes.Buffer
	for i, piece := range cut(p.r, p.somewhere()+p.somewhere()) {
		fmt.Fprintf(&b, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"%s\"}}]}\n\n", spell(p.r, piece, 1))
		if i%3 == 0 {
			fmt.Fprintf(&b, "data: {\"choices\":[{\"delta\":{\"content\":\"%s\"},\"index\":1}]}\n\n", spell(p.r, p.secret[:1], 1))
		}
	}
	fmt.Fprintf(&b, "data: {\"choices\":[{\"delta\":{\"content\":\"%s\n\n", spell(p.r, p.somewhere(), 1))
	return b.Bytes()
}

func (p *plant) turn(id string, answer []byte, inHeads string) *turn.Turn {
	head := fmt.Appendf(nil, "POST /v1/chat/completions?k=%s HTTP/1.1\r\nAuthorization: Bearer %s\r\nX-Who: %s\r\n\r\n", inHeads, p.secret, inHeads)
	call := 0
	return &turn.Turn{ID: id, Time: time.Now(), DurationMS: 5, Model: "m " + inHeads, RequestID: inHeads, Session: inHeads, Verdict: validate.Verdict{
		Outcome: validate.Corrupted, Findings: []validate.Finding{{Kind: "k", Offset: int64(p.r.IntN(len(answer))), Call: &call, Tool: inHeads, Path: "/" + inHeads}}},
		Tags: map[string]turn.Tag{"gpu": {Value: inHeads}},
		Capture: &turn.Capture{
			Request: turn.Said{Head: head, Body: p.request()},
			Answer:  turn.Said{Head: []byte("HTTP/1.1 200 OK\r\nSet-Cookie: " + p.secret + "\r\nX-Y: " + inHeads + "\r\n\r\n"), Body: answer, Marks: []turn.Mark{{}}},
		}}
}

// written is everything in the folder that a turn makes.
func written(t testing.TB, o Options, turns ...*turn.Turn) []byte {
	t.Helper()
	dir := t.TempDir()
	w, err := Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range turns {
		w.Finish(x)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if err := w.Close(ctx); err != nil || w.Stats().Folders != int64(len(turns)) {
		t.Fatalf("close: got %v and %+v, want %d folders", err, w.Stats(), len(turns))
	}
	var all []byte
	for _, x := range turns {
		if _, err := Read(filepath.Join(dir, x.ID)); err != nil {
			t.Error(err)
		}
		files, err := filepath.Glob(filepath.Join(dir, x.ID, "*"))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range files {
			b, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			all = append(append(all, b...), saidIn(b)...)
		}
	}
	return all
}

// made is the same without a disk.
func made(t testing.TB, o Options, turns ...*turn.Turn) (all []byte) {
	t.Helper()
	o, err := o.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	m, err := newMasker(o.Patterns, o.Paths)
	if err != nil {
		t.Fatal(err)
	}
	w := &Writer{opts: o, mask: m}
	for _, x := range turns {
		j := newJob(x, 0)
		for _, o := range turns {
			j.overlap = append(j.overlap, append(o.AppendJSON(nil), '\n'))
		}
		for _, b := range w.files(j) {
			all = append(append(all, b...), saidIn(b)...)
		}
	}
	return all
}

// usable reports whether a secret can be told from its mask, and from the
// digests, times and numbers that the files hold whatever is in a turn: four hex
// digits are found in them by chance.
func usable(s string) bool {
	letters := 0
	for _, c := range s {
		if c == unicode.ReplacementChar || c < ' ' || c == 0x7f {
			return false
		}
		if unicode.IsLetter(c) && c != 'x' && !unicode.Is(unicode.ASCII_Hex_Digit, c) {
			letters++
		}
	}
	return letters >= 4 && len(s) <= 100
}

// FuzzPlantedSecretIsInNoFile, however it is spelled, cut and nested.
func FuzzPlantedSecretIsInNoFile(f *testing.F) {
	for i, s := range []string{"hunter2-4711", "sk-ab12cd34", `a"b\c{d}e`, "日本語テスト", "p😀q😀r😀s1", "n\\nn\\u0041t", "aaaaaaaa", "A/B+C=dddd"} {
		f.Add(s, uint64(i))
	}
	other := &plant{rand.New(rand.NewPCG(1, 1)), "4711", "password"}
	words := made(f, Options{Bodies: true}, other.turn("a", other.stream(), "ok"), other.turn("b", other.prose(), "ok"))
	f.Add("HTTP", uint64(8)) // a word that is in every head
	f.Fuzz(func(t *testing.T, secret string, seed uint64) {
		if !usable(secret) || bytes.Contains(words, []byte(secret)) {
			return // it may be found though it was nowhere planted
		}
		p := &plant{rand.New(rand.NewPCG(seed, 1)), secret, "password"}
		heads := strings.Map(func(r rune) rune {
			if r < 0x7f {
				return r
			}
			return 'q'
		}, secret)
		pattern := regexp.MustCompile(regexp.QuoteMeta(secret) + "|" + regexp.QuoteMeta(heads))
		for what, got := range map[string][]byte{
			"masked by pattern": made(t, Options{Bodies: true, Patterns: []*regexp.Regexp{pattern}}, p.turn("a", p.stream(), heads), p.turn("b", p.prose(), heads)),
			"masked by path":    made(t, Options{Bodies: true, Paths: []string{"/**/password"}}, p.turn("a", p.stream(), "ok")),
			"without bodies":    made(t, Options{}, p.turn("a", p.stream(), "ok"), p.turn("b", p.prose(), "ok")),
		} {
			if at := bytes.Index(got, []byte(secret)); at >= 0 {
				t.Errorf("%s: %q is in %q", what, secret, got[max(0, at-60):min(at+len(secret)+60, len(got))])
			}
		}
	})
}

// TestPlantedSecretIsInNoFile of a folder, those of turns that came later
// included.
func TestPlantedSecretIsInNoFile(t *testing.T) {
	p := &plant{rand.New(rand.NewPCG(1, 1)), "hunter2-4711", "password"}
	o := Options{Bodies: true, Patterns: []*regexp.Regexp{regexp.MustCompile(`hunter2-\d+`)}}
	first, second := p.turn("a", p.stream(), p.secret), p.turn("b", p.prose(), p.secret)
	second.Time = first.Time // each is in the other's list
	got := written(t, o, first, second)
	if at := bytes.Index(got, []byte(p.secret)); at >= 0 {
		t.Errorf("it is in %q", got[max(0, at-60):min(at+60, len(got))])
	}
	if n := bytes.Count(got, []byte("xxxxxx9x9999")); n < 20 {
		t.Errorf("masks: got %d, want one for each place", n)
	}
}
