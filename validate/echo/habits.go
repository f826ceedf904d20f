package echo

import (
	"hash/maphash"
	"math"
	"math/bits"
	"sync"
)

// Habits remember for each parameter of each tool, as a model uses it, whether
// its values are copies of what the request holds. They are bounded: what was
// used least recently gives way. They may be used concurrently.
type Habits struct {
	seed maphash.Seed

	mu    sync.Mutex
	sets  [][ways]habit
	tick  uint32
	trial trial
}

// ways is how many habits share a set, whose eldest gives way.
const ways = 4

// habit is what is known of one parameter.
type habit struct {
	key    uint64
	used   uint32
	run    uint16 // copies in clean turns since one that was none
	recent uint32 // the latest values, a bit each: it was no copy, and that was told
	strays uint8  // in clean turns that were no copies, and no run of them has followed

	// Of a model: how many of the latest values in its clean turns were copies,
	// and for how many of its parameters the first value was one.
	rate          float32
	first, copied uint16
}

// A parameter is sure to be a copy once its values were in this many clean
// turns, one after another, as long as not most of the latest values are told
// to be none. For a model whose parameters are copied, whichever they are, as
// in a deployment of a few tools, fewer do, and one of which little is known is
// taken for such at first.
const (
	sureAfter  = 24
	sureSoon   = 3
	allCopies  = 0.95
	rateOver   = 32 // values
	mostFirst  = 0.75
	enough     = 16 // parameters
	tellAtMost = 20 // of the latest 32
	tellUnseen = 8  // … of a parameter of which no more is known
	mayStray   = 2
)

// NewHabits returns habits that take about maxBytes at most.
func NewHabits(maxBytes int) *Habits {
	const size = 32 * ways
	return &Habits{seed: maphash.MakeSeed(), sets: make([][ways]habit, max(1, maxBytes/size))}
}

// find returns the habit with a key, nil if there is none.
func (h *Habits) find(key uint64) *habit {
	set := &h.sets[key%uint64(len(h.sets))]
	for i := range set {
		if set[i].key == key && set[i].used > 0 {
			return &set[i]
		}
	}
	return nil
}

// visit returns the habit with a key, which is made if need be.
func (h *Habits) visit(key uint64) *habit {
	h.tick++
	b := h.find(key)
	if b == nil {
		set := &h.sets[key%uint64(len(h.sets))]
		b = &set[0]
		for i := range set {
			if set[i].used < b.used {
				b = &set[i]
			}
		}
		*b = habit{key: key}
	}
	b.used = h.tick
	return b
}

// Tool names a tool as a model uses it.
type Tool struct{ key, model uint64 }

// Tool returns the name of a tool, empty for the text of the model's answers.
func (h *Habits) Tool(model, tool string) Tool {
	m, t := maphash.String(h.seed, model), maphash.String(h.seed, tool)
	return Tool{bits.RotateLeft64(t, 21) ^ bits.RotateLeft64(m, 42), m}
}

// Parameter names a parameter of a tool as a model uses it.
type Parameter struct{ key, model uint64 }

// Parameter returns the name of a parameter, which is told by its path.
func (h *Habits) Parameter(t Tool, path []byte) Parameter {
	return Parameter{maphash.Bytes(h.seed, path) ^ t.key, t.model}
}

// Sure reports whether the values of a parameter have all been copies for so
// long that one that is none means something.
func (h *Habits) Sure(p Parameter) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.sure(h.find(p.key), h.find(p.model))
}

func (h *Habits) sure(b, model *habit) bool {
	all := model != nil && model.copies()
	if b == nil {
		return all
	}
	told := bits.OnesCount32(b.recent)
	return told <= tellAtMost && (b.run >= sureAfter || all && b.run >= sureSoon) || told <= tellUnseen && all && b.strays <= mayStray
}

// Proven reports whether the values of a parameter were copies so often and so
// late that this is known of the parameter itself.
func (h *Habits) Proven(p Parameter) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	b := h.find(p.key)
	return b != nil && b.run >= sureAfter
}

// copies reports whether a model's parameters are copies, whichever they are.
func (b *habit) copies() bool {
	return b.rate >= allCopies && b.first >= enough && float64(b.copied) >= mostFirst*float64(b.first)
}

// Seen is one value of a parameter, as it was judged.
type Seen struct {
	Parameter
	Copy bool
	Told bool // that it is no copy was told
}

// Learn takes in the values of a turn. Only those of clean turns tell what a
// model does by itself.
func (h *Habits) Learn(all []Seen, clean bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	var b, model *habit
	for i, v := range all {
		if i == 0 || v.Parameter != all[i-1].Parameter {
			model = h.visit(v.model)
			if h.find(v.key) == nil {
				model.meet(v.Copy)
			}
			b = h.visit(v.key)
		}
		if h.sure(b, model) {
			h.trial.add(v.Told)
		}
		b.recent <<= 1
		switch {
		case v.Told:
			b.recent |= 1
		case clean:
			b.learn(v.Copy)
			model.learn(v.Copy)
		}
	}
}

// meet takes in the first value of a parameter of the model.
func (b *habit) meet(isCopy bool) {
	if b.first++; isCopy {
		b.copied++
	}
	if b.first >= 1<<10 {
		b.first, b.copied = b.first/2, b.copied/2
	}
}

// learn takes in a value of a clean turn.
func (b *habit) learn(isCopy bool) {
	is := float32(0)
	if b.run++; isCopy {
		is = 1
		b.run = min(b.run, math.MaxUint16-1)
		if b.run >= sureSoon {
			b.strays = 0
		}
	} else {
		b.run, b.strays = 0, min(b.strays+1, math.MaxUint8-1)
	}
	b.rate += (is - b.rate) / rateOver
}
