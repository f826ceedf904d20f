package jsonstream

import (
	"bytes"
	"encoding/json"
)

// Duplicate is a key that its object holds twice.
type Duplicate struct {
	Object []Token // the way to the object
	Key    string
	End    int  // just behind the second key
	Same   bool // both values are spelled alike
}

// maxDuplicateDepth bounds the recursion of Duplicates; deeper objects are not looked at.
const maxDuplicateDepth = 64

// Duplicates finds the keys that occur twice in one object of a valid text, at most limit.
func Duplicates(text []byte, limit int) []Duplicate {
	var room [4]step // for most
	d := duplicates{text: text, limit: limit}
	d.value(room[:0], skipSpace(text, 0))
	return d.found
}

// duplicates reads a text once, from its front to its end.
type duplicates struct {
	text  []byte
	limit int
	found []Duplicate
}

// step is a Token whose key is not spelled out yet.
type step struct {
	key   []byte
	index int
	array bool
}

// value looks through the value at i, to which a way leads, and returns the
// position behind it.
func (d *duplicates) value(way []step, i int) int {
	switch {
	case len(way) >= maxDuplicateDepth || i >= len(d.text):
	case d.text[i] == '{':
		return d.object(way, i)
	case d.text[i] == '[':
		return d.array(way, i)
	}
	return skipValue(d.text, i)
}

// inner is value for one that another holds, a step further.
func (d *duplicates) inner(way []step, s step, i int) int {
	if i >= len(d.text) || d.text[i] != '{' && d.text[i] != '[' {
		return skipValue(d.text, i)
	}
	return d.value(append(way, s), i)
}

func (d *duplicates) array(way []step, i int) int {
	i = skipSpace(d.text, i+1)
	for n := 0; i < len(d.text) && d.text[i] != ']'; n++ {
		i = d.next(d.inner(way, step{index: n, array: true}, i))
	}
	return i + 1
}

func (d *duplicates) object(way []step, i int) int {
	var seen keys
	i = skipSpace(d.text, i+1)
	for n := 0; i < len(d.text) && d.text[i] != '}'; n++ {
		end := skipString(d.text, i)
		key := unquoted(d.text[i:end])
		at := skipSpace(d.text, skipSpace(d.text, end)+1)
		if first, ok := seen.swap(key, at); ok {
			d.add(way, first, at, Duplicate{Key: string(key), End: end})
		}
		i = d.next(d.inner(way, step{key: key, index: n}, at))
	}
	return i + 1
}

// next is where the next member or element of a container begins, or where that
// ends: at once, if enough was found.
func (d *duplicates) next(i int) int {
	if len(d.found) >= d.limit {
		return len(d.text)
	}
	if i = skipSpace(d.text, i); i < len(d.text) && d.text[i] == ',' {
		i = skipSpace(d.text, i+1)
	}
	return i
}

// keys are those of an object, each with where its latest value begins. Most
// objects have few, which are looked through.
type keys struct {
	n   int
	few [8]struct {
		key []byte
		at  int
	}
	many map[string]int
}

// swap notes where the value of a key begins, and returns where that did which
// it had.
func (k *keys) swap(key []byte, at int) (had int, ok bool) {
	for i := range k.few[:k.n] {
		if f := &k.few[i]; bytes.Equal(f.key, key) {
			had, f.at = f.at, at
			return had, true
		}
	}
	if k.n < len(k.few) {
		k.few[k.n].key, k.few[k.n].at = key, at
		k.n++
		return 0, false
	}
	if k.many == nil {
		k.many = make(map[string]int)
	}
	had, ok = k.many[string(key)]
	k.many[string(key)] = at
	return had, ok
}

// add notes a key whose values begin at two positions.
func (d *duplicates) add(way []step, first, second int, f Duplicate) {
	if len(d.found) >= d.limit {
		return
	}
	a, b := d.text[first:skipValue(d.text, first)], d.text[second:skipValue(d.text, second)]
	f.Same = bytes.Equal(compact(a), compact(b))
	for _, s := range way {
		f.Object = append(f.Object, Token{Key: string(s.key), Index: s.index, Array: s.array})
	}
	d.found = append(d.found, f)
}

func compact(v []byte) []byte {
	if v[0] != '{' && v[0] != '[' {
		return v
	}
	var b bytes.Buffer
	if json.Compact(&b, v) != nil {
		return v
	}
	return b.Bytes()
}
