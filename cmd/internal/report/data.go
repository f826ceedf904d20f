package report

import (
	"cmp"
	"hash/maphash"
	"slices"
	"time"

	"turnwatch/proxy/turn"
	"turnwatch/validate"
)

// row is what is kept of a turn. Numbers that are not known are -1.
type row struct {
	at      int64 // when the request's head had arrived, Unix nanoseconds
	session uint64
	request uint64  // hash of the client's id, 0 without one
	kinds   uint64  // kinds of the findings, by place in the table; those of the parser left out
	parser  uint64  // kinds of findings whose cause is the parser
	signals uint64  // kinds of the signals
	id      uint64  // hash of the turn's id, 0 without one
	prefix  uint64  // hash of the beginning of the request, 0 if it is not known
	ttfb    float32 // ms
	took    float32 // ms
	onset   float32 // ms from the first byte to that at which the first finding was certain

	tokens, prompt      int32
	onsetBatch          int32
	steps               [batches]uint16 // decode steps by range of the batch; all 0 where that is not known
	batch, bucket       int32
	retractions         int32
	config              int32 // tags that are no measure of one turn
	boot                int32 // start of the server, as far as is known
	model, replica, arm int32
	reason, finish      int32
	calls               int32
	flags               flags
	outcome             outcome
	ending              ending
	score               score
}

// flags are what is true of a turn.
type flags uint8

const (
	isSuspect flags = 1 << iota
	isConstrained
	isStream
	isFailed // an HTTP status of an error, or none
	isKnown  // the client knows the right answer
	isWrong  // … and this is another
)

// outcome is a verdict as a row has it.
type outcome uint8

const (
	unverified outcome = iota
	clean
	truncated
	corrupted
)

// ending is how the answer's bytes ended.
type ending uint8

const (
	complete ending = iota
	serverCut
	clientGone
	proxyCut
)

// score is what the verifiers of vendors say of a turn: a K2VV word in the lowest
// two bits, one of OpenRouter's in three more.
type score uint8

// What a score is made of.
const (
	k2Mask    score = 3
	k2Valid   score = 1
	k2Invalid score = 2
	k2NoCall  score = 3

	orShift        = 2
	orMask   score = 7 << orShift
	orOK     score = 1 << orShift
	orJSON   score = 2 << orShift
	orName   score = 3 << orShift
	orSchema score = 4 << orShift

	onlyReasoning score = 1 << 5
	hasCyrillic   score = 1 << 6
	k2Unknown     score = 1 << 7
)

func (r *row) judged() bool  { return r.outcome != unverified }
func (r *row) bad() bool     { return r.kinds != 0 }
func (r *row) suspect() bool { return r.flags&isSuspect != 0 }

// begin, first and end are moments of the turn, Unix nanoseconds.
func (r *row) first() int64 { return r.at + int64(float64(r.ttfb)*1e6) }
func (r *row) end() int64   { return r.at + int64(float64(r.took)*1e6) }

// names numbers texts in the order in which they come.
type names struct {
	number map[string]int32
	all    []string
}

func (n *names) of(s string) int32 {
	if i, ok := n.number[s]; ok {
		return i
	}
	if n.number == nil {
		n.number = map[string]int32{}
	}
	i := int32(len(n.all))
	n.number[s] = i
	n.all = append(n.all, s)
	return i
}

// Data is what journals hold, with each turn made small.
type Data struct {
	Source Source
	store  [][]row // in the order of reading; a store that grew as one would be copied and need twice the room
	rows   []*row  // by time

	models, replicas, arms names
	reasons, finishes      names
	configs                configs
	changes                []turn.ConfigChange
	restarts               []turn.Restart
	opinions               []turn.Opinion
	opined                 map[string]bool // turns that they are on
	examples               []Example
	seed                   maphash.Seed
	kinds                  kindTable
}

// Example is a corrupted turn to begin with.
type Example struct {
	ID        string             `json:"id"`
	RequestID string             `json:"request_id,omitempty"`
	Session   string             `json:"session,omitempty"`
	Time      time.Time          `json:"time"`
	Model     string             `json:"model,omitempty"`
	Findings  []validate.Finding `json:"findings"`
	Batch     string             `json:"batch,omitempty"`
	Config    string             `json:"fingerprint,omitempty"`
	arm       int32
}

// maxExamples bounds the turns that are kept whole.
const maxExamples = 50

func newData() *Data {
	return &Data{seed: maphash.MakeSeed(), kinds: newKindTable()}
}

// sort puts everything in the order of time.
func (d *Data) sort() {
	for _, chunk := range d.store {
		for i := range chunk {
			d.rows = append(d.rows, &chunk[i])
		}
	}
	slices.SortStableFunc(d.rows, func(a, b *row) int { return cmp.Compare(a.at, b.at) })
	d.once()
	d.number()
	slices.SortStableFunc(d.changes, func(a, b turn.ConfigChange) int { return a.Time.Compare(b.Time) })
	d.boots()
	slices.SortStableFunc(d.examples, func(a, b Example) int { return a.Time.Compare(b.Time) })
	d.examples = slices.CompactFunc(d.examples, func(a, b Example) bool { return a.ID != "" && a.ID == b.ID && a.arm == b.arm })
}

// once leaves out turns that were read before, by their ids: files are copied, and
// collectors deliver lines again. Counted twice, they would pass for evidence.
func (d *Data) once() {
	kept := d.rows[:0]
	from := 0 // of the turns at this moment
	for _, r := range d.rows {
		if from < len(kept) && kept[from].at != r.at {
			from = len(kept)
		}
		if r.id != 0 && len(kept)-from < maxMoment && slices.ContainsFunc(kept[from:], r.again) {
			d.Source.Again++
			continue
		}
		kept = append(kept, r)
	}
	clear(d.rows[len(kept):])
	d.rows = kept
}

// number puts the place of a session among all for its hash, which differs from
// run to run: the same journals and seed make the same report.
func (d *Data) number() {
	at := make(map[uint64]uint64, len(d.rows)/4)
	for _, r := range d.rows {
		if _, ok := at[r.session]; !ok {
			at[r.session] = uint64(len(at) + 1)
		}
		r.session = at[r.session]
	}
}

// maxMoment bounds the turns of one moment that are held against each other.
const maxMoment = 1024

func (r *row) again(o *row) bool { return o.id == r.id && o.arm == r.arm }

// chunkRows is how many rows are stored together.
const chunkRows = 8192

// add stores a row.
func (d *Data) add(r *row) {
	last := len(d.store) - 1
	if last < 0 || len(d.store[last]) == chunkRows {
		d.store = append(d.store, make([]row, 0, chunkRows))
		last++
	}
	d.store[last] = append(d.store[last], *r)
}

// Turns is how many turns were read.
func (d *Data) Turns() int { return len(d.rows) }

// kindTable numbers the kinds, so that a set of them is a word.
type kindTable struct {
	bit  map[validate.Kind]uint
	info []validate.KindInfo
}

// otherKind stands for the kinds of versions to come.
const otherKind = 63

func newKindTable() kindTable {
	t := kindTable{bit: map[validate.Kind]uint{}, info: validate.Kinds()}
	for i, k := range t.info {
		t.bit[k.Kind] = uint(min(i, otherKind))
	}
	return t
}

func (t *kindTable) mask(k validate.Kind) uint64 {
	if b, ok := t.bit[k]; ok {
		return 1 << b
	}
	return 1 << otherKind
}

// name returns the kind of a bit.
func (t *kindTable) name(bit int) string {
	if bit < len(t.info) && bit < otherKind {
		return string(t.info[bit].Kind)
	}
	return "other"
}

// corrupts reports whether a kind of that name is one of corruption.
func (t *kindTable) corrupts(name string) bool {
	b, ok := t.bit[validate.Kind(name)]
	return !ok || t.info[b].Outcome == validate.Corrupted
}

// meaningOf returns what the kind of a name means.
func (t *kindTable) meaningOf(name string) string {
	if b, ok := t.bit[validate.Kind(name)]; ok {
		return t.meaning(int(b))
	}
	return t.meaning(otherKind)
}

// meaning returns what the kind of a bit means.
func (t *kindTable) meaning(bit int) string {
	if bit < len(t.info) && bit < otherKind {
		return t.info[bit].Meaning
	}
	return "kinds that this version does not know"
}
