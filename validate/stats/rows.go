package stats

import (
	"encoding/binary"
	"math"
	"strconv"
)

// Table collects sessions for Explain. It keeps counts by combination of levels,
// not rows: a million sessions cost no more than the combinations among them. Give
// numbers as they are: of an Ordinal factor those beyond 32 are kept to an eighth of
// their octave, beyond 256 to a quarter.
type Table struct {
	factors []Factor
	levels  []dictionary // of each factor
	strata  dictionary
	boots   dictionary
	index   map[string]int32 // of cells, by what they have in common
	cells   []tally
	codes   []int32 // levels of the cells, a stride of len(factors) each; −1 unknown
	fresh   []int32 // New rows as they came: cell·2, +1 when corrupted
	key     []byte
}

// tally counts the sessions that share all levels, stratum and boot.
type tally struct {
	stratum, boot int32
	n, k          int32
}

// dictionary numbers texts as they come.
type dictionary struct {
	code map[string]int32
	seen map[string]int32 // other spellings of numbers
	text []string
	low  []float64 // the least and greatest number of each code, where they are numbers
	high []float64
}

// NewTable returns a table of sessions described by those factors.
func NewTable(factors ...Factor) *Table {
	return &Table{factors: factors, levels: make([]dictionary, len(factors)), index: make(map[string]int32)}
}

// Add counts a session. It keeps nothing of r.
func (t *Table) Add(r Row) {
	c := t.cell(r)
	switch {
	case r.New:
		t.fresh = append(t.fresh, 2*c+bit(r.Corrupted))
	default:
		t.cells[c].n++
		t.cells[c].k += bit(r.Corrupted)
	}
}

func bit(b bool) int32 {
	if b {
		return 1
	}
	return 0
}

// cell returns the number of r's cell.
func (t *Table) cell(r Row) int32 {
	at := len(t.codes)
	t.key = t.key[:0]
	for i := range t.factors {
		code := int32(-1)
		if i < len(r.Levels) && r.Levels[i] != "" {
			code = t.level(i, r.Levels[i])
		}
		t.codes = append(t.codes, code)
		t.key = binary.AppendVarint(t.key, int64(code))
	}
	stratum, boot := t.strata.add(r.Stratum), int32(-1)
	if r.Boot != "" {
		boot = t.boots.add(r.Boot)
	}
	t.key = binary.AppendVarint(binary.AppendVarint(t.key, int64(stratum)), int64(boot))
	if c, ok := t.index[string(t.key)]; ok {
		t.codes = t.codes[:at]
		return c
	}
	c := int32(len(t.cells))
	t.index[string(t.key)] = c
	t.cells = append(t.cells, tally{stratum: stratum, boot: boot})
	return c
}

// remembered bounds how many texts of a factor are kept to save reading them.
const remembered = 4096

// level returns the code of a level, −1 for what is no number where one is due.
func (t *Table) level(i int, text string) int32 {
	d := &t.levels[i]
	if t.factors[i].Scale == Nominal {
		return d.add(text)
	}
	if c, ok := d.seen[text]; ok {
		return c
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
		return -1
	}
	step := v
	if t.factors[i].Scale == Ordinal {
		step = eighth(v)
	}
	c := d.add(number(step))
	d.span(c, v)
	if d.seen == nil {
		d.seen = make(map[string]int32)
	}
	if len(d.seen) < remembered {
		d.seen[text] = c
	}
	return c
}

// eighth cuts a number beyond 32 to an eighth of its octave, beyond 256 to a
// quarter.
func eighth(v float64) float64 {
	if v <= 32 {
		return v
	}
	_, exp := math.Frexp(v)
	step := math.Ldexp(1, exp-4)
	if v >= 256 {
		step *= 2
	}
	return math.Floor(v/step) * step
}

func number(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

func (d *dictionary) add(text string) int32 {
	if c, ok := d.code[text]; ok {
		return c
	}
	if d.code == nil {
		d.code = make(map[string]int32)
	}
	c := int32(len(d.text))
	d.code[text] = c
	d.text = append(d.text, text)
	return c
}

// span widens the numbers that a code stands for.
func (d *dictionary) span(c int32, v float64) {
	if int(c) == len(d.low) {
		d.low, d.high = append(d.low, v), append(d.high, v)
	}
	d.low[c], d.high[c] = min(d.low[c], v), max(d.high[c], v)
}
