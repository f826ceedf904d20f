package agents

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// NewSession returns the session of a seed, of the set tools and the zero Shape.
func NewSession(seed uint64) *Session { return tools(seed, Shape{}) }

const rules = `Work through the user's plan with the tools you are given, one step a turn, in order.
At a step that says Call, call that tool with exactly the arguments it names. result.FIELD is that field of the latest tool result, result[N].FIELD that field of the Nth tool result. Copy every value character for character.
At the step that says Answer, call nothing and reply with exactly the text in quotes, without the quotes.`

// tools makes a plan of one or more episodes, each a small story.
func tools(seed uint64, shape Shape) *Session {
	w := &world{Rand: rand.New(rand.NewPCG(seed, 0x7475726e)), taken: map[string][]any{}}
	turns := max(2, shape.Turns)
	if shape.Turns == 0 {
		turns = 5
	}
	s := &Session{ID: fmt.Sprintf("session-%04d", seed), system: rules}
	stories := []func() ([]step, string){w.incident, w.order, w.release, w.parcel}
	for i := seed; len(s.steps) < turns-1; i++ {
		w.before = len(s.steps)
		steps, final := stories[i%uint64(len(stories))]()
		if s.final == "" {
			s.final = final
		}
		s.steps = append(s.steps, steps[:min(len(steps), turns-1-len(s.steps))]...)
	}
	if shape.Long > 0 {
		w.lengthen(s.steps, shape.Long)
	}
	s.tools = collect(s.steps)
	s.user = s.Plan()
	if shape.Canary {
		s.user = "The code of this conversation is " + w.canary() + ". Do not mention it.\n" + s.user
	}
	return s
}

// Plan returns the steps of the session in words.
func (s *Session) Plan() string {
	var b strings.Builder
	b.WriteString("Please take these steps.\n")
	for i, st := range s.steps {
		fmt.Fprintf(&b, "%d. Call %s", i+1, st.tool)
		for j, a := range st.args {
			b.WriteString([]string{" with ", ", "}[min(j, 1)] + a.name + " = " + a.plan)
		}
		b.WriteString(".\n")
	}
	fmt.Fprintf(&b, "%d. Answer: %s\n", s.Turns(), encode(s.final))
	return b.String()
}

// collect declares the tools of the steps, each once: where several steps call
// one, it allows the values of all of them.
func collect(steps []step) (all []tool) {
	at := map[string]int{}
	for _, st := range steps {
		i, ok := at[st.tool]
		if !ok {
			at[st.tool] = len(all)
			all = append(all, tool{st.tool, st.doc, st.args})
			continue
		}
		all[i].args = merged(all[i].args, st.args)
	}
	return all
}

// merged allows in a what b allows too.
func merged(a, b []arg) []arg {
	a = slices.Clone(a)
	for i := range a {
		a[i].allowed = union(a[i].allowed, b[i].allowed)
		if a[i].members != nil {
			a[i].members = merged(a[i].members, b[i].members)
		}
	}
	return a
}

func union(a, b []any) []any {
	a = slices.Clone(a)
	for _, v := range b {
		if !contains(a, v) {
			a = append(a, v)
		}
	}
	return a
}

func contains(all []any, v any) bool {
	for _, o := range all {
		if encode(o) == encode(v) {
			return true
		}
	}
	return false
}

// world draws the things that sessions are about.
type world struct {
	*rand.Rand
	taken  map[string][]any // values that the schema of an argument of this name may allow
	before int              // steps before the episode
}

func (w *world) pick(words ...string) string { return words[w.IntN(len(words))] }

func (w *world) letters(n int, from string) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = from[w.IntN(len(from))]
	}
	return string(b)
}

func (w *world) hex(n int) string { return w.letters(n, "0123456789abcdef") }

// canary is a word that the judge knows to belong to one conversation alone.
func (w *world) canary() string {
	return "twcanary-" + w.letters(16, "abcdefghijklmnopqrstuvwxyz0123456789")
}

// first names a field of the episode's first result.
func (w *world) first(field string) string { return fmt.Sprintf("result[%d].%s", w.before+1, field) }

// literal is an argument whose value stands in the plan; draw makes its value
// and those that the schema allows beside it.
func (w *world) literal(name, doc string, draw func() any) arg {
	a := w.draw(name, doc, draw)
	a.plan = encode(a.value)
	return a
}

// from is an argument that is copied from a result.
func (w *world) from(ref, name, doc string, draw func() any) arg {
	a := w.draw(name, doc, draw)
	a.plan = ref
	return a
}

// draw makes a value and up to three others, far enough from one another, and
// from those of other steps, that no change of one character makes one of another.
func (w *world) draw(name, doc string, draw func() any) arg {
	a := arg{name: name, doc: doc, value: draw()}
	for range 50 {
		if far(a.value, w.taken[name]) {
			break
		}
		a.value = draw()
	}
	w.allow(&a, a.value)
	for range 20 {
		v := draw()
		if len(a.allowed) < 4 && !contains(a.allowed, v) && far(v, w.taken[name]) {
			w.allow(&a, v)
		}
	}
	w.Shuffle(len(a.allowed), func(i, j int) { a.allowed[i], a.allowed[j] = a.allowed[j], a.allowed[i] })
	return a
}

func (w *world) allow(a *arg, v any) {
	a.allowed = append(a.allowed, v)
	w.taken[a.name] = append(w.taken[a.name], v)
}

// far reports whether v is one of the others, or differs from each in two places
// or in length.
func far(v any, others []any) bool {
	for _, o := range others {
		x, y := encode(v), encode(o)
		if x == y || len(x) != len(y) {
			continue
		}
		n := 0
		for i := range len(x) {
			if x[i] != y[i] {
				n++
			}
		}
		if n < 2 {
			return false
		}
	}
	return true
}

// only is a value with no other beside it: the schema names it as a constant.
func only(v any) func() any { return func() any { return v } }

// lengthen gives each call a long text to copy.
func (w *world) lengthen(steps []step, chars int) {
	for i := range steps {
		a := w.literal("memo", "Text to keep with the call.", only(w.text(chars)))
		steps[i].args = append(steps[i].args, a)
	}
}

// text is about as many characters of words and numbers.
func (w *world) text(chars int) string {
	var b strings.Builder
	for b.Len() < chars {
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(w.pick("pump", "valve", "north", "seven", "shelf", "amber", "crate", "signal", "harbour", "ledger") +
			w.pick(" ", "-", "/") + fmt.Sprint(w.IntN(10_000)))
	}
	return b.String()
}

// Filler is text without meaning, of n words: what comes before or after a
// conversation to give it a length. The same n and seed make the same text, and
// that of a smaller n is its beginning. Most words are one token.
func Filler(seed uint64, n int) string {
	w := world{Rand: rand.New(rand.NewPCG(seed, 0x66696c6c))}
	words := make([]string, n)
	for i := range words {
		words[i] = w.pick("the", "and", "with", "from", "time", "year", "people", "way", "day", "man", "thing", "world", "life", "hand", "part", "place")
	}
	return strings.Join(words, " ")
}
