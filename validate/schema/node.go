package schema

import (
	"regexp"
	"sort"
	"unsafe"
)

// mask is a set of types.
type mask uint8

const (
	tNull mask = 1 << iota
	tBool
	tObject
	tArray
	tString
	tNumber // any number
	tInteger
	anyType = 1<<iota - 1
)

// program is a schema made ready to be run beside a text: nodes, each one
// schema object, that point to one another.
type program struct {
	root *node // nil for any value
	seed uint64
	size int // bytes, about
}

// node is one schema object. A nil node allows everything.
type node struct {
	types mask // tInteger without tNumber: only integers
	never bool // the schema false

	// What looks at the same value.
	must    []*node
	groups  []group
	not     []*node
	cond    *conditional
	depends []dependent

	enums   []*enum
	limits  []limit // of numbers
	step    []decimal
	minRune int
	maxRune int // -1 for none
	pattern *pattern

	names    words // properties that are mentioned
	slots    []slot
	required []int // places in names
	needy    []int // … of those that need others
	patterns []byPattern
	rest     *node // of other properties
	closed   bool  // there may be no others
	keys     *node // of the names of properties
	minProps int
	maxProps int

	prefix   []*node
	items    *node
	contains *node
	minHeld  int
	maxHeld  int
	minItems int
	maxItems int
	unique   bool

	plain bool // nothing of the above but types
}

// size is about how many bytes the node takes.
func (n *node) size() int {
	size := int(unsafe.Sizeof(*n)) + len(n.names)*(int(unsafe.Sizeof(slot{}))+perName) + 8*len(n.required)
	for _, en := range n.enums {
		size += perName * (len(en.words) + len(en.numbers) + len(en.hashes))
	}
	if n.pattern != nil {
		size += 100 * n.pattern.cost
	}
	for i := range n.patterns {
		size += 100 * n.patterns[i].pattern.cost
	}
	return size
}

// group is an anyOf or a oneOf.
type group struct {
	one      bool
	branches []*node
}

// conditional is an if with what it decides about.
type conditional struct{ test, then, otherwise *node }

// dependent is a schema that holds if a property is there.
type dependent struct {
	slot int
	node *node
}

// slot is what is known of a named property.
type slot struct {
	declared bool // it has a schema, which is node
	node     *node
	needs    []int // places of the properties it requires
}

// byPattern is a schema of the properties with such names.
type byPattern struct {
	pattern *pattern
	node    *node
}

// pattern is a regular expression and what it costs, or one that RE2 cannot
// express.
type pattern struct {
	*regexp.Regexp
	cost int
	back *backtracker
}

// limit is a bound of numbers.
type limit struct {
	value     decimal
	upper     bool
	exclusive bool
}

// holds reports whether d lies within the limit.
func (l *limit) holds(d *decimal) bool {
	order := d.compare(&l.value)
	if l.upper {
		order = -order
	}
	return order > 0 || order == 0 && !l.exclusive
}

// enum is a list of allowed values.
type enum struct {
	types    mask
	words    words
	numbers  []decimal       // sorted
	hashes   map[uint64]bool // of arrays and objects
	yes, no  bool
	compound mask // tArray, tObject: those that have hashes
}

func (e *enum) number(d *decimal) bool {
	i := sort.Search(len(e.numbers), func(i int) bool { return e.numbers[i].compare(d) >= 0 })
	return i < len(e.numbers) && e.numbers[i].compare(d) == 0
}
