package proxy

import (
	"container/list"
	"slices"
	"time"
)

// rest holds the conversations of which no request is being answered, and counts
// those that came since a time without going over them: where thousands are
// answered at once, that was most of what the end of a turn cost.
type rest struct {
	all  list.List       // of *talker, the one that came last at the front
	zero time.Time       // what times are counted from
	at   []time.Duration // when each came that came since they were numbered
	here fenwick         // 1 for each of them that is still here
}

// join takes in a conversation that was heard now.
func (r *rest) join(t *talker) {
	if len(r.at) == cap(r.at) {
		r.renumber()
	}
	r.number(t)
	t.at = r.all.PushFront(t)
}

// leave lets one go, if it is here.
func (r *rest) leave(t *talker) {
	if t.at == nil {
		return
	}
	r.all.Remove(t.at)
	t.at = nil
	r.here.add(t.nth, -1)
}

// longest is the one that came first; nil, if there is none.
func (r *rest) longest() *talker {
	if e := r.all.Back(); e != nil {
		return e.Value.(*talker)
	}
	return nil
}

// since counts those that came at a time or later.
func (r *rest) since(t time.Time) int {
	before, _ := slices.BinarySearch(r.at, t.Sub(r.zero))
	return r.all.Len() - r.here.sum(before)
}

// renumber makes room for as many again as there are.
func (r *rest) renumber() {
	if room := 2*r.all.Len() + 64; cap(r.at) < room {
		r.at, r.here = make([]time.Duration, 0, room), make(fenwick, room)
	}
	r.at = r.at[:0]
	clear(r.here)
	for e := r.all.Back(); e != nil; e = e.Prev() {
		r.number(e.Value.(*talker))
	}
}

// number gives a conversation the next number. Clocks that were read in another
// order than it came are put right.
func (r *rest) number(t *talker) {
	if r.zero.IsZero() {
		r.zero = t.last
	}
	at := t.last.Sub(r.zero)
	if n := len(r.at); n > 0 {
		at = max(at, r.at[n-1])
	}
	t.nth = len(r.at)
	r.at = append(r.at, at)
	r.here.add(t.nth, 1)
}

// fenwick is a list of numbers of which the first few are added up in logarithmic
// time (P. M. Fenwick, A New Data Structure for Cumulative Frequency Tables, 1994).
type fenwick []int32

func (f fenwick) add(i int, n int32) {
	for ; i < len(f); i |= i + 1 {
		f[i] += n
	}
}

// sum adds up the first i.
func (f fenwick) sum(i int) (n int) {
	for ; i > 0; i &= i - 1 {
		n += int(f[i-1])
	}
	return n
}
