package turn

import "time"

// Restart says that a server behind an arm seems to have been started anew. Its line
// in a journal has the type server_restart.
type Restart struct {
	V    int       `json:"v"`
	Time time.Time `json:"time"` // when it was noticed
	Arm  Arm       `json:"arm"`
	Why  string    `json:"why"` // what it was noticed by
}

// AppendJSON appends the journal line, without its newline, to b:
//
//	{"v":1,"type":"server_restart","time":"…","arm":"candidate","why":"…"}
func (r *Restart) AppendJSON(b []byte) []byte {
	o := object{b: append(b, '{')}
	o.int("v", int64(r.V))
	o.str("type", "server_restart")
	o.time("time", r.Time)
	o.str("arm", string(r.Arm))
	o.str("why", r.Why)
	return append(o.b, '}')
}
