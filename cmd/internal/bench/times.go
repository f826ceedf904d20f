package bench

import (
	"fmt"
	"os"
	"sync/atomic"
	"time"
	"unsafe"
)

// Times tells when the server sent each event of the answer in each slot, to a
// client in another process: no byte of the answer has to. The zero value tells
// nothing.
type Times struct {
	at     []atomic.Int64 // nanoseconds
	events int            // of a slot
}

// mapTimes puts Times into a file, which another process may map too.
func mapTimes(f *os.File, slots, events int) (Times, error) {
	size := slots * events * 8
	if err := f.Truncate(int64(size)); err != nil {
		return Times{}, err
	}
	b, err := mapFile(f, size)
	if err != nil {
		return Times{}, fmt.Errorf("map %s: %w", f.Name(), err)
	}
	return Times{unsafe.Slice((*atomic.Int64)(unsafe.Pointer(&b[0])), slots*events), events}, nil
}

func (t Times) unmap() {
	if len(t.at) > 0 {
		unmapFile(unsafe.Slice((*byte)(unsafe.Pointer(&t.at[0])), len(t.at)*8))
	}
}

func (t Times) set(slot, event int, now time.Time) {
	if i := slot*t.events + event; event < t.events && i < len(t.at) {
		t.at[i].Store(now.UnixNano())
	}
}

// since is how long ago an event was sent.
func (t Times) since(slot, event int, now time.Time) (d time.Duration, ok bool) {
	i := slot*t.events + event
	if event >= t.events || i >= len(t.at) {
		return 0, false
	}
	at := t.at[i].Load()
	return time.Duration(now.UnixNano() - at), at > 0
}
