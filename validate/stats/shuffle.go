package stats

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
)

// shuffle asks how often outcomes shuffled within strata let some conjunction
// separate as well as one seen.
type shuffle struct {
	s        *search
	limit    float64   // what to reach, as conjunctions are ranked
	critical []int32   // corrupted sessions at which each conjunction reaches it
	bySize   [][]int32 // in one stratum, by number of conditions, the critical count of so many sessions; 0 not known yet
	further  map[int]further
	extend   *extension
	random   *rand.Rand

	sessions [][]int32 // of each stratum: for every session the place of its cell in s.cells
	hits     []int32   // corrupted sessions by place
	places   []int32   // those with any, their cells and how many
	cells    []int32
	weights  []int32
}

func newShuffle(s *search, limit float64, seed uint64) *shuffle {
	f := &shuffle{s: s, limit: limit, further: make(map[int]further), extend: newExtension(s)}
	f.limit += 1e-9 * (1 + math.Abs(limit)) // what rounding makes of an equal
	f.random = rand.New(rand.NewChaCha8(key(seed)))
	f.bySize = make([][]int32, len(s.share))
	for _, b := range s.blocks {
		f.critical = append(f.critical, f.criticals(s.supports[b.first:b.first+b.count], len(b.columns))...)
	}
	f.hits = make([]int32, len(s.cells))
	begin := 0
	for _, end := range s.bounds {
		var all []int32
		for i := begin; i < end; i++ {
			for range s.sessions[i] {
				all = append(all, int32(i))
			}
		}
		f.sessions = append(f.sessions, all)
		begin = end
	}
	return f
}

// key spells a seed for a generator whose streams have nothing in common, however
// near the seeds.
func key(seed uint64) (k [32]byte) {
	binary.LittleEndian.PutUint64(k[:], seed)
	return k
}

// criticals returns the critical count of each support of so many conditions.
func (f *shuffle) criticals(supports []support, conditions int) []int32 {
	out := make([]int32, len(supports))
	for i, u := range supports {
		out[i] = f.of(u, conditions)
	}
	return out
}

// of returns the critical count of a support, in one stratum as remembered by size.
func (f *shuffle) of(u support, conditions int) int32 {
	single := len(f.s.chance.strata) == 1
	if single {
		if f.bySize[conditions] == nil {
			f.bySize[conditions] = make([]int32, f.s.chance.strata[0].n+1)
		}
		if c := f.bySize[conditions][u.n]; c > 0 {
			return c
		}
	}
	c := f.s.chance.critical(u, max(fewest, 1+int(u.mean)), f.s.cases, f.limit-f.s.share[conditions])
	if single {
		f.bySize[conditions][u.n] = c
	}
	return c
}

// permutation labels as many sessions of each stratum corrupted as are, and
// reports whether some conjunction separates as well as the limit.
func (f *shuffle) permutation() bool {
	clear(f.hits)
	for i, all := range f.sessions {
		for j := range f.s.chance.strata[i].k {
			other := j + f.random.IntN(len(all)-j)
			all[j], all[other] = all[other], all[j]
			f.hits[all[j]]++
		}
	}
	f.places, f.cells, f.weights = f.places[:0], f.cells[:0], f.weights[:0]
	for i, n := range f.hits {
		if n > 0 {
			f.places, f.cells, f.weights = append(f.places, int32(i)), append(f.cells, f.s.cells[i]), append(f.weights, n)
		}
	}
	return f.reached()
}

func (f *shuffle) reached() bool {
	for _, b := range f.s.blocks {
		f.s.countBlock(b, f.cells, f.weights)
		for id := b.first; id < b.first+b.count; id++ {
			if f.s.k[id] >= f.critical[id] {
				return true
			}
		}
	}
	for _, l := range f.s.leaders() {
		if f.extended(l) {
			return true
		}
	}
	return false
}

// remember bounds for how many leaders critical counts are kept.
const remember = 8192

// further is what the extensions of a leader have to reach.
type further struct {
	items    []item
	critical []int32
	least    int32
}

// extended reports whether an extension of a leader reaches the limit.
func (f *shuffle) extended(l leader) bool {
	e, ok := f.further[l.id]
	if !ok {
		if len(f.further) == remember {
			clear(f.further)
		}
		e = f.newFurther(f.s.led(l))
		f.further[l.id] = e
	}
	if f.s.k[l.id] < e.least {
		return false
	}
	f.extend.count(e.items, f.places, f.weights)
	for i, k := range f.extend.sums {
		if k >= e.critical[i] {
			return true
		}
	}
	return false
}

// newFurther leaves out the factors of the leader: one condition a factor.
func (f *shuffle) newFurther(items []item) further {
	e := further{items, f.criticals(f.extend.supports(items), len(items)+1), never}
	for _, it := range items {
		first := f.extend.first[it.column]
		for i := range f.s.f.columns[it.column].items {
			e.critical[first+i] = never
		}
	}
	for _, c := range e.critical {
		e.least = min(e.least, c)
	}
	return e
}

// work bounds the sums that the permutations of one search make; two hundred are
// made in any case.
const (
	work = 2e9
	few  = 200
)

// affordable returns how many permutations of at most so many the data allow.
func (f *shuffle) affordable(most int) int {
	blocks := len(f.s.blocks)*min(f.s.cases, len(f.s.cells)) + 5*len(f.s.k)
	extensions := kept * (min(f.s.cases, len(f.s.cells)) + len(f.s.f.columns)*len(f.s.cells)/40)
	each := blocks + extensions
	return min(most, max(few, int(work)/each))
}

// p returns the share of shuffles, the one seen among them, that reach the limit.
// It ends early, with a p-value that is as valid, once so many have that it cannot
// be small: J. Besag and P. Clifford, Sequential Monte Carlo p-values, Biometrika 78
// (1991), 301–304.
func (f *shuffle) p(permutations int, alpha float64) (p float64, made int) {
	permutations = f.affordable(permutations)
	reached, enough := 0, max(10, int(2*alpha*float64(permutations)))
	for made = 1; made <= permutations; made++ {
		if f.permutation() {
			if reached++; reached == enough {
				return float64(reached) / float64(made), made
			}
		}
	}
	return float64(reached+1) / float64(permutations+1), permutations
}
