package validate

import (
	"fmt"
	"hash/maphash"
	"slices"
	"strings"
	"sync"

	"turnwatch/validate/schema"
	"turnwatch/validate/wire"
)

// Request is what a request allows and contains, as far as a verdict on its
// answer depends on it.
type Request struct {
	Model  string // as the request names it
	Stream bool

	// Schemas remembers compiled schemas over requests; nil means no memory.
	Schemas *Schemas
	// Seed keys the hashes of what the answer says, for Checker.Said; zero
	// means that none are made.
	Seed maphash.Seed

	// Outline keeps what the answer says, for Checker.Outline.
	Outline bool

	// TokenRate is how many tokens the model spends at most for each that Spent
	// estimates, as its turns tell. 0 stands for what is usual; who sees many
	// turns of a model should set CautiousRate until it is known.
	TokenRate float64

	echoes *Echoes
	body   *[]byte // a copy of the request, while it is held against; nil if it is not

	dialect   wire.Dialect
	n         int   // choices asked for
	maxTokens int64 // 0 if unlimited
	offered
	others  bool // tools are offered that are no functions: any name may be one
	none    bool // tool_choice forbids calls
	named   bool // tool_choice names the tool to call
	endless bool // the model may not end by itself, as benchmarks have it
	must    bool // tool_choice demands a call
	json    bool // the text of the answer is to be JSON
	seed    maphash.Seed
	ids     []uint64     // hashes of the call ids in the history
	talk    Conversation // hashed with seed, if it was read
	talks   bool         // it was
	prompt  *prompt      // own, nil if the request was not read
	own     prompt
	hides   bool  // reasoning is not to be sent, or need not be, though it is counted
	joined  bool  // reasoning is to stand in the content, with its marks
	stop    int64 // bytes of the longest text that is to end the answer
}

// Schemas is a memory of compiled schemas, to be shared by many requests, and
// of what earlier requests held, of which most requests repeat one. It also
// lends the large things that the end of a turn is judged with. It may be used
// concurrently.
type Schemas struct {
	cache    *schema.Cache
	prompts  prompts
	passages memory[wire.Passage]
	lists    memory[list]
	offers   memory[offered]
	desks    sync.Pool // *intake
	engines  sync.Pool
	checkers sync.Pool
}

// NewSchemas returns a memory of schemas that takes about maxBytes at most.
// What it remembers of texts takes as much again, and so do lists of tools, and
// messages an eighth of it.
func NewSchemas(maxBytes int) *Schemas {
	return &Schemas{cache: schema.NewCache(maxBytes), prompts: newPrompts(maxBytes), passages: newMemory[wire.Passage](maxBytes / 8),
		lists: newMemory[list](maxBytes / 64), offers: newMemory[offered](maxBytes)}
}

// Seed keys the hashes of the conversations that requests are read with:
// Request.Converse has them for nothing.
func (s *Schemas) Seed() maphash.Seed { return s.prompts.seed }

// lend returns an engine, which takeBack takes back. Without a memory it is new.
func (s *Schemas) lend() *engine {
	if s != nil {
		if e, ok := s.engines.Get().(*engine); ok {
			return e
		}
	}
	return new(engine)
}

func (s *Schemas) takeBack(e *engine) {
	if s != nil && e != nil {
		s.engines.Put(e)
	}
}

// ParseRequest reads the body of a request to the given path, without a memory
// of others. It keeps nothing of body. An error means that its turn cannot be
// judged.
func ParseRequest(path string, body []byte) (*Request, error) {
	return (*Schemas)(nil).ParseRequest(path, body)
}

// ParseRequest reads the body of a request, whose turn will use the memory.
func (s *Schemas) ParseRequest(path string, body []byte) (*Request, error) {
	as, _ := dialectOf(path)
	w := s.intake(as)
	defer s.clear(w)
	if err := w.Decode(as, body, w.past()); err != nil {
		return nil, fmt.Errorf("read the request to %s: %w", path, err)
	}
	r := &Request{
		Schemas: s, dialect: as, Model: w.Model.String(), Stream: w.Stream, n: int(min(w.N, maxChoices)), maxTokens: w.MaxTokens,
		offered: w.offer(body), others: w.Others, none: w.Choice.Is("none"),
		endless: w.Endless, named: w.Choice.Is("function") || w.Choice.Is("tool"), must: w.Choice.Is("required") || w.Choice.Is("any"), hides: w.Hides || w.Joined, joined: w.Joined, json: w.JSON, stop: w.Stop,
		seed: w.seed, ids: own(w.CallIDs), talk: w.Talk, talks: s != nil,
	}
	r.talk.Turns = own(r.talk.Turns)
	r.own = *s.prompt(body, &w.Request)
	r.own.rules.Tools, r.own.rules.Names = (len(r.tools) > 0 || r.others) && !as.Raw(), r.names
	r.prompt = &r.own
	return r, nil
}

// own is a copy of a list that takes no more than it must, nil of none.
func own[T any](list []T) []T { return append([]T(nil), list...) }

// Held is about how many bytes of the request are kept, to be counted against
// a budget.
func (r *Request) Held() int {
	return r.kept + 128*len(r.tools) + 8*len(r.ids) + 24*len(r.talk.Turns) + r.prompt.held()
}

// offers reports whether the request lets the model call anything.
func (r *Request) offers() bool { return !r.none && !r.dialect.Raw() && (len(r.tools) > 0 || r.others) }

// used reports whether the history holds a call with this id.
func (r *Request) used(id string) bool {
	return len(r.ids) > 0 && slices.Contains(r.ids, maphash.String(r.seed, id))
}

// spell spells a name. One that is declared takes no memory.
func (r *Request) spell(t wire.Text) string {
	if tool, ok := r.tools[string(t.Raw)]; ok && !t.Escaped {
		return tool.name
	}
	return t.String()
}

// begins reports whether a declared name begins like this.
func (r *Request) begins(name string) bool {
	for _, n := range r.order {
		if strings.HasPrefix(n, name) {
			return true
		}
	}
	return false
}

// find looks a tool up. A name that differs in case only, or by the prefix
// functions., is found too, but is not exact.
func (r *Request) find(name string) (declared string, exact bool) {
	if _, ok := r.tools[name]; ok {
		return name, true
	}
	bare := strings.TrimPrefix(name, "functions.")
	for _, n := range r.order {
		if strings.EqualFold(n, bare) {
			return n, false
		}
	}
	return "", false
}

// schema compiles the schema of a declared tool, on a budget.
func (r *Request) schema(name string, b *schema.Budget) *schema.Schema {
	t := r.tools[name]
	if t.large {
		return schema.Oversized()
	}
	var memory *schema.Cache
	if r.Schemas != nil {
		memory = r.Schemas.cache
	}
	return b.Compile(memory, t.parameters)
}
