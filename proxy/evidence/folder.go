package evidence

import (
	"time"

	"turnwatch/proxy/turn"
)

// Version is the version of the folder's format that is written. It rises only
// when a field changes its meaning.
const Version = 1

// The files of a folder.
const (
	FileManifest    = "manifest.json"
	FileTurn        = "turn.json"
	FileRequestHead = "request.head"
	FileRequestBody = "request.body"
	FileAnswerHead  = "answer.head"
	FileAnswerBody  = "answer.body"
	FileAnswerTimes = "answer.times.json"
	FileWindows     = "windows.json"
	FileConfig      = "config.json"
	FileBatch       = "batch.json"
	FileOverlap     = "overlap.jsonl"
	FileSums        = "SHA256SUMS"
)

// LostBodiesOff is why there is no file of a body where none was asked for.
const LostBodiesOff turn.Drop = "bodies_off"

// LostNoCapture is why there is none of a turn whose bytes nobody kept: of
// probes nothing that was said is.
const LostNoCapture turn.Drop = "not_captured"

// Folder is what the folder of one turn holds. The package comment says what
// its parts mean.
type Folder struct {
	Dir      string
	Manifest Manifest
	Turn     *turn.Turn
	Request  turn.Said // Body is nil where Manifest.Request.Lost says why
	Answer   turn.Said
	Windows  []Window
	Config   Config
	Batch    Batch
	Overlap  []*turn.Turn
}

// Manifest says what is in a folder, and what is not and why.
type Manifest struct {
	V        int       `json:"v"`
	ID       string    `json:"id"`
	Time     time.Time `json:"time"`
	By       string    `json:"by"`
	Bodies   bool      `json:"bodies"`
	Redacted []string  `json:"redacted"`
	Request  Part      `json:"request"`
	Answer   Part      `json:"answer"`
	Overlap  int       `json:"overlap"`
}

// Part says what became of a body.
type Part struct {
	Bytes  int64     `json:"bytes"`
	SHA256 string    `json:"sha256"`
	Lost   turn.Drop `json:"lost"`
	Coding string    `json:"coding"`
}

// Window is the bytes of an answer around the place of findings.
type Window struct {
	Offset int64    `json:"offset"`
	AtMS   float64  `json:"at_ms"`
	Kinds  []string `json:"kinds"`
	From   int64    `json:"from"`
	To     int64    `json:"to"`
	Text   string   `json:"text"`
	Masked bool     `json:"masked"`
}

// Config is what was known of the server's configuration.
type Config struct {
	Fingerprint string              `json:"fingerprint"`
	Tags        map[string]turn.Tag `json:"tags"`
}

// Batch is what was known of the server's load over the turn.
type Batch struct {
	Tags     map[string]turn.Tag `json:"tags"`
	Timeline []turn.Load         `json:"timeline"`
}
