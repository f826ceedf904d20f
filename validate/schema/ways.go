package schema

import (
	"slices"

	"github.com/dlclark/regexp2/v2/syntax"
)

// ways counts the steps that an engine which tries one way after the other
// takes at most on one text, without taking them. Instead of each way by itself
// it follows how many ways lead to each place of the text, so that counting
// 2^n of them takes n steps. Where it is not known whether a way goes on, both
// are counted.
type ways struct {
	text   []rune
	budget *Budget
	root   *syntax.RegexNode
	groups map[int]int // how many characters each may have held
	sum    float64     // of the steps
	effort int         // of counting them
	again  bool        // the node repeats: it must take in something
}

// counts are how many ways lead to places of the text, those from one on.
type counts struct {
	from int
	n    []float64
}

// Limits of one match: its steps, some milliseconds, and the effort of counting them.
const (
	maxWays     = 200_000
	maxCounting = 150_000
)

// pay takes from the budget for counting.
func (w *ways) pay(n int) bool {
	w.effort += n
	return w.effort <= maxCounting && w.budget.pay(n)
}

// all counts what it takes to look for a pattern, and pays for it.
func (w *ways) all() bool {
	in := counts{n: make([]float64, len(w.text)+1)}
	for i := range in.n {
		in.n[i] = 1
	}
	_, ok := w.walk(w.root, in)
	return ok && w.budget.pay(int(w.sum))
}

// walk returns how many ways lead out of a node, and whether they are few enough.
func (w *ways) walk(n *syntax.RegexNode, in counts) (counts, bool) {
	again := w.again
	w.again = false
	if w.sum += in.total(); w.sum > maxWays || !w.pay(4+len(in.n)/4) {
		return in, false
	}
	if len(in.n) == 0 {
		return in, true
	}
	switch n.T {
	case syntax.NtConcatenate, syntax.NtCapture, syntax.NtGroup, syntax.NtAtomic:
		return w.row(n.Children, in)
	case syntax.NtAlternate:
		return w.either(n.Children, in)
	case syntax.NtLoop, syntax.NtLazyloop:
		return w.loop(n, in)
	case syntax.NtPosLook, syntax.NtNegLook:
		_, ok := w.row(n.Children, in)
		return in, ok
	}
	return w.leaf(n, in, again)
}

func (w *ways) row(nodes []*syntax.RegexNode, in counts) (counts, bool) {
	ok := true
	for i := 0; i < len(nodes) && ok; i++ {
		in, ok = w.walk(nodes[i], in)
	}
	return in, ok
}

func (w *ways) either(nodes []*syntax.RegexNode, in counts) (counts, bool) {
	out := w.none()
	for _, n := range nodes {
		one, ok := w.walk(n, in)
		if !ok {
			return in, false
		}
		out.add(one)
	}
	return out.trim(), true
}

// loop counts the rounds of a group. One that takes in nothing is the last.
func (w *ways) loop(n *syntax.RegexNode, in counts) (counts, bool) {
	out, ok := w.none(), true
	for round := 0; ; round++ {
		if round >= n.M {
			out.add(in)
		}
		if round == n.N || round > n.M+len(w.text) || len(in.n) == 0 {
			return out.trim(), true
		}
		w.again = round >= n.M
		if in, ok = w.row(n.Children, in); !ok {
			return in, false
		}
	}
}

// leaf counts what has no parts.
func (w *ways) leaf(n *syntax.RegexNode, in counts, again bool) (counts, bool) {
	step, start := 1, 0
	if n.Options&syntax.RightToLeft != 0 {
		step, start = -1, -1
	}
	out := w.none()
	for i, c := range in.n {
		if c == 0 {
			continue
		}
		i += in.from
		least, most := w.reach(n, i, step, start)
		if again {
			least = max(least, 1)
		}
		for k := least; k <= most; k++ {
			out.n[i+k*step] += c
		}
		if w.sum += c * float64(max(0, most)); w.sum > maxWays {
			return in, false
		}
	}
	return out.trim(), true
}

// reach is how many characters a leaf takes in from place i, at least and at
// most; it is none where most is less than least.
func (w *ways) reach(n *syntax.RegexNode, i, step, start int) (least, most int) {
	least, most = width(n)
	if n.T == syntax.NtRef {
		return 0, min(w.room(i, step), w.groups[n.M])
	}
	if most == 0 {
		return 0, w.holds(n, i)
	}
	k := 0
	for most = min(most, w.room(i, step)); k < most && one(n, k, step, w.text[i+start+k*step]); k++ {
	}
	return least, k
}

// hold notes how many of n characters each group in a node may have held.
func hold(node *syntax.RegexNode, n int, groups map[int]int) map[int]int {
	if node.T == syntax.NtCapture {
		groups[node.M] = max(groups[node.M], longest(node, n))
	}
	for _, c := range node.Children {
		hold(c, n, groups)
	}
	return groups
}

// longest is how many of n characters a node takes in at most.
func longest(node *syntax.RegexNode, n int) int {
	most := 0
	switch node.T {
	case syntax.NtPosLook, syntax.NtNegLook:
		return 0
	case syntax.NtRef:
		return n
	case syntax.NtLoop, syntax.NtLazyloop:
		most = longest(node.Children[0], n)
		if most > 0 && node.N > n {
			return n
		}
		return min(n, most*node.N)
	case syntax.NtAlternate:
		for _, c := range node.Children {
			most = max(most, longest(c, n))
		}
		return most
	}
	_, most = width(node)
	for _, c := range node.Children {
		most = min(n, most+longest(c, n))
	}
	return min(n, most)
}

// room is how much of the text lies ahead.
func (w *ways) room(i, step int) int {
	if step < 0 {
		return i
	}
	return len(w.text) - i
}

// width is how many characters a leaf takes in.
func width(n *syntax.RegexNode) (least, most int) {
	switch n.T {
	case syntax.NtOne, syntax.NtNotone, syntax.NtSet:
		return 1, 1
	case syntax.NtMulti:
		return len(n.Str), len(n.Str)
	case syntax.NtOneloop, syntax.NtNotoneloop, syntax.NtSetloop, syntax.NtOnelazy, syntax.NtNotonelazy, syntax.NtSetlazy,
		syntax.NtOneloopatomic, syntax.NtNotoneloopatomic, syntax.NtSetloopatomic:
		return n.M, n.N
	}
	return 0, 0
}

// one reports whether a leaf takes in r as character k.
func one(n *syntax.RegexNode, k, step int, r rune) bool {
	switch n.T {
	case syntax.NtSet, syntax.NtSetloop, syntax.NtSetlazy, syntax.NtSetloopatomic:
		return n.Set.CharIn(r)
	case syntax.NtNotone, syntax.NtNotoneloop, syntax.NtNotonelazy, syntax.NtNotoneloopatomic:
		return r != n.Ch
	case syntax.NtMulti:
		if step < 0 {
			k = len(n.Str) - 1 - k
		}
		return r == n.Str[k]
	}
	return r == n.Ch
}

// holds is 0 where an assertion may hold, -1 where it cannot.
func (w *ways) holds(n *syntax.RegexNode, i int) int {
	switch {
	case n.T == syntax.NtNothing:
		return -1
	case (n.T == syntax.NtBol || n.T == syntax.NtBeginning) && i > 0:
		return -1
	case n.T == syntax.NtEnd && i < len(w.text):
		return -1
	}
	return 0
}

// known reports whether all nodes are such as can be counted.
func known(n *syntax.RegexNode) bool {
	switch n.T {
	case syntax.NtUnknown, syntax.NtBackRefCond, syntax.NtExprCond, syntax.NtGrapheme, syntax.NtStart:
		return false
	}
	return n.Options&(syntax.IgnoreCase|syntax.Multiline) == 0 && !slices.ContainsFunc(n.Children, func(c *syntax.RegexNode) bool { return !known(c) })
}

// none are counts of all places. That the budget is exceeded is seen by the
// next step.
func (w *ways) none() counts {
	w.pay(len(w.text) / 8)
	return counts{n: make([]float64, len(w.text)+1)}
}

func (c counts) total() (sum float64) {
	for _, n := range c.n {
		sum += n
	}
	return sum
}

// add adds to counts of all places.
func (c counts) add(more counts) {
	for i, n := range more.n {
		c.n[more.from+i] += n
	}
}

// trim leaves off the places at both ends to which no way leads.
func (c counts) trim() counts {
	for len(c.n) > 0 && c.n[0] == 0 {
		c.from, c.n = c.from+1, c.n[1:]
	}
	for len(c.n) > 0 && c.n[len(c.n)-1] == 0 {
		c.n = c.n[:len(c.n)-1]
	}
	return c
}
